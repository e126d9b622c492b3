# SPDX-License-Identifier: Apache-2.0
"""One SELECT and its rows."""

import datetime
import decimal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from ..system.quantities import finite
from .sources import Source, sources_of

if TYPE_CHECKING:
    from ..public.run import Run

FORMAT, VERSION = "regimeter.query", 1
ROW = "row"  # what columns such as spans.parent count in
# In this order: the last closes the lock. Without external access SQL reads and writes no file and loads no extension;
# without replacements it cannot name variables of Python.
SETTINGS = (
    "SET python_enable_replacements=false",
    "SET autoinstall_known_extensions=false",
    "SET autoload_known_extensions=false",
    "SET temp_directory=''",
    "SET enable_external_access=false",
    "SET lock_configuration=true",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The columns of a query, their SQL types, and rows of Python values; what is unavailable is None."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def to_document(self, file: str | list[str]) -> dict[str, Any]:
        """Return it as a JSON-ready dictionary."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "file": file,
            "columns": [{"name": name, "type": kind} for name, kind in zip(self.columns, self.types, strict=True)],
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
        }


def query(source: "str | list[str] | Run", sql: str) -> Answer:
    """Return the rows of one SELECT over the tables of a run or trace, or of a data set of `analyze_ranks`.

    Tables have the names of docs/schema.md and a column `row`, names and codes are text. ValueError for what is no
    single SELECT, or an error in it; UnavailableError without DuckDB; else what `load` raises.
    """
    duckdb = _duckdb()
    _check(duckdb, sql)
    connection = duckdb.connect(":memory:")
    try:
        for table in sources_of(source, sql):
            _add(connection, table)
        for setting in SETTINGS:
            connection.execute(setting)
        try:
            found = connection.execute(sql)
            rows = [tuple(_plain(value) for value in row) for row in found.fetchall()]
        except duckdb.Error as error:
            raise ValueError(_sentence(error)) from None
        described = found.description or []
        return Answer(_unique([column[0] for column in described]), tuple(str(column[1]) for column in described), rows)
    finally:
        connection.close()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise _core.UnavailableError("a query needs the package duckdb: pip install 'regimeter[query]'") from None
    return duckdb


def _check(duckdb: Any, sql: str) -> None:
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise ValueError(_sentence(error)) from None
    kinds = [statement.type for statement in statements]
    if kinds not in ([duckdb.StatementType.SELECT], [duckdb.StatementType.EXPLAIN]):
        named = ", ".join(str(kind).rpartition(".")[2] for kind in kinds) or "nothing"
        raise ValueError(f"a query is one SELECT, which only reads; this is {named}")


def _add(connection: Any, table: Source) -> None:
    """Make a table known by its name, its codes as text."""
    data = table.data
    if not hasattr(data, "scanner"):
        import pyarrow

        data = pyarrow.table(data)
        if ROW not in data.schema.names:
            data = data.add_column(0, ROW, pyarrow.array(range(data.num_rows), pyarrow.int64()))
        for name in [name for name in table.codes if name in data.schema.names]:
            tokens = pyarrow.array(table.codes[name])
            codes = data.column(name).combine_chunks().cast(pyarrow.int32())
            data = data.set_column(data.schema.get_field_index(name), name, _decoded(pyarrow, codes, tokens))
    connection.register(table.name, data)


def _decoded(pyarrow: Any, codes: Any, tokens: Any) -> Any:
    from pyarrow import compute

    known = compute.less(codes, len(tokens))  # a code without a token is none
    return pyarrow.DictionaryArray.from_arrays(compute.if_else(known, codes, None), tokens)


def _unique(names: list[str]) -> tuple[str, ...]:
    """Number the later ones of columns of one name."""
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return tuple(found)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() and not value.as_tuple().exponent else float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return value if isinstance(value, str | int | bool | None) else str(value)


def _sentence(error: Exception) -> str:
    """Return DuckDB's message as one sentence: without the picture of the place, with what it proposes."""
    lines = [line.strip() for line in str(error).split("\n")]
    told = []
    for line in lines:
        if line.startswith("LINE "):
            break
        told.append(line)
    return "the query: " + " ".join(line for line in told if line)
