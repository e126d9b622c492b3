# SPDX-License-Identifier: Apache-2.0
"""Backward passes, and in them the part of each module.

Autograd runs the nodes of a graph in the opposite order of their making. A hook before the node that made a module's
output begins its part; one before the node that made its input begins the part of the module around it. Such hooks
get the gradients and return nothing, so no node and no tensor is changed. They cost more than all else that is found,
so only as many passes are taken apart as keep them within their share; the others are one scope each.
"""

import functools
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from . import roles
from .names import Entry
from .patches import Patches

if TYPE_CHECKING:
    from ...profiler import GPUProfiler

MOST_HOOKED = 1 << 16
MOST_MARKED = 100_000  # without any backward pass
MARK_NS = 60_000.0  # what a hook costs to make and to run, as whole passes with and without them show
SHARE = 0.01  # of the time that marks may cost
SPARE_NS = 10e6  # what they may cost before that counts


class _Thread(threading.local):
    """Of a thread: the module whose part is open, and the numbers of the nodes that have a hook."""

    def __init__(self) -> None:
        self.part: list[Any] = [None]
        self.hooked: set[int] = set()
        self.inside = False


class Marks:
    """Hooks on nodes of the graph, and the parts that they begin."""

    def __init__(self, torch: Any, profiler: "GPUProfiler") -> None:
        self._profiler = profiler
        self._types = (torch.Tensor, torch.nn.Parameter)
        self._tensor = torch.Tensor
        self._modes = torch._C._len_torch_function_stack
        self._compiling = torch.compiler.is_compiling
        self._at_end = torch.autograd.Variable._execution_engine.queue_callback
        self._thread = _Thread()
        self._scopes: dict[str, Any] = {}
        self._passes = 0
        self.on = True
        self._made = 0
        self._credit = SPARE_NS
        self._looked = perf_counter_ns()
        self.passes = {"passes": 0, "by_module": 0}
        self._elsewhere: list[list[Any]] = []

    # --- while the graph is made ---------------------------------------------------------------------------

    def entered(self, entry: Entry, value: Any) -> None:
        """Before a call: what was made before belongs to the module around, unless it is known better."""
        if type(value) is self._tensor and entry.parent is not None and not self._modes():
            node = value.grad_fn
            if node is not None:
                self._hook(entry.parent, node)

    def left(self, entry: Entry, value: Any) -> None:
        """After a call: the node that made the result is the last of the module."""
        if type(value) is not self._tensor:
            value = _first(value, self._types)
        if value is not None and not self._modes():
            node = value.grad_fn
            if node is not None:
                self._hook(entry, node)

    def _hook(self, entry: Entry, node: Any) -> None:
        hooked, number = self._thread.hooked, node._sequence_nr()
        if number in hooked:
            return
        if len(hooked) >= MOST_HOOKED:
            hooked.clear()
        hooked.add(number)
        self._made += 1
        if self._made > MOST_MARKED:
            self.on = False
        node.register_prehook(entry.mark or self._mark(entry))

    def _mark(self, entry: Entry) -> Callable[[Any], None]:
        scope = self._scopes.get(entry.name)
        if scope is None:
            # Under a name of its own, so that no table takes it for a call of the module.
            scope = self._profiler._role_scope(f"{entry.name} backward", roles.BACKWARD)
            self._scopes[entry.name] = scope
        thread, compiling = self._thread, self._compiling

        def mark(gradients: Any) -> None:
            if compiling() or not self._passes:
                return
            part = thread.part
            before = part[0]
            if before is scope:
                return
            if before is not None:
                before.__exit__(None, None, None)
            elif not thread.inside:
                self._other_thread(part)
            scope.__enter__()
            part[0] = scope

        entry.mark = mark
        return mark

    def _settle(self) -> None:
        """After a pass: marks of the next one are made where those so far have cost no more than their share."""
        now = perf_counter_ns()
        self.passes["passes"] += 1
        self.passes["by_module"] += self._made > 0
        self._credit = min(SPARE_NS, self._credit + (now - self._looked) * SHARE) - self._made * MARK_NS
        self._looked, self._made = now, 0
        self.on = self._credit > 0

    # --- while it is walked --------------------------------------------------------------------------------

    def _other_thread(self, part: list[Any]) -> None:
        """Of a thread of autograd's own: its last part ends when the pass does."""
        self._elsewhere.append(part)
        self._at_end(lambda: _end(part))

    def within(self, scope: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, which walks a graph, with the scope around it."""
        thread, compiling = self._thread, self._compiling

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if compiling():
                return function(*args, **kwargs)
            around, part = (thread.part, thread.inside), [None]
            thread.part, thread.inside = part, True
            self._passes += 1
            try:
                with scope:
                    try:
                        return function(*args, **kwargs)
                    finally:
                        _end(part)
            finally:
                self._passes -= 1
                thread.part, thread.inside = around
                thread.hooked.clear()
                if not self._passes:
                    for other in self._elsewhere:
                        _end(other)
                    self._elsewhere.clear()
                    self._settle()

        return wrapper


def install(torch: Any, profiler: "GPUProfiler", patches: Patches, marks: Marks) -> None:
    """Record torch.autograd.backward, which Tensor.backward calls, and torch.autograd.grad."""
    for name, text in (("backward", "backward"), ("grad", "autograd.grad")):
        scope = profiler._role_scope(text, roles.BACKWARD)
        patches.replace(torch.autograd, name, marks.within(scope, getattr(torch.autograd, name)))


def _end(part: list[Any]) -> None:
    scope, part[0] = part[0], None
    if scope is not None:
        scope.__exit__(None, None, None)


def _first(value: Any, types: tuple[type, ...], depth: int = 4) -> Any:
    """Return the first tensor in nested tuples, lists and dictionaries, None for none and for those of subclasses."""
    if type(value) in types:
        return value
    if depth and isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            found = _first(item, types, depth - 1)
            if found is not None:
                return found
    return None
