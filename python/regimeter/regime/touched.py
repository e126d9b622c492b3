# SPDX-License-Identifier: Apache-2.0
"""Which memory a call touches, of which nothing else is known: what of it a cache holds has no price.

The processor marks each page that is read or written, and Linux clears and counts the marks: whole pages, those of all
threads, so that it is an upper bound. Two calls that are not counted are looked at, where there are so many. Code of
Python touches megabytes on its way to a call of a library, so the first one is traced for its longest stay between two
lines of Python, which is such a call, and the second is looked at there alone. Where no line of Python was in the first
one, that is all of it. Only what does the same each time is told so. What looking itself touches is left out.
"""

import functools
import gc
import sys
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .. import _core

TRACED, INSIDE = 1, 2  # which calls are looked at, after the first one
TOUCHED_CALLS = 9  # of which the first third is not counted: both looks
MOST_EVENTS = 20_000  # of a traced call: more would be a program of Python, whose pace is looked at


class Touched:
    """What a call of a function touched: bytes of all of it; inside, of its longest stay outside of Python, how many of
    them in huge pages, and that stay's part of the time and its place. None where nobody looked, or the system does not
    tell."""

    def __init__(self) -> None:
        self.bytes: int | None = None
        self.inside: int | None = None
        self.huge = 0
        self.share = 0.0
        self.place = ""
        self.took_ns: dict[int, int] = {}
        self._event = -1
        self._code: CodeType | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what is told of it, as JSON values."""
        return {name: getattr(self, name) for name in ("bytes", "inside", "huge", "share", "place")}

    def call(self, number: int, function: Callable[[], Any]) -> Any:
        """Call the function, for the so manieth time from 0; return what it returns."""
        look = {TRACED: self._traced, INSIDE: self._inside}.get(number)
        if look is None or (number == INSIDE and self._code is None) or sys.gettrace() is not None:
            return function()
        collects, begin = gc.isenabled(), time.perf_counter_ns()
        gc.disable()  # it would touch every object
        try:
            return look(function)
        finally:
            self.took_ns[number] = time.perf_counter_ns() - begin
            if collects:
                gc.enable()

    def _traced(self, function: Callable[[], Any]) -> Any:
        longest, events, at, code, place = 0, 0, 0, None, ("", 0)
        last: tuple[CodeType | None, tuple[str, int]] = (None, place)

        def event(frame: FrameType, what: str, argument: Any) -> Any:
            nonlocal longest, events, code, place, last, at
            now = time.thread_time_ns()
            if now - at > longest:
                longest, (code, place), self._event = now - at, last, events
            events += 1
            if events > MOST_EVENTS:
                sys.settrace(None)
                return None
            runs = frame.f_back if what == "return" else frame
            last = frame.f_code, (runs.f_code.co_filename, runs.f_lineno) if runs and runs is not own else ("", 0)
            at = time.thread_time_ns()
            return event

        own, marks = sys._getframe(), _core.touched_begin()
        if marks is None:
            return function()
        begin = at = time.thread_time_ns()
        sys.settrace(event)
        try:
            return function()
        finally:
            if sys.gettrace() is event:  # not one that the function has set itself
                sys.settrace(None)
            end = time.thread_time_ns()
            self.bytes, huge = _end(marks)
            if not events:
                self.inside, self.huge, self.share = self.bytes, huge, 1.0
            elif events <= MOST_EVENTS and end - at < longest and code is not None:
                self._code, self.share = code, longest / (end - begin)
                self.place = f"{place[0]}:{place[1]}" if place[1] else ""

    def _inside(self, function: Callable[[], Any]) -> Any:
        events, marks = 0, None

        def event(frame: FrameType, what: str, argument: Any) -> Any:
            nonlocal events, marks
            events += 1
            if marks is not None:
                (self.inside, self.huge), marks = _end(marks), None
                sys.settrace(None)
                return None
            if events == self._event:
                if frame.f_code is not self._code:
                    sys.settrace(None)  # it went another way
                    return None
                marks = _core.touched_begin()
            return event

        sys.settrace(event)
        try:
            return function()
        finally:
            if sys.gettrace() is event:  # not one that the function has set itself
                sys.settrace(None)
            if marks is not None:
                self.inside, self.huge = _end(marks)


def _end(marks: int | None) -> tuple[int | None, int]:
    """Return the bytes that were touched since the marks were cleared, but for what looking touches, and those of them
    in huge pages."""
    found = None if marks is None else _core.touched_end(marks)
    return (None, 0) if found is None else (max(0, found[0] - _own()), found[1])


@functools.cache
def _own() -> int:
    """Return the bytes that are touched between two looks with nothing between them."""
    found = 0
    for _ in range(2):  # the first one is new to the caches of the interpreter
        marks = _core.touched_begin()
        told = None if marks is None else _core.touched_end(marks)
        found = told[0] - told[1] if told else 0
    return found
