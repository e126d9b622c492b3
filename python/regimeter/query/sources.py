# SPDX-License-Identifier: Apache-2.0
"""What a query can ask: the tables of a run, its analyses, or those of a data set, each as something Arrow reads."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..public.run import Run, load

_CODE = re.compile(r"(?i)\ban index of ([A-Z_]+)")
_LISTS = re.compile(r"(?i)\s*show\s+tables\b")
_PARTITION = re.compile(r"run=")


@dataclass(frozen=True, slots=True)
class Source:
    """One table. data: anything with Arrow's stream, or a pyarrow data set. codes: column -> tokens of its codes."""

    name: str
    data: Any
    codes: dict[str, tuple[str, ...]]


def is_dataset(path: str) -> bool:
    """Whether a folder is a data set: folders of tables, partitioned by run."""
    if not os.path.isdir(path):
        return False
    return any(_PARTITION.match(name) for table in os.scandir(path) if table.is_dir() for name in os.listdir(table))


def sources_of(path: "str | list[str] | Run", sql: str) -> Iterator[Source]:
    """Yield the tables that a query may mean; of a run's analyses those whose names stand in it, as each takes time.

    What `load` raises, and UnavailableError without pyarrow for a data set.
    """
    if isinstance(path, str) and is_dataset(path):
        yield from _of_dataset(path)
        return
    run = path if isinstance(path, Run) else load(path)
    words = set(re.findall(r"\w+", sql.lower()))
    for name in _core.schema()["run"]:
        yield Source(name, run.table(name), _codes("run", name))
    asked = _core.schema()["results"]
    if _LISTS.match(sql):  # by their names alone
        yield from (Source(name, _Nothing(), {}) for name in sorted(asked) if _is_made(name))
        return
    for name in sorted(words & set(asked)):
        table = _result(run, name)
        if table is not None:
            yield Source(name, table, _codes("results", table.table_name))


class _Nothing:
    """Something that Arrow reads as a table without rows."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow

        return pyarrow.table({"row": pyarrow.array([], pyarrow.int64())}).__arrow_c_stream__(requested_schema)


def _is_made(name: str) -> bool:
    """Whether a table of results can be asked for: those of two runs cannot, nor what is no analysis."""
    return name in ("entries", "summary", "causes") or (name in _core.analyses() and not name.startswith("trace_diff"))


def _result(run: Run, name: str) -> Any:
    if name in ("entries", "summary"):
        return getattr(run, name)
    if name == "causes":
        return run._causes({})
    return run.analyse(name) if _is_made(name) else None


def _codes(group: str, table: str) -> dict[str, tuple[str, ...]]:
    """Return the tokens of the columns whose description names a list of them."""
    found = {}
    for column in _core.schema()[group][table]["columns"]:
        match = _CODE.search(column["doc"])
        tokens = getattr(_core, match[1], None) if match else None
        if isinstance(tokens, tuple):
            found[column["name"]] = tokens
    return found


def _of_dataset(path: str) -> Iterator[Source]:
    try:
        import pyarrow.dataset as dataset
    except ImportError:
        raise _core.UnavailableError("a data set needs pyarrow: pip install 'regimeter[arrow]'") from None
    for folder in sorted(os.scandir(path), key=lambda entry: entry.name):
        if folder.is_dir() and any(_PARTITION.match(name) for name in os.listdir(folder)):
            yield Source(folder.name, dataset.dataset(folder.path, format="parquet", partitioning="hive"), {})
