# SPDX-License-Identifier: Apache-2.0
"""Which library a block used: judged by the objects that its own code handles, not by what is importable.

The profiler calls :func:`detect` after the 1st, 3rd, 7th ... 127th execution of an operation, after its end has been
timed; what that takes is the profiler's own cost, and no part of the exclusive time of the block around. The names that
the block's bytecode loads and stores are looked up in its frame; their types and modules tell the library.
Functions of the program that the block calls are followed a few levels down. No attribute of a user object
is read other than its type, so no code of the program runs.
"""

import functools
import opcode
import sys
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

from .._core import BACKENDS, Profiler

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
MAX_KEPT = 4096
ATOMS = frozenset((NoneType, bool, int, float, complex, str, bytes))
LOCAL_OPS = (
    "LOAD_FAST",
    "STORE_FAST",
    "LOAD_DEREF",
    "STORE_DEREF",
    "LOAD_CLOSURE",
    "LOAD_CLASSDEREF",
    "LOAD_FROM_DICT_OR_DEREF",
)
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
        names = _names(frame.f_code, first, last)
        found = _locals(frame, names)
        for name in names:
            if name in found:
                walk.value(found[name], MAX_DEPTH)
            elif name in frame.f_globals:
                walk.value(frame.f_globals[name], MAX_DEPTH)
            if walk.best == STRONGEST:
                break
    return walk.best


def _locals(frame: FrameType, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of the names that are local to the frame."""
    if not names:
        return {}
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


def _names(code: CodeType, first: int, last: int) -> tuple[str, ...]:
    """Return the names that instructions first to last load and store; read once for each block of code."""
    key = (id(code), first, last)
    known = _blocks.get(key)
    if known is not None and known[0] is code:
        return known[1]
    names = tuple(dict.fromkeys(_read_names(code, first, last)))
    if len(_blocks) >= MAX_KEPT:
        _blocks.clear()
    _blocks[key] = (code, names)
    return names


def _read_names(code: CodeType, first: int, last: int) -> Iterator[str]:
    # dis would look at the whole code, with its lines and jumps, for the few instructions of a block.
    raw = code.co_code
    extended = 0
    for at in range(max(first, 0), min(last + 2 if last >= 0 else len(raw), len(raw)), 2):
        operation, argument = raw[at], raw[at + 1] | extended
        extended = argument << 8 if operation == EXTENDED_ARG else 0
        form = FORMS.get(operation)
        if form == "local":
            yield code._varname_from_oparg(argument)  # type: ignore[attr-defined]
        elif form == "two locals":
            yield code._varname_from_oparg(argument >> 4)  # type: ignore[attr-defined]
            yield code._varname_from_oparg(argument & 15)  # type: ignore[attr-defined]
        elif form == "global":
            yield code.co_names[argument >> 1]
        elif form == "name":
            yield code.co_names[argument]


def _forms() -> dict[int, str]:
    """Return how the argument of each instruction that names a variable is read."""
    found = {}
    for name, number in opcode.opmap.items():
        if name.startswith(LOCAL_OPS):
            # Newer interpreters load two locals with one instruction.
            found[number] = "two locals" if name.count("_FAST") > 1 else "local"
        elif name in GLOBAL_OPS:
            found[number] = "global" if name == "LOAD_GLOBAL" else "name"
    return found


FORMS = _forms()
EXTENDED_ARG = opcode.opmap["EXTENDED_ARG"]
# (id of the code, first, last) -> the code, which keeps the id taken, and the names of the block.
_blocks: dict[tuple[int, int, int], tuple[CodeType, tuple[str, ...]]] = {}
# Id of a type -> the type, while it lives, and the backend that it tells.
_kinds: dict[int, tuple["weakref.ref[type]", int]] = {}


@dataclass(slots=True)
class _Followed:
    """What a function without a closure has come to, and for how many more looks that is believed."""

    code: CodeType
    backend: int
    looks: int = 1
    left: int = 1


# (id of the code, id of the globals) -> what following it came to.
_followed: dict[tuple[int, int], _Followed] = {}


class _Walk:
    """Visits values and the functions behind them; `best` is the strongest backend seen."""

    def __init__(self) -> None:
        self.best = CPU
        self.functions: set[CodeType] = set()

    def value(self, value: object, depth: int) -> None:
        kind = type(value)
        if kind in ATOMS:
            return
        if kind is ModuleType:
            self._package(str(vars(value).get("__name__", "")))
        elif kind is FunctionType:
            assert isinstance(value, FunctionType)
            if depth == MAX_DEPTH and not self.functions:
                self.best = max(self.best, _follow(value))
            else:
                self.function(value, depth)
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
            if depth > 0 and not issubclass(kind, Profiler):
                self._contents(value, depth)

    def _package(self, module: str) -> None:
        self.best = max(self.best, _of_package(module))

    def _instance(self, kind: type) -> None:
        self.best = max(self.best, _of_kind(kind))

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

    def function(self, function: FunctionType, depth: int) -> None:
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


def _of_package(module: str) -> int:
    return CODES.get(module.partition(".")[0], CPU)


def _of_kind(kind: type) -> int:
    """Return the backend that a type and its bases tell by their modules."""
    known = _kinds.get(id(kind))
    if known is not None and known[0]() is kind:
        return known[1]
    best = CPU
    for base in MRO(kind):
        # type's own descriptor: a metaclass of the program is not asked.
        module = type.__dict__["__module__"].__get__(base)
        best = max(best, _of_package(module if isinstance(module, str) else ""))
    if len(_kinds) >= MAX_KEPT:
        _kinds.clear()
    _kinds[id(kind)] = (weakref.ref(kind), best)
    return best


def _follow(function: FunctionType) -> int:
    """Return the backend that a function and those it calls tell.

    A function without a closure is followed on the 1st, 2nd, 4th, 8th ... look at it: what its globals name may
    change, and following costs a hundred times a look.
    """
    key = (id(function.__code__), id(function.__globals__))
    known = _followed.get(key)
    if known is not None and known.code is function.__code__ and known.left:
        known.left -= 1
        return known.backend
    walk = _Walk()
    walk.function(function, MAX_DEPTH)
    if not function.__code__.co_freevars:
        if len(_followed) >= MAX_KEPT:
            _followed.clear()
        looks = known.looks * 2 if known is not None and known.code is function.__code__ else 1
        _followed[key] = _Followed(function.__code__, walk.best, looks, looks - 1)
    return walk.best


def _attributes(value: object) -> Mapping[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}
