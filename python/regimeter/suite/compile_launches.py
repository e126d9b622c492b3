# SPDX-License-Identifier: Apache-2.0
"""What one call launches, and the bytes that it moves: of eager code by operators, of generated code by its kernels.

Eager: operators of the dispatcher that read or write memory, each with its operands once, its results once, and what it
changes in place twice (`regime.torch_work.Count`). Generated: the kernels that the modules of inductor call, with the
same rule for the tensors that each is given, and the operators in the library kernels that they call. Modules are
changed for one call only, and put back: their kernels and libraries stand in them by name.
"""

import contextlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ..regime.arguments import Array, describe
from ..regime.torch_work import Count, make_mode
from .generated_code import pointers_of

LIBRARIES = ("extern_kernels", "aten", "inductor_ops", "_quantized")  # names under which generated code has operators


class Launches:
    """What was launched so far: generated kernels, and operators."""

    def __init__(self) -> None:
        self.operators = Count()
        self.kernels = 0
        self.kernel_bytes = 0

    @property
    def count(self) -> int:
        """Launches of both kinds."""
        return self.kernels + self.operators.moving

    @property
    def bytes(self) -> int:
        """What they read and wrote."""
        return self.kernel_bytes + int(self.operators.bytes)

    def add(self, pointers: list[str], args: tuple[Any, ...]) -> None:
        """Count the launch of one generated kernel with these arguments."""
        self.kernels += 1
        self.kernel_bytes += moved_bytes(pointers, [one for one in map(describe, args) if one is not None])


@contextlib.contextmanager
def _counting(count: Count) -> Iterator[None]:
    """Add the operators of the block to a count."""
    with make_mode(lambda function, args, kwargs, result, _: count.add(function, args, kwargs, result)):
        yield


def moved_bytes(pointers: list[str], arrays: list[Array]) -> int:
    """Return the bytes that a kernel reads and writes; each array once where it does not say which it does."""
    if len(pointers) != len(arrays):
        return sum({one.start: one.bytes for one in arrays}.values())
    pairs = list(zip(pointers, arrays, strict=True))
    read = {one.start: one.bytes for pointer, one in pairs if pointer.startswith("in")}
    written = {one.start: one.bytes for pointer, one in pairs if "out" in pointer}
    return sum(read.values()) + sum(written.values())


def of_eager(call: Callable[[], Any]) -> Launches:
    """Return what a call launches that runs no compiled code."""
    found = Launches()
    with _counting(found.operators):
        call()
    return found


def of_generated(call: Callable[[], Any]) -> Launches:
    """Return what the generated code launches that a call runs; what runs beside it is not counted."""
    found = Launches()
    with contextlib.ExitStack() as stack:
        for module in _modules():
            stack.enter_context(_told(module, found))
        call()
    return found


def _modules() -> list[ModuleType]:
    """Return the modules of generated code in this process."""
    cache: Any = import_module("torch._inductor.codecache").PyCodeCache
    known = getattr(cache, "modules", None)
    modules = [*known] if isinstance(known, list) else [*cache.cache.values()]  # the second in older versions
    return [one for one in dict.fromkeys(modules) if hasattr(one, "call") and getattr(one, "__file__", None)]


@contextlib.contextmanager
def _told(module: ModuleType, found: Launches) -> Iterator[None]:
    """Let a module of generated code tell what it calls."""
    names = vars(module)
    pointers = pointers_of(Path(str(module.__file__)).read_text())
    changed: dict[str, Any] = {
        name: _Kernel(names[name], pointers[name], found) for name in pointers.keys() & names.keys()
    }
    changed |= {name: _Library(names[name], found) for name in LIBRARIES if name in names}
    if "torch" in names:
        changed["torch"] = _Torch(names["torch"], found)
    before = {name: names[name] for name in changed}
    names.update(changed)
    try:
        yield
    finally:
        names.update(before)


class _Kernel:
    """A generated kernel: called itself, or by its `run`."""

    def __init__(self, kernel: Any, pointers: list[str], found: Launches) -> None:
        self._kernel, self._pointers, self._found = kernel, pointers, found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._found.add(self._pointers, args)
        return self._kernel(*args, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        self._found.add(self._pointers, args)
        return self._kernel.run(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


class _Library:
    """A namespace of operators, or one of them; the operators within a call are counted."""

    def __init__(self, target: Any, found: Launches) -> None:
        self._target, self._found = target, found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _counting(self._found.operators):
            return self._target(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return _Library(getattr(self._target, name), self._found)


class _Torch:
    """torch, of which generated code calls operators by `torch.ops`."""

    def __init__(self, torch: Any, found: Launches) -> None:
        self._torch = torch
        self.ops = _Library(torch.ops, found)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)
