# SPDX-License-Identifier: Apache-2.0
"""Runs in the formats of other tools: which there are, how a file name chooses one, and how they are written."""

import contextlib
import gzip
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .. import _core
from .._core import UnavailableError
from ..system.files import atomic_path
from . import otlp
from .memory_snapshot import write_snapshot

if TYPE_CHECKING:
    from ..public.run import Run

# The first suffix that matches counts. A plain .json is the profile of entries and summary, as ever.
SUFFIXES = {
    ".trace.json": "chrome",
    ".trace.json.gz": "chrome",
    ".pftrace": "perfetto",
    ".perfetto-trace": "perfetto",
    ".speedscope.json": "speedscope",
    ".folded": "collapsed",
    ".collapsed": "collapsed",
    ".otlp.json": "otlp",
    ".pb.gz": "pprof",
    ".pprof": "pprof",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".pickle": "pickle",
}
PAGES = {".html": "html", ".htm": "html"}
# How files begin that a name without a suffix of theirs may replace; of others nobody can tell.
STARTS = {"html": b"<!doctype html", "json": b"{", "run": b"\x89RGM", "parquet": b"PAR1"}
REPORTS = {".txt": "text", ".md": "markdown", ".xml": "junit", ".csv": "csv", ".json": "json", **PAGES}
RUNS = {".rgm": "run"}
COLUMNAR = ("parquet", "arrow")
TABLES = ("csv", *COLUMNAR)
FORMATS = (*dict.fromkeys(SUFFIXES.values()), "speedscope-sampled")


def choose(
    path: str | os.PathLike[str], writes: Mapping[str, str], *, chosen: str | None = None, default: str | None = None
) -> str:
    """Return the format to write to `path`: `chosen`, what its suffix stands for in `writes`, or the default.

    The rule of every output file. ValueError where the suffix stands for a format that is not in `writes`, or says
    nothing and there is no default; for anything but a page under the name of a page, which a browser would run as
    one; and where the default would replace a file of another kind, such as the program's source.
    """
    name = os.fspath(path).lower()
    page = name.endswith(tuple(PAGES))
    if chosen is not None:
        if page and chosen != "html":
            raise ValueError(f"{os.fspath(path)}: the suffix is that of a page, not of {chosen}; choose another name")
        return chosen
    found = next((form for suffix, form in writes.items() if name.endswith(suffix)), None)
    if is_address(name) and "otlp" in writes.values():
        return "otlp"
    if found is None and (default is None or name.endswith((*SUFFIXES, *REPORTS, *RUNS))):
        valid = ", ".join(dict.fromkeys(writes))
        raise ValueError(f"{os.fspath(path)}: the suffix names no format that can be written here; use {valid}")
    if found is None and _is_of_another_kind(path, str(default)):
        valid = ", ".join(dict.fromkeys(writes))
        raise ValueError(f"{os.fspath(path)}: exists and is not a file of this kind; name one that ends in {valid}")
    return found or str(default)


def _is_of_another_kind(path: str | os.PathLike[str], form: str) -> bool:
    """Whether something is there that cannot have been written in the format, such as the program's source."""
    start = STARTS.get(form)
    if start is None or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(len(start))
    return bool(head) and head.lower() != start.lower()


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether what is written goes to a collector of OpenTelemetry and into no file."""
    return os.fspath(path).lower().startswith(("http://", "https://"))


def is_folder(path: str | os.PathLike[str], chosen: str, table: str | None) -> bool:
    """Whether every table goes to a file of its own: a format of tables, and a name that has no suffix."""
    return chosen in TABLES and table is None and not os.path.splitext(os.fspath(path))[1]


def export(
    run: "Run",
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    table: str | None = None,
    stacks: str = "host",
) -> None:
    """Write the run to `path`; see ``Run.export``."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"no export format is called {format!r}; valid are: {', '.join(FORMATS)}")
    chosen = choose(path, SUFFIXES, chosen=format)
    if stacks not in ("host", "device"):
        raise ValueError(f"stacks are of 'host' or 'device' time, not {stacks!r}")
    if table is not None and table not in _core.schema()["run"]:
        raise ValueError(f"a run has no table {table!r}")
    if chosen == "json":
        run.export_json(path)
    elif is_folder(path, chosen, table):
        _export_tables(run, Path(path), chosen)
    elif chosen in COLUMNAR:
        write_columnar(run.table(table or "spans"), path, chosen)
    elif chosen == "otlp":
        if is_address(path):
            otlp.send(run, os.fspath(path))
            return
        with atomic_path(path) as temporary:
            otlp.write(run, temporary)
    elif chosen == "pickle":
        with atomic_path(path) as temporary:
            write_snapshot(run, temporary)
    else:
        option = {"csv": table, "collapsed": stacks}.get(chosen)
        packed = chosen == "pprof" or os.fspath(path).lower().endswith(".gz")
        with atomic_path(path) as temporary, _binary_writer(temporary, packed) as file:
            run._export(chosen, option, file.write)


@contextlib.contextmanager
def _binary_writer(path: str, packed: bool) -> Iterator[IO[bytes]]:
    """Open a file that takes all of the bytes; packed files hold neither a name nor a time, so that they repeat."""
    with open(path, "wb") as file:
        if not packed:
            yield file
            return
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as inner:
            yield inner  # type: ignore[misc]


def _export_tables(run: "Run", folder: Path, chosen: str) -> None:
    """Write each table that has rows to a file of its own; `spans` and `lanes` always."""
    if chosen in COLUMNAR:
        need_pyarrow(chosen)
    folder.mkdir(exist_ok=True)
    for name in _core.schema()["run"]:
        if len(run.table(name)) or name in ("spans", "lanes"):
            export(run, folder / f"{name}.{chosen}", chosen, table=name)


def need_pyarrow(chosen: str) -> Any:
    """Return pyarrow, or say how to get it, before any work is done."""
    try:
        import pyarrow
    except ImportError:
        message = f"{chosen} needs the package pyarrow; install it: pip install 'regimeter[arrow]'"
        raise UnavailableError(message) from None
    return pyarrow


def write_columnar(table: Any, path: str | os.PathLike[str], chosen: str) -> None:
    """Write one table as Parquet or as an Arrow file; names are dictionary-encoded strings."""
    arrow = need_pyarrow(chosen)
    with atomic_path(path) as temporary:
        content = arrow.table(table)
        if chosen == "parquet":
            from pyarrow import parquet

            parquet.write_table(content, temporary)
        else:
            with arrow.OSFile(temporary, "wb") as sink, arrow.ipc.new_file(sink, content.schema) as writer:
                writer.write_table(content)
