# SPDX-License-Identifier: Apache-2.0
"""What to try next, from a verdict. Texts say what the measurement supports and promise no factor."""

from collections.abc import Mapping
from typing import Any

# (regime, detail) before (regime, None).
_TEXTS: dict[tuple[str, str | None], str] = {
    (
        "OVERHEAD_BOUND",
        "wait",
    ): "The processor idles: look for a lock, input, a timer or a synchronisation in the call.",
    (
        "OVERHEAD_BOUND",
        "host_wait",
    ): "The device waits for the host: batch more work per call, capture a graph, or compile.",
    ("OVERHEAD_BOUND", None): "Too little work per call: batch calls, fuse operators, or compile the function.",
    ("MEMORY_BOUND", "latency"): "Loads wait for one another: lay data out in the order of use.",
    (
        "MEMORY_BOUND",
        None,
    ): "Moving data sets the time: fuse operators, use a smaller type, write into existing memory.",
    (
        "COMPUTE_BOUND",
        "underused",
    ): "Arithmetic sets the time, far from the ceiling: larger blocks, aligned sizes, a faster type.",
    ("COMPUTE_BOUND", None): "Arithmetic sets the time: a faster element type, less work, or a faster device.",
    ("AMBIGUOUS", "balanced"): "Arithmetic and memory take about as long: an improvement of one alone gains little.",
    ("AMBIGUOUS", None): "The measurement allows more than one answer: use repeat=, larger sizes or a quiet machine.",
    ("UNKNOWN", "model_error"): "Faster than a roof allows: calibrate on a quiet machine, or correct the work given.",
    ("UNKNOWN", None): "The work is not known: give flops= and bytes=.",
}
# What is missing is not always the work.
_MISSING = {
    "no_peak": "What this machine can do with this element type is not known: use a type that was calibrated"
    " (`regimeter calibrate --show`).",
    "no_bandwidth": "What this memory can do is not known: `regimeter calibrate` measures it.",
    "no_ceilings": "What this machine can do is not known: `regimeter calibrate` measures it.",
    "load": "More threads want a processor than there are, so a wait tells nothing: use a quiet machine, or leave out"
    " lightweight=True.",
}


def suggest_optimization(profile: Mapping[str, Any]) -> str:
    """Return one sentence on what to try, for a profile of `profile_operation` or a verdict with regime and detail."""
    regime, detail = str(profile.get("regime", "UNKNOWN")), profile.get("detail")
    evidence = profile.get("evidence")
    reason = (evidence if isinstance(evidence, Mapping) else profile).get("reason")
    missing = _MISSING.get(str(reason)) if regime == "UNKNOWN" else None
    text = missing or _TEXTS.get((regime, detail)) or _TEXTS.get((regime, None)) or _TEXTS["UNKNOWN", None]
    memory = profile.get("memory")
    if isinstance(memory, Mapping) and memory.get("oom_risk") == "HIGH":
        text += " Little memory is left: a smaller batch or recomputation lowers the peak."
    return text
