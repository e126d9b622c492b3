# SPDX-License-Identifier: Apache-2.0
"""``regimeter export``: a run as JSON, or one of its tables as JSON, CSV, Arrow or Parquet."""

import argparse
import math
import os
from typing import TYPE_CHECKING, Any

from .common import load_run, next_step, print_document

if TYPE_CHECKING:
    from .._core import Table
    from ..trace import Run
    from .common import Verbs

TABLES = ("spans", "lanes", "launches", "memory", "counters", "flops", "anomalies", "summary", "entries")
SUFFIXES = {".json": "json", ".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
FORMAT, VERSION = "regimeter.table", 1
ROWS_AT_ONCE = 65536


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "export",
        parents=[common],
        allow_abbrev=False,
        help="write a run as JSON, or a table of it as JSON, CSV, Arrow or Parquet",
        description="Without --table, JSON is the whole profile (entries, summary, environment), which `regimeter "
        "show` and the page read back; the other formats hold one table. Arrow and Parquet need pyarrow.",
    )
    parser.add_argument("run_file", metavar="RUN", help="recording, saved run or exported JSON")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the suffix names the format")
    parser.add_argument("--format", choices=FORMATS, help="where the suffix does not tell")
    parser.add_argument("--table", choices=TABLES, help="default: spans; for JSON the whole profile")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file."""
    from .errors import CommandError
    from .files import check_output
    from .progress import step

    chosen = arguments.format or SUFFIXES.get(os.path.splitext(arguments.output)[1].lower())
    if chosen is None:
        raise CommandError(f"{arguments.output}: the suffix names no format; add --format {'|'.join(FORMATS)}")
    check_output(arguments.output, arguments.run_file)
    arrow = _arrow(chosen) if chosen in ("arrow", "parquet") else None
    loaded = load_run(arguments.run_file, quiet=arguments.quiet)
    name = arguments.table or ("" if chosen == "json" else "spans")
    with step(f"writing {arguments.output}", quiet=arguments.quiet):
        if not name:
            loaded.export_json(arguments.output)
        elif chosen == "csv":
            _write_csv(_Reader(loaded, name), arguments.output)
        elif chosen == "json":
            _write_json(_Reader(loaded, name), name, arguments.output)
        else:
            _write_arrow(arrow, chosen, _table(loaded, name), arguments.output)
    rows = len(loaded.entries) if not name else len(_table(loaded, name))
    if arguments.json:
        facts = {"file": arguments.output, "format": chosen, "table": name or None, "rows": rows}
        print_document(facts | {"bytes": os.path.getsize(arguments.output)})
    elif not arguments.quiet:
        print(f"{arguments.output}: {rows:,} {'entries' if not name else 'rows of ' + name}, {chosen}")
        _print_next(chosen, name, arguments.output)
    return 0


def _print_next(chosen: str, name: str, output: str) -> None:
    if chosen == "json" and not name:
        print(f"Next: {next_step('show', output)}")
    elif chosen != "json":
        reader = {"csv": "read_csv", "parquet": "read_parquet", "arrow": "read_ipc"}[chosen]
        print(f"Next: polars.{reader}({output!r})")


def _table(loaded: "Run", name: str) -> "Table":
    table: Table = getattr(loaded, name)
    return table


class _Reader:
    """The values of a table in the form of text files: names as text, missing floating-point values as None."""

    def __init__(self, loaded: "Run", name: str) -> None:
        from .. import _core

        schema = _core.schema()
        described = schema["run"].get(name) or schema["results"][name]
        self.columns = [column["name"] for column in described["columns"]]
        self._holds_names = [column["type"] == "name" for column in described["columns"]]
        self._table = _table(loaded, name)
        self._strings = loaded.strings

    def __len__(self) -> int:
        return len(self._table)

    def values(self, rows: slice) -> list[list[Any]]:
        """Return the columns of some rows."""
        return [self._column(i, rows) for i in range(len(self.columns))]

    def _column(self, number: int, rows: slice) -> list[Any]:
        values = getattr(self._table, self.columns[number])[rows].tolist()
        if self._holds_names[number]:
            return [self._strings[value] for value in values]
        return [None if isinstance(value, float) and math.isnan(value) else value for value in values]


def _write_csv(reader: _Reader, output: str) -> None:
    import csv

    from ..report.files import atomic_writer

    with atomic_writer(output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(reader.columns)
        for first in range(0, len(reader), ROWS_AT_ONCE):
            writer.writerows(zip(*reader.values(slice(first, first + ROWS_AT_ONCE)), strict=True))


def _write_json(reader: _Reader, name: str, output: str) -> None:
    import json

    from ..report.files import atomic_writer

    columns = dict(zip(reader.columns, reader.values(slice(None)), strict=True))
    with atomic_writer(output) as file:
        head = {"format": FORMAT, "version": VERSION, "table": name, "rows": len(reader)}
        json.dump(head | {"columns": columns}, file, ensure_ascii=False, allow_nan=False)


def _arrow(chosen: str) -> Any:
    """Return pyarrow, or say how to get it, before any work is done."""
    try:
        import pyarrow
    except ImportError:
        from .._core import UnavailableError

        message = f"{chosen} needs the package pyarrow; install it: pip install 'regimeter[arrow]'"
        raise UnavailableError(message) from None
    return pyarrow


def _write_arrow(arrow: Any, chosen: str, table: "Table", output: str) -> None:
    from ..report.files import atomic_path

    with atomic_path(output) as temporary:
        if chosen == "parquet":
            from pyarrow import parquet

            parquet.write_table(arrow.table(table), temporary)
        else:
            content = arrow.table(table)
            with arrow.OSFile(temporary, "wb") as sink, arrow.ipc.new_file(sink, content.schema) as writer:
                writer.write_table(content)
