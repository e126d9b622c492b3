# SPDX-License-Identifier: Apache-2.0
"""What is done to gradients between backward and the optimizer: clipped, and set to zero."""

from typing import TYPE_CHECKING, Any

from . import roles
from .patches import Patches
from .wrapping import within

if TYPE_CHECKING:
    from ...profiler import GPUProfiler

CLIPPING = ("clip_grad_norm_", "clip_grad_value_")


def install(torch: Any, profiler: "GPUProfiler", patches: Patches) -> None:
    """Record torch.nn.utils.clip_grad_*, Optimizer.zero_grad and Module.zero_grad."""
    compiling = torch.compiler.is_compiling
    for name in CLIPPING:
        scope = profiler._role_scope(name, roles.GRAD_CLIP)
        original = getattr(torch.nn.utils, name)
        wrapper = within(scope, original, compiling)
        for place in (torch.nn.utils.clip_grad, torch.nn.utils):
            if getattr(place, name) is original:
                patches.replace(place, name, wrapper)
    for owner in (torch.optim.Optimizer, torch.nn.Module):
        scope = profiler._role_scope(f"{owner.__name__}.zero_grad", roles.ZERO_GRAD)
        patches.replace(owner, "zero_grad", within(scope, owner.zero_grad, compiling))
