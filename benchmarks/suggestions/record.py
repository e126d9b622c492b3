# SPDX-License-Identifier: Apache-2.0
"""A program that is recorded: with torch.profiler or with our own scopes, as its module says, and loaded as a Run."""

import contextlib
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import regimeter

OPERATORS, STACKS, SCOPES = "operators", "stacks", "scopes"


def recorder_of(program: ModuleType) -> str:
    """Return how a program is recorded: operators with their shapes, Python's stacks too, or scopes."""
    return str(getattr(program, "RECORD", OPERATORS))


def unrecorded(program: ModuleType, side: Callable[..., Any], work: Any) -> Callable[[], Any]:
    """Return a call of one side in which nothing is recorded."""
    if recorder_of(program) == SCOPES:
        return lambda: side(work, contextlib.nullcontext)
    return lambda: side(work)


def record(program: ModuleType, side: Callable[..., Any], work: Any) -> regimeter.Run:
    """Return what one call of a side looks like."""
    if recorder_of(program) == SCOPES:
        with regimeter.GPUProfiler() as profiler:
            side(work, functools.partial(profiler.profile, device="cpu"))
            return profiler.run()
    return _with_torch(lambda: side(work), stacks=recorder_of(program) == STACKS)


def _with_torch(call: Callable[[], Any], *, stacks: bool) -> regimeter.Run:
    from torch._C._profiler import _ExperimentalConfig
    from torch.profiler import ProfilerActivity, profile

    config = _ExperimentalConfig(record_python_gc_info=stacks)
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=not stacks, with_stack=stacks, experimental_config=config
    ) as recorded:
        call()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        recorded.export_chrome_trace(str(file))
        return regimeter.load(str(file))
