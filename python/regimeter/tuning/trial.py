# SPDX-License-Identifier: Apache-2.0
"""One tuning: calls a function with each configuration in turns, times it, and lets the race decide."""

import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Literal

from .. import _core
from ..system.quantities import finite

NS = 1e-9
LARGEST = (1 << 31) - 1  # grid that CUDA launches (maxGridDimX)
Timer = Literal["host", "returned", "torch"]
Measure = Callable[[Callable[["KernelConfig"], Any], "KernelConfig"], float]


@dataclass(frozen=True, slots=True)
class KernelConfig:
    """A launch configuration: threads of a block, and the blocks that cover the data with one element a thread.

    No grid is larger than CUDA launches, 2**31 - 1 blocks. Where that many do not cover the data the kernel has to go
    on by the size of the grid until it has seen all of it (a grid-stride loop).
    """

    block_size: int
    grid_size: int = 1

    def __post_init__(self) -> None:
        """Refuse sizes that cannot be."""
        for name in ("block_size", "grid_size"):
            value = getattr(self, name)
            if not isinstance(value, int) or not 1 <= value <= LARGEST:
                raise ValueError(f"{name} is 1 to {LARGEST}, not {value!r}")

    def covering(self, data_size: int) -> "KernelConfig":
        """Return the same block with the grid that covers `data_size` elements, or the largest there is."""
        return KernelConfig(self.block_size, min(max(-(-data_size // self.block_size), 1), LARGEST))


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a tuning found of a configuration.

    `median` is in seconds; `ratio` is its time over that of the default in the same rounds, with an interval that
    holds for all comparisons of the tuning together; None where it was not measured. `reason` says why it is out.
    """

    config: KernelConfig
    rounds: int
    median: float | None
    ratio: float | None
    low: float | None
    high: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class TuningResult:
    """A tuning: what was chosen, why, and how often the function was called.

    `outcome` is ``best``, ``better``, ``kept`` or ``no_difference``; `text` says it in words. `level` is the one-sided
    level of each single comparison, which keeps the whole tuning at `alpha`.
    """

    kernel: str
    data_size: int
    config: KernelConfig
    outcome: str
    text: str
    candidates: tuple[Candidate, ...]
    rounds: int
    calls: int
    warmup_calls: int
    alpha: float
    level: float

    def __str__(self) -> str:
        """Return the result as text."""
        first = (
            f"{self.kernel}, {self.data_size} elements: block {self.config.block_size} ({self.text}; "
            f"{self.rounds} rounds, {self.calls} calls of which {self.warmup_calls} to warm up)"
        )
        return "\n".join([first] + [f"  {_candidate_text(row)}" for row in self.candidates])


class Trial:
    """One tuning: calls the function, times it, and feeds the race."""

    def __init__(
        self,
        fn: Callable[[KernelConfig], Any],
        configs: list[KernelConfig],
        measure: Measure,
        order: random.Random,
    ) -> None:
        """Take what is called, with what, how it is timed, and what orders the rounds."""
        self.fn, self.configs, self.measure, self.random = fn, configs, measure, order
        self.errors: dict[int, str] = {}
        self.calls = 0

    def run(self, name: str, data_size: int, warmup: int, policy: dict[str, float]) -> TuningResult:
        """Run the tuning to its end; an error of the first configuration ends it."""
        race = _core.Race(len(self.configs), **policy)
        for _ in range(warmup):
            for number in range(len(self.configs)):
                self._call(race, number, self.fn)
        warmup_calls, running = self.calls, race.takes_part(0)
        while running:
            running = self._round(race)
        found = race.result()
        return TuningResult(
            kernel=name,
            data_size=data_size,
            config=self.configs[found["pick"]],
            outcome=found["outcome"],
            text=found["text"],
            candidates=tuple(self._candidate(race, number) for number in range(len(self.configs))),
            rounds=found["rounds"],
            calls=self.calls,
            warmup_calls=warmup_calls,
            alpha=policy["alpha"],
            level=found["level"],
        )

    def _round(self, race: _core.Race) -> bool:
        order = [number for number in range(len(self.configs)) if race.takes_part(number)]
        self.random.shuffle(order)
        times = [math.nan] * len(self.configs)
        for number in order:
            seconds = self._call(race, number, lambda config: self.measure(self.fn, config))
            if seconds is not None:
                times[number] = seconds
        if not race.takes_part(0) and race.result()["outcome"] != "running":
            return False  # those that failed ended it
        return race.round(times)

    def _call(self, race: _core.Race, number: int, call: Callable[[KernelConfig], Any]) -> Any:
        """Return what the call returns, None after a failure, which takes the configuration out."""
        if number in self.errors:
            return None
        self.calls += 1
        try:
            return call(self.configs[number])
        except Exception as error:
            if number == 0:
                raise
            self.errors[number] = f"failed: {type(error).__name__}: {error}"
            race.withdraw(number)
            return None

    def _candidate(self, race: _core.Race, number: int) -> Candidate:
        row = race.candidate(number)
        reason = self.errors.get(number, "")
        if row["beaten_by"] is not None:
            reason = f"slower than block {self.configs[row['beaten_by']].block_size}"
        figures = {name: finite(row[name]) for name in ("median", "ratio", "low", "high")}
        return Candidate(config=self.configs[number], rounds=row["rounds"], reason=reason, **figures)


def measure_by(timer: str) -> Measure:
    """Return what times one call; UnavailableError for torch without a device, ValueError for no timer."""
    if timer == "host":
        return _host_seconds
    if timer == "returned":
        return lambda fn, config: float(fn(config))
    if timer == "torch":
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_available():
            raise _core.UnavailableError("timer='torch' needs torch, imported, with a CUDA device")
        return lambda fn, config: _torch_seconds(torch, fn, config)
    raise ValueError(f"timer is 'host', 'torch' or 'returned', not {timer!r}")


def _host_seconds(fn: Callable[[KernelConfig], Any], config: KernelConfig) -> float:
    begin = perf_counter_ns()
    fn(config)
    return NS * (perf_counter_ns() - begin)


def _torch_seconds(torch: Any, fn: Callable[[KernelConfig], Any], config: KernelConfig) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    fn(config)
    end.record()
    end.synchronize()
    return 1e-3 * float(begin.elapsed_time(end))


def _candidate_text(row: Candidate) -> str:
    parts = [f"block {row.config.block_size}: {row.rounds} rounds"]
    if row.median is not None:
        parts.append(f"median {1e6 * row.median:.1f} us")
    if row.ratio is not None:
        within = f" ({row.low:.3f} to {row.high:.3f})" if row.low is not None and row.high is not None else ""
        parts.append(f"{row.ratio:.3f} of the default{within}")
    return ", ".join(parts + ([row.reason] if row.reason else []))
