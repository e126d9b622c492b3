# SPDX-License-Identifier: Apache-2.0
"""Which library a block used: judged by the objects that its own code handles, not by what is importable.

The profiler calls :func:`detect` after the 1st, 2nd, 4th ... 64th execution of an operation. The names that
the block's bytecode loads and stores are looked up in its frame; their types and modules tell the library.
Functions of the program that the block calls are followed a few levels down. No attribute of a user object
is read other than its type, so no code of the program runs.
"""

import dis
import functools
import sys
from collections.abc import Iterator, Mapping
from inspect import CO_OPTIMIZED
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from ._core import BACKENDS

# Top-level package -> backend. A higher number in BACKENDS wins when a block uses several.
PACKAGES = {
    "numpy": "numpy",
    "scipy": "numpy",
    "torch": "torch",
    "torchvision": "torch",
    "torchaudio": "torch",
    "cupy": "cupy",
    "cupyx": "cupy",
}
CODES = {package: BACKENDS.index(name) for package, name in PACKAGES.items()}
UNKNOWN = BACKENDS.index("unknown")
CPU = BACKENDS.index("cpu")
STRONGEST = max(CODES.values())
# type's own descriptors: a metaclass of the program is not asked.
MRO = type.__dict__["__mro__"].__get__
NAMESPACE = type.__dict__["__dict__"].__get__
MAX_DEPTH = 4
MAX_FUNCTIONS = 64
LOCAL_OPS = ("LOAD_FAST", "STORE_FAST", "LOAD_DEREF", "STORE_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF")
GLOBAL_OPS = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_NAME", "STORE_GLOBAL")


def detect(frame: FrameType | None, function: object, first: int, last: int) -> int:
    """Return the backend's index in BACKENDS for a block of `frame`, or for a call of `function`.

    first, last: byte offsets of the first and last instruction of the block in the frame's code.
    """
    walk = _Walk()
    if function is not None:
        walk.value(function, MAX_DEPTH)
    elif frame is not None:
        if 0 <= last < first or frame.f_globals.get("__name__") == "contextlib":
            return UNKNOWN  # begun in another frame: what stands between the two is not the block
        names = list(_names(frame.f_code, first, last))
        found = _locals(frame, names)
        for name in names:
            if name in found:
                walk.value(found[name], MAX_DEPTH)
            elif name in frame.f_globals:
                walk.value(frame.f_globals[name], MAX_DEPTH)
            if walk.best == STRONGEST:
                break
    return walk.best


def _locals(frame: FrameType, names: list[str]) -> dict[str, Any]:
    """Return the values of the names that are local to the frame."""
    every = frame.f_locals
    if sys.version_info < (3, 13) and type(every) is not dict:
        return {}  # the namespace of a class body, made by its metaclass: code of the program
    found = {name: every[name] for name in names if name in every}
    if sys.version_info < (3, 13) and frame.f_code.co_flags & CO_OPTIMIZED and sys.getrefcount(every) <= 3:
        # Here f_locals is a copy that stays with the frame, and would keep what the program deletes alive.
        code = frame.f_code
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            every.pop(name, None)
    return found


def _names(code: CodeType, first: int, last: int) -> Iterator[str]:
    seen = set()
    for instruction in dis.get_instructions(code):
        if instruction.offset < first or (last >= 0 and instruction.offset > last):
            continue
        if instruction.opname.startswith((*LOCAL_OPS, *GLOBAL_OPS)):
            # Newer interpreters load two locals with one instruction, named by a pair.
            values = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            for name in values:
                if isinstance(name, str) and name not in seen:
                    seen.add(name)
                    yield name


class _Walk:
    """Visits values and the functions behind them; `best` is the strongest backend seen."""

    def __init__(self) -> None:
        self.best = CPU
        self.functions: set[CodeType] = set()

    def value(self, value: object, depth: int) -> None:
        kind = type(value)
        if kind is ModuleType:
            self._package(str(vars(value).get("__name__", "")))
        elif kind is FunctionType:
            assert isinstance(value, FunctionType)
            self._function(value, depth)
        elif kind is MethodType:
            assert isinstance(value, MethodType)
            self.value(value.__func__, depth)
            self._instance(type(value.__self__))
        elif kind is BuiltinFunctionType:
            assert isinstance(value, BuiltinFunctionType)
            self._package(str(value.__module__ or ""))
            if type(value.__self__) is not ModuleType:
                self._instance(type(value.__self__))
        elif issubclass(kind, type):  # isinstance() would ask an object of another type for its __class__
            assert isinstance(value, type)
            self._instance(value)
        else:
            self._instance(kind)
            if depth > 0:
                self._contents(value, depth)

    def _package(self, module: str) -> None:
        self.best = max(self.best, CODES.get(module.partition(".")[0], CPU))

    def _instance(self, kind: type) -> None:
        for base in MRO(kind):
            # type's own descriptor: a metaclass of the program is not asked.
            module = type.__dict__["__module__"].__get__(base)
            self._package(module if isinstance(module, str) else "")

    def _contents(self, value: object, depth: int) -> None:
        """Look into the first item of a built-in container and through a wrapper to what it wraps."""
        if type(value) in (list, tuple):
            assert isinstance(value, list | tuple)
            for item in value[:2]:
                self.value(item, 0)
        elif type(value) is dict:
            assert isinstance(value, dict)
            for item in list(value.values())[:2]:
                self.value(item, 0)
        elif type(value) is functools.partial:
            assert isinstance(value, functools.partial)
            self.value(value.func, depth - 1)
        else:
            attributes = _attributes(value)
            wrapped = attributes.get("__wrapped__")
            if wrapped is not None:
                self.value(wrapped, depth - 1)
            elif "__call__" in NAMESPACE(type(value)) or depth == MAX_DEPTH:
                # An object of the program that holds arrays or models, as a trainer does.
                for item in list(attributes.values())[:16]:
                    self.value(item, 0)

    def _function(self, function: FunctionType, depth: int) -> None:
        self._package(function.__module__ or "")
        code = function.__code__
        if depth <= 0 or code in self.functions or len(self.functions) >= MAX_FUNCTIONS:
            return
        self.functions.add(code)
        cells: dict[str, Any] = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                cells[name] = cell.cell_contents
            except ValueError:  # not filled yet
                continue
        for name in (*code.co_names, *code.co_freevars):
            if self.best == STRONGEST:
                return
            if name in cells:
                self.value(cells[name], depth - 1)
            elif name in function.__globals__:
                self.value(function.__globals__[name], depth - 1)


def _attributes(value: object) -> Mapping[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}
