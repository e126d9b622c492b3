# SPDX-License-Identifier: Apache-2.0
"""Calls that return when the device has finished, and copies to it, each with the line that calls."""

import functools
import os
import sys
from collections.abc import Callable
from json.encoder import encode_basestring_ascii as _quoted  # in C: torch.compile looks at no frame of it
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from . import roles
from .patches import Patches

if TYPE_CHECKING:
    from ...profiler import GPUProfiler

READS = ("item", "tolist", "cpu")
CONVERSIONS = ("__bool__", "__int__", "__float__", "__index__")
COPIES = ("to", "cuda")


class Lines:
    """Scopes by the line of the program that calls; lines of torch itself count for the one outside it."""

    def __init__(self, profiler: "GPUProfiler") -> None:
        self._profiler = profiler
        self._scopes: dict[tuple[int, int, str], tuple[CodeType, Any]] = {}

    def scope(self, what: str, role: int, frame: FrameType | None) -> Any:
        """Return the scope of a call from this frame."""
        while frame is not None and frame.f_back is not None and is_torch(frame):
            frame = frame.f_back
        code = frame.f_code if frame is not None else Lines.scope.__code__
        at = (id(code), frame.f_lasti if frame is not None else -1, what)
        found = self._scopes.get(at)
        if found is None:
            line = frame.f_lineno if frame is not None else 0
            found = self._scopes[at] = code, self._new(what, role, code.co_filename, line)  # keeps the code
        return found[1]

    def _new(self, what: str, role: int, file: str, line: int) -> Any:
        told = f'{{"file": {_quoted(file)}, "line": {line}}}'
        return self._profiler._role_scope(f"{what} ({file.rpartition(os.sep)[2]}:{line})", role, told)


def is_torch(frame: FrameType) -> bool:
    """Return whether the code of a frame is torch's."""
    name = frame.f_globals.get("__name__")
    return isinstance(name, str) and (name == "torch" or name.startswith("torch."))


def install(torch: Any, profiler: "GPUProfiler", patches: Patches) -> None:
    """Record reads of the values of a device's tensors; where torch is built for one also copies to it and waits."""
    lines = Lines(profiler)
    compiling = torch.compiler.is_compiling
    built = torch.version.cuda or torch.version.hip or getattr(torch.version, "xpu", None)
    for name in (*READS, *(CONVERSIONS if built else ())):
        patches.replace(torch.Tensor, name, _read(lines, name, getattr(torch.Tensor, name), compiling))
    if not built:
        return
    for name in COPIES:
        patches.replace(torch.Tensor, name, _copy(lines, name, getattr(torch.Tensor, name), compiling))
    for owner, name in (
        (torch.cuda, "synchronize"),
        (torch.cuda.Stream, "synchronize"),
        (torch.cuda.Event, "synchronize"),
    ):
        what = f"{owner.__name__.rpartition('.')[2]}.{name}"
        patches.replace(owner, name, _wait(lines, what, getattr(owner, name), compiling))


def _read(lines: Lines, name: str, original: Callable[..., Any], compiling: Callable[[], bool]) -> Any:
    what, role, here = f"Tensor.{name}", roles.SYNC, sys._getframe

    @functools.wraps(original)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if compiling() or self.is_cpu:  # whose values are there: nothing is waited for
            return original(self, *args, **kwargs)
        with lines.scope(what, role, here(1)):
            return original(self, *args, **kwargs)

    return read


def _copy(lines: Lines, name: str, original: Callable[..., Any], compiling: Callable[[], bool]) -> Any:
    what, role, here = f"Tensor.{name}", roles.COPY, sys._getframe

    @functools.wraps(original)
    def copy(self: Any, *args: Any, **kwargs: Any) -> Any:
        if compiling() or not (name == "cuda" or _goes_elsewhere(self, args, kwargs)):
            return original(self, *args, **kwargs)
        with lines.scope(what, role, here(1)):
            return original(self, *args, **kwargs)

    return copy


def _goes_elsewhere(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether `Tensor.to` of these arguments names another kind of device than the tensor's."""
    asked: Any = kwargs.get("device", args[0] if args else None)
    if isinstance(asked, int):
        return bool(tensor.is_cpu)
    kind: Any = asked.partition(":")[0] if isinstance(asked, str) else None
    if kind is None:
        kind = getattr(getattr(asked, "device", asked), "type", None)  # of a device, or of another tensor
    return isinstance(kind, str) and bool(kind != tensor.device.type)


def _wait(lines: Lines, what: str, original: Callable[..., Any], compiling: Callable[[], bool]) -> Any:
    role, here = roles.SYNC, sys._getframe

    @functools.wraps(original)
    def wait(*args: Any, **kwargs: Any) -> Any:
        if compiling():
            return original(*args, **kwargs)
        with lines.scope(what, role, here(1)):
            return original(*args, **kwargs)

    return wait
