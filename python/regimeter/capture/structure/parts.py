# SPDX-License-Identifier: Apache-2.0
"""What is found in torch, part by part; a part that a torch does not have is missed, not fatal."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import backward, checkpoints, gradients, loaders, modules, optimizers, waits
from .patches import Patches

if TYPE_CHECKING:
    from ...profiler import GPUProfiler

Install = Callable[[Any, "GPUProfiler", Patches], None]


def install(torch: ModuleType, profiler: "GPUProfiler", patches: Patches, marks: backward.Marks) -> list[str]:
    """Put every part in place; return what is missing, with its reason."""
    parts: dict[str, Install] = {
        "modules": functools.partial(modules.install, marks=marks),
        "backward": functools.partial(backward.install, marks=marks),
        "DataLoader": loaders.install,
        "optimizers": optimizers.install,
        "gradients": gradients.install,
        "waits": waits.install,
        "torch.save": checkpoints.install,
    }
    missing = []
    for name, put in parts.items():
        try:
            put(torch, profiler, patches)
        except AttributeError as error:
            missing.append(f"{name}: {error}")
    return missing
