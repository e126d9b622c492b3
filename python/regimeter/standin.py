# SPDX-License-Identifier: Apache-2.0
"""The profiler of a program that has none, so that ``regimeter record --kernels`` sees the kernels of any program.

It records one scope, the program. The first profiler that the program makes takes its place and its file.
"""

import atexit
from typing import Any

from . import recording
from .profiler import GPUProfiler

_profiler: GPUProfiler | None = None
_scope: Any = None


def begin() -> None:
    """Begin, if `regimeter record` asks this process for kernels."""
    global _profiler, _scope
    told = recording.options()
    if not told.get("profile_kernels") or not recording.is_owner():
        return
    profiler = GPUProfiler()
    if profiler.kernels_reason:  # nothing to stand in for; the reason stays in the file
        profiler.close()
        recording.give_back()
        return
    _profiler = profiler
    _scope = profiler.profile(str(told.get("program", "program")), device="cpu")
    _scope.__enter__()
    recording.on_next_file(give_way)
    atexit.register(end)


def give_way() -> None:
    """Leave the place and the file to a profiler of the program."""
    global _profiler, _scope
    profiler, _profiler, _scope = _profiler, None, None
    if profiler is not None:
        profiler.close()
        recording.give_back()


def end() -> None:
    """End the scope of the program, at its end."""
    if _profiler is not None:
        _scope.__exit__(None, None, None)
        _profiler.close()
