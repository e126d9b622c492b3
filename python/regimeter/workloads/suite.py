# SPDX-License-Identifier: Apache-2.0
"""Running workloads, and the report of a run."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TextIO

from .. import _core
from ..compare.side import Side
from ..system.description import describe
from ..system.joints import joint
from ..system.text import say
from ..tuning.gpu_monitoring import existing_monitor
from .advice import Advice, advice_of
from .alerts import Alert, alerts_of, slowed_by
from .backend import Backend, Request
from .backends import AUTO, resolve
from .catalog import Workload, choose, sizes_for, workloads
from .policy import thresholds
from .python_timing import time_calls
from .statistics import KernelStats

FORMAT = "regimeter.workloads"


@dataclass(frozen=True)
class WorkloadReport:
    """Measured kernels, what was chosen, and what stands out. left_out: workloads that could not run, and why."""

    stats: tuple[KernelStats, ...]
    warmup: int = 0
    note: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    policy: Mapping[str, float] = field(default_factory=thresholds)
    environment: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> KernelStats:
        """Return a kernel by name. KeyError when it was not measured."""
        for one in self.stats:
            if one.name == name:
                return one
        raise KeyError(f"{name}: {self.left_out.get(name, 'not measured in this run')}")

    @cached_property
    def alerts(self) -> list[Alert]:
        """What stands out, by the policy."""
        return alerts_of(self.stats, self.policy)

    @cached_property
    def recommendations(self) -> list[Advice]:
        """What to try, from what was measured."""
        return advice_of(self.stats, self.alerts, self.policy)

    @property
    def slowest(self) -> list[KernelStats]:
        """The kernels with the largest means, as many as the policy says."""
        return sorted(self.stats, key=lambda one: -one.mean_us)[: int(self.policy["slowest"])]

    @property
    def most_variable(self) -> list[KernelStats]:
        """The kernels with the largest coefficients of variation, as many as the policy says."""
        known = [one for one in self.stats if one.cv is not None]
        return sorted(known, key=lambda one: -(one.cv or 0.0))[: int(self.policy["most_variable"])]

    def side(self, label: str = "workloads") -> Side:
        """Return the run as one process for comparisons and the history: seconds by NAME [BACKEND] and what."""
        side = Side(label, environments=[self._ran_on()])
        time = side.metric("time")
        for one in self.stats:
            for what, times in (("host call", one.host_call), ("kernel", one.kernel)):
                if times is not None:
                    time.add(operation_name(one, what), times.ns * 1e-9)
        return side

    def _ran_on(self) -> dict[str, Any]:
        """Return the environment with the GPUs that kernels ran on; the others of the machine took no part."""
        used = list(dict.fromkeys(one.device for one in self.stats if one.device))
        used = [name for name in used if name != self.environment.get("cpu")]
        stated: Any = self.environment.get("gpus") or {}
        rows = [row for row in stated.get("devices") or () if row.get("name") in used]
        rows += [{"name": name} for name in used if name not in [row["name"] for row in rows]]
        return {**self.environment, "gpus": {**stated, "devices": rows}} if used else dict(self.environment)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "format": FORMAT,
            "version": 1,
            "warmup": self.warmup,
            "note": self.note,
            "kernels": [one.to_dict() for one in self.stats],
            "left_out": dict(self.left_out),
            "slowest": [one.name for one in self.slowest],
            "most_variable": [one.name for one in self.most_variable],
            "alerts": [alert.to_dict() for alert in self.alerts],
            "recommendations": [advice.to_dict() for advice in self.recommendations],
            "policy": dict(self.policy),
            "environment": dict(self.environment),
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, default=str)

    def render(self, style: str = "text") -> str:
        """Return the report as text, markdown or html. ValueError for another style."""
        text: str = joint("workloads")(self, style)
        return text

    def print_summary(self, file: TextIO | None = None) -> None:
        """Print the report as text."""
        say(file, self.render())


def operation_name(one: KernelStats, what: str) -> str:
    """Return the name under which the times of a kernel are compared and kept."""
    known = workloads().get(one.name)
    label = known.label(one.parameters) if known and one.parameters else one.name
    return f"{label} [{one.backend}] {what}" if one.backend else f"{label} {what}"


def run_workloads(
    names: str | Iterable[str] | None = None,
    *,
    backend: str = AUTO,
    sizes: Mapping[str, float] | None = None,
    warmup: int = 3,
    iterations: int = 20,
    calls: int | None = None,
    device: int | str = 0,
    threads: int = 0,
    policy: Mapping[str, float] | None = None,
    tell: Callable[[str], None] | None = None,
) -> WorkloadReport:
    """Run workloads (all nine without names) and return what was measured.

    backend: of `backends()`, or 'auto': the device where one can run a workload, else 'c'. sizes: parameters in place
    of the documented ones, {"n": 4096} or {"conv2d.height": 512}. warmup: runs before the times. iterations: kernels
    timed; calls: host calls timed, each for itself (default: as many as iterations, 0 for none). device: ordinal, or a
    name of torch. threads: of the C backend, 0 for as many as pay. tell: called with each name before it runs. A global
    monitor that the program has made (`get_global_monitor`) is told of each time.

    ValueError for a name, size or number that cannot be; UnavailableError where the backend can run none of them.
    """
    chosen, limits = choose(names), thresholds(policy)
    own = sizes_for(chosen, sizes)
    request = Request(
        _count("warmup", warmup, 0),
        _count("iterations", iterations, 1),
        _count("calls", iterations if calls is None else calls, 0),
        device,
        _count("threads", threads, 0),
    )
    runner, note = resolve(backend, device)
    stats, left_out = [], {}
    for workload in chosen:
        if tell is not None:
            tell(workload.name)
        try:
            stats.append(measure(runner, workload, own[workload.name], request))
            _tell_monitor(stats[-1])
        except _core.UnavailableError as error:
            left_out[workload.name] = str(error)
    if not stats:
        raise _core.UnavailableError("; ".join(dict.fromkeys(left_out.values())))
    return WorkloadReport(tuple(stats), warmup, note, left_out, limits, describe())


def _tell_monitor(one: KernelStats) -> None:
    """Record each time, of one run, where the program has a monitor: its report then stands beside that of the run."""
    monitor = existing_monitor()
    times = one.kernel if one.kernel is not None else one.host_call
    if monitor is not None and times is not None:
        for ns in times.ns.tolist():
            monitor.record_kernel_execution(one.name, ns * 1e-9)


def measure(backend: Backend, workload: Workload, sizes: Mapping[str, float], request: Request) -> KernelStats:
    """Run one workload and return its figures, with what slowed the device where that can be known."""
    found = backend.measure(workload, sizes, request)
    operations, moved = workload.work(sizes)
    facts, unavailable = dict(found.facts), dict(found.unavailable)
    if backend.name == "device" or str(facts.get("place", "")).startswith("cuda"):
        reasons, why = slowed_by(request.device if isinstance(request.device, int) else 0)
        facts["slowed_by"] = reasons
        if why:
            unavailable["slowed_by"] = why
    if found.host_call is None:
        unavailable.setdefault("host_call", "host calls were not timed (calls=0)")
    if found.kernel is None:
        unavailable.setdefault("kernel", "this backend cannot time the kernel by itself")
    return KernelStats(
        workload.name,
        workload.describe(sizes),
        backend.name,
        found.device,
        found.host_call,
        found.kernel,
        dict(sizes),
        operations,
        moved,
        unavailable,
        facts,
    )


def profile_kernel(name: str, workload: str, iterations: int, fn: Callable[[], Any], *, warmup: int = 3) -> KernelStats:
    """Time a function of the user's: `warmup` calls, then `iterations` calls that are timed, never more.

    name: of the kernel; workload: what it works on, in words. The times are host calls: a function that only launches
    device work has to wait for it. ValueError for numbers that cannot be; what fn raises passes through.
    """
    _count("warmup", warmup, 0)
    times, _ = time_calls(fn, warmup, _count("iterations", iterations, 1), repeat=False)
    unavailable = {"kernel": "a function was timed from outside: its kernels were not told apart"}
    return KernelStats(name, workload, host_call=times, unavailable=unavailable)


def _count(name: str, value: int, least: int) -> int:
    most = 1 << 20
    if isinstance(value, bool) or int(value) != value or not least <= value <= most:
        raise ValueError(f"{name} is a whole number from {least} to {most:,}, got {value!r}")
    return int(value)
