# SPDX-License-Identifier: Apache-2.0
"""Every threshold of the workload suite, once: name, default, unit, source. A user can set each by its name."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

DOCUMENTED = "the specification's production profiler"


@dataclass(frozen=True, slots=True)
class Threshold:
    """One threshold: its default, unit ('' for a share or a factor) and where it comes from."""

    name: str
    default: float
    unit: str
    source: str


THRESHOLDS = (
    Threshold("slow_us", 5000.0, "us", f"{DOCUMENTED}: a mean above it is SLOW"),
    Threshold("variance_cv", 0.20, "", f"{DOCUMENTED}: a coefficient of variation above it is HIGH VARIANCE"),
    Threshold("outlier_factor", 2.0, "", f"{DOCUMENTED}: a maximum above so many means is an OUTLIER"),
    Threshold("target_mean_us", 1000.0, "us", f"{DOCUMENTED}: target of the mean, 'real time'"),
    Threshold("target_cv", 0.10, "", f"{DOCUMENTED}: target of the coefficient of variation"),
    Threshold("target_throughput", 100.0, "1/s", f"{DOCUMENTED}: target of the calls a second"),
    Threshold("degraded_factor", 1.5, "", f"{DOCUMENTED}: a value above so many baselines is DEGRADED"),
    Threshold("slowest", 5, "kernels", f"{DOCUMENTED}: rows of the list of the slowest"),
    Threshold("most_variable", 3, "kernels", f"{DOCUMENTED}: rows of the list of the most variable"),
    Threshold("near_share", 0.9, "", "ours: a median whose interval reaches this part of its budget is near the limit"),
    Threshold("confidence", 0.95, "", "ours: level of intervals; a budget is exceeded when the whole interval is"),
    Threshold("resamples", 2000, "", "ours: bootstrap samples of a coefficient of variation"),
    Threshold("saturated_share", 0.9, "", "ours: a size is saturated from this part of the best rate of the sweep"),
    Threshold("outside_share", 0.2, "", f"{DOCUMENTED}: allocation and copies add 10 to 20 %; a host call beyond that"),
    Threshold("short_kernel_us", 100.0, "us", f"{DOCUMENTED}: operations below it gain from batches, on a device"),
    Threshold("ab_threshold", 5.0, "%", "a change that matters, as in `regimeter compare`"),
)
DEFAULTS = {threshold.name: threshold.default for threshold in THRESHOLDS}


def thresholds(given: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return every threshold by name, the given ones in place of the defaults.

    ValueError for a name that there is not, or a value that is no number of at least 0.
    """
    for name, value in (given or {}).items():
        if name not in DEFAULTS:
            near = get_close_matches(name, DEFAULTS, cutoff=0.5)
            raise ValueError(
                f"no threshold is called {name!r}; {'similar' if near else 'valid'}: {', '.join(near or DEFAULTS)}"
            )
        if isinstance(value, bool) or not math.isfinite(value) or value < 0:
            raise ValueError(f"threshold {name}: expected a number of at least 0, got {value!r}")
    found = DEFAULTS | dict(given or {})
    if not 0.5 <= found["confidence"] < 1:
        raise ValueError(f"threshold confidence: expected a level from 0.5 to below 1, got {found['confidence']!r}")
    return found
