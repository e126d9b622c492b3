# SPDX-License-Identifier: Apache-2.0
"""Collections of Python's garbage, whoever asks for them.

Those of the youngest generation look at some thousand objects and come many times a second in any program: they are
counted and timed together, the others are scopes.
"""

import gc
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from . import roles
from .patches import Patches

if TYPE_CHECKING:
    from ...profiler import GPUProfiler


class Youngest:
    """Collections of the youngest generation so far: how many, and how long they took together."""

    def __init__(self) -> None:
        self.count = 0
        self.ns = 0
        self.begun = 0


def install(profiler: "GPUProfiler", patches: Patches) -> Youngest:
    """Record collections as scopes, by generation; return what is known of the youngest."""
    scopes = [profiler._role_scope(f"gc generation {generation}", roles.GC) for generation in (1, 2)]
    youngest = Youngest()

    def tell(phase: str, info: dict[str, Any]) -> None:
        generation = info["generation"]
        if generation == 0:
            if phase == "start":
                youngest.begun = perf_counter_ns()
            elif youngest.begun:
                youngest.count += 1
                youngest.ns += perf_counter_ns() - youngest.begun
        elif phase == "start":
            scopes[generation - 1].__enter__()
        else:
            scopes[generation - 1].__exit__(None, None, None)

    def remove() -> None:
        if tell in gc.callbacks:
            gc.callbacks.remove(tell)

    gc.callbacks.append(tell)
    patches.when_undone(remove)
    return youngest
