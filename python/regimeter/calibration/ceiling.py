# SPDX-License-Identifier: Apache-2.0
"""A ceiling, and all of a device: what a calibration returns, and what is kept of it."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self, TypeGuard

from .. import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = "regimeter.calibration"
VERSION = 1
LARGEST = 1e300  # more than any figure, less than what cannot be computed with


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One figure in the unit of `_core.ceilings()`, or None where it was not measured, with the reason.

    spread: half the width of what repeated batches gave, as a part of the value (0.05: 5 % up and down).
    samples: timed runs behind it. source: what was run. suspect: outside of what the datasheet allows.
    """

    value: float | None
    spread: float | None
    unit: str
    samples: int = 0
    source: str = ""
    suspect: bool = False
    reason: str = ""

    @property
    def measured(self) -> bool:
        """True where there is a value."""
        return self.value is not None


def missing(token: str, reason: str) -> Ceiling:
    """Return a ceiling that was not measured."""
    return Ceiling(None, None, _core.ceilings()[token]["unit"], reason=reason)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a machine or a device can reach at most, as it was measured.

    ceilings: by token of `_core.CEILINGS`, with all threads that the process may use; single: the same with one
    thread, and for a device the very same. identity: what the figures hold for. measured_at: Unix time. state:
    clocks, power, load while it was measured. warnings: what to doubt, in sentences.
    """

    device: str
    name: str
    threads: int
    ceilings: Mapping[str, Ceiling]
    single: Mapping[str, Ceiling]
    identity: Mapping[str, Any]
    measured_at: float
    quick: bool
    duration_s: float
    warnings: tuple[str, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    peaks: Mapping[str, Any] = field(default_factory=dict)

    def vector(self, threads: int | None = None) -> "NDArray[np.float64]":
        """Return value and spread of each of `_core.CEILINGS` as rows, NaN where not measured.

        threads: 1 for the ceilings of one thread, None for those of all.
        """
        import numpy as np

        chosen = self.single if threads == 1 else self.ceilings
        rows = np.full((len(_core.CEILINGS), 2), math.nan)
        for row, token in zip(rows, _core.CEILINGS, strict=True):
            found = chosen.get(token)
            if found is not None and found.value is not None:
                row[:] = found.value, math.nan if found.spread is None else found.spread
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        document = {"format": FORMAT, "version": VERSION}
        return document | {entry.name: _plain(getattr(self, entry.name)) for entry in fields(self)}

    @classmethod
    def from_dict(cls, document: Any) -> Self:
        """Read what to_dict returned. FormatError for anything else, which names the place."""
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise _core.FormatError(f"not a calibration: format is not {FORMAT}")
        if document.get("version") != VERSION:
            raise _core.FormatError(f"a calibration of version {document.get('version')!r}; this reads {VERSION}")
        found = {name: _read(document, name, kind) for name, kind in _KINDS.items()}
        found["warnings"] = tuple(str(text) for text in found["warnings"])
        for name in ("ceilings", "single"):
            found[name] = {token: _read_ceiling(name, token, row) for token, row in found[name].items()}
        _check_peaks(found["peaks"])
        return cls(**found)


_KINDS: dict[str, type | tuple[type, ...]] = {
    "device": str,
    "name": str,
    "threads": int,
    "ceilings": dict,
    "single": dict,
    "identity": dict,
    "measured_at": (int, float),
    "quick": bool,
    "duration_s": (int, float),
    "warnings": list,
    "state": dict,
    "peaks": dict,
}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, Ceiling):
        return asdict(value)
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    return value


def _read(document: Mapping[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    value = document.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise _core.FormatError(f"not a calibration: {name} is {value!r:.60}")
    if _is_number(value) and not 0 <= value <= LARGEST:
        raise _core.FormatError(f"not a calibration: {name} is {value!r:.60}")
    return value


def _read_ceiling(part: str, token: object, row: object) -> Ceiling:
    place = f"not a calibration: {part}.{token!s:.40}"
    if token not in _core.CEILINGS:
        raise _core.FormatError(f"{place} is no ceiling")
    if not isinstance(row, dict) or set(row) != {entry.name for entry in fields(Ceiling)}:
        raise _core.FormatError(f"{place} has other members than a ceiling")
    for name in ("value", "spread"):
        number = row[name]
        if number is not None and not (_is_number(number) and 0 < number <= LARGEST):
            raise _core.FormatError(f"{place}.{name} is {number!r:.40}")
    texts = all(isinstance(row[name], str) for name in ("unit", "source", "reason"))
    if not texts or not isinstance(row["suspect"], bool) or type(row["samples"]) is not int or row["samples"] < 0:
        raise _core.FormatError(f"{place} is {row!r:.120}")
    if row["unit"] != _core.ceilings()[str(token)]["unit"]:
        raise _core.FormatError(f"{place}.unit is {row['unit']!r:.40}")
    return Ceiling(**row)


def _check_peaks(peaks: Mapping[str, Any]) -> None:
    if not peaks:
        return
    bandwidth, operations = peaks.get("bytes_per_s"), peaks.get("operations")
    numbers = [*operations.values()] if isinstance(operations, dict) else [None]
    numbers += [] if bandwidth is None else [bandwidth]
    if not isinstance(peaks.get("source"), str) or not all(_is_number(x) and 0 < x <= LARGEST for x in numbers):
        raise _core.FormatError(f"not a calibration: peaks is {peaks!r:.120}")


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
