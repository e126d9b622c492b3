# SPDX-License-Identifier: Apache-2.0
"""Calls of modules.

`Module.__call__` is stood in for, not hooked: with global hooks every call of a module takes torch's slow path (some
microseconds), a hook is not told of a KeyboardInterrupt, and torch.compile warns of them.
"""

import functools
from typing import TYPE_CHECKING, Any

from .backward import Marks
from .names import Names
from .patches import Patches

if TYPE_CHECKING:
    from ...profiler import GPUProfiler

QUIET = "_StopRecomputationError"  # how torch.utils.checkpoint ends a recomputation that has come far enough


def install(torch: Any, profiler: "GPUProfiler", patches: Patches, marks: Marks) -> None:
    """Record every call of a module, and mark where its part of a backward pass begins."""
    names = Names(torch, profiler)
    entry_of, find = names.entries.get, names.find
    original = torch.nn.Module.__call__
    compiling, tracing = torch.compiler.is_compiling, torch._C._get_tracing_state
    grad_enabled, entered, left = torch.is_grad_enabled, marks.entered, marks.left

    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if compiling():
            return original(self, *args, **kwargs)
        entry = entry_of(id(self)) or find(self)
        marked = marks.on and grad_enabled() and not tracing()
        if marked and args:
            entered(entry, args[0])
        scope = entry.scope
        scope.__enter__()
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            kind = None if type(error).__name__ == QUIET else type(error)
            scope.__exit__(kind, error, None)
            raise
        scope.__exit__(None, None, None)
        if marked:
            left(entry, result)
        return result

    patches.replace(torch.nn.Module, "__call__", __call__)
