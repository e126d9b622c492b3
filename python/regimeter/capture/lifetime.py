# SPDX-License-Identifier: Apache-2.0
"""The profilers of this process that were made and may be open: its end closes them, and its forks go on with them."""

import atexit
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..profiler import GPUProfiler

made: "weakref.WeakSet[GPUProfiler]" = weakref.WeakSet()
ending = False  # whether the process is at its end


def show_warnings() -> None:
    """Called by the core on the main thread when a recording cannot be written any more: the warning comes then."""
    for profiler in list(made):
        text = profiler._take_warning()
        if text:
            try:
                warnings.warn(text, RuntimeWarning, stacklevel=2)
            except RuntimeWarning:  # warnings are errors here, but not one of the line that happens to run
                print(f"regimeter: {text}", file=sys.stderr)


@atexit.register
def _close_all() -> None:
    global ending
    ending = True
    for profiler in list(made):
        profiler.close()


def _close_with_multiprocessing() -> None:
    """Close at the end of a process of multiprocessing too: it leaves by os._exit, past atexit."""
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is None or process is None:
        return

    def at_exit(close: Callable[[], None]) -> None:
        util.Finalize(None, close, exitpriority=-100)

    util.register_after_fork(_close_all, at_exit)  # its processes forget their finalizers when they start
    if process.parent_process() is not None:
        at_exit(_close_all)


def _go_on() -> None:
    """In a forked child."""
    for profiler in list(made):
        profiler._lock = threading.Lock()  # the one that another thread held would never be released
    _close_with_multiprocessing()
    for profiler in list(made):
        profiler._resume()  # samples its stacks where the parent's were sampled


os.register_at_fork(after_in_child=_go_on)
_close_with_multiprocessing()
