# SPDX-License-Identifier: Apache-2.0
"""Which launch configuration of a kernel is fastest: measured in turns, decided only where the noise allows it.

    from regimeter import KernelAutotuner

    tuner = KernelAutotuner()
    config = tuner.tune_kernel("smooth", lambda config: smooth(image, config.block_size), image.size)
    print(tuner.result("smooth", image.size))

Every round measures each remaining configuration once, in random order. A configuration is out when another is shown
to beat it; the default is replaced only by one that is shown to beat it. docs/tuning.md states the rule and its error
rate.
"""

import math
import operator
import random
import threading
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

from .. import _core
from . import store as tuning_store
from .store import Decision
from .trial import NS, KernelConfig, Timer, Trial, TuningResult, measure_by

KEPT_SAMPLES = 256
MOST_KERNELS = 4096
MOST_BLOCKS = 64


@dataclass(frozen=True, slots=True)
class AutoTunerConfig:
    """What is tried and how often.

    `block_size_options` are the block sizes, the default first, of which the first `num_configs_to_try` are tried.
    `min_samples_for_tuning` rounds are measured at least; the test needs more to tell anything (12 for five
    configurations at 5 %). After `retune_interval` recorded executions `needs_tuning` is true again. With `enabled`
    false nothing is run and the default is returned. ValueError for values that cannot be.
    """

    enabled: bool = True
    num_configs_to_try: int = 5
    min_samples_for_tuning: int = 3
    retune_interval: int = 1000
    block_size_options: Sequence[int] = (64, 128, 256, 512, 1024)

    def __post_init__(self) -> None:
        """Refuse values that cannot be."""
        for name in ("num_configs_to_try", "min_samples_for_tuning", "retune_interval"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is a whole number of at least 1, not {value!r}")
        options = tuple(self.block_size_options)
        if not options or len(set(options)) != len(options):
            raise ValueError(f"block_size_options are different sizes, at least one, not {options!r}")
        for size in options:
            KernelConfig(size)
        object.__setattr__(self, "block_size_options", options)


@dataclass(slots=True)
class _Known:
    """What is known of a kernel and a bucket of sizes."""

    decision: Decision | None = None
    result: TuningResult | None = None
    executions: int = 0
    since_tuning: int = 0
    samples: dict[int, deque[float]] = field(default_factory=dict)


class KernelAutotuner:
    """Finds and remembers the fastest launch configuration of kernels, by name and size of the data.

    Sizes are put together by powers of two. `device` says what decisions are kept for: None the processor, else a CUDA
    ordinal, whose UUID and driver are part of the file's name. `thresholds` are those of ``tuning_thresholds()``;
    `seed` makes the order within the rounds repeatable. All methods can be called from any thread; tunings of one
    tuner run one after the other, because they would disturb each other.
    """

    def __init__(
        self,
        config: AutoTunerConfig | None = None,
        *,
        device: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        seed: int | None = None,
    ) -> None:
        """Make a tuner that knows nothing; `load` takes over what is kept."""
        self.config = config or AutoTunerConfig()
        self.device = device
        self.problems: list[str] = []
        self._policy = {name: row["default"] for name, row in _core.race_policy().items()}
        self._policy["least_rounds"] = float(self.config.min_samples_for_tuning)
        for name, value in (thresholds or {}).items():
            if name not in self._policy:
                raise ValueError(f"a tuning has no threshold called {name!r}; there are {', '.join(self._policy)}")
            self._policy[name] = float(value)
        self._policy["most_rounds"] = max(self._policy["most_rounds"], self._policy["least_rounds"])
        _core.Race(2, **self._policy)  # refuses thresholds that cannot be
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._tuning = threading.RLock()
        self._known: dict[tuple[str, int], _Known] = {}
        self._dropped = 0
        self._calls = 0

    # --- choosing --------------------------------------------------------------------------------------------------

    def get_tuning_configs(self, data_size: int) -> list[KernelConfig]:
        """Return the configurations that a tuning for so many elements tries, the default first."""
        sizes = list(self.config.block_size_options)[: self.config.num_configs_to_try]
        return [KernelConfig(size).covering(_size(data_size)) for size in sizes]

    def get_config(self, name: str, data_size: int) -> KernelConfig:
        """Return the configuration to use: the one that was decided for this bucket of sizes, else the default."""
        with self._lock:
            known = self._known.get((name, _bucket(data_size)))
            decision = known.decision if known else None
        if decision is None:
            return self.get_tuning_configs(data_size)[0]
        return KernelConfig(decision.block_size).covering(_size(data_size))

    def needs_tuning(self, name: str, data_size: int) -> bool:
        """Return whether nothing is decided yet, or `retune_interval` executions were recorded since.

        False where tuning is switched off.
        """
        with self._lock:
            known = self._known.get((name, _bucket(data_size)))
            if not self.config.enabled:
                return False
            return known is None or known.decision is None or known.since_tuning >= self.config.retune_interval

    def tune_kernel(
        self,
        name: str,
        fn: Callable[[KernelConfig], Any],
        data_size: int,
        *,
        configs: Sequence[KernelConfig] | None = None,
        warmup: int = 1,
        timer: Timer = "host",
    ) -> KernelConfig:
        """Measure `fn` with each configuration and return the one to use.

        `fn(config)` is called `warmup` times with each configuration, which is not measured, then once a round with
        each that remains. `timer` says what is measured: ``host`` the time of the call, so a function that only queues
        device work must wait for it; ``torch`` the time between two CUDA events on torch's current stream;
        ``returned`` the seconds that `fn` returns. A configuration with which `fn` raises is left out and its error
        is in the result; when the default raises, that error is raised. With `enabled` false `fn` is not called.
        """
        given = list(configs) if configs is not None else self.get_tuning_configs(data_size)
        bucket = _bucket(data_size)
        if not given or len(set(given)) != len(given):
            raise ValueError("the configurations of a tuning are different ones, at least one")
        if warmup < 0:
            raise ValueError(f"warmup is at least 0, not {warmup}")
        if not self.config.enabled:
            return given[0]
        with self._tuning:
            trial = Trial(fn, given, measure_by(timer), self._random)
            result = trial.run(name, data_size, warmup, self._policy)
            self._calls += trial.calls
        with self._lock:
            known = self._entry(name, bucket)
            if known is not None:
                known.result, known.since_tuning = result, 0
                known.decision = _decision(result, bucket)
        return result.config

    def tune_workload(
        self, name: str, *, parameters: dict[str, float] | None = None, iterations: int = 5
    ) -> KernelConfig:
        """Tune the block size of one of the nine workloads on the device of this tuner.

        A measurement is the median of `iterations` launches, timed by events on the device. ValueError when the kernel
        is written for one block, as all are but vector_add, or when this tuner has no device.
        """
        if self.device is None:
            raise ValueError("workloads are tuned on a device: KernelAutotuner(device=0)")
        about = _core.workloads().get(name)
        if about is None:
            raise ValueError(f"there is no workload called {name}")
        if not about["any_block"]:
            raise ValueError(f"{name} is written for one block size; there is nothing to choose")
        device, values = self.device, dict(parameters or {})
        size = int(values.get("n", about["parameters"]["n"]["value"]))

        def launch(config: KernelConfig) -> float:
            run = _core.run_workload(
                name, device, parameters=values, warmup=1, iterations=iterations, block=config.block_size
            )
            return NS * float(median(run["times_ns"]))

        return self.tune_kernel(name, launch, size, timer="returned", warmup=1)

    def result(self, name: str, data_size: int) -> TuningResult | None:
        """Return the last tuning in this process for the bucket of this size, None when there was none."""
        with self._lock:
            known = self._known.get((name, _bucket(data_size)))
            return known.result if known else None

    # --- what runs -------------------------------------------------------------------------------------------------

    def record_execution(self, name: str, config: KernelConfig, time: float | timedelta, data_size: int) -> None:
        """Record an execution outside of a tuning; `time` is in seconds or a timedelta.

        The times are reported and count towards `retune_interval`. They decide nothing: executions that were not
        measured in turns differ for other reasons too.
        """
        seconds = time.total_seconds() if isinstance(time, timedelta) else float(time)
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"a time is finite and not negative, not {time!r}")
        with self._lock:
            known = self._entry(name, _bucket(data_size))
            if known is None:
                return
            known.executions += 1
            known.since_tuning += 1
            if config.block_size in known.samples or len(known.samples) < MOST_BLOCKS:
                known.samples.setdefault(config.block_size, deque(maxlen=KEPT_SAMPLES)).append(seconds)

    def get_stats(self) -> dict[str, Any]:
        """Return counts: kernels, tunings by outcome, calls made by tunings, executions recorded and not kept."""
        with self._lock:
            rows = list(self._known.values())
            outcomes = [known.decision.outcome for known in rows if known.decision]
            return {
                "kernels": len({name for name, _ in self._known}),
                "buckets": len(rows),
                "tuned": len(outcomes),
                "outcomes": {token: outcomes.count(token) for token in sorted(tuning_store.OUTCOMES)},
                "tuning_calls": self._calls,
                "executions": sum(known.executions for known in rows),
                "not_kept": self._dropped,
                "problems": list(self.problems),
            }

    def get_report(self) -> str:
        """Return what was decided and recorded as text."""
        with self._lock:
            rows = sorted(self._known.items())
            problems = list(self.problems)
        lines = ["Kernel autotuner" if self.config.enabled else "Kernel autotuner (switched off)"]
        lines += [f"! {text}" for text in problems]
        for (name, bucket), known in rows:
            lines.append(_bucket_text(name, bucket, known))
            for block, times in sorted(known.samples.items()):
                few = len(times) < self.config.min_samples_for_tuning
                shown = "too few for a figure" if few else f"median {1e6 * median(times):.1f} us"
                lines.append(f"    recorded: block {block}, {len(times)} executions, {shown}")
        return "\n".join(lines if rows else [*lines, "nothing was tuned or recorded"])

    # --- on disk ---------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path | None = None) -> Path:
        """Keep the decisions for the next process; return the file, which is written aside and renamed.

        `folder` is the cache folder unless given. OSError when it cannot be written, UnavailableError when the device
        cannot be identified or the cache is switched off.
        """
        path, who = self._place(folder)
        with self._lock:
            decisions = [known.decision for known in self._known.values() if known.decision]
        tuning_store.write(path, who, decisions)
        return path

    def load(self, folder: str | Path | None = None) -> int:
        """Take over the decisions that are kept for this device; return how many.

        A file that is damaged or of another format is not used; a RuntimeWarning, `problems` and the report say so.
        """
        path, who = self._place(folder)
        decisions, problem = tuning_store.read(path, who)
        if problem:
            self.problems.append(problem)
            warnings.warn(problem, RuntimeWarning, stacklevel=2)
        with self._lock:
            for decision in decisions:
                known = self._entry(decision.kernel, decision.bucket)
                if known is not None:
                    known.decision, known.since_tuning = decision, 0
        return len(decisions)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _place(self, folder: str | Path | None) -> tuple[Path, dict[str, Any]]:
        where = Path(folder) if folder is not None else tuning_store.folder()
        who = tuning_store.identity(self.device)
        return tuning_store.path_of(who, where), who

    def _entry(self, name: str, bucket: int) -> _Known | None:
        known = self._known.get((name, bucket))
        if known is None:
            if len(self._known) >= MOST_KERNELS:
                self._dropped += 1
                return None
            known = self._known[name, bucket] = _Known()
        return known


def tuning_thresholds() -> dict[str, dict[str, Any]]:
    """Return the thresholds of a tuning: default, unit and source of each."""
    return dict(_core.race_policy())


def _size(data_size: int) -> int:
    if operator.index(data_size) < 0:
        raise ValueError(f"data_size is a whole number of at least 0, not {data_size!r}")
    return operator.index(data_size)


def _bucket(data_size: int) -> int:
    """Sizes from 2**(b-1) to 2**b - 1 share a bucket."""
    return min(_size(data_size).bit_length(), 64)


def _decision(result: TuningResult, bucket: int) -> Decision:
    chosen = next(row for row in result.candidates if row.config == result.config)
    return Decision(
        kernel=result.kernel,
        bucket=bucket,
        block_size=result.config.block_size,
        outcome=result.outcome,
        rounds=result.rounds,
        ratio=chosen.ratio,
        low=chosen.low,
        high=chosen.high,
    )


def _bucket_text(name: str, bucket: int, known: _Known) -> str:
    sizes = f"{1 << (bucket - 1) if bucket else 0} to {(1 << bucket) - 1} elements"
    if known.decision is None:
        return f"  {name}, {sizes}: not tuned"
    decision = known.decision
    gain = f", {decision.ratio:.3f} of the default's time" if decision.ratio is not None else ""
    return f"  {name}, {sizes}: block {decision.block_size} ({decision.outcome}{gain}; {decision.rounds} rounds)"


KernelAutoTuner = KernelAutotuner
GpuKernelAutotuner = KernelAutotuner
