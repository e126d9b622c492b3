# SPDX-License-Identifier: Apache-2.0
"""Operators on arrays as the library's function that they stand for: ``a + b`` of NumPy is `numpy.add`.

``a += b`` is the same function with its result in `a`; of torch the method that changes the tensor.
"""

import operator
import sys
from typing import Any

Called = tuple[Any, tuple[Any, ...], dict[str, Any]]

# The operator's function in Python -> NumPy's, torch's.
NAMES = {
    "add": ("add", "add"),
    "sub": ("subtract", "sub"),
    "mul": ("multiply", "mul"),
    "truediv": ("divide", "div"),
    "floordiv": ("floor_divide", "floor_divide"),
    "mod": ("remainder", "remainder"),
    "pow": ("power", "pow"),
    "matmul": ("matmul", "matmul"),
    "and_": ("bitwise_and", "bitwise_and"),
    "or_": ("bitwise_or", "bitwise_or"),
    "xor": ("bitwise_xor", "bitwise_xor"),
    "lshift": ("left_shift", "bitwise_left_shift"),
    "rshift": ("right_shift", "bitwise_right_shift"),
    "neg": ("negative", "neg"),
    "abs": ("absolute", "abs"),
    "invert": ("invert", "bitwise_not"),
    "eq": ("equal", "eq"),
    "ne": ("not_equal", "ne"),
    "lt": ("less", "lt"),
    "le": ("less_equal", "le"),
    "gt": ("greater", "gt"),
    "ge": ("greater_equal", "ge"),
}
# As it stands in a program -> the operator's function.
SYMBOLS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and_", "|": "or_", "^": "xor", "<<": "lshift", ">>": "rshift",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip
POWERS = {2: "square", 0.5: "sqrt", -1: "reciprocal"}  # what NumPy calls for an array to the power of a number
INTERNAL = "_operator"


def named(symbol: str) -> Any:
    """Return the function of an operator, that of ``+=`` where the symbol ends so; KeyError for what is none."""
    if symbol in SYMBOLS:
        return getattr(operator, SYMBOLS[symbol])
    return getattr(operator, "i" + SYMBOLS[symbol.removesuffix("=")].rstrip("_"))


def as_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Called:
    """Return the function of the library that an operator on its arrays stands for, anything else as it is."""
    name = str(getattr(function, "__name__", ""))
    if getattr(function, "__module__", "") != INTERNAL or kwargs or not args:
        return function, args, kwargs
    changes = name not in NAMES and name[:1] == "i"
    plain = name if not changes else next((one for one in NAMES if one.rstrip("_") == name[1:]), "")
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if plain not in NAMES:
        return function, args, kwargs
    if numpy is not None and _are_of(args, (numpy.ndarray,)):
        return _of_numpy(numpy, plain, args, changes) or (function, args, kwargs)
    if torch is not None and _are_of(args[:1], (torch.Tensor, torch.nn.Parameter)):
        of_torch = NAMES[plain][1]
        called = getattr(torch.Tensor, of_torch + "_", None) if changes else getattr(torch, of_torch, None)
        return (function if called is None else called), args, kwargs
    return function, args, kwargs


def _are_of(args: tuple[Any, ...], types: tuple[Any, ...]) -> bool:
    """Say whether there is an array among operands, and nothing but numbers beside."""
    found = [type(value) in types for value in args]
    return any(found) and all(
        own or isinstance(value, int | float | complex) for own, value in zip(found, args, strict=True)
    )


def _of_numpy(numpy: Any, plain: str, args: tuple[Any, ...], changes: bool) -> Called | None:
    if changes and type(args[0]) is not numpy.ndarray:
        return None
    out = {"out": args[0]} if changes else {}
    if plain == "pow" and isinstance(args[1], int | float) and args[1] in POWERS:
        return getattr(numpy, POWERS[args[1]]), args[:1], out
    return getattr(numpy, NAMES[plain][0]), args, out
