# SPDX-License-Identifier: Apache-2.0
"""Two variants of a kernel in one process: bursts in random order, pair by pair, through the comparison engine."""

import random
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..compare import compare_samples
from ..compare.ab.duet import BLIND
from ..compare.basis import Basis
from .backend import Request
from .backends import AUTO, resolve
from .catalog import choose
from .policy import thresholds
from .statistics import KernelStats
from .suite import _count, measure, operation_name, profile_kernel

if TYPE_CHECKING:
    from ..compare import ProfilerComparison

PAIRS, BURST = 12, 5


@dataclass(frozen=True, slots=True)
class Variant:
    """One side: a backend and sizes, or a function of the user's."""

    backend: str = AUTO
    sizes: Mapping[str, float] = field(default_factory=dict)
    function: Callable[[], Any] | None = None

    @property
    def text(self) -> str:
        """The variant in words."""
        if self.function is not None:
            return getattr(self.function, "__qualname__", repr(self.function))
        sizes = ",".join(f"{name}={value:g}" for name, value in self.sizes.items())
        return f"{self.backend}:{sizes}" if sizes else self.backend


@dataclass(frozen=True)
class Versus:
    """What the pairs say. One process proves what holds for that process: `cannot_see` says what it cannot."""

    kernel: str
    base: str
    current: str
    pairs: int
    seed: int
    comparison: "ProfilerComparison"
    unavailable: Mapping[str, str] = field(default_factory=dict)

    cannot_see = BLIND.replace("both functions", "both variants").replace("only one version", "only one of them")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "format": "regimeter.workload_ab",
            "version": 1,
            "kernel": self.kernel,
            "base": self.base,
            "current": self.current,
            "pairs": self.pairs,
            "seed": self.seed,
            "cannot_see": self.cannot_see,
            "compared": "bursts in one process",
            "unavailable": dict(self.unavailable),
            "comparison": self.comparison.to_dict(),
        }


def run_versus(
    kernel: str,
    base: Variant | str | Callable[[], Any],
    current: Variant | str | Callable[[], Any],
    *,
    pairs: int = PAIRS,
    burst: int = BURST,
    warmup: int = 1,
    device: int | str = 0,
    threads: int = 0,
    seed: int | None = None,
    policy: Mapping[str, float] | None = None,
    **options: Any,
) -> Versus:
    """Run two variants of a kernel alternately, in random order, and compare kernels and host calls.

    base, current: a backend's name, a Variant, or a function (then `kernel` is only a name). pairs: of bursts; burst:
    times in each, after `warmup` runs. seed: of the order. options: of ProfilerComparison.
    """
    limits = thresholds(policy)
    _count("pairs", pairs, 2)
    chosen = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    order, request = (
        random.Random(chosen),
        Request(_count("warmup", warmup, 0), _count("burst", burst, 1), burst, device, _count("threads", threads, 0)),
    )
    variants = [_variant(one) for one in (base, current)]
    runs = [_runner(kernel, variant, request) for variant in variants]
    for run in runs:
        run()  # both loaded and warm before either is timed
    samples: list[dict[str, list[list[float]]]] = [{}, {}]
    unavailable: dict[str, str] = {}
    for _ in range(pairs):
        for side in (0, 1) if order.random() < 0.5 else (1, 0):
            stats = runs[side]()
            unavailable |= {f"{variants[side].text}: {name}": why for name, why in stats.unavailable.items()}
            for what, times in (("host call", stats.host_call), ("kernel", stats.kernel)):
                if times is not None:
                    samples[side].setdefault(f"{kernel} {what}", []).append(list(times.ns * 1e-9))
    options["policy"] = {"min_share": 0.0, **(options.get("policy") or {})}
    comparison = compare_samples(samples[0], samples[1], True, limits["ab_threshold"], **options)
    limit, again = f"All ran in one process: {Versus.cannot_see}", _command(kernel, variants, request, policy)
    comparison.basis = Basis("burst", "bursts", limit, again, acceptable=False)
    return Versus(kernel, variants[0].text, variants[1].text, pairs, chosen, comparison, unavailable)


def _variant(given: Variant | str | Callable[[], Any]) -> Variant:
    if isinstance(given, Variant):
        return given
    return Variant(given) if isinstance(given, str) else Variant(function=given)


def _command(kernel: str, variants: list[Variant], request: Request, policy: Mapping[str, float] | None) -> str:
    """Return the command that runs the same variants again; functions of the user's are run from Python."""
    if any(variant.function is not None for variant in variants):
        return f"run_versus({kernel!r}, {', '.join(variant.text for variant in variants)}, pairs={{pairs}})"
    words = ["regimeter", "workloads", "ab", kernel, "--base", variants[0].text, "--current", variants[1].text]
    words += ["--burst", str(request.calls)] if request.calls != BURST else []
    words += ["--threads", str(request.threads)] if request.threads else []
    words += ["--device", str(request.device)] if request.device else []
    words += ["--policy", *(f"{name}={value:g}" for name, value in policy.items())] if policy else []
    return f"{shlex.join(words)} --pairs {{pairs}}"


def _runner(kernel: str, variant: Variant, request: Request) -> Callable[[], KernelStats]:
    function = variant.function
    if function is not None:
        return lambda: profile_kernel(kernel, variant.text, request.iterations, function, warmup=request.warmup)
    workload = choose([kernel])[0]
    sizes = workload.sizes(variant.sizes)
    backend = resolve(variant.backend, request.device)[0]
    return lambda: measure(backend, workload, sizes, request)


__all__ = ["Variant", "Versus", "operation_name", "run_versus"]
