# SPDX-License-Identifier: Apache-2.0
"""The result of an analysis: its table, with names and codes as text."""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from .. import _core
from ..run.trace_facts import anomalies_of
from ..system.joints import joint
from ..system.text import wrapped
from .rows import render_rows
from .verb import Verb

if TYPE_CHECKING:
    from ..public.run import Run

CODE = "code:"
VERSION = 1  # of the JSON document


@functools.cache
def column_types(group: str, table: str) -> dict[str, str]:
    """Return the type of each column of a table by its name; group: "run" or "results". Not to be changed."""
    return {column["name"]: column["type"] for column in _core.schema()[group][table]["columns"]}


class Result(Sequence[dict[str, Any]]):
    """Rows of an analysis as dictionaries; names are text, codes are tokens, what is unavailable is None.

    ``table`` is the table itself, whose columns are NumPy arrays without a copy; the result can be handed to pyarrow
    or polars as it is.
    """

    def __init__(self, verb: Verb, table: "_core.Table", run: "Run", other: "Run | None" = None, total: int = -1):
        self.verb = verb
        self.table = table
        self.run = run
        self.other = other
        self.limit = total  # rows to show, -1 for all; the table has them all

    @functools.cached_property
    def types(self) -> dict[str, str]:
        """Type of each column by its name."""
        return column_types("results", self.table.table_name)

    @functools.cached_property
    def _codes(self) -> dict[str, tuple[str, ...]]:
        stated = {c.name: c.unit.removeprefix(CODE) for c in self.verb.columns if c.unit.startswith(CODE)}
        return {name: getattr(_core, constant) for name, constant in stated.items() if name in self.types}

    @functools.cached_property
    def _of_other(self) -> frozenset[str]:
        stated = {column.name for column in self.verb.columns if column.unit == "other"}
        return frozenset(stated | {name for name in self.columns if name.startswith("baseline_")})

    @property
    def shares(self) -> dict[str, str]:
        """What each share among the columns is of, as the description of the table says it."""
        described = _core.schema()["results"][self.table.table_name]["columns"]
        shown = {column.name for column in self.verb.columns if column.unit == "share"}
        return {c["name"]: c["doc"] for c in described if c["name"] in shown or c["name"].endswith("share")}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.table.columns

    def __len__(self) -> int:
        rows = len(self.table)
        return rows if self.limit < 0 else min(self.limit, rows)

    @property
    def left_out(self) -> int:
        """Rows of the table beyond the limit."""
        return len(self.table) - len(self)

    def values(self, column: str, first: int = 0, last: int | None = None) -> list[Any]:
        """Return a column from row `first` to before row `last`, with names and codes as text."""
        last = len(self) if last is None else last
        cells: list[Any] = memoryview(self.table.column(column))[first:last].tolist()
        kind = self.types[column]
        if kind == "name":
            run = self.other if column in self._of_other and self.other is not None else self.run
            texts = {cell: run.string(cell) for cell in set(cells)}
            return [texts[cell] for cell in cells]
        if column in self._codes:
            tokens = self._codes[column]
            return [tokens[cell] if 0 <= cell < len(tokens) else None for cell in cells]
        if kind == "float64":
            return [cell if math.isfinite(cell) else None for cell in cells]
        return cells

    def rows(self, first: int = 0, last: int | None = None) -> list[dict[str, Any]]:
        """Return rows `first` to before `last` as dictionaries."""
        columns = [self.values(name, first, last) for name in self.columns]
        return [dict(zip(self.columns, cells, strict=True)) for cells in zip(*columns, strict=True)]

    def others(self) -> dict[str, Any] | None:
        """Return the sums of what is beyond the limit, in the columns that add; None when nothing is."""
        if not self.left_out:
            return None
        found: dict[str, Any] = {}
        for column in self.verb.columns:
            if column.adds:
                known = [cell for cell in self.values(column.name, len(self), len(self.table)) if cell is not None]
                found[column.name] = math.fsum(known) if self.types[column.name] == "float64" else sum(known)
        return found

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        return self.rows(at, at + 1)[0]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for first in range(0, len(self), 4096):
            yield from self.rows(first, min(first + 4096, len(self)))

    def to_pandas(self) -> Any:
        """Return the rows as a pandas.DataFrame. UnavailableError without pandas."""
        try:
            import pandas
        except ImportError:
            raise _core.UnavailableError(
                "a DataFrame needs the package pandas; install it: pip install pandas"
            ) from None
        return pandas.DataFrame({name: self.values(name) for name in self.columns})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the whole table as an Arrow C stream; names are dictionary-encoded text."""
        return self.table.__arrow_c_stream__(requested_schema)

    def headline(self) -> list[str]:
        """Return the sentences that say what all rows of the table, the limit set aside, tell together; often none."""
        return self.verb.headline(self.rows(0, len(self.table))) if self.verb.headline else []

    def to_document(self, file: str | list[str]) -> dict[str, Any]:
        """Return the result as a JSON-ready dictionary, as ``--json`` of its command prints it; file: what was read."""
        found: dict[str, Any] = {"format": f"regimeter.{self.verb.name}", "version": VERSION, "file": file}
        if self.verb.headline:
            found["headline"] = self.headline()
        if self.shares:
            found["shares"] = self.shares
        rows = list(self)
        found |= self.verb.keyed(rows) if self.verb.keyed else {"rows": rows}
        found["anomalies"] = anomalies_of(self.run)
        if self.other is not None:
            found["baseline_anomalies"] = anomalies_of(self.other)
        if self.left_out:
            found |= {"left_out": self.left_out, "others": self.others()}
        return found

    def text(self, width: int = 0) -> str:
        """Return the headline and the rows as an aligned table; names are shortened to fit `width` characters.

        width: 0 for no limit.
        """
        lines = ["\n".join(wrapped(line, width)) if width else line for line in self.headline()]
        return "\n".join([*lines, *([""] if lines else []), render_rows(self, width)])

    def _repr_html_(self) -> str:
        return str(joint("result in a notebook")(self))

    def __repr__(self) -> str:
        return f"<{self.verb.name}: {len(self)} of {len(self.table)} rows>\n{self.text(120)}"
