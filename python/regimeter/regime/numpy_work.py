# SPDX-License-Identifier: Apache-2.0
"""Work of NumPy's own functions, known by identity of the function object, never by a name.

A ufunc reads each distinct element of its inputs and writes its outputs. Matrix products are 2 m n k operations.
Functions whose arithmetic is an implementation's secret (cos, exp, power, sort) have bytes but no FLOPs.
"""

import functools
import operator
import sys
from collections.abc import Callable
from typing import Any

from .arguments import Array, arrays_in, distinct_bytes
from .work import FORMULA, Work, pipe_of

Formula = Callable[[tuple[Any, ...], dict[str, Any], Any], float | None]

# One operation an element in hardware; complex ones count 2 (add) or 6 (multiply).
SIMPLE_UFUNCS = [
    "add",
    "subtract",
    "negative",
    "positive",
    "absolute",
    "fabs",
    "conjugate",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "sign",
    "multiply",
    "divide",
    "true_divide",
    "square",
    "reciprocal",
    "sqrt",
    "rint",
    "floor",
    "ceil",
    "trunc",
    "clip",
]
# Those of them that take several cycles an element, or a chain of them: their own rate in a cache is the roof.
SLOW = ("divide", "true_divide", "reciprocal", "sqrt", "rint", "floor", "ceil", "trunc")
# What these make depends on numbers among their arguments.
MAKERS = ("zeros", "ones", "full", "tile", "repeat", "reshape", "bincount", "histogram")
PRODUCTS = ("multiply", "divide", "true_divide", "square", "reciprocal")


def of_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Work | None:
    """Return the work of a NumPy function that has returned, None when it is not known to be one."""
    numpy: Any = sys.modules["numpy"]
    owner = getattr(function, "__self__", None)
    if isinstance(owner, numpy.ndarray) and type(owner) is numpy.ndarray:
        method = _methods().get(getattr(function, "__name__", ""))
        return _work(method, (owner, *args), kwargs, result) if method and _is_method(function, owner) else None
    if isinstance(owner, numpy.ufunc):
        if not (kwargs.keys() <= {"axis", "dtype", "out", "keepdims", "initial"}):
            return None
        flops = _reduction if owner in _simple() and function == owner.reduce else _unknown
        return _work(flops, args, kwargs, result)
    if isinstance(function, numpy.ufunc):
        return _of_ufunc(function, args, kwargs, result)
    try:
        formula = _functions().get(function)
    except TypeError:  # not hashable: no function of NumPy
        return None
    return _work(formula, args, kwargs, result) if formula else None


def _is_method(function: Any, owner: Any) -> bool:
    return type(function).__name__ == "builtin_function_or_method" and function == getattr(owner, function.__name__)


def is_shrinkable(function: Any) -> bool:
    """Say whether all that a function of NumPy works on are its arrays, so that one element each is its least."""
    numpy: Any = sys.modules["numpy"]
    owner = getattr(function, "__self__", None)
    if type(owner) is numpy.ndarray:
        return getattr(function, "__name__", "") in _methods() and _is_method(function, owner)
    if isinstance(function, numpy.ufunc):
        return True
    try:
        return function in _functions() and getattr(function, "__name__", "") not in MAKERS
    except TypeError:
        return False


def takes_one_array(function: Any) -> bool:
    """Say whether a function is one of NumPy that goes over one array, so that a smaller one is a smaller call."""
    try:
        return _functions().get(function) in (_reduction, _pass)
    except TypeError:
        return False


def _work(formula: Formula, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Work:
    read, written = arrays_in(args, kwargs), arrays_in(result, kwargs.get("out"))
    moved = distinct_bytes(read) + distinct_bytes(written)
    if formula in (_gather, _scatter):
        moved = min(moved, _moved_by_index(formula, args, read, written))
    flops = formula(args, kwargs, result)
    pipe = pipe_of(written) if written and pipe_of(written) else pipe_of(read)
    if flops and pipe is None:
        flops = None  # integers: no ceiling was measured for them
    source = FORMULA if flops is not None else "unknown"
    footprint = distinct_bytes([*read, *written])
    own = (formula is _reduction and args) or (formula is _pass and len(args) == 1)
    own_rate = _size(args[0]) if own and not kwargs else None
    return Work(flops, float(moved), pipe, source, FORMULA, footprint, elements=own_rate)


def _moved_by_index(formula: Formula, args: tuple[Any, ...], read: list[Array], written: list[Array]) -> int:
    """Return the bytes of the indices and, twice, of the elements that they lead to."""
    table = arrays_in(args[:1])
    index = [array for array in read if array.start not in {one.start for one in table} and "int" in array.dtype]
    elements = sum(array.count for array in index) if formula is _scatter else sum(array.count for array in written)
    size = max((array.bytes // max(1, array.count) for array in table), default=0)
    values = [array for array in read if array not in index and array not in table] if formula is _scatter else []
    return distinct_bytes(index) + distinct_bytes(values) + 2 * elements * size


def _of_ufunc(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Work | None:
    if function.signature is not None:
        formula = _functions().get(function)
        return _work(formula, args, kwargs, result) if formula else None
    inputs = args[: function.nin]
    outputs = (*args[function.nin :], kwargs.get("out"), result)
    read, written = arrays_in(inputs, kwargs.get("where")), arrays_in(outputs)
    elements = max((array.count for array in written), default=1)
    cost = _simple().get(function)
    dtype = written[0].dtype if written else ""
    flops = None if cost is None else float(elements * _factor(cost, dtype))
    pipe = pipe_of(written)
    if pipe is None or pipe == "int8":
        flops = None
    if cost is not None and cost not in SLOW and dtype.startswith(("int", "uint")):
        flops = 0.0  # no floating-point operation, and integer lanes are as wide as memory is fast
    own_rate = elements if flops is None or cost in SLOW else None
    moved = distinct_bytes(read) + distinct_bytes(written)
    source = FORMULA if flops is not None else "unknown"
    return Work(flops, float(moved), pipe, source, FORMULA, distinct_bytes([*read, *written]), elements=own_rate)


def _factor(name: str, dtype: str) -> int:
    if not dtype.startswith("complex"):
        return 1
    return 6 if name in PRODUCTS else 2


@functools.cache
def _simple() -> dict[Any, str]:
    """Ufunc -> its name, for those that are one operation an element."""
    numpy: Any = sys.modules["numpy"]
    named = {name: getattr(numpy, name, None) for name in SIMPLE_UFUNCS}
    return {function: name for name, function in named.items() if isinstance(function, numpy.ufunc)}


@functools.cache
def _functions() -> dict[Any, Formula]:
    """NumPy function -> formula of its operations."""
    numpy: Any = sys.modules["numpy"]
    table: dict[Formula, str] = {
        _matrix_product: "matmul dot vecdot matvec vecmat",
        _inner: "inner vdot",
        _outer: "outer",
        _einsum: "einsum",
        _tensordot: "tensordot",
        _reduction: "sum mean prod max min amax amin nansum",
        _elementwise: "cumsum cumprod",
        _none: "copy copyto ascontiguousarray concatenate stack tile repeat roll flip zeros ones full "
        "zeros_like ones_like full_like where transpose reshape",
        _gather: "take",
        _scatter: "put",
        _pass: "sort argsort var std median argmax argmin any all count_nonzero",
        _unknown: "unique percentile bincount histogram searchsorted cross",
    }
    found = {getattr(numpy, name, None): formula for formula, names in table.items() for name in names.split()}
    linear = {"solve": _solve, "inv": _inverse, "cholesky": _cholesky, "det": _lu, "slogdet": _lu, "qr": _qr}
    found |= {operator.getitem: _none, operator.setitem: _scatter}
    found |= {getattr(numpy.linalg, name, None): formula for name, formula in linear.items()}
    found.pop(None, None)
    return found


def known_functions() -> list[Any]:
    """Return every function and ufunc of NumPy that `of_call` takes."""
    numpy: Any = sys.modules["numpy"]
    return [*_functions(), *(value for value in vars(numpy).values() if isinstance(value, numpy.ufunc))]


@functools.cache
def _methods() -> dict[str, Formula]:
    """Method of ndarray -> formula; the array itself is the first argument."""
    table: dict[Formula, str] = {
        _matrix_product: "dot",
        _reduction: "sum mean prod max min",
        _elementwise: "cumsum cumprod",
        _none: "copy fill astype repeat",
        _gather: "take",
        _scatter: "put",
        _unknown: "sort argsort argmax argmin var std",
    }
    return {name: formula for formula, names in table.items() for name in names.split()}


# --- formulas ---------------------------------------------------------------------------------------------------


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))


def _size(value: Any) -> int:
    product = 1
    for size in _shape(value):
        product *= size
    return product


def _per_multiply_add(*values: Any) -> int:
    """Return 2, or 8 for complex numbers (six for the product, two for the sum)."""
    return 8 if any(str(getattr(value, "dtype", "")).startswith("complex") for value in values) else 2


def _matrix_product(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    if len(args) < 2:
        return None
    left = args[0]
    inner = _shape(left)[-1] if _shape(left) else 1
    return float(_per_multiply_add(*args[:2]) * max(1, _size(result)) * inner) if _size(left) else 0.0


def _inner(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    if len(args) < 2:
        return None
    inner = _shape(args[0])[-1] if len(_shape(result)) else _size(args[0])
    return float(_per_multiply_add(*args[:2]) * max(1, _size(result)) * inner)


def _outer(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    return float(_size(result) * _per_multiply_add(result) // 2)


def _tensordot(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    if len(args) < 2 or not _size(result):
        return None
    # Elements of both operands, with the contracted axes counted in each: their product over the result's is k squared.
    contracted = (_size(args[0]) * _size(args[1]) / _size(result)) ** 0.5
    return float(_per_multiply_add(*args[:2]) * _size(result) * contracted)


def _einsum(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    """Two operands: the product of all index sizes. More depend on the order of contraction, which is not known."""
    if not args or not isinstance(args[0], str) or len(args) != 3 or "." in args[0]:
        return None
    sizes: dict[str, int] = {}
    for letters, operand in zip(args[0].split("->")[0].replace(" ", "").split(","), args[1:], strict=False):
        sizes.update(zip(letters, _shape(operand), strict=False))
    product = 1
    for size in sizes.values():
        product *= size
    return float(_per_multiply_add(*args[1:]) * product)


def _reduction(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    return float(_size(args[0])) if args else None


def _elementwise(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    return float(_size(result))


def _solve(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    """LU and two triangular solves: 2/3 n^3 + 2 n^2 per right-hand side (LAPACK Users' Guide)."""
    if len(_shape(args[0])) != 2:
        return None
    order = _shape(args[0])[0]
    return 2 / 3 * order**3 + 2 * order**2 * max(1, _size(result) // max(1, order))


def _inverse(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    """LU and the solve for the identity that NumPy does (gesv): 8/3 n^3."""
    return 8 / 3 * _shape(args[0])[-1] ** 3 if len(_shape(args[0])) == 2 else None


def _cholesky(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    return 1 / 3 * _shape(args[0])[-1] ** 3 if len(_shape(args[0])) == 2 else None


def _lu(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    """Gaussian elimination (LAPACK Users' Guide): 2/3 n^3."""
    return 2 / 3 * _shape(args[0])[-1] ** 3 if len(_shape(args[0])) == 2 else None


def _qr(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    """Householder QR and the forming of Q (LAPACK Users' Guide): twice 2 m n^2 - 2/3 n^3 for m >= n, reduced."""
    if len(_shape(args[0])) != 2 or len(args) > 1 or kwargs:
        return None
    high, low = max(_shape(args[0])), min(_shape(args[0]))
    return 2 * (2 * high * low**2 - 2 / 3 * low**3) if high == _shape(args[0])[0] else None


def _pass(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    """Unknown, but timed on a part of the array (inner_rate)."""
    return None


def _none(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    return 0.0


def _gather(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    """Reads as many elements as it writes, wherever they lie."""
    return 0.0


def _scatter(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    """Each element that an index leads to comes from memory and goes back."""
    return 0.0


def _unknown(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> float | None:
    return None
