# SPDX-License-Identifier: Apache-2.0
"""``regimeter export``: a run as JSON or in a format of another tool, or one of its tables."""

import argparse
import csv
import math
import os
import sys
from typing import TYPE_CHECKING, Any

from .. import _core
from ..run.formats import COLUMNAR, FORMATS, SUFFIXES, choose, is_address, is_folder, need_pyarrow, write_columnar
from ..run.otlp import need_sdk
from ..suite.flame import sampled_by_default, spans_of
from ..system.files import atomic_writer, write_json
from .common import next_step, print_document
from .errors import CommandError
from .files import check_output
from .progress import step
from .runs import RUNS, load_run, only

if TYPE_CHECKING:
    from .._core import Table
    from ..public.run import Run
    from .common import Verbs

# Written out, because the help of the command line imports nothing of the core.
RUN_TABLES = ("spans", "lanes", "launches", "memory", "counters", "flops", "operators", "frames", "collectives",
              "stalls", "syncs", "flows", "intervals", "files", "anomalies", "witness", "pressure",
              "samples", "stacks", "segments", "blocks")  # fmt: skip
TABLES = (*RUN_TABLES, "summary", "entries")
FORMAT, VERSION = "regimeter.table", 1
FLAMES = ("speedscope", "speedscope-sampled", "collapsed", "pprof")
PICTURES = ("chrome", "perfetto", *FLAMES)
ROWS_AT_ONCE = 65536
NEXT = {
    "chrome": "open it in https://ui.perfetto.dev (it stays on your machine)",
    "perfetto": "open it in https://ui.perfetto.dev (it stays on your machine)",
    "speedscope": "open it in https://www.speedscope.app (it stays on your machine)",
    "speedscope-sampled": "open it in https://www.speedscope.app (it stays on your machine)",
    "collapsed": "draw it with flamegraph.pl or https://www.speedscope.app",
    "pprof": "go tool pprof -http=: FILE",
}


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "export",
        parents=[common],
        description="Without --table, JSON is the whole profile (entries, summary, environment), which `regimeter "
        "show` and the page read back. chrome and perfetto are traces for ui.perfetto.dev; speedscope, collapsed and "
        "pprof are for flame graphs; csv, parquet and arrow hold one table, or, where OUT has no suffix, each table "
        "in a file of the folder OUT. Arrow and Parquet need pyarrow. A name in .gz is compressed. otlp is "
        "the scopes as spans of OpenTelemetry; OUT may be a collector, http://HOST:4318/v1/traces.",
    )
    parser.add_argument("run_files", metavar="RUN", nargs="+", help=RUNS)
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the suffix names the format")
    parser.add_argument("--format", choices=FORMATS, help="where the suffix does not tell")
    parser.add_argument("--table", choices=TABLES, help="default: spans; for JSON the whole profile")
    parser.add_argument(
        "--stacks", choices=("host", "device"), default="host", help="time in collapsed stacks (default: host)"
    )
    parser.add_argument(
        "--of",
        choices=("samples", "spans"),
        help="of pictures: scopes and operators, or what samples of call stacks say; default: samples where the only "
        "scope is the program",
    )
    parser.add_argument(
        "--state", choices=("all", "running", "waiting"), default="all", help="of samples: threads that ran, or waited"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file."""
    try:
        chosen = choose(arguments.output, SUFFIXES, chosen=arguments.format)
    except ValueError as error:
        raise CommandError(f"{error}, or add --format {'|'.join(FORMATS)}") from None
    sent = is_address(arguments.output)
    if sent and chosen != "otlp":
        raise CommandError(f"{arguments.output}: an address takes spans of OpenTelemetry only, not {chosen}")
    if not sent:
        check_output(arguments.output, arguments.run_files)
    if chosen in COLUMNAR:
        need_pyarrow(chosen)
    if chosen == "otlp":
        need_sdk()
    loaded = load_run(only(arguments.run_files), quiet=arguments.quiet)
    if chosen in PICTURES or arguments.of == "samples":
        default = chosen in FLAMES and sampled_by_default(loaded)
        loaded = spans_of(loaded, arguments.of, arguments.state, default=default)
    name = _table_name(arguments, chosen)
    with step(f"writing {arguments.output}", quiet=arguments.quiet):
        if chosen == "json" and name:
            _write_json(_Reader(loaded, name), name, arguments.output)
        elif name in ("summary", "entries"):
            _write_result(loaded, name, chosen, arguments.output)
        else:
            loaded.export(arguments.output, chosen, table=name, stacks=arguments.stacks)
    if chosen == "json" and not name and len(loaded.tables.files) and not len(loaded.entries) and not arguments.quiet:
        print(
            "regimeter: a trace has no scopes, so its profile is empty; --format chrome keeps the events",
            file=sys.stderr,
        )
    scopes = chosen in ("json", "otlp")
    rows = len(_table(loaded, name)) if name else len(loaded.entries if scopes else loaded.spans)
    what = f"rows of {name}" if name else "entries" if scopes else "spans"
    if arguments.json:
        facts = {"file": arguments.output, "format": chosen, "table": name, "rows": rows}
        print_document(facts | {"bytes": None if sent else _size(arguments.output)})
    elif not arguments.quiet:
        print(f"{arguments.output}: {rows:,} {what}, {chosen}")
        _print_next(chosen, name, arguments.output)
    return 0


def _table_name(arguments: argparse.Namespace, chosen: str) -> str | None:
    """The table to write, None where the format holds the whole run."""
    if arguments.table and chosen not in ("json", "csv", *COLUMNAR):
        raise CommandError(
            f"--table: {chosen} holds the whole run; leave it out, or choose json, csv, parquet or arrow"
        )
    if arguments.table or chosen == "json" or is_folder(arguments.output, chosen, None):
        return arguments.table or None
    return "spans" if chosen in ("csv", *COLUMNAR) else None


def _size(output: str) -> int:
    """Bytes that were written."""
    if not os.path.isdir(output):
        return os.path.getsize(output)
    return sum(entry.stat().st_size for entry in os.scandir(output))


def _print_next(chosen: str, name: str | None, output: str) -> None:
    if chosen == "json" and not name:
        print(f"Next: {next_step('show', output)}")
    elif name and chosen != "json":
        reader = {"csv": "read_csv", "parquet": "read_parquet", "arrow": "read_ipc"}[chosen]
        print(f"Next: polars.{reader}({output!r})")
    elif chosen in NEXT:
        print(f"Next: {NEXT[chosen]}")


def _table(loaded: "Run", name: str) -> "Table":
    table: Table = getattr(loaded, name) if name in ("summary", "entries") else loaded.table(name)
    return table


class _Reader:
    """The values of a table in the form of text files: names as text, missing floating-point values as None."""

    def __init__(self, loaded: "Run", name: str) -> None:
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
    with atomic_writer(output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(reader.columns)
        for first in range(0, len(reader), ROWS_AT_ONCE):
            writer.writerows(zip(*reader.values(slice(first, first + ROWS_AT_ONCE)), strict=True))


def _write_json(reader: _Reader, name: str, output: str) -> None:
    columns = dict(zip(reader.columns, reader.values(slice(None)), strict=True))
    head = {"format": FORMAT, "version": VERSION, "table": name, "rows": len(reader)}
    write_json(output, head | {"columns": columns})


def _write_result(loaded: "Run", name: str, chosen: str, output: str) -> None:
    if chosen == "csv":
        _write_csv(_Reader(loaded, name), output)
    else:
        write_columnar(_table(loaded, name), output, chosen)
