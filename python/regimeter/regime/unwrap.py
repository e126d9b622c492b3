# SPDX-License-Identifier: Apache-2.0
"""The one call that a short function of the program consists of: ``lambda: numpy.sort(x)`` is judged as that call.

The function's instructions are read, not run. Names are looked up in its globals, cells and arguments; attributes of
modules, arrays, tables and plain data alone. Views of arrays, which cost next to nothing, are made (`x[:, 3]`, `x.T`);
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
LAST_METHODS = ("hexdigest", "digest", "item")  # of a result: they take next to no time
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

MOST = 40  # instructions


class _Result:
    """Stands for what the call returned."""


class _Method:
    """Stands for a method of that."""


class _OtherError(Exception):
    """It is more than one call."""


def single_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inner | None:
    """Return function, arguments and keywords of the only call in a function of the program, None for anything else."""
    if type(function) is not FunctionType or function.__code__.co_flags & 0x2A0:  # generators, coroutines
        return None
    code = function.__code__
    if code.co_argcount < len(args) or kwargs or code.co_kwonlyargcount:
        return None
    local = dict(
        zip(code.co_varnames, (*args, *(function.__defaults__ or ())[len(args) - code.co_argcount :]), strict=False)
    )
    if len(local) < code.co_argcount:
        return None
    try:
        return _Reading(function, local).read()
    except (_OtherError, LookupError, ValueError, AttributeError, TypeError, RuntimeError):
        return None


class _Reading:
    def __init__(self, function: FunctionType, local: dict[str, Any]) -> None:
        self.function = function
        self.local = local
        self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
        self.stack: list[Any] = []
        self.names: tuple[str, ...] = ()
        self.found: Inner | None = None

    def read(self) -> Inner | None:
        for number, step in enumerate(dis.get_instructions(self.function)):
            if number > MOST:
                return None
            if step.opname in ("RETURN_VALUE", "RETURN_CONST"):
                return self.found
            if step.opname not in SKIPPED:
                self._take(step.opname, step.arg or 0, step.argval)
        return None

    def _take(self, name: str, arg: int, value: Any) -> None:
        if name == "LOAD_CONST":
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
            self.stack.append(_attribute(self.stack.pop(), value))
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
            self._record(operator.neg if name == "UNARY_NEGATIVE" else operator.invert, (self.stack.pop(),), {})
        elif name in ("STORE_SUBSCR", "STORE_SLICE"):
            key = self._slice() if name == "STORE_SLICE" else self.stack.pop()
            owner, stored = self.stack.pop(), self.stack.pop()
            self._store(owner, key, stored)
        elif name == "BUILD_TUPLE":
            self.stack[len(self.stack) - arg :] = [tuple(self.stack[len(self.stack) - arg :])]
        elif name == "BUILD_LIST":
            self.stack[len(self.stack) - arg :] = [self.stack[len(self.stack) - arg :]]
        elif name == "STORE_FAST":
            self.local[value] = self.stack.pop()
        elif name == "POP_TOP":
            self.stack.pop()
        else:
            raise _OtherError

    def _call(self, count: int, names: tuple[str, ...]) -> None:
        values = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        self.names = ()
        called = self.stack.pop()
        if isinstance(called, _Method):
            self.stack.append(called)
            return
        if not names and _is_view(called):
            self.stack.append(called(*values))
            return
        split = len(values) - len(names)
        self._record(called, tuple(values[:split]), dict(zip(names, values[split:], strict=True)))

    def _slice(self) -> slice:
        stop, start = self.stack.pop(), self.stack.pop()
        return slice(start, stop)

    def _operate(self, symbol: str, values: tuple[Any, ...]) -> None:
        """Record an operator on data, as the function of the library that it stands for where that is known."""
        if symbol.removesuffix("=") not in operators.SYMBOLS and symbol not in operators.SYMBOLS:
            raise _OtherError
        self._record(*operators.as_function(operators.named(symbol), values, {}))

    def _store(self, owner: Any, key: Any, stored: Any) -> None:
        """Record a value that is written into an array or into bytes."""
        if isinstance(stored, _Result | _Method):
            raise _OtherError
        if _is_array(owner) and type(owner).__module__ == "numpy" and _is_view_key(key):
            self._record(sys.modules["numpy"].copyto, (owner[key], stored), {})
        elif type(owner) in (bytearray, memoryview) or (_is_array(owner) and _is_array(key)):
            self._record(operator.setitem, (owner, key, stored), {})
        else:
            raise _OtherError
        self.stack.pop()

    def _item(self, owner: Any, key: Any) -> None:
        if tables.is_table(owner) and type(key) is str:
            self.stack.append(owner[key])  # a column
            return
        if type(owner) is memoryview and type(key) is slice:
            self.stack.append(owner[key])
            return
        if not _is_array(owner):
            raise _OtherError
        if _is_view_key(key):
            self.stack.append(owner[key])  # a view
            return
        if _is_array(key) and "bool" in str(key.dtype):
            self._record(operator.getitem, (owner, key), {})
            return
        if not _is_array(key) or "int" not in str(key.dtype):
            raise _OtherError
        if type(owner).__module__ == "numpy":
            self._record(sys.modules["numpy"].take, (owner, key), {"axis": 0})
        elif key.ndim == 1:
            self._record(sys.modules["torch"].index_select, (owner, 0, key), {})
        else:
            raise _OtherError

    def _record(self, called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.found is not None or any(isinstance(value, _Result | _Method) for value in (*args, *kwargs.values())):
            raise _OtherError
        self.found = (called, args, kwargs)
        self.stack.append(_Result())


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, _Result):
        if name in LAST_METHODS:
            return _Method()
        raise _OtherError
    of_builtin = isinstance(owner, type) and owner.__module__ == "builtins"
    plain = isinstance(owner, ModuleType) or of_builtin or type(owner) in plain_data.OWNERS
    known = plain or _is_array(owner) or tables.is_table(owner) or draws.is_generator(owner)
    if not known:
        raise _OtherError
    return getattr(owner, name)


def _is_array(value: Any) -> bool:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    plain = numpy is not None and type(value) is numpy.ndarray
    return plain or (torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter))


def _is_view(called: Any) -> bool:
    """Say whether it is a method of an array that makes another view of the same data."""
    return _is_array(getattr(called, "__self__", None)) and getattr(called, "__name__", "") in VIEWS


def _operator(number: int) -> str:
    return str(dis._nb_ops[number][1])  # type: ignore[attr-defined]


def _is_view_key(key: Any) -> bool:
    """Say whether what stands in brackets selects a view: numbers and slices."""
    parts = key if type(key) is tuple else (key,)
    return all(isinstance(part, int | slice | EllipsisType | None) for part in parts)
