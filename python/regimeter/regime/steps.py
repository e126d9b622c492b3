# SPDX-License-Identifier: Apache-2.0
"""A function of several calls as the sum of them: ``def f(x): return numpy.sort(numpy.sqrt(x) * 2)`` are three.

Where every call in a straight function of the program is one of a known library that changes nothing but what the
function itself has made, each is made again with the values that it had, timed and judged by itself; functions of the
program that it calls are gone through likewise. Loops, branches and anything else give None.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from . import operators, replay
from .arguments import arrays_in
from .policy import VALUE
from .unwrap import OtherError, Reading, bound
from .verdict import REGIMES

MOST_INSTRUCTIONS, MOST_STEPS, MOST_DEEP = 400, 60, 4
CHANGING = (*replay.SCATTERS, "copyto", "putmask", "place", "fill_diagonal")
CHANGING_METHODS = (*replay.SORTED_IN_PLACE, "fill", "put")  # of an array

Judge = Callable[[Any, tuple[Any, ...], dict[str, Any], bool], tuple[Any, float, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Step:
    """A call: its name, how long it took, and the verdict on it."""

    name: str
    ns: float
    judged: dict[str, Any]


def of_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], judge: Judge) -> list[Step] | None:
    """Return the calls of a function, None where they are not all known, or are fewer than two.

    judge: makes a call, once where it changes something (the last argument); returns its result, ns and the verdict.
    """
    try:
        walk = _Walk(function, args, kwargs, judge)
        walk.read()
    except Exception:  # whatever a call raises: the function itself has ended before
        return None
    return walk.steps if len(walk.steps) > 1 else None


class _Walk(Reading):
    most = MOST_INSTRUCTIONS

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], judge: Judge, above: "_Walk | None" = None
    ) -> None:
        local = bound(function, args, kwargs)
        if local is None:
            raise OtherError
        super().__init__(function, local)
        self.judge = judge
        self.steps: list[Step] = above.steps if above else []
        self.made: list[Any] = above.made if above else []  # references to arrays of the function's own
        self.deep: int = above.deep + 1 if above else 0

    def record(self, called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if type(called) is FunctionType and not replay.is_known(called, args, kwargs):
            if self.deep >= MOST_DEEP:
                raise OtherError
            self.stack.append(_Walk(called, args, kwargs, self.judge, self).read())
            return
        if not replay.is_known(called, args, kwargs) or len(self.steps) == MOST_STEPS:
            raise OtherError
        changed = _changed(called, args, kwargs)
        if changed is not None and not self._is_own(changed):
            raise OtherError  # it belongs to somebody else
        if arrays_in(args, kwargs, getattr(called, "__self__", None)):
            result, ns, judged = self.judge(called, args, kwargs, changed is not None)
            self.steps.append(Step(str(getattr(called, "__name__", called)), ns, judged))
        else:
            result = called(*args, **kwargs)
        if _owns(result, args, called):
            self.made.append(weakref.ref(result))
        self.stack.append(result)

    def _is_own(self, array: Any) -> bool:
        """Say whether an array, or what it is a view of, was made by the function."""
        owners = (array, getattr(array, "base", None))
        return any(own is not None and own is found() for own in owners for found in self.made)


def _changed(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the array that a call changes, None where it changes none."""
    name, owner = str(getattr(called, "__name__", "")), getattr(called, "__self__", None)
    if kwargs.get("out") is not None:
        return kwargs["out"]
    changing = name in CHANGING or (name.endswith("_") and not name.endswith("__"))
    if getattr(called, "__module__", "") == operators.INTERNAL:
        changing = name != "getitem" and name.rstrip("_") not in (one.rstrip("_") for one in operators.NAMES)
    if owner is not None and arrays_in((owner,), {}):
        return owner if changing or name in CHANGING_METHODS else None
    return args[0] if changing and args else None


def _owns(result: Any, args: tuple[Any, ...], called: Any) -> bool:
    """Say whether a result is an array of its own and no view of an argument."""
    given = {array.start for array in arrays_in((*args, getattr(called, "__self__", None)), {})}
    found = arrays_in((result,), {})
    return len(found) == 1 and found[0].start not in given and getattr(result, "base", None) is None


def combined(steps: list[Step], whole_ns: float, judged: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on a function by those on its calls: the regime that most of the time is expected to have.

    As it was, with the calls, where no regime has a part of the whole that decides. whole_ns: of the function; what the
    calls do not take of it is nobody's.
    """
    whole = max(whole_ns, sum(step.ns for step in steps))
    expected = {regime: sum(step.ns * _chance(step, regime) for step in steps) / whole for regime in REGIMES}
    told = judged | {"steps": _told(steps, whole)}
    regime = max(REGIMES, key=lambda name: expected[name])
    if expected[regime] < VALUE["steps_share"]:
        return told
    largest = max(steps, key=lambda step: step.ns * _chance(step, regime))
    label = {"regime": regime, "leans_to": None, "reason": "steps", "detail": largest.judged["detail"]}
    return told | label | {"confidence": expected[regime] / sum(expected.values())}


def _chance(step: Step, regime: str) -> float:
    return float(step.judged.get(f"{regime.partition('_')[0].lower()}_probability") or 0.0)


def _told(steps: list[Step], whole: float) -> list[dict[str, Any]]:
    """Return the calls as rows, those of one name and verdict together, the longest first."""
    rows: dict[tuple[str, str, str], float] = {}
    for step in steps:
        key = (step.name, step.judged["regime"], step.judged["detail"])
        rows[key] = rows.get(key, 0.0) + step.ns / whole
    found = sorted(rows.items(), key=lambda row: -row[1])
    return [{"call": key[0], "regime": key[1], "detail": key[2], "share": share} for key, share in found]
