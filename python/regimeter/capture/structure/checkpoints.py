# SPDX-License-Identifier: Apache-2.0
"""The writing of checkpoints."""

from typing import TYPE_CHECKING, Any

from . import roles
from .patches import Patches
from .wrapping import within

if TYPE_CHECKING:
    from ...profiler import GPUProfiler


def install(torch: Any, profiler: "GPUProfiler", patches: Patches) -> None:
    """Record torch.save."""
    scope = profiler._role_scope("torch.save", roles.CHECKPOINT)
    wrapper = within(scope, torch.save, torch.compiler.is_compiling)
    if torch.serialization.save is torch.save:
        patches.replace(torch.serialization, "save", wrapper)
    patches.replace(torch, "save", wrapper)
