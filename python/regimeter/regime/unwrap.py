# SPDX-License-Identifier: Apache-2.0
"""The one call that a short function of the program consists of: ``lambda: numpy.sort(x)`` is judged as that call.

The function's instructions are read, not run. Names are looked up in its globals, cells and arguments; attributes of
modules, arrays, tables and plain data alone. What costs next to nothing is made: views of arrays (`x[:, 3]`, `x.T`),
lengths (``len(x) // 2``, ``x.shape[0]``);
`x[indices]` and operators (``x + y``, ``x += y``) are the functions of the library that do the same. Whatever else is
in it (a loop, a second call, an attribute of another object) gives None.
"""

import builtins
import dis
import operator
import sys
from types import EllipsisType, FunctionType, ModuleType
from typing import Any

from . import draws, operators, plain_data, tables

Inner = tuple[Any, tuple[Any, ...], dict[str, Any]]

SKIPPED = ("RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "MAKE_CELL", "PRECALL", "PUSH_NULL", "EXTENDED_ARG")
CONSTANTS = ["LOAD_CONST", "LOAD_SMALL_INT"]
if sys.version_info >= (3, 15):  # before, the instruction told the number of one
    CONSTANTS.append("LOAD_COMMON_CONSTANT")
LAST_METHODS = ("hexdigest", "digest", "item")  # of a result: they take next to no time
QUICK = ("+", "-", "*", "/", "//", "%")  # of two numbers
VIEWS = (
    "t",
    "transpose",
    "permute",
    "view",
    "squeeze",
    "unsqueeze",
    "swapaxes",
    "swapdims",
    "diagonal",
    "expand",
    "narrow",
)

MOST = 40  # instructions of a call


class _Result:
    """Stands for what the call returned."""


class _Method:
    """Stands for a method of that."""


class OtherError(Exception):
    """It is more than this reads."""


def single_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inner | None:
    """Return function, arguments and keywords of the only call in a function of the program, None for anything else."""
    local = bound(function, args, kwargs)
    if local is None:
        return None
    try:
        reading = Reading(function, local)
        reading.read()
    except (OtherError, ArithmeticError, LookupError, ValueError, AttributeError, TypeError, RuntimeError):
        return None
    return reading.found


def bound(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Return the values that the arguments of a function of the program have, None for what this does not read."""
    if type(function) is not FunctionType or function.__code__.co_flags & 0x2A0:  # generators, coroutines
        return None
    code = function.__code__
    if code.co_argcount < len(args) or kwargs or code.co_kwonlyargcount:
        return None
    missing = code.co_argcount - len(args)
    given = (*args, *((function.__defaults__ or ())[-missing:] if missing else ()))
    return dict(zip(code.co_varnames, given, strict=False)) if len(given) == code.co_argcount else None


class Reading:
    """Goes through the instructions of a function, in their order. Nothing is called but views: the first call that is
    found is kept, and its result stands for itself; another one is an OtherError."""

    most = MOST

    def __init__(self, function: FunctionType, local: dict[str, Any]) -> None:
        self.function = function
        self.local = local
        self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
        self.stack: list[Any] = []
        self.names: tuple[str, ...] = ()
        self.found: Inner | None = None

    def read(self) -> Any:
        """Return what the function would."""
        for number, step in enumerate(dis.get_instructions(self.function)):
            if number > self.most:
                break
            if step.opname in ("RETURN_VALUE", "RETURN_CONST"):
                return step.argval if step.opname == "RETURN_CONST" else self.stack.pop()
            if step.opname not in SKIPPED:
                self._take(step.opname, step.arg or 0, step.argval)
        raise OtherError

    def _take(self, name: str, arg: int, value: Any) -> None:
        if name in CONSTANTS:
            self.stack.append(value)
        elif name in ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"):
            self.stack.append(self.local[value])
        elif name in ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"):
            self.stack += [self.local[one] for one in value]
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            self.stack.append(self.cells[value].cell_contents)
        elif name == "LOAD_GLOBAL":
            space = self.function.__globals__
            self.stack.append(space[value] if value in space else getattr(builtins, value))
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            self.stack.append(attribute(self.stack.pop(), value))
        elif name == "KW_NAMES":
            self.names = value if isinstance(value, tuple) else self.function.__code__.co_consts[arg]
        elif name in ("CALL", "CALL_KW"):
            self._call(arg, self.stack.pop() if name == "CALL_KW" else self.names)
        elif name == "BINARY_SUBSCR" or (name == "BINARY_OP" and _operator(arg) == "[]"):
            key, owner = self.stack.pop(), self.stack.pop()
            self._item(owner, key)
        elif name == "BINARY_SLICE":
            key = self._slice()
            self._item(self.stack.pop(), key)
        elif name == "BUILD_SLICE":
            self.stack[len(self.stack) - arg :] = [slice(*self.stack[len(self.stack) - arg :])]
        elif name in ("BINARY_OP", "COMPARE_OP"):
            right, left = self.stack.pop(), self.stack.pop()
            self._operate(_operator(arg) if name == "BINARY_OP" else str(value), (left, right))
        elif name in ("UNARY_NEGATIVE", "UNARY_INVERT"):
            self.record(operator.neg if name == "UNARY_NEGATIVE" else operator.invert, (self.stack.pop(),), {})
        elif name in ("STORE_SUBSCR", "STORE_SLICE"):
            key = self._slice() if name == "STORE_SLICE" else self.stack.pop()
            owner, stored = self.stack.pop(), self.stack.pop()
            self._store(owner, key, stored)
        elif name == "BUILD_TUPLE":
            self.stack[len(self.stack) - arg :] = [tuple(self.stack[len(self.stack) - arg :])]
        elif name == "BUILD_LIST":
            self.stack[len(self.stack) - arg :] = [self.stack[len(self.stack) - arg :]]
        elif name in ("STORE_FAST", "STORE_FAST_STORE_FAST"):
            for one in (value,) if name == "STORE_FAST" else value:
                self.local[one] = self.stack.pop()
        elif name == "STORE_FAST_LOAD_FAST":
            self.local[value[0]] = self.stack.pop()
            self.stack.append(self.local[value[1]])
        elif name == "UNPACK_SEQUENCE" and type(self.stack[-1]) in (tuple, list) and len(self.stack[-1]) == arg:
            self.stack += reversed(self.stack.pop())
        elif name == "POP_TOP":
            self.stack.pop()
        else:
            raise OtherError

    def _call(self, count: int, names: tuple[str, ...]) -> None:
        values = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        self.names = ()
        called = self.stack.pop()
        if isinstance(called, _Method):
            self.stack.append(called)
            return
        if not names and (_is_view(called) or _is_counting(called, values)):
            self.stack.append(called(*values))
            return
        split = len(values) - len(names)
        self.record(called, tuple(values[:split]), dict(zip(names, values[split:], strict=True)))

    def _slice(self) -> slice:
        stop, start = self.stack.pop(), self.stack.pop()
        return slice(start, stop)

    def _operate(self, symbol: str, values: tuple[Any, ...]) -> None:
        """Record an operator on data, as the function of the library that it stands for where that is known; those of
        numbers are made."""
        if symbol in QUICK and all(type(value) in (int, float) and abs(value) < 2**63 for value in values):
            self.stack.append(operators.named(symbol)(*values))
            return
        if symbol.removesuffix("=") not in operators.SYMBOLS and symbol not in operators.SYMBOLS:
            raise OtherError
        self.record(*operators.as_function(operators.named(symbol), values, {}))

    def _store(self, owner: Any, key: Any, stored: Any) -> None:
        """Record a value that is written into an array or into bytes."""
        if isinstance(stored, _Result | _Method):
            raise OtherError
        if _is_array(owner) and type(owner).__module__ == "numpy" and _is_view_key(key):
            self.record(sys.modules["numpy"].copyto, (owner[key], stored), {})
        elif type(owner) in (bytearray, memoryview) or (_is_array(owner) and _is_array(key)):
            self.record(operator.setitem, (owner, key, stored), {})
        else:
            raise OtherError
        self.stack.pop()

    def _item(self, owner: Any, key: Any) -> None:
        if tables.is_table(owner) and type(key) is str:
            self.stack.append(owner[key])  # a column
            return
        if (type(owner) is memoryview and type(key) is slice) or (type(owner) is tuple and type(key) is int):
            self.stack.append(owner[key])
            return
        if not _is_array(owner):
            raise OtherError
        if _is_view_key(key):
            self.stack.append(owner[key])  # a view
            return
        if _is_array(key) and "bool" in str(key.dtype):
            self.record(operator.getitem, (owner, key), {})
            return
        if not _is_array(key) or "int" not in str(key.dtype):
            raise OtherError
        if type(owner).__module__ == "numpy":
            self.record(sys.modules["numpy"].take, (owner, key), {"axis": 0})
        elif key.ndim == 1:
            self.record(sys.modules["torch"].index_select, (owner, 0, key), {})
        else:
            raise OtherError

    def record(self, called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.found is not None or any(isinstance(value, _Result | _Method) for value in (*args, *kwargs.values())):
            raise OtherError
        self.found = (called, args, kwargs)  # the only one
        self.stack.append(_Result())


def attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, _Result):
        if name in LAST_METHODS:
            return _Method()
        raise OtherError
    of_builtin = isinstance(owner, type) and owner.__module__ == "builtins"
    plain = isinstance(owner, ModuleType) or of_builtin or type(owner) in plain_data.OWNERS
    known = plain or _is_array(owner) or tables.is_table(owner) or draws.is_generator(owner)
    if not known:
        raise OtherError
    return getattr(owner, name)


def _is_array(value: Any) -> bool:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    plain = numpy is not None and type(value) is numpy.ndarray
    return plain or (torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter))


def _is_view(called: Any) -> bool:
    """Say whether it is a method of an array that makes another view of the same data."""
    return _is_array(getattr(called, "__self__", None)) and getattr(called, "__name__", "") in VIEWS


def _is_counting(called: Any, values: list[Any]) -> bool:
    """Say whether it is `len` of data, or a number of a number, which take next to no time."""
    if called is len:
        value = values[0] if len(values) == 1 else None
        return type(value) in plain_data.OWNERS or _is_array(value) or tables.is_table(value)
    return called in (int, float, max, min) and bool(values) and all(type(value) in (int, float) for value in values)


def _operator(number: int) -> str:
    return str(dis._nb_ops[number][1])  # type: ignore[attr-defined]


def _is_view_key(key: Any) -> bool:
    """Say whether what stands in brackets selects a view: numbers and slices."""
    parts = key if type(key) is tuple else (key,)
    return all(isinstance(part, int | slice | EllipsisType | None) for part in parts)
