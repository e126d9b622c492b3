# SPDX-License-Identifier: Apache-2.0
"""torch.utils.benchmark: its measurements as samples of a comparison. Nothing of torch is imported."""

from collections.abc import Iterable
from typing import Any

from ..compare import ProfilerComparison, compare_samples
from ..compare.basis import Basis

BASIS = Basis(
    one="measurement",
    many="measurements",
    limits="What stays the same within a process (its layout of memory, its hash seed) may be what differs.",
    more="torch.utils.benchmark.Timer(...).blocked_autorange(), {pairs} times a side, or: "
    "regimeter ab --base CMD --current CMD --pairs {pairs}",
    acceptable=False,
)


def samples_of(measurements: Iterable[Any]) -> dict[str, list[list[float]]]:
    """Return what `compare_samples` takes: by title, for each measurement its times of one run, in seconds.

    measurements: ``torch.utils.benchmark.Measurement`` of one side. Those of one title (label and sub-label, else the
    statement) are one operation; with several numbers of threads the number is part of the name. What tells two sides
    apart (description, env) is not. TypeError for anything else.
    """
    given = list(measurements)
    for one in given:
        if not hasattr(one, "raw_times") or not hasattr(one, "task_spec"):
            raise TypeError(f"a torch.utils.benchmark.Measurement is expected, not {type(one).__name__}")
    threads = {one.task_spec.num_threads for one in given}
    found: dict[str, list[list[float]]] = {}
    for one in given:
        many = f" ({one.task_spec.num_threads} threads)" if len(threads) > 1 else ""
        found.setdefault(f"{one.title}{many}", []).append(list(one.times))
    return found


def compare_measurements(
    baseline: Iterable[Any], current: Iterable[Any], significance_threshold: float = 5.0, **options: Any
) -> ProfilerComparison:
    """Compare measurements of two sides, operation by operation.

    Each measurement counts as one block of samples: take several of each side, in turns. options: as for
    ``regimeter.compare_samples``. TypeError for what is no Measurement, ValueError for options.
    """
    options["policy"] = {"min_share": 0.0, **(options.get("policy") or {})}  # each was measured for its own sake
    made = compare_samples(
        samples_of(baseline), samples_of(current), significance_threshold=significance_threshold, **options
    )
    made.basis = BASIS
    return made
