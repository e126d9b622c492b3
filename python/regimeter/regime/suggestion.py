# SPDX-License-Identifier: Apache-2.0
"""What to try next, from a verdict: one sentence with the cause as it was measured, and what helps against it.

Texts promise no factor. What is undecided gets the remedy for what made it so, and no other.
"""

import math
from collections.abc import Mapping
from typing import Any

from ..system.text import amount, percent
from .caches import cache_sizes
from .policy import VALUE
from .touched import TOUCHED_CALLS

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
    (
        "OVERHEAD_BOUND",
        "interpreter",
    ): "Python goes from one short instruction to the next: replace the loop by calls on whole arrays, or compile it.",
    (
        "OVERHEAD_BOUND",
        "file",
    ): "The system reads or writes files: keep the data in memory between calls, map the file, or move less of it.",
    (
        "OVERHEAD_BOUND",
        "system",
    ): "The processor works in calls of the system: make fewer and larger ones.",
    ("OVERHEAD_BOUND", None): "Too little work per call: batch calls, fuse operators, or compile the function.",
    ("MEMORY_BOUND", "latency"): "Loads wait for one another: lay data out in the order of use.",
    (
        "MEMORY_BOUND",
        "random_access",
    ): "Places far from one another are read or written: sort the indices, or lay the data out in the order of use.",
    (
        "MEMORY_BOUND",
        "strided",
    ): "Neighbours in the order of use lie lines apart: go along memory as it lies, in blocks, or store it that way.",
    (
        "MEMORY_BOUND",
        "first_touch",
    ): "The system fills new pages: write into an array that exists already (out=), so that no page is new.",
    (
        "MEMORY_BOUND",
        None,
    ): "Moving data sets the time: fuse operators, use a smaller type, write into existing memory.",
    (
        "COMPUTE_BOUND",
        "underused",
    ): "Arithmetic sets the time, far from the ceiling: larger blocks, aligned sizes, a faster type.",
    (
        "COMPUTE_BOUND",
        "dependent",
    ): "Each operation waits for the one before: work on several independent rows or blocks at once.",
    ("COMPUTE_BOUND", None): "Arithmetic sets the time: a faster element type, less work, or a faster device.",
    ("AMBIGUOUS", "balanced"): "Arithmetic and memory take about as long: an improvement of one alone gains little.",
    ("UNKNOWN", "model_error"): "Faster than a roof allows: calibrate on a quiet machine, or correct the work given.",
}
# What is missing is not always the work.
_MISSING = {
    "no_peak": "What this machine can do with this element type is not known: use a type that was calibrated"
    " (`regimeter calibrate --show`).",
    "no_bandwidth": "What this memory can do is not known: `regimeter calibrate` measures it.",
    "no_ceilings": "What this machine can do is not known: `regimeter calibrate` measures it.",
    "load": "More threads want a processor than there are, so a wait tells nothing: use a quiet machine, or leave out"
    " lightweight=True.",
    "no_time": "No time was measured.",
}
_GIVE = "give flops= and bytes="
_NAMES = {
    "arithmetic": "the same on a part of the data that a cache holds",
    "dependent": "the same on a part of the data that a cache holds",
    "placement": "where the data lies",
    "random_access": "places far from one another",
    "strided": "strides",
    "first_touch": "new memory",
    "new_memory": "new memory",
    "interpreter": "short instructions of Python",
    "file": "files",
    "system": "calls of the system",
}


def suggest_optimization(profile: Mapping[str, Any]) -> str:
    """Return one sentence on what to try, for a profile of `profile_operation` or a verdict with regime and detail."""
    regime, detail = str(profile.get("regime", "UNKNOWN")), profile.get("detail")
    evidence = profile.get("evidence")
    known: Mapping[str, Any] = evidence if isinstance(evidence, Mapping) else profile
    text = _TEXTS.get((regime, detail)) or (
        _undecided(regime, profile, known) if regime in ("AMBIGUOUS", "UNKNOWN") else _TEXTS.get((regime, None))
    )
    text = text or f"The work is not known: {_GIVE}."
    rows = known.get("steps")
    if rows and known.get("reason") == "steps":
        text += f" Most of it is {rows[0]['call']}, {percent(rows[0]['share'], 0)} of the time."
    memory = profile.get("memory")
    if isinstance(memory, Mapping) and memory.get("oom_risk") == "HIGH":
        text += " Little memory is left: a smaller batch or recomputation lowers the peak."
    return text


def _undecided(regime: str, profile: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    reason = str(known.get("reason"))
    if known.get("steps"):
        rows = (f"{row['call']} {percent(row['share'], 0)} ({row['regime']})" for row in known["steps"][:3])
        return (
            f"Of its calls none with a verdict has most of the time: {', '.join(rows)}; profile the longest by itself."
        )
    if reason in _MISSING:
        return _MISSING[reason]
    if profile.get("detail") == "first_touch":
        return _new_memory(profile, known)
    if regime == "UNKNOWN":
        return _unknown(profile, known)
    if reason == "floor_or_roof":
        return "The call is hardly longer than one without work, and a roof explains that too: larger arrays tell."
    return _unsure(profile, known) if reason == "uncertain" else _far(profile, known)


def _new_memory(profile: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    share = max((known.get("limits") or {}).get(name, 0.0) for name in ("first_touch", "new_memory"))
    faults = known.get("page_faults") or 0
    helps = (
        "call it once before, or reuse the output (out=)" if profile.get("calls") == 1 else "reuse the output (out=)"
    )
    return (
        f"{faults:,.0f} page faults: {percent(share, 0)} of the time went into memory that was touched for the first "
        f"time; {helps}."
    )


def _unknown(profile: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    missing = [name for name in ("flops", "bytes") if profile.get(name) is None]
    what = " and ".join({"flops": "operations", "bytes": "bytes"}[name] for name in missing)
    quick = (known.get("limits") or {}).get("interpreter")
    where = ""
    if quick is not None and quick < VALUE["rarely"]:
        where = " The time goes into few long calls of native code: profile such a call itself, with its arguments."
    longer = _longer(profile, known)
    if longer:
        return longer
    touched = known.get("touched")
    told = _touches(touched, what, profile.get("calls") or 0) if isinstance(touched, Mapping) and missing else ""
    if told:
        return told
    if not missing:
        return f"What limits the call is not among what was measured: profile its parts (profile_block).{where}"
    given = " and ".join(f"{name}=" for name in missing)
    return f"The {what} of this call are not known: give {given}.{where}"


def _longer(profile: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """Calls of a program that were too short together to be looked at."""
    judged, calls = known.get("judged_ms") or 0.0, profile.get("calls") or 0
    seen = known.get("limits") or {}
    if not judged or not calls or calls * judged >= VALUE["looked_at_ms"] or {"arithmetic", "dependent"} & set(seen):
        return ""
    return (
        f"The calls took {calls * judged:.2g} ms together, too little to see Python's pace and the system's part: "
        f"repeat={math.ceil(2 * VALUE['looked_at_ms'] / judged)}."
    )


def _touches(touched: Mapping[str, Any], what: str, calls: int) -> str:
    """A call of which only the memory is known that it touches; "" where that leads no further."""
    begin, cache = f"The {what} of this call are not known", cache_sizes()[1] or 0.0
    if touched.get("inside") is None:
        if not touched.get("share") or calls >= TOUCHED_CALLS:
            return ""
        return f"{begin}: repeat={TOUCHED_CALLS} looks at what its longest call of native code touches; or {_GIVE}."
    if touched["inside"] <= cache:
        return ""
    if touched["inside"] - touched["huge"] <= cache:
        return (
            f"{begin}, and what it touches lies in huge pages, which count whole: run the program with"
            f" NUMPY_MADVISE_HUGEPAGE=0 in its environment, or {_GIVE}."
        )
    more = f"it touches {amount(touched['inside'])}, more than the second cache holds"
    remedy = f"profile it on less data, at most {amount(cache / 2)}, or {_GIVE}"
    place, share = touched.get("place"), percent(touched["share"], 0)
    longest = f". Its longest call of native code, {share} of the time, is at {place}" if place else ""
    return f"{begin}, and {more}{longest}: {remedy}."


def _unsure(profile: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """The largest of the uncertainties is the cause, and what lowers it the remedy."""
    wall, stolen = known.get("wall_ms") or 0.0, known.get("stolen_ms") or 0.0
    spread = known.get("spread")
    source = profile.get("source")
    bounded = isinstance(source, Mapping) and any("lower bound" in str(text) for text in source.values())
    if wall and stolen > VALUE["stolen_share"] * wall:
        taken = percent(stolen / wall, 0)
        return f"Other processes had the processor for {taken} of the time: repeat it on a quiet machine."
    if spread is not None and spread > VALUE["single_call_spread"]:
        apart = percent(spread, 0)
        return f"The calls differ by {apart} from one another: more of them (repeat=) on a quiet machine tell."
    if (known.get("limits") or {}) and max(known["limits"].values()) > VALUE["rarely"]:
        return _parts(known, "no part is clearly the largest, so an improvement of one alone gains little")
    if bounded:
        return f"Of the work only a lower bound is known, which allows more than one answer: {_GIVE}."
    if profile.get("calls") == 1:
        return "The call was measured once, which allows more than one answer: repeat=5."
    return "More than one answer is as likely, near the border of two: larger sizes move it to one side."


def _far(profile: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    found = known.get("limits") or {}
    inside = max((found[name] for name in ("arithmetic", "dependent") if name in found), default=None)
    if inside is not None and inside < VALUE["rarely"]:
        return (
            f"On a part of its data that a cache holds the function takes {percent(inside, 0)} of the time: "
            "call it on pieces that fit a cache."
        )
    if found and max(found.values()) > VALUE["rarely"]:
        return _parts(known, "neither is most of it: profile the parts of the call by themselves")
    return (
        "Neither arithmetic nor bandwidth is near: if loads wait for one another give accesses=, else profile the "
        "parts of the call by themselves (profile_block)."
    )


def _parts(known: Mapping[str, Any], remedy: str) -> str:
    parts = sorted(known["limits"].items(), key=lambda item: -item[1])[:2]
    text = ", ".join(f"{percent(share, 0)} {_NAMES[name]}" for name, share in parts)
    return f"The time is {text}: {remedy}."
