# SPDX-License-Identifier: Apache-2.0
"""What limits a run: one sentence, one why with its numbers, one thing to do next with its bound."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from ..system.joints import joint
from ..system.quantities import known
from ..system.text import count, duration
from . import particulars
from .causes import (
    CALLED,
    CALLS,
    CAUSES,
    CHILD_WORK,
    CROWDED_OUT,
    EARLY,
    FORWARD_LAYER,
    HOST_ONLY,
    LATE_RANK,
    NO_STACKS,
    PAUSES,
    PINNED,
    SERVER,
    SET_UP,
    SMALL_CALLS,
    SPARSE,
    SYSTEM_CALLS,
    TOO_SHORT,
    WAITS,
    WORKERS,
    Words,
)
from .words import figure, subject

if TYPE_CHECKING:
    from ..public.run import Run

MS = 1e-6  # per nanosecond
TOLD = 0.05  # of the time that others had the processors
OUTSIDE = 0.2  # of the run: what lies outside of the steps is told from here on
LEAST_SHOWN = 0.01  # of the window; a share below is not worth a bar's segment
WHEN = ("first_step", "uneven_steps", "memory_growth")  # these look at the same time in another way
UNITS = {
    "page_faults": "",
    "small_work": "ns",
    "first_step": "",
    "uneven_steps": "",
    "memory_growth": "bytes",
    "native": "share",
    "device_idle": "ns",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause. share: of the window, None for one that takes no time of its own. error: its standard error.
    saved_ms: what its going saves at most, None where that is not known. place: the line or name with most of it, ''
    where none is known, and place_share its share of the cause. tied: within the margin of the first. elsewhere: most
    samples that show it are of other threads, for which the main one waits. process: that of the place, where it is
    another one of the program, for which the main one waits, else None. inner: the innermost function called from the
    place that has most of its samples, inner_share of them, '' where none has. calling: its line waits for calls of
    compiled code that keep the interpreter's lock, and does little itself. serving: a server waits for who asks it, or
    for what its requests wait for."""

    cause: str
    share: float | None
    error: float
    time_ms: float
    saved_ms: float | None
    place: str
    place_share: float | None
    figure: float | None
    count: int
    tied: bool
    elsewhere: bool
    process: int | None
    inner: str
    inner_share: float | None
    calling: bool
    serving: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What limits a run. confidence: "low" where others are within the margin, "medium", "high". window_ms: the time
    that shares are of; steps: how many steps it holds, 0 where it is the whole run; samples: of the driving thread's
    stack; displaced: further ones that found it without a processor because other programs had them; unseen_ms: of the
    window, between two samples far apart, as of a process that was suspended. Shares leave both out. causes: all of
    them, the first is the verdict."""

    cause: str
    sentence: str
    why: str
    next: str
    confidence: str
    window_ms: float
    steps: int
    samples: int
    displaced: int
    unseen_ms: float
    causes: tuple[Cause, ...]

    @property
    def tied(self) -> tuple[str, ...]:
        """Causes that are within the margin of the first."""
        return tuple(one.cause for one in self.causes if one.tied)

    @property
    def shares(self) -> dict[str, float]:
        """What the window divides into: shares by cause, largest first; they add up to at most 1."""
        parts = [(one.cause, one.share) for one in self.causes if one.cause not in WHEN and one.share is not None]
        return dict(sorted(parts, key=lambda part: -part[1]))

    def _repr_html_(self) -> str:
        return str(joint("verdict in a notebook")(self))

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready dictionary."""
        return {
            "cause": self.cause,
            "sentence": self.sentence,
            "why": self.why,
            "next": self.next,
            "confidence": self.confidence,
            "tied": list(self.tied),
            "shares": self.shares,
            "window_ms": self.window_ms,
            "steps": self.steps,
            "samples": self.samples,
            "displaced": self.displaced,
            "unseen_ms": self.unseen_ms,
            "causes": [{name: getattr(one, name) for name in Cause.__slots__} for one in self.causes],
        }


def verdict_of(run: "Run", policy: Mapping[str, float] | None = None) -> Verdict | None:
    """Return what limits a run; None for one that holds nothing that tells it, or no start times.

    policy: thresholds by name (docs/schema.md). ValueError for an unknown name.
    """
    if not run.has_start_times:
        return None
    policy = policy or {}
    table = run._causes(dict(policy))
    rows = [table.row(number) for number in range(len(table))]
    if not rows or rows[0]["window_ns"] <= 0:
        return None
    causes, stated = tuple(_cause(run, row) for row in rows), rows[0]
    first, window, steps = causes[0], stated["window_ns"] * MS, stated["steps"]
    on_device = any(one.cause == "device" for one in causes)
    host_only = not on_device and particulars.without_device(run)
    of = "it" if host_only and not steps else _of(stated, on_device)
    late = particulars.late_rank(run) if on_device and first.cause == "communication" else None
    words = LATE_RANK if late else _words(run, causes, host_only)
    filled = (
        _filled(causes[-1] if words is CAUSES["unknown"] else first, of)
        | _of_rank(late)
        | {"run": duration(run.duration_ns * MS)}
    )
    sentence = words.sentence.format_map(filled)
    kernels, together = particulars.largest_kernels(run) if first.cause == "device" else ([], 0.0)
    places = [_waits(first, of)] if late else _places(first, kernels)
    if host_only:
        sentence = HOST_ONLY.sentence.format_map(filled) + sentence
        places += _operator(run)
    elif on_device and not late:
        sentence = sentence.removesuffix(".") + (_together(kernels, together) or _unhidden(run, first)) + "."
    return Verdict(
        cause=first.cause,
        sentence=sentence + _tie(causes),
        why=_why(causes, stated, places)
        + _doubt(first, stated["samples"], stated["displaced"], policy)
        + _growth(causes)
        + _outside(run.duration_ns * MS, stated),
        next=(
            _without_samples(run, first, stated, policy) or (HOST_ONLY if host_only else words).next.format_map(filled)
        )
        + _bound(first),
        confidence=_core.DEGREES[stated["confidence"]],
        window_ms=window,
        steps=steps,
        samples=stated["samples"],
        displaced=stated["displaced"],
        unseen_ms=stated["unseen_ns"] * MS,
        causes=causes,
    )


def _words(run: "Run", causes: tuple[Cause, ...], host_only: bool) -> Words:
    first, unknown = causes[0], next((one.share or 0.0 for one in causes if one.cause == "unknown"), 0.0)
    if first.cause == "scope" and unknown > (first.share or 0.0):
        return CAUSES["unknown"] if host_only and (first.share or 0.0) < LEAST_SHOWN else SPARSE
    if first.cause == "python" and first.calling:
        return CALLS
    if first.cause == "python" and first.inner:
        return CALLED
    if first.cause == "small_work" and first.figure is None:
        return SMALL_CALLS
    if first.cause == "sleep" and first.inner:
        return PAUSES
    if first.cause == "native" and first.figure is not None:
        return SYSTEM_CALLS
    if first.cause == "device_idle" and first.figure is not None:
        return SET_UP
    if first.cause == "device_copies" and particulars.are_pinned(run):
        return PINNED
    if first.cause == "layer" and any(one.cause == "backward" for one in causes):
        return FORWARD_LAYER
    if first.cause == "child" and first.process is not None:
        return CHILD_WORK
    if first.serving:
        return SERVER
    return WORKERS if first.cause == "input" and first.elsewhere else CAUSES[first.cause]


def _without_samples(run: "Run", first: Cause, stated: Mapping[str, Any], policy: Mapping[str, float]) -> str:
    """Return what to do where samples of stacks would tell, were asked for, and none that tells is there."""
    asked = run.environment.get("stacks") or {}
    if stated["displaced"] and not stated["samples"]:
        return CROWDED_OUT
    if first.cause != "scope" or not asked.get("hz"):
        return ""
    reason = asked.get("reason")
    if reason:
        return NO_STACKS.format(reason=reason)
    last = max(run.samples.column("time_ns").tolist(), default=run.end_ns)
    return EARLY if run.end_ns - last > _threshold(policy, "verdict_unseen_ns") else TOO_SHORT


def _cause(run: "Run", row: Mapping[str, Any]) -> Cause:
    cause = _core.LIMIT_CAUSES[row["cause"]]
    return Cause(
        cause=cause,
        share=None if cause == "memory_growth" else row["share"],
        error=row["error"],
        time_ms=row["time_ns"] * MS,
        saved_ms=None if row["saved_ns"] < 0 else row["saved_ns"] * MS,
        place=_place(run, row["stack"], run.string(row["subject"])),
        place_share=known(row["subject_share"]),
        figure=known(row["figure"]),
        count=row["count"],
        tied=bool(row["tied"]),
        elsewhere=2 * row["elsewhere"] > row["count"],
        process=None if row["process"] < 0 else row["process"],
        inner=_place(run, row["inner"], ""),
        inner_share=known(row["inner_share"]),
        calling=bool(row["calling"]),
        serving=bool(row["serving"]),
    )


def _place(run: "Run", stack: int, name: str) -> str:
    """Return the name of a span, else a line as `function (file:line)`."""
    if name:
        return subject(name)
    if stack < 0:
        return ""
    line = run.tables.stacks.row(stack)
    return f"{run.string(line['function'])} ({os.path.basename(run.string(line['file']))}:{line['line']})"


def _of(stated: Mapping[str, Any], on_device: bool) -> str:
    seen = duration((stated["window_ns"] - stated["unseen_ns"]) * MS)
    if stated["steps"]:
        return f"the {seen} of {stated['steps']} steps"
    if on_device:
        return f"the {seen} from the first to the last work of the device"
    return f"the {seen} of the run that were seen" if stated["unseen_ns"] else f"the run of {seen}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %" if value >= 0.095 else f"{100 * value:.1f} %"


def _filled(cause: Cause, of: str) -> dict[str, str]:
    return {
        "share": _share(cause.share),
        "of": of,
        "place": cause.place or "the largest",
        "at": f" in {cause.place}" if cause.place else "",
        "inner": cause.inner,
        "theirs": f" in {cause.place}" if cause.place and cause.elsewhere else "",
        "in_process": f" in {cause.place}" if cause.process else " (`regimeter show RUN*` names its line)",
        "by_line": "" if cause.place else " `regimeter record --memory` names the line.",
        "figure": figure(cause.figure, UNITS.get(cause.cause, "")),
    }


def _of_rank(late: particulars.LateRank | None) -> dict[str, str]:
    if late is None:
        return {}
    return {
        "rank": str(late.rank),
        "last": str(late.last),
        "collectives": str(late.collectives),
        "caused": _share(late.share),
        "waited": duration(late.time_ms),
    }


def _places(first: Cause, kernels: list[tuple[str, float]]) -> list[str]:
    """Say where the time of the first cause is."""
    if kernels:
        return [
            ", ".join(
                f"{_share(share)}{' of it' if not at else ''} in {name}" for at, (name, share) in enumerate(kernels)
            )
        ]
    if not first.place or first.place_share is None:
        return []
    return [f"{_share(first.place_share)} of it in {first.place}{_within(first)}{_whose(first)}"]


def _within(first: Cause) -> str:
    """Name the library's function that has most of the place, where it says more than that somebody waits."""
    told = first.inner and first.cause not in WAITS
    return f", {_share(first.inner_share)} of that within {first.inner}" if told else ""


def _waits(first: Cause, of: str) -> str:
    return f"the device waits for communication, or does nothing else, in {_share(first.share)} of {of}"


def _operator(run: "Run") -> list[str]:
    largest = particulars.largest_operator(run)
    if largest is None:
        return []
    name, own_ms, share = largest
    return [
        f"the largest operator is {name} with {duration(own_ms)}, {_share(share)} of what operators take themselves"
    ]


def _together(kernels: list[tuple[str, float]], share: float) -> str:
    return f"; {particulars.NUMBERS[len(kernels)]} {_share(share)} of its work" if kernels else ""


def _unhidden(run: "Run", first: Cause) -> str:
    if first.cause == "device":
        return ""
    what = particulars.unhidden(run)
    if first.cause == "communication":
        return ", and none of it is hidden behind computation" if what else ""
    return f", and no {what} is hidden behind computation" if what else ""


def _tie(causes: tuple[Cause, ...]) -> str:
    others = [f"{one.cause.replace('_', ' ')} ({_share(one.share)})" for one in causes if one.tied]
    return f" Within the margin of it: {', '.join(others)}." if others else ""


def _why(causes: tuple[Cause, ...], stated: Mapping[str, Any], places: list[str]) -> str:
    """Say where the time of the first cause is (`places`), and what the rest of the window went into."""
    first, samples, parts = causes[0], stated["samples"], list(places)
    rest = [one for one in causes if one is not first and one.cause not in WHEN and (one.share or 0) >= LEAST_SHOWN]
    rest.sort(key=lambda one: -(one.share or 0))
    if rest:
        shown = ", ".join(f"{_called(one)} {_share(one.share)}" for one in rest[:4])
        parts.append(f"{'the time divides into' if first.cause in WHEN else 'the rest'}: {shown}")
        if first.cause in WHEN and (where := _places(rest[0], [])):
            parts.append(f"of {_called(rest[0])} {where[0]}")
    basis = f"{count(samples, 'sample')} of the thread" if samples else "recorded spans alone, without samples"
    error = f", share good to {200 * first.error:.0f} points" if first.error >= 0.005 else ""
    if first.share is not None and 2 * first.error >= first.share:
        error = ", too few to tell its share"
    said = "; ".join(parts) or "nothing else was found"
    return f"{said[0].upper()}{said[1:]} (from {basis}{error}{_left_out(stated)})."


def _left_out(stated: Mapping[str, Any]) -> str:
    samples, displaced, unseen_ns = (stated[name] for name in ("samples", "displaced", "unseen_ns"))
    others, parts = displaced / (samples + displaced) if displaced else 0.0, []
    if others >= TOLD:
        parts.append(f"; other programs had the processors for {_share(others)} of the time, left out here")
    if unseen_ns:
        parts.append(
            f"; for {duration(unseen_ns * MS)} no sample was taken, as where a process is suspended: left out here"
        )
    return "".join(parts)


def _called(one: Cause) -> str:
    return "waiting for requests or what they wait for" if one.serving else one.cause.replace("_", " ")


def _threshold(policy: Mapping[str, float], name: str) -> float:
    return policy[name] if name in policy else float(_core.policy()[name]["default"])


def _doubt(first: Cause, samples: int, displaced: int, policy: Mapping[str, float]) -> str:
    """Say so where what other programs took makes the verdict uncertain."""
    most = _threshold(policy, "verdict_others_most")
    others = displaced and displaced >= most * (samples + displaced) and first.cause != "scope"
    return " That is too much for a sure verdict: record again on a quiet machine." if others else ""


def _whose(first: Cause) -> str:
    """Say whose the place of a cause is, where it is not of the main thread."""
    if first.process is not None:
        return f", of what the processes that it waits for do then (process {first.process} and others)"
    threads = first.elsewhere and first.cause != "input"
    return ", in other threads that the main one waits for" if threads else ""


def _growth(causes: tuple[Cause, ...]) -> str:
    """Say so where memory grows and is not the verdict."""
    grown = [_filled(one, "") for one in causes[1:] if one.cause == "memory_growth"]
    return "".join(" Memory grows all the time{at}, by {figure} a second.".format_map(one) for one in grown)


def _outside(run_ms: float, stated: Mapping[str, Any]) -> str:
    """Say how much of the run no share is of, where that is much: imports, loading, what follows the last step; or,
    where shares are of all of it, how much the scopes of the program do not show.
    """
    window_ms, steps = stated["window_ns"] * MS, stated["steps"]
    of, whole = ("these steps", run_ms) if steps else ("the program's scopes", window_ms)
    rest = run_ms - window_ms if steps else window_ms - stated["marked_ns"] * MS
    if rest < OUTSIDE * whole or not (steps or (stated["marked_ns"] and stated["samples"])):
        return ""
    return f" Outside of {of}: {duration(rest)} of the run's {duration(whole)}."


def _bound(cause: Cause) -> str:
    if cause.saved_ms is None or cause.saved_ms <= 0:
        return ""
    return f" That saves at most {duration(cause.saved_ms)}, {_share(cause.share)}."
