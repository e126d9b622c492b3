# SPDX-License-Identifier: Apache-2.0
"""Tables and sparse matrices: objects of pandas, Polars, Arrow and SciPy as the arrays that they consist of.

Nothing is imported and nothing copied: a column whose memory NumPy can look at is that array, any other one is known by
its size alone.
"""

import sys
from typing import Any

OBJECT_BYTES = 56  # of a short text or a number of Python that a column points to
KINDS = ("DataFrame", "Series", "Index", "RangeIndex", "Table", "RecordBatch", "ChunkedArray")
# Methods that write files or print, or run code that a text has.
REFUSED = ("eval", "query", "info", "plot", "hist", "boxplot", "pipe", "apply", "map", "applymap", "sample")

COPIES = ("copy", "clone", "rechunk", "combine_chunks")
GATHERS = ("take", "gather")
SIMPLE = ("add", "sub", "mul", "neg", "abs", "and_", "or_", "xor", "eq", "ne", "lt", "le", "gt", "ge")
REDUCTIONS = ("sum", "mean", "min", "max", "any", "all")
OF_ARROW = (*REDUCTIONS, "min_max", "count", "add", "subtract", "multiply", "negate", "abs", "and_", "or_", "xor",
            "equal", "not_equal", "less", "less_equal", "greater", "greater_equal")  # fmt: skip
NUMBERS = ("flo", "int", "uin", "boo")
ARROW_TYPES = {"double": "float64", "float": "float32", "halffloat": "float16"}  # as NumPy names them
PLAIN = {str, int, float, bool, bytes, type(None)}

Column = tuple[Any, int, int, str]  # NumPy's view or None; else bytes, elements and type


def library_of(value: Any) -> str:
    """Return pandas, polars, pyarrow or scipy for a table or a sparse matrix of theirs, "" for anything else."""
    home = str(type(value).__module__).partition(".")[0]
    if home in ("pandas", "polars", "pyarrow"):
        return home if type(value).__name__ in KINDS or (home == "pyarrow" and hasattr(value, "nbytes")) else ""
    sparse: Any = sys.modules.get("scipy.sparse") if home == "scipy" else None
    return "scipy" if sparse is not None and sparse.issparse(value) else ""


def is_table(value: Any) -> bool:
    """Say whether it is a table, a column, or a sparse matrix of a known library."""
    return library_of(value) != ""


def is_method(function: Any) -> bool:
    """Say whether it is a table's own method that computes from its data alone."""
    name = str(getattr(function, "__name__", ""))
    owner = getattr(function, "__self__", None)
    known = is_table(owner) and not name.startswith(("to_", "write_", "read_", "_")) and name not in REFUSED
    return known and getattr(getattr(type(owner), name, None), "__module__", None) != "__main__"


def is_plain(value: Any) -> bool:
    """Say whether a table holds numbers, texts and times alone, and no object of the program."""
    if library_of(value) != "pandas":
        return "object" not in str(getattr(value, "dtypes", getattr(value, "dtype", ""))).lower()
    found = [column for _, column in value.items()] if type(value).__name__ == "DataFrame" else [value]
    return all(column.dtype != object or {type(item) for item in column} <= PLAIN for column in found)


def columns(value: Any) -> list[Column]:
    """Return the columns of a table, or the arrays of a sparse matrix."""
    kind = library_of(value)
    if kind == "scipy":
        names = ("data", "indices", "indptr", "row", "col", "offsets")
        return [_seen(getattr(value, name)) for name in names if hasattr(value, name)]
    if kind == "pandas":
        found = [column for _, column in value.items()] if type(value).__name__ == "DataFrame" else [value]
        return [_of_pandas(column) for column in found]
    if kind == "polars":
        found = value.get_columns() if type(value).__name__ == "DataFrame" else [value]
        return [_of_polars(column) for column in found]
    if type(value).__name__ in ("Table", "RecordBatch"):
        return [_of_arrow(column) for column in value.columns]
    return [_of_arrow(value)] if kind else []


def of_call(function: Any, args: tuple[Any, ...], result: Any) -> tuple[float, int] | None:
    """Return operations and bytes of a call that copies columns, or does one operation for each of their elements, and
    of a product of a sparse matrix; None for anything else."""
    owner, name = getattr(function, "__self__", None), str(getattr(function, "__name__", ""))
    home = str(getattr(function, "__module__", ""))
    internal, arrow = home == "_operator", home == "pyarrow.compute"
    given = (owner, *args) if is_table(owner) else args if internal or arrow else ()
    found = [column for value in given if is_table(value) for column in columns(value)]
    if is_table(owner) and name in GATHERS:
        index = sum(int(getattr(value, "nbytes", 0)) for value in args)
        return 0.0, index + 2 * (bytes_of(result) if is_table(result) else 0)
    if not found or any(library_of(value) == "" and not isinstance(value, int | float) for value in given):
        return _of_product(name, given, result) if internal else None
    moved = sum(size for _, size, _, _ in (*found, *columns(result)))
    if is_table(owner) and name in COPIES:
        return 0.0, moved
    if any(dtype[:3] not in NUMBERS for _, _, _, dtype in found) or "scipy" in map(library_of, given):
        return _of_product(name, given, result) if internal else None
    simple = name in (SIMPLE if internal else OF_ARROW if arrow else REDUCTIONS)
    return (float(max(count for _, _, count, _ in found) * len(columns(given[0]) or found)), moved) if simple else None


def _of_product(name: str, given: tuple[Any, ...], result: Any) -> tuple[float, int] | None:
    if name != "matmul" or len(given) != 2 or library_of(given[0]) != "scipy" or library_of(given[1]):
        return None
    width = int(result.size) // max(1, int(result.shape[0]))
    size = bytes_of(given[0]) + int(result.nbytes)
    return 2.0 * given[0].nnz * width, size + min(int(given[1].nbytes), given[0].nnz * width * given[1].dtype.itemsize)


def length_of(value: Any) -> int:
    """Return the rows of a table."""
    return int(value.shape[0]) if library_of(value) == "scipy" else len(value)


def bytes_of(value: Any) -> int:
    """Return the bytes that a table occupies."""
    return sum(size for _, size, _, _ in columns(value))


def part(value: Any, begin: int, length: int, width: int | None) -> Any:
    """Return so many rows of a table from `begin` on, of a sparse matrix with its columns folded into `width`.

    What may be changed in place is a copy.
    """
    kind = library_of(value)
    if kind == "pandas":
        return value[begin : begin + length].copy() if "Index" in type(value).__name__ else _rows(value, begin, length)
    if kind != "scipy":
        return value.slice(begin, length)
    if value.format != "csr":
        raise ValueError(f"parts of {value.format} are not known")
    rows = value[begin : begin + length]
    if width is None:
        return rows
    return type(value)((rows.data, rows.indices % width, rows.indptr), shape=(length, width))


def _rows(value: Any, begin: int, length: int) -> Any:
    return value.iloc[begin : begin + length].copy()


def _seen(array: Any) -> Column:
    return array, int(array.nbytes), int(array.size), str(array.dtype)


def _of_pandas(column: Any) -> Column:
    numpy: Any = sys.modules["numpy"]
    if isinstance(column.dtype, numpy.dtype) and column.dtype.kind != "O" and type(column).__name__ != "RangeIndex":
        return _seen(column.to_numpy(copy=False))
    size = int(column.memory_usage(deep=False))
    if column.dtype == object:
        size += OBJECT_BYTES * len(column)
    return None, size, len(column), str(column.dtype)


def _of_arrow(column: Any) -> Column:
    dtype = str(getattr(column, "type", ""))
    count = len(column) if hasattr(column, "__len__") else 1
    return None, int(getattr(column, "nbytes", 0)), count, ARROW_TYPES.get(dtype, dtype)


def _of_polars(column: Any) -> Column:
    try:
        return _seen(column.to_numpy(allow_copy=False))
    except (RuntimeError, TypeError, ValueError):  # text, gaps, or several pieces
        return None, int(column.estimated_size()), len(column), str(column.dtype)
