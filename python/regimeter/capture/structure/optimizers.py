# SPDX-License-Identifier: Apache-2.0
"""Steps of optimizers, each optimizer under a name of its own."""

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import roles
from .patches import Patches

if TYPE_CHECKING:
    from ...profiler import GPUProfiler

MOST_NUMBERED = 16


class Steps:
    """The scope of each living optimizer: the name of its class, with a number from the second one on."""

    def __init__(self, profiler: "GPUProfiler") -> None:
        self._profiler = profiler
        self._scopes: dict[int, tuple[weakref.ref[Any], str, Any]] = {}  # by address, for as long as it lives

    def scope(self, optimizer: Any) -> Any:
        """Return the scope of an optimizer."""
        found = self._scopes.get(id(optimizer))
        return found[2] if found is not None else self._add(optimizer)

    def _add(self, optimizer: Any) -> Any:
        scopes, at = self._scopes, id(optimizer)

        def forget(gone: Any) -> None:
            if at in scopes and scopes[at][0] is gone:
                del scopes[at]

        name = self._name(type(optimizer).__name__)
        scope = self._profiler._role_scope(name, roles.OPTIMIZER)
        scopes[at] = weakref.ref(optimizer, forget), name, scope
        return scope

    def _name(self, kind: str) -> str:
        taken = {name for _, name, _ in self._scopes.values()}
        names = [f"{kind}.step", *(f"{kind}.step #{number}" for number in range(2, MOST_NUMBERED + 1))]
        return next((name for name in names if name not in taken), names[0])


def install(torch: Any, profiler: "GPUProfiler", patches: Patches) -> None:
    """Record `step` of every class of optimizers, from its first instance on.

    torch puts its own hooks around `step` of a class when the first instance is made; ours lies around that, because
    torch's global hooks do not run when a step raises.
    """
    steps = Steps(profiler)
    base = torch.optim.Optimizer
    compiling = torch.compiler.is_compiling
    original = base.profile_hook_step

    def wrap(hooked: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(hooked)
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            if compiling():
                return hooked(self, *args, **kwargs)
            with steps.scope(self):
                return hooked(self, *args, **kwargs)

        return step

    @functools.wraps(original)
    def profile_hook_step(function: Callable[..., Any]) -> Callable[..., Any]:
        hooked = original(function)
        step = wrap(hooked)
        ours.append(step)
        return step

    ours: list[Any] = []

    def restore() -> None:
        for kind in _classes(base):
            if vars(kind).get("step") in ours:
                kind.step = vars(kind)["step"].__wrapped__
                kind.step.hooked = True

    patches.replace(base, "profile_hook_step", staticmethod(profile_hook_step))
    for kind in _classes(base):  # of which there are instances already
        step = vars(kind).get("step")
        if getattr(step, "hooked", False):
            wrapper = wrap(step)
            ours.append(wrapper)
            kind.step = wrapper
    patches.when_undone(restore)


def _classes(base: Any) -> list[Any]:
    found = [base]
    for kind in found:
        found.extend(each for each in kind.__subclasses__() if each not in found)
    return found
