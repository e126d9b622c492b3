# SPDX-License-Identifier: Apache-2.0
"""Traces as the generators take them: a path, a Run, or a live torch profiler."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._core import UnavailableError
from ..public.run import Run, load


def run_of_trace(trace: "Run | str | os.PathLike[str]") -> Run:
    """Return the run of a trace file, or the run itself. FormatError and OSError as from ``regimeter.load``."""
    return trace if isinstance(trace, Run) else load(trace)


def run_of_profiler(profiler: Any) -> Run:
    """Return the run of a stopped ``torch.profiler.profile``: what it exports is imported. Errors: `exported`."""
    with exported(profiler) as path:
        return run_of_trace(path)


@contextlib.contextmanager
def exported(profiler: Any) -> Iterator[Path]:
    """Give the trace of a stopped ``torch.profiler.profile`` as a file that goes when the block ends.

    TypeError for an object that exports no Chrome trace, UnavailableError when torch has nothing to export: the
    profiler has not been stopped, or has written its trace already, which it can do once.
    """
    export = getattr(profiler, "export_chrome_trace", None)
    if export is None:
        raise TypeError(f"expected a torch.profiler.profile, got {type(profiler).__name__}")
    with tempfile.TemporaryDirectory(prefix="regimeter-") as folder:
        path = Path(folder) / "trace.json"
        try:
            export(os.fspath(path))
        except (AssertionError, AttributeError, RuntimeError) as error:
            raise UnavailableError(_why(error)) from error
        yield path


def _why(error: Exception) -> str:
    if "already saved" in str(error):
        return "the profiler has written its trace already, and torch can do so once: load the file that it wrote"
    return f"torch has no trace to export, is the profiler stopped? ({type(error).__name__}: {error})"
