# SPDX-License-Identifier: Apache-2.0
"""Data of Python itself: numbers, text, bytes, patterns, and lists and dictionaries of these.

A function of the interpreter's library on such data runs nothing of the program, and touches what the data occupies.
"""

import array
import collections
import datetime
import decimal
import operator
import re
import sys
from typing import Any

from .work import FORMULA, Work

ATOMS = (
    bool, int, float, complex, str, bytes, bytearray, memoryview, array.array, type(None), range, slice, re.Pattern,
    decimal.Decimal, decimal.Context, datetime.date, datetime.datetime, datetime.time, datetime.timedelta,
)  # fmt: skip
NESTED = (list, tuple, set, frozenset, dict, collections.deque, collections.Counter, collections.defaultdict)
OWNERS = (*(kind for kind in ATOMS if kind is not type(None)), *NESTED)  # of methods that are known
BUFFERS = (bytes, bytearray, memoryview)
MOST_OBJECTS = 250_000
# Modules of the interpreter's library whose functions may wait, start something, or run what is in a file.
OUTSIDE = frozenset((
    "asyncio", "concurrent", "ctypes", "fcntl", "ftplib", "gc", "http", "importlib", "io", "multiprocessing", "os",
    "pathlib", "posix", "pty", "runpy", "select", "selectors", "shelve", "shutil", "signal", "smtplib", "socket",
    "sqlite3", "ssl", "subprocess", "sys", "tempfile", "_thread", "threading", "time", "trace", "urllib", "webbrowser",
))  # fmt: skip
NOT_COMPUTING = (
    "open",
    "input",
    "print",
    "exec",
    "eval",
    "compile",
    "breakpoint",
    "__import__",
    "iter",
    "map",
    "filter",
)
COMPILED = ("builtin_function_or_method", "cython_function_or_method", "fused_cython_function")
POINTER = 8
OBJECT_LINE = 64  # bytes read and written at each object whose count of owners is changed, a line or part of one
SEARCHES = ("find", "rfind", "index", "rindex", "count")  # go over what they belong to once


def occupied(*values: Any, most: int = MOST_OBJECTS) -> int | None:
    """Return the bytes that values occupy with all that is in them; None for other objects, or for more than `most`."""
    seen: set[int] = set()
    total, left = 0, list(values)
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        if len(seen) == most:
            return None
        seen.add(id(value))
        if type(value) in NESTED:
            left.extend(value)
            if isinstance(value, dict):
                left.extend(value.values())
        elif type(value) not in ATOMS:
            return None
        total += value.nbytes if type(value) is memoryview else sys.getsizeof(value)
    return total


def owner_of(function: Any) -> Any:
    """Return the text, bytes, number, pattern, list or table of hashes whose method a function is, else None."""
    owner = getattr(function, "__self__", None)
    return owner if type(owner) in OWNERS else None


def is_of_library(function: Any) -> bool:
    """Say whether a function is one of the interpreter's library, or of compiled code, that computes from its arguments
    alone."""
    if owner_of(function) is not None:
        return True
    module, name = str(getattr(function, "__module__", None) or ""), str(getattr(function, "__name__", ""))
    first = module.partition(".")[0]
    home = sys.modules.get(module)
    if first in OUTSIDE or name in NOT_COMPUTING or home is None:
        return False
    if first not in sys.stdlib_module_names and type(function).__name__ not in COMPILED:
        return False
    return getattr(home, name, None) is function


def of_call(function: Any, args: tuple[Any, ...]) -> Work | None:
    """Return the work of searching, comparing and copying bytes or text, None for anything else."""
    owner = owner_of(function)
    if type(owner) in (str, *BUFFERS) and getattr(function, "__name__", "") in SEARCHES:
        size = sys.getsizeof(owner)
        return Work(bytes=float(size), bytes_source=FORMULA, footprint=size)
    if getattr(function, "__name__", "") == "tobytes" and type(owner) in (array.array, memoryview):
        return _moves(2 * memoryview(owner).nbytes)
    if function in (bytes, bytearray) and len(args) == 1 and type(args[0]) in (*BUFFERS, array.array):
        return _moves(2 * memoryview(args[0]).nbytes)
    copied = (
        owner
        if getattr(function, "__name__", "") == "copy"
        else args[0]
        if function in (list, tuple) and args
        else None
    )
    if isinstance(copied, list | tuple) and type(copied) in (list, tuple):
        return _moves(len(copied) * (2 * POINTER + OBJECT_LINE))
    if function in (operator.eq, operator.ne) and len(args) == 2:
        one, two = args
        if type(one) in BUFFERS and type(two) in BUFFERS and one is not two and len(one) == len(two) and one == two:
            return _moves(2 * len(one))  # equal ones are read to their end
    if function is operator.setitem and type(args[0]) in (bytearray, memoryview) and type(args[2]) in BUFFERS:
        return _moves(2 * len(args[2]))
    return None


def _moves(size: int) -> Work:
    """Return the work of going over so many bytes without arithmetic."""
    return Work(0.0, float(size), flops_source=FORMULA, bytes_source=FORMULA, footprint=size)
