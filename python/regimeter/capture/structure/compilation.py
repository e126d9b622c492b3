# SPDX-License-Identifier: Apache-2.0
"""Compilations of torch.compile: the first of a frame, and those after it."""

import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from . import roles
from .patches import Patches

if TYPE_CHECKING:
    from ...profiler import GPUProfiler


def install(dynamo: Any, profiler: "GPUProfiler", patches: Patches) -> None:
    """Keep the frames of our wrappers out of torch.compile, and record what it does."""
    for code in _own_codes():
        dynamo.eval_frame.skip_code(code)
    scopes = {
        kind: profiler._role_scope(kind, roles.COMPILE)
        for kind in ("torch.compile", "torch.compile again", "torch.compile backward", "torch.compile at run time")
    }
    open_scopes: list[Any] = []

    def begin(args: Any = None) -> None:
        scope = scopes[_kind(args)]
        scope.__enter__()
        open_scopes.append(scope)

    def end(args: Any = None) -> None:
        if open_scopes:
            open_scopes.pop().__exit__(None, None, None)

    handler = dynamo.callback.callback_handler
    forget = handler.clear

    def register() -> None:
        handler.register_start_callback(begin)
        handler.register_end_callback(end)

    def clear() -> None:  # torch._dynamo.reset() calls it
        forget()
        register()

    def remove() -> None:
        if begin in handler.start_callbacks:
            handler.remove_start_callback(begin)
        if end in handler.end_callbacks:
            handler.remove_end_callback(end)

    register()
    patches.replace(handler, "clear", clear)
    patches.when_undone(remove)


def _own_codes() -> Iterator[CodeType]:
    """Yield the code of every function of this package, those within functions too."""
    for name, module in list(sys.modules.items()):
        if name != __package__ and not name.startswith(f"{__package__}."):
            continue
        for value in list(vars(module).values()):
            for each in vars(value).values() if isinstance(value, type) else (value,):
                if isinstance(each, FunctionType) and each.__module__ == name:
                    yield from _codes(each.__code__)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _kind(args: Any) -> str:
    trigger = getattr(getattr(args, "callback_trigger", None), "name", "DYNAMO")
    if trigger == "LAZY_BACKWARD":
        return "torch.compile backward"
    if trigger != "DYNAMO":
        return "torch.compile at run time"
    number = str(getattr(args, "compile_id", "")).rpartition("/")[2].partition("_")[0]
    return "torch.compile again" if number.isdigit() and int(number) > 0 else "torch.compile"
