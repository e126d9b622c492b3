# SPDX-License-Identifier: Apache-2.0
"""What a side is made from: runs, files, documents, samples, or a list of these, one a process."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..public.run import Run, load
from .documents import add_document, profile_of
from .samples import _label, add_run
from .side import Side


def side_of(source: Any, label: str) -> Side:
    """Return the side that a source describes.

    source: a path or a Run; a dictionary of the documented form ({"entries": [...], "summary": {...}}) or of
    samples by operation ({operation: [[seconds, ...] per launch, ...]}); or a list of these, one a process. What is
    given twice, or is a copy of another, is one process all the same, and a warning names it.
    FormatError for an unreadable file, TypeError or ValueError for anything else.
    """
    parts = list(_parts(source))
    sides = once(parts, [process_side(part, label) for part in parts])
    aligned(sides)
    return merged(sides, label)


def once(parts: Sequence[Any], sides: Sequence[Side]) -> list[Side]:
    """Return the sides of different launches: more samples of one process prove no more than it does."""
    first: dict[object, str] = {}
    kept = []
    for at, (part, side) in enumerate(zip(parts, sides, strict=True)):
        key = tuple(side.launches) or _input_of(part)
        name = os.fspath(part) if isinstance(part, str | os.PathLike) else f"input {at + 1}"
        if key is None or key not in first:
            kept.append(side)
            if key is not None:
                first[key] = name
        else:
            which = "is given more than once" if name == first[key] else f"is the same process as {first[key]}"
            line = f"{side.label}: {name} {which}: it counts once"
            if line not in kept[0].warnings:
                kept[0].warnings.append(line)
    return kept


def _input_of(part: Any) -> object:
    """Return what tells an input from others that do not say of which launch they are; None for what may be equal."""
    if isinstance(part, str | os.PathLike):
        try:
            found = os.stat(part)
        except OSError:  # an address, or gone since
            return os.fspath(part)
        return found.st_dev, found.st_ino
    return id(part) if isinstance(part, Run) else None


def process_side(part: Any, label: str) -> Side:
    """Return what one source of a side describes."""
    side = Side(label)
    if isinstance(part, str | os.PathLike):
        document = profile_of(part)
        if document is None:
            add_run(side, load(part))
        else:
            add_document(side, document, os.fspath(part))
    elif isinstance(part, Run):
        add_run(side, part)
    elif isinstance(part, Mapping) and ("entries" in part or "summary" in part):
        add_document(side, part, label)
    elif isinstance(part, Mapping):
        time = side.metric("time")
        for operation, launches in part.items():
            for launch in launches_of(operation, launches):
                time.add(str(operation), launch)
    else:
        raise TypeError(f"{label}: a path, a Run or a dictionary is expected, not {type(part).__name__}")
    return side


def merged(sides: Sequence[Side], label: str) -> Side:
    """Return processes as one side, each a launch of its own."""
    if len(sides) == 1:
        return sides[0]
    found = Side(label)
    for side in sides:
        for metric, samples in side.metrics.items():
            found.metric(metric).extend(samples)
        for name, value in side.memory_mb.items():
            found.memory_mb[name] = max(value, found.memory_mb.get(name, value))
        found.devices |= side.devices
        found.not_counted |= side.not_counted
        found.environments += side.environments
        found.launches += side.launches
        found.witnesses += side.witnesses
        for key, clocks in side.clocks.items():
            found.clocks.setdefault(key, []).extend(clocks)
        found.warnings += side.warnings
        found.run = side.run if found.run is None else found.run
        found.program = found.program or side.program
    return found


def aligned(sides: Sequence[Side]) -> None:
    """Give operations one label on all sides: where one side tells an operation's devices apart, all do.

    An operation that ran on one device alone carries its plain name; beside a side on which it also ran on another, it
    gets its device's, so that what both have is compared and what is new is new. The whole of a program has the
    program's name; where these differ, as of two versions of one, it is ``program``.
    """
    split = {name for side in sides for label, (name, _) in side.devices.items() if label != name}
    for side in sides:
        for name in split & side.devices.keys():
            if side.devices[name][0] == name:
                side.rename(name, _label(*side.devices[name]))
    programs = {side.program for side in sides}
    if len(programs) > 1 and "" not in programs:
        for side in sides:
            side.name_program(side.program)


def _parts(source: Any) -> Iterable[Any]:
    if isinstance(source, list | tuple):
        if not source:
            raise ValueError("an empty list of runs")
        return source
    return [source]


def launches_of(operation: object, launches: Any) -> list[Any]:
    """Return the launches of an operation; a bare number stands for a launch of one sample. TypeError otherwise."""
    if not isinstance(launches, Sequence | np.ndarray) or isinstance(launches, str):
        raise TypeError(f"{operation!r}: a list of launches, each a list of seconds, is expected")
    return [[launch] if isinstance(launch, int | float | np.number) else launch for launch in launches]
