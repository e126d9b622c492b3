# SPDX-License-Identifier: Apache-2.0
"""Which ceilings a run is judged by: measured ones where they are those of its device, else a datasheet's."""

import functools
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from ..run.environment import environments_of
from .ceiling import Calibration
from .measure import kept

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..public.run import Run

MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Choice:
    """Ceilings for the device of a run, and where they are from.

    source: "given", "calibration" (of this machine), "datasheet" or "none". vector: as `Calibration.vector` has it,
    None without ceilings. device: the name in the run. note: a sentence that says what to think of them.
    """

    source: str
    vector: "NDArray[np.float64] | None"
    device: str
    note: str

    def to_dict(self) -> dict[str, str]:
        """Return what a document says of them."""
        return {"source": self.source, "device": self.device, "note": self.note}


def read_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read a calibration as `regimeter calibrate --json` prints it. FormatError, OSError."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(MOST_BYTES + 1)
    hint = "`regimeter calibrate --json > FILE` writes one"
    if len(text) > MOST_BYTES:
        raise _core.FormatError(f"{os.fspath(path)}: not a calibration: more than {MOST_BYTES} characters; {hint}")
    try:
        return Calibration.from_dict(json.loads(text))
    except _core.FormatError as error:
        raise _core.FormatError(f"{os.fspath(path)}: {error}; {hint}") from None
    except (ValueError, RecursionError) as error:
        raise _core.FormatError(f"{os.fspath(path)}: not a calibration: no JSON: {error}; {hint}") from None


def choose(run: "Run", given: "Calibration | Choice | str | os.PathLike[str] | None" = None) -> Choice:
    """Return the ceilings for a run: `given` ones, else those of this machine if the device is its own, else a
    datasheet's with a wide uncertainty, else none.

    FormatError or OSError for a file that is no calibration.
    """
    if isinstance(given, Choice):
        return given
    names = device_names(run)
    device = names[0] if len(names) == 1 else ""
    if given is not None:
        found = given if isinstance(given, Calibration) else read_calibration(given)
        other = "" if device in ("", found.name) else f"; the run's device is {device}"
        return Choice("given", found.vector(), device, f"calibration of {found.name}{other}")
    if not names:
        return Choice("none", None, "", "the run does not say which device it used")
    if len(names) > 1:
        return Choice("none", None, "", f"devices of several kinds: {', '.join(names)}")
    return _of_this_machine(run, device) or _of_datasheet(device)


def device_names(run: "Run") -> list[str]:
    """Return the names of the kinds of devices that the run states, each once."""
    return list(dict.fromkeys(str(gpu.model) for one in environments_of(run) for gpu in one.gpus or ()))


def _of_this_machine(run: "Run", device: str) -> Choice | None:
    """Return what is kept of this machine's device, where the run names the same one."""
    listed = max((len(one.gpus or ()) for one in environments_of(run)), default=0)
    for index in range(max(1, listed)):
        kept = _kept(index)
        if kept is not None and kept.name == device:
            note = f"calibration of cuda:{index} of this machine, which has the name of the run's device"
            return Choice("calibration", kept.vector(), device, note)
    return None


@functools.cache
def _kept(index: int) -> Calibration | None:
    try:
        return kept(f"cuda:{index}")[0]
    except (_core.Error, ImportError, OSError, ValueError):
        return None  # no such device, or no driver


def _of_datasheet(device: str) -> Choice:
    sheet = _core.datasheets().get(device)
    if sheet is None:
        note = (
            f"{device} was not calibrated here and has no datasheet among ours; `--ceilings FILE` takes a calibration"
        )
        return Choice("none", None, device, note)
    low, high = (_core.policy()[name]["default"] for name in ("regime_sheet_low", "regime_sheet_high"))
    note = f"datasheet of {device}, of which {low:.0%} to {high:.0%} are reached: wide uncertainty, no measurement"
    return Choice("datasheet", sheet_vector(sheet, low, high), device, note)


def sheet_vector(sheet: Mapping[str, Any], low: float, high: float) -> "NDArray[np.float64]":
    """Return ceilings between `low` and `high` of the peaks of a datasheet. The bandwidth itself stands as that of
    reads, which is the most that can be: what is between is no error.
    """
    import numpy as np

    middle = math.sqrt(low * high)
    rows = np.full((len(_core.CEILINGS), 2), math.nan)
    peaks = {f"compute_{pipe}": rate for pipe, rate in sheet["peaks"].items()}
    for token, peak in {**peaks, "memory_copy": sheet["bytes_per_s"]}.items():
        rows[_core.CEILINGS.index(token)] = peak * middle, high / middle - 1
    rows[_core.CEILINGS.index("memory_read")] = sheet["bytes_per_s"], 0
    return rows
