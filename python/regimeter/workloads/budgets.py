# SPDX-License-Identifier: Apache-2.0
"""Budgets: what a kernel may take, from a file, and whether a run kept to it.

A budget is exceeded when the whole interval of the median lies above it, so that noise alone fails no gate.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from .. import _core
from .backends import BACKENDS
from .catalog import Workload, workloads
from .policy import thresholds
from .statistics import HOST_CALL, KERNEL, KernelStats, Times
from .steady import STEADY_FAULTS
from .suite import WorkloadReport

UNITS_NS = {"us": 1e3, "ms": 1e6, "ns": 1.0}
QUANTITIES = (HOST_CALL, KERNEL, "cv")
ABOUT = ("backend", "device", "size")
WITHIN, NEAR, OVER, UNCHECKED = "within", "near limit", "over", "not checked"
TIMED = re.compile(r"(host_call|kernel)_(.*)")


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit of one kernel: `quantity` is host_call or kernel (nanoseconds), or cv (a share of one).

    backend, device: what it is for, '' for any; the device's name contains `device`. sizes: all parameters.
    """

    kernel: str
    quantity: str
    limit: float
    backend: str = ""
    device: str = ""
    sizes: Mapping[str, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The limit in words."""
        if self.quantity == "cv":
            return f"{100 * self.limit:g} %"
        return f"{self.limit / 1e3:,.10g} us"


@dataclass(frozen=True, slots=True)
class Budgets:
    """The budgets of a file."""

    path: str
    rows: tuple[Budget, ...]

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> "Budgets":
        """Read a file of budgets, the documented ones without a path.

        OSError for a file that cannot be read, FormatError with file, key and remedy for one that is no such file.
        """
        place = files(__package__) / "budgets.toml" if path is None else Path(path)
        return cls.parse(place.read_bytes(), "the documented budgets" if path is None else os.fspath(path))

    @classmethod
    def parse(cls, data: bytes, path: str = "budgets") -> "Budgets":
        """Read budgets from the text of a file. FormatError as for :meth:`load`."""
        try:
            document = tomllib.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:  # also of UTF-8, and of numbers without end
            raise _core.FormatError(f"{path}: no TOML: {error}; see docs/workloads.md for an example") from None
        reader = _Reader(path)
        reader.only(document, ("defaults", "kernels"), "")
        defaults = reader.table(document.get("defaults", {}), "defaults")
        reader.only(defaults, ("backend", "device"), "defaults.")
        kernels = reader.table(document.get("kernels", {}), "kernels")
        if not kernels:
            raise _core.FormatError(f"{path}: no table [kernels.NAME]; add one with host_call_us, kernel_us or cv")
        rows = [row for name, table in kernels.items() for row in reader.kernel(name, table, defaults)]
        return cls(path, tuple(rows))


class _Reader:
    """Checks of one file; every refusal names the file, the key and the remedy."""

    def __init__(self, path: str) -> None:
        self.path, self.known = path, workloads()

    def refuse(self, key: str, problem: str) -> _core.FormatError:
        return _core.FormatError(f"{self.path}: {key}: {problem}")

    def table(self, value: Any, key: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.refuse(key, "a table is expected")
        return value

    def only(self, table: Mapping[str, Any], valid: tuple[str, ...], place: str) -> None:
        for key in table:
            if key not in valid:
                near = get_close_matches(key, valid, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(valid)}"
                raise self.refuse(place + key, f"unknown key; {hint}")

    def kernel(self, name: str, value: Any, defaults: Mapping[str, Any]) -> list[Budget]:
        place = f"kernels.{name}"
        if name not in self.known:
            near = get_close_matches(name, self.known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(self.known)}"
            raise self.refuse(place, f"no workload is called so; {hint}")
        table = self.table(value, place)
        about = {key: self.text(key, {**defaults, **table}, place) for key in ("backend", "device")}
        if about["backend"] and about["backend"] not in BACKENDS:
            raise self.refuse(f"{place}.backend", f"no such backend; there are: {', '.join(BACKENDS)}")
        sizes = self.sizes(self.known[name], self.table(table.get("size", {}), f"{place}.size"), place)
        found = [
            Budget(name, *self.limit(key, table[key], place), about["backend"], about["device"], sizes)
            for key in table
            if key not in ABOUT
        ]
        if not found:
            raise self.refuse(place, "no budget; add host_call_us, kernel_us or cv")
        if len({one.quantity for one in found}) < len(found):
            raise self.refuse(place, "two budgets for one quantity; keep one")
        return found

    def text(self, key: str, table: Mapping[str, Any], place: str) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise self.refuse(f"{place}.{key}", f"a text is expected, got {value!r}")
        return value

    def sizes(self, workload: Workload, table: Mapping[str, Any], place: str) -> dict[str, float]:
        for key, value in table.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise self.refuse(f"{place}.size.{key}", f"a number is expected, got {value!r}")
        try:
            return workload.sizes(table)
        except (ValueError, OverflowError) as error:
            raise self.refuse(f"{place}.size", str(error)) from None

    def limit(self, key: str, value: Any, place: str) -> tuple[str, float]:
        match = TIMED.fullmatch(key)
        if match and match[2] not in UNITS_NS:
            raise self.refuse(f"{place}.{key}", f"unknown unit {match[2]!r}; write {match[1]}_us, _ms or _ns")
        if not match and key != "cv":
            raise self.refuse(f"{place}.{key}", "unknown key; there are: host_call_us, kernel_us (also _ms, _ns), cv, "
                              + ", ".join(ABOUT))  # fmt: skip
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
            raise self.refuse(f"{place}.{key}", f"a number above 0 is expected, got {str(value)[:40]!r}")
        return ("cv", float(value)) if not match else (match[1], float(value) * UNITS_NS[match[2]])


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """A budget and what became of it: within, near limit, over or not checked (with the reason).

    value: the median in nanoseconds, or the coefficient of variation; low, high: its interval.
    """

    budget: Budget
    state: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values; times in nanoseconds."""
        one = self.budget
        return {
            "kernel": one.kernel,
            "quantity": one.quantity,
            "limit": one.limit,
            "unit": "" if one.quantity == "cv" else "ns",
            "backend": one.backend,
            "device": one.device,
            "state": self.state,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "reason": self.reason,
        }


def check_budgets(
    budgets: Budgets, report: WorkloadReport, *, force: bool = False, policy: Mapping[str, float] | None = None
) -> list[BudgetResult]:
    """Hold a run to budgets; a budget for another backend, device or size is not checked, the first two with `force`.

    over: the lower end of the interval of the median (of the coefficient of variation) exceeds the limit. near limit:
    not over, and its upper end reaches `near_share` of the limit.
    """
    limits = thresholds(policy)
    stats = {one.name: one for one in report.stats}
    return [_check(one, stats.get(one.kernel), report, limits, force) for one in budgets.rows]


def _check(
    one: Budget, stats: KernelStats | None, report: WorkloadReport, policy: Mapping[str, float], force: bool
) -> BudgetResult:
    if stats is None:
        return BudgetResult(one, UNCHECKED, reason=report.left_out.get(one.kernel, "not run"))
    if dict(stats.parameters) != dict(one.sizes):
        return BudgetResult(one, UNCHECKED, reason=f"for another size; this run: {stats.workload_description}")
    if not force and one.backend and stats.backend != one.backend:
        return BudgetResult(one, UNCHECKED, reason=f"for backend {one.backend}; this run: {stats.backend}")
    if not force and one.device.lower() not in stats.device.lower():
        return BudgetResult(one, UNCHECKED, reason=f"for device {one.device}; this run: {stats.device}")
    quantity = one.quantity  # a variation is that of the kernel alone, where it was timed
    if quantity == "cv":
        quantity = KERNEL if stats.kernel is not None else HOST_CALL
    times: Times | None = getattr(stats, quantity)
    if times is None:
        return BudgetResult(one, UNCHECKED, reason=stats.unavailable.get(quantity, "not timed"))
    if one.quantity == "cv":
        value, interval = times.cv, times.cv_interval(policy["confidence"], int(policy["resamples"]))
    else:
        value, interval = times.p50_ns, times.median_interval(policy["confidence"])
    if interval is None:
        count = len(times.totals_ns)
        return BudgetResult(one, UNCHECKED, value, reason=f"{count} times are too few for an interval; use 6 or more")
    faults = times.faults_per_run or 0.0
    doubt = "" if faults < STEADY_FAULTS else f"{faults:,.0f} page faults a run: the time has new pages in it"
    state = OVER if interval[0] > one.limit else NEAR if interval[1] >= policy["near_share"] * one.limit else WITHIN
    return BudgetResult(one, state, value, *interval, doubt)


def exit_code(results: list[BudgetResult]) -> int:
    """Return 1 when a budget is exceeded, 5 when none could be checked, else 0."""
    states = [one.state for one in results]
    return 1 if OVER in states else 5 if set(states) <= {UNCHECKED} else 0
