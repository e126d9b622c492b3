# SPDX-License-Identifier: Apache-2.0
"""The fixture gpu_benchmark: times a function, checks its budgets, and leaves a record for the judgement."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ..compare.ab import device, duet, memory
from ..compare.ab.measure import CLOCKS, Effort, Measurement, measure, measure_exactly
from . import counts
from .budgets import Figures, check, needs_trace
from .gate import Budget, Gate, budget
from .records import Record


@dataclass(slots=True)
class Setting:
    """What the session says to every benchmark.

    refused: why device work is not timed here, '' when it is. counts: instructions are counted in place of times; log:
    in this process, whose messages of Callgrind go there.
    """

    effort: Effort = field(default_factory=Effort)
    timed: bool = True
    counts: bool = False
    log: str | None = None
    workers: int = 1
    refused: str = ""
    tracked: tuple[str, ...] = ()


class Limits:
    """Budgets of a fixture: those of the test's markers, and those that the test adds."""

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = {one.name: one for one in budgets}
        self._used = ""
        self._notes: list[str] = []

    def limit_time(self, limit: str | float, *, metric: str = "time", when: str = "always") -> None:
        """Fail the test where the median time of a call exceeds the limit, as "3 ms"."""
        self._add(budget("limit_time", limit, metric=metric, when=when))

    def limit_memory(self, limit: str | float, *, when: str = "always") -> None:
        """Fail the test where the peak of memory exceeds the limit, as "2 GiB"."""
        self._add(budget("limit_memory", limit, when=when))

    def limit_launches(self, limit: int, *, when: str = "always") -> None:
        """Fail the test where one call launches more pieces of device work."""
        self._add(budget("limit_launches", limit, when=when))

    def no_host_sync(self, *, when: str = "always") -> None:
        """Fail the test where the host waits for the device inside a call."""
        self._add(budget("no_host_sync", when=when))

    def no_leak(self, *, when: str = "always") -> None:
        """Fail the test where repeated calls hold more and more memory."""
        self._add(budget("no_leak", when=when))

    @property
    def budgets(self) -> list[Budget]:
        """The budgets so far."""
        return list(self._budgets.values())

    def _add(self, one: Budget) -> None:
        self._budgets[one.name] = one
        if self._used:
            raise RuntimeError(f"{one.name}: name the budgets before the code is measured")

    def _check(self, figures: Figures) -> None:
        failures, self._notes = check(self.budgets, figures)
        if failures:
            pytest.fail("; ".join(failures), pytrace=False)


class GPUBenchmark(Limits):
    """Times a function; the test's own assertions go on with what the function returned.

    ::

        def test_layer_norm(gpu_benchmark):
            out = gpu_benchmark(layer_norm, x)
            assert out.shape == x.shape

    samples: seconds a call of each round, once it has been timed. extra_info: kept with the record.
    """

    def __init__(self, test: str, gate: Gate, budgets: Sequence[Budget], setting: Setting) -> None:
        super().__init__(budgets)
        self.extra_info: dict[str, Any] = {}
        self.group = gate.group
        self.records: list[Record] = []
        self._test, self._gate, self._setting = test, gate, setting

    @property
    def samples(self) -> list[float]:
        """Seconds a call of each round; empty before the code was timed, and with --perf-disable."""
        return [value for record in self.records for launch in record.metrics.get("time", ()) for value in launch]

    @property
    def median(self) -> float | None:
        """The median of the samples in seconds, None where nothing was timed."""
        return self.records[0].typical() if self.records else None

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Time function(*args, **kwargs), called as often as the budget of time allows; return its last result."""
        self._once("gpu_benchmark(...)")
        call = functools.partial(function, *args, **kwargs) if args or kwargs else function
        if not self._timed():
            return call()
        if self._setting.log is not None:
            return self._counted(counts.measure(call, self._setting.log))
        found = measure(call, self._setting.effort)
        return self._done(found, call)

    def pedantic(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        setup: Callable[[], Any] | None = None,
        teardown: Callable[..., Any] | None = None,
        rounds: int = 1,
        warmup_rounds: int = 0,
        iterations: int = 1,
        *,
        clock: str = "wall",
    ) -> Any:
        """Time exactly rounds x iterations calls after warmup_rounds x iterations; return the last result.

        setup: called before each round, not timed; may return (args, kwargs) for the calls, with one iteration only.
        teardown: called after each round with the arguments, not timed. ValueError for numbers that do not fit.
        """
        self._once("gpu_benchmark.pedantic(...)")
        _check_counts(rounds, warmup_rounds, iterations, clock)
        if setup is not None and iterations != 1:
            raise ValueError("setup makes the arguments of one call: iterations has to be 1")

        def make() -> tuple[Callable[[], Any], Callable[[], object]]:
            given, named = args, kwargs or {}
            if setup is not None:
                made = setup()
                if made is not None:
                    if len(args) or kwargs:
                        raise TypeError("both the call and setup give arguments")
                    given, named = made
            end = functools.partial(teardown, *given, **named) if teardown is not None else _nothing
            return functools.partial(target, *given, **named), end

        if not self._timed():
            call, end = make()
            result = call()
            end()
            return result
        if self._setting.log is not None:
            return self._counted(counts.measure_exactly(make, self._setting.log, rounds=rounds, iterations=iterations))
        found = measure_exactly(make, rounds=rounds, iterations=iterations, warmup=warmup_rounds, clock=clock)

        def once() -> Any:
            call, end = make()
            result = call()
            end()
            return result

        return self._done(found, once, clock)

    def duet(
        self,
        old: Callable[..., Any],
        new: Callable[..., Any],
        /,
        *args: Any,
        pairs: int | None = None,
        clock: str = "wall",
        seed: int = 0,
        **kwargs: Any,
    ) -> "duet.Duet":
        """Compare two functions that live in this process, called alternately in random order, pair by pair.

        pairs: how many, by default the marker's, else 150. clock: 'wall', or 'cpu' for the time that this thread
        computed, which other processes do not disturb. What differs from process to process is the same for both
        and cannot be seen; the result says so.
        """
        self._once("gpu_benchmark.duet(...)")
        count = pairs if pairs is not None else self._gate.pairs or duet.PAIRS
        _check_counts(count, 0, 1, clock)
        calls = [functools.partial(function, *args, **kwargs) for function in (old, new)]
        if not self._timed(kind="duet") or self._setting.log is not None:
            return duet.Duet(results=(calls[0](), calls[1]()))
        found = duet.play(calls[0], calls[1], pairs=count, clock=clock, seed=seed)
        record = self._record(kind="duet")
        record.metrics, record.old = {"time": found.new}, {"time": found.old}
        record.rounds, record.iterations, record.clock = count, found.iterations, clock
        self.records.append(record)
        if self.budgets:
            self._check(self._figures_of(record, Measurement(memory=None), calls[1]))
            record.notes += self._notes
        return found

    # --- inside --------------------------------------------------------------------------------------------

    def _once(self, how: str) -> None:
        if self._used:
            raise RuntimeError(f"{how}: a test times one thing, and this one has used {self._used} already")
        self._used = how

    def _timed(self, kind: str = "benchmark") -> bool:
        """Tell whether to time; where a device's work must not be timed, its budgets cannot be checked either."""
        setting = self._setting
        if not setting.timed:
            return False
        if setting.counts:
            if setting.log is None:  # the record of what is counted afterwards
                self.records.append(self._record(kind))
                if kind == "duet":
                    self.records[-1].unavailable["instructions"] = counts.TIMED_ONLY
            return setting.log is not None
        if setting.refused and device.present():
            record = self._record()
            record.unavailable = dict.fromkeys(("time", "device_time", "memory_peak"), setting.refused)
            self.records.append(record)
            names = ("time", "device_time", "memory", "launches", "syncs")
            self._check(Figures(unavailable=dict.fromkeys(names, setting.refused)))
            record.notes += self._notes
            return False
        return True

    def _record(self, kind: str = "benchmark") -> Record:
        return Record(
            operation=self._test,
            test=self._test,
            kind=kind,
            gate=self._gate.to_dict(),
            group=self.group,
            workers=self._setting.workers,
            disturbed=list(self._setting.tracked),
            extra_info=self.extra_info,
        )

    def _counted(self, found: Measurement) -> Any:
        record = self._record()
        record.metrics[counts.METRIC] = [found.seconds]
        record.rounds, record.iterations, record.warmup = found.rounds, found.iterations, found.warmup
        record.clock = counts.CLOCK
        self.records.append(record)
        return found.result

    def _done(self, found: Measurement, call: Callable[[], Any], clock: str = "wall") -> Any:
        record = self._record()
        record.metrics["time"] = [found.seconds]
        if found.device_seconds:
            record.metrics["device_time"] = [found.device_seconds]
        if found.memory is not None:
            record.metrics["memory_peak"] = [[found.memory]]
            record.memory_source = found.memory_source
        record.rounds, record.iterations, record.warmup = found.rounds, found.iterations, found.warmup
        record.clock, record.unavailable = clock, found.unavailable
        record.disturbed += found.disturbed
        self.records.append(record)
        wants_launches = "launches" in (self._gate.metrics or ())
        if self.budgets or wants_launches:
            figures = self._figures_of(record, found, call)
            if wants_launches and "launches" in figures.values:
                record.metrics["launches"] = [[figures.values["launches"]]]
            elif wants_launches:
                record.unavailable["launches"] = figures.unavailable["launches"]
            self._check(figures)
            record.notes += self._notes
        return found.result

    def _figures_of(self, record: Record, found: Measurement, call: Callable[[], Any]) -> Figures:
        figures = Figures(basis=f"a call (median of {record.rounds} rounds)", memory_source=found.memory_source)
        figures.unavailable = dict(found.unavailable)
        figures.unavailable["memory"] = found.unavailable.get("memory_peak", "a duet does not measure memory")
        for name in ("time", "device_time"):
            value = record.typical(name)
            if value is not None:
                figures.values[name] = value
        if found.memory is not None:
            figures.values["memory"] = found.memory
        if needs_trace(self.budgets) or "launches" in (self._gate.metrics or ()):
            seen, _ = device.trace(call)
            add_trace(figures, seen)
        figures.leak = functools.partial(memory.find_leak, call)
        return figures


def add_trace(figures: Figures, seen: device.Trace) -> None:
    """Add what a traced call did, or why that is not known."""
    if seen.reason:
        figures.unavailable |= {"launches": seen.reason, "syncs": seen.reason}
    else:
        figures.values |= {"launches": float(seen.launches), "syncs": float(seen.syncs)}
        figures.waits = seen.waits


def _check_counts(rounds: int, warmup: int, iterations: int, clock: str) -> None:
    counts: tuple[tuple[str, object, int], ...] = (
        ("rounds", rounds, 1),
        ("warmup_rounds", warmup, 0),
        ("iterations", iterations, 1),
    )
    for name, value, least in counts:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} is a number of at least {least}, got {value!r}")
    if clock not in CLOCKS:
        raise ValueError(f"unknown clock {clock!r}; valid are: {', '.join(CLOCKS)}")


def _nothing() -> None:
    return None
