# SPDX-License-Identifier: Apache-2.0
"""Traces as the generators take them: a path, a Run, or a live torch profiler."""

import os
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._core import UnavailableError
from ..public.run import Run, load


@dataclass(frozen=True, slots=True)
class _Kept:
    """The file of what torch gave: `results` refers to what a profiler holds until it starts again."""

    path: Path
    results: Callable[[], object]
    remove: Callable[[], object]


_kept: "weakref.WeakKeyDictionary[Any, _Kept]" = weakref.WeakKeyDictionary()


def run_of_trace(trace: "Run | str | os.PathLike[str]") -> Run:
    """Return the run of a trace file, or the run itself. FormatError and OSError as from ``regimeter.load``."""
    return trace if isinstance(trace, Run) else load(trace)


def run_of_profiler(profiler: Any) -> Run:
    """Return the run of a stopped ``torch.profiler.profile``: what it exports is imported. Errors: `exported`."""
    return run_of_trace(exported(profiler))


def exported(profiler: Any) -> Path:
    """Return the trace of a stopped ``torch.profiler.profile`` as a file that goes with the profiler.

    Torch can write a trace once, so each further call gets the same file, until the profiler has run again. TypeError
    for an object that exports no Chrome trace, UnavailableError when torch has nothing to export: the profiler has not
    been stopped, or somebody else has had it write its trace already.
    """
    export = getattr(profiler, "export_chrome_trace", None)
    if export is None:
        raise TypeError(f"expected a torch.profiler.profile, got {type(profiler).__name__}")
    kept, results = _kept.get(profiler), _results_of(profiler)
    if kept is not None and results is not None and kept.results() is results:
        return kept.path
    folder = tempfile.TemporaryDirectory(prefix="regimeter-")
    path = Path(folder.name) / "trace.json"
    try:
        export(os.fspath(path))
    except BaseException as error:
        folder.cleanup()
        if isinstance(error, AssertionError | AttributeError | RuntimeError):
            raise UnavailableError(_why(error)) from error
        raise
    if kept is not None:
        kept.remove()
    refers = weakref.ref(profiler if results is None else results)
    _kept[profiler] = _Kept(path, refers, weakref.finalize(profiler, folder.cleanup))
    return path


def _results_of(profiler: Any) -> object:
    """Return what torch has recorded, another object after each run of the profiler; None while it runs."""
    return getattr(getattr(profiler, "profiler", None), "kineto_results", profiler)


def _why(error: Exception) -> str:
    if "already saved" in str(error):
        return "the profiler has written its trace already, and torch can do so once: load the file that it wrote"
    return f"torch has no trace to export, is the profiler stopped? ({type(error).__name__}: {error})"
