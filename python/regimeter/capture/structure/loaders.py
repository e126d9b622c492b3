# SPDX-License-Identifier: Apache-2.0
"""Waiting for batches of a DataLoader."""

import functools
from typing import TYPE_CHECKING, Any

from . import roles
from .patches import Patches
from .wrapping import within

if TYPE_CHECKING:
    from ...profiler import GPUProfiler


def install(torch: Any, profiler: "GPUProfiler", patches: Patches) -> None:
    """Record DataLoader.__iter__, which starts workers, and each batch."""
    loader = torch.utils.data.DataLoader
    begin = profiler._role_scope("DataLoader.__iter__", roles.DATA_WAIT)
    patches.replace(loader, "__iter__", within(begin, loader.__iter__, torch.compiler.is_compiling))
    iterator = torch.utils.data.dataloader._BaseDataLoaderIter
    scope = profiler._role_scope("DataLoader.__next__", roles.DATA_WAIT)
    original = iterator.__next__

    @functools.wraps(original)
    def __next__(self: Any) -> Any:
        ended = None
        with scope:
            try:
                return original(self)
            except StopIteration as stop:  # the end of the loop has not failed
                ended = stop
        raise ended.with_traceback(None) from None

    patches.replace(iterator, "__next__", __next__)
