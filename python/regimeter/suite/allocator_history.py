# SPDX-License-Identifier: Apache-2.0
"""The history of torch's CUDA allocator: switched on where the program keeps none, dumped, read, off again.

What the allocator dumps is read as every snapshot is: by the reader of memory snapshots, as a run.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..public.run import load

if TYPE_CHECKING:
    from ..public.run import Run

KEPT = "the program records the allocator's history itself, and it is left alone"


def begin_history(torch: Any, **options: Any) -> str | None:
    """Record allocations from now on, with options of torch's `_record_memory_history`; return why not, if so."""
    memory: Any = getattr(torch.cuda, "memory", None)
    if not hasattr(memory, "_record_memory_history"):
        return "this torch keeps no history of its allocator"
    enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    if enabled is not None and enabled():
        return KEPT
    memory._record_memory_history(**options)
    return None


def end_history(torch: Any) -> None:
    """Record no longer."""
    torch.cuda.memory._record_memory_history(enabled=None)


@contextlib.contextmanager
def dumped(torch: Any) -> Iterator[Path]:
    """Give a file with the allocator's snapshot as pytorch.org/memory_viz reads it, which goes when the block ends."""
    with tempfile.TemporaryDirectory(prefix="regimeter-") as folder:
        path = Path(folder) / "memory.pickle"
        torch.cuda.memory._dump_snapshot(os.fspath(path))
        yield path


def allocator_run(torch: Any) -> "Run":
    """Return what the allocator holds now, and its history, as a run. FormatError for what cannot be read."""
    with dumped(torch) as path:
        return load(path)
