# SPDX-License-Identifier: Apache-2.0
"""What the markers of a test ask for: the gate of its figures, and its budgets."""

import datetime
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from ..system import quantities

METRICS = ("time", "device_time", "memory_peak", "launches", "instructions")
ALIASES = {"gpu_time": "device_time", "peak_memory": "memory_peak", "memory": "memory_peak"}
# Budgets, and how the limit of each is read; those without a limit are promises.
LIMITS: dict[str, Callable[[Any], float] | None] = {
    "limit_time": partial(quantities.seconds, bare="s"),
    "limit_memory": partial(quantities.size, bare="B"),
    "limit_launches": None,
}
PROMISES = ("no_host_sync", "no_leak")
BUDGETS = (*LIMITS, *PROMISES)
WHEN = ("always", "available")


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit that needs no baseline. when: 'always', or 'available' to pass where the figure cannot be measured."""

    name: str
    limit: float = 0.0
    when: str = "always"
    metric: str = "time"

    @property
    def text(self) -> str:
        """The limit as a person writes it."""
        if self.name == "limit_time":
            return quantities.time_text(self.limit)
        return quantities.size_text(self.limit) if self.name == "limit_memory" else f"{self.limit:g}"


@dataclass(frozen=True, slots=True)
class Gate:
    """How a test's figures are judged; None stands for what the session's options say. threshold: in percent."""

    threshold: float | None = None
    metrics: tuple[str, ...] | None = None
    pairs: int | None = None
    min_share: float | None = None
    group: str | None = None
    accept: str | None = None
    until: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary of JSON values."""
        return asdict(self)

    def accepted(self, today: datetime.date) -> str | None:
        """Return why a regression of the test is accepted today, None when it is not."""
        return None if self.accept is None or self.expired(today) else self.accept

    def expired(self, today: datetime.date) -> bool:
        """Tell whether an acceptance has run out; its last day counts."""
        return self.accept is not None and self.until is not None and today > datetime.date.fromisoformat(self.until)


def metric(name: str) -> str:
    """Return the metric of a name or an alias. ValueError for an unknown one."""
    found = ALIASES.get(name, name)
    if found not in METRICS:
        raise ValueError(f"unknown metric {name!r}; valid are: {', '.join((*METRICS, *ALIASES))}")
    return found


def budget(name: str, *given: Any, when: str = "always", metric: str = "time") -> Budget:
    """Return the budget that a marker or a call describes. ValueError where it is not understood."""
    if when not in WHEN:
        raise ValueError(f"{name}: when is one of {', '.join(map(repr, WHEN))}, not {when!r}")
    if metric not in ("time", "device_time") or (metric != "time" and name != "limit_time"):
        raise ValueError(f"{name}: metric={metric!r} is not understood; limit_time takes 'time' or 'device_time'")
    if name in PROMISES:
        if given:
            raise ValueError(f"{name} takes no limit")
        return Budget(name, when=when)
    if len(given) != 1:
        raise ValueError(f"{name} takes one limit")
    read = LIMITS[name]
    if read is None:
        if not isinstance(given[0], int) or isinstance(given[0], bool) or given[0] < 0:
            raise ValueError(f"{name}: {given[0]!r} is not a number of launches")
        return Budget(name, float(given[0]), when)
    return Budget(name, read(given[0]), when, metric)


def gate(options: Mapping[str, Any]) -> tuple[Gate, list[Budget]]:
    """Return the gate and the budgets of gpu_perf's arguments. ValueError names what is wrong with them."""
    rest = dict(options)
    budgets = []
    for name in BUDGETS:
        value = rest.pop(name, None)
        if value is not None and value is not False:
            budgets.append(budget(name) if name in PROMISES else budget(name, value))
    fields: dict[str, Any] = {}
    for name, value in rest.items():
        read = READERS.get(name)
        if read is None:
            raise ValueError(f"gpu_perf has no argument {name!r}; valid are: {', '.join((*READERS, *BUDGETS))}")
        fields[name] = None if value is None else read(value)
    if fields.get("until") is not None and fields.get("accept") is None:
        raise ValueError("gpu_perf(until=...) is the end of an acceptance: say accept='reason' too")
    return Gate(**fields), budgets


def of_item(markers: Iterable[Any], *, own_memory: bool) -> tuple[Gate, list[Budget]]:
    """Return gate and budgets of a test's markers, the closest first; own_memory: limit_memory is ours to read."""
    options: dict[str, Any] = {}
    budgets: dict[str, Budget] = {}
    for marker in markers:
        if marker.name == "gpu_perf":
            if marker.args:
                raise ValueError("gpu_perf takes named arguments only")
            options = {**marker.kwargs, **options}
        elif marker.name in BUDGETS and (own_memory or marker.name != "limit_memory"):
            budgets.setdefault(marker.name, budget(marker.name, *marker.args, **marker.kwargs))
    found, named = gate(options)
    for one in named:
        budgets.setdefault(one.name, one)
    return found, list(budgets.values())


# --- reading arguments ------------------------------------------------------------------------------------------


def _metrics(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    if not names:
        raise ValueError("metrics is an empty list")
    return tuple(dict.fromkeys(metric(name) for name in names))


def _pairs(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"pairs is a number of at least 1, got {value!r}")
    return value


def _share(value: Any) -> float:
    share = quantities.percent(value) / 100 if isinstance(value, str) else float(value)
    if not math.isfinite(share) or not 0 <= share <= 1:
        raise ValueError(f"min_share is a part of the whole, 0 to 1 or '0.5%', got {value!r}")
    return share


def _reason(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("accept is the reason why a slowdown is accepted, as text")
    return value


def _date(value: Any) -> str:
    try:
        day = value if isinstance(value, datetime.date) else datetime.date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"until is a date such as '2026-12-31', got {value!r}") from None
    return day.isoformat()[:10]


READERS: dict[str, Callable[[Any], Any]] = {
    "threshold": quantities.percent,
    "metrics": _metrics,
    "pairs": _pairs,
    "min_share": _share,
    "group": str,
    "accept": _reason,
    "until": _date,
}
