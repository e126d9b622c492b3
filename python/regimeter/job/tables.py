# SPDX-License-Identifier: Apache-2.0
"""What is kept of one rank's file: small tables, from which everything about the job follows.

The communication kernels with their arguments become a small run of their own, so that the analyses that compare ranks
(clock offsets, stragglers, instances) are those of a merged run, called on less. The rest are result tables of the
rank alone. All of it is plain data that can be sent from one process to another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import _core
from ..analysis.result import column_types
from ..public.run import Run
from ..run.ranks import Part, as_one, read_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rules: TypeAlias = "tuple[tuple[str, str], ...]"
Columns: TypeAlias = "dict[str, list[Any]]"
Source: TypeAlias = "str | tuple[str, ...]"  # a file, or the recordings of one rank's processes

# Of collective_times, a row a call: what is known of a call only while its whole rank is at hand.
AROUND = ("exposed_ns", "since_ns", "since_compute_ns", "since_mem_ns", "since_idle_ns")
_SPAN_COLUMNS = ("start_ns", "duration_ns", "name", "kind", "step")


@dataclass(frozen=True, slots=True)
class Stored:
    """A run as plain data, in the order in which Run._build takes it."""

    strings: list[str]
    tables: dict[str, dict[str, Any]]
    start_ns: int
    end_ns: int
    start_unix_ns: int
    complete: bool

    def run(self, rank: int = -1) -> Run:
        """Return the run, on lanes of another rank unless that is -1."""
        tables = dict(self.tables)
        lanes = tables.get("lanes")
        if lanes and rank >= 0:
            tables["lanes"] = lanes | {"rank": np.full(len(lanes["rank"]), rank, np.int32)}
        built: Run = Run._build(
            self.strings, tables, "{}", "trace", self.start_ns, self.end_ns, self.start_unix_ns, self.complete
        )
        return built


@dataclass(frozen=True, slots=True)
class RankTables:
    """What a worker returns of one file.

    calls: the communication kernels. around: the columns of AROUND for each of them. whole, by_step: rank_times.
    steps: step_times. events, kept: of the file. damage: counts of its anomalies by code.
    """

    calls: Stored
    around: "dict[str, NDArray[np.int64]]"
    whole: Columns
    by_step: Columns
    steps: Columns
    events: int
    kept: int
    damage: dict[str, int]


@dataclass(frozen=True, slots=True)
class Read:
    """The outcome for one file: its tables with what it states of itself, or why it is left out."""

    tables: RankTables | None
    stated: int = -1
    job: tuple[Any, ...] = ()
    program: tuple[int, str] | None = None
    owner: bool = False
    problem: str = ""

    def part(self, path: str) -> Part[RankTables]:
        """Return it as a part of a job; it has tables."""
        assert self.tables is not None
        return Part(path, self.tables, self.stated, self.job, self.program, self.owner)


def read_rank(source: Source, rules: Rules = (), strict: bool = False) -> Read:
    """Read one rank into tables; a file that cannot be read is an outcome, not an error."""
    parts: list[Part[Run]] = []
    for path in (source,) if isinstance(source, str) else source:
        try:
            part = read_part(Run, path, strict)
        except (OSError, _core.UnavailableError) as error:
            part = getattr(error, "strerror", None) or str(error).removeprefix(f"{path}: ")
        except MemoryError:
            part = "not enough memory to read it"
        if isinstance(part, str):
            return Read(None, problem=part)
        parts.append(part)
    one = as_one(parts)
    return Read(tables_of(one.held, rules), one.stated, one.job, one.program, one.owner)


def tables_of(run: Run, rules: Rules = ()) -> RankTables:
    """Return the tables of a run."""
    calls = run.analyse("collective_times", group_by=2, rules=rules)
    order = np.argsort(calls.span, kind="stable")
    anomalies: dict[str, int] = {}
    for row in run.anomaly_list():
        anomalies[row["code"]] = anomalies.get(row["code"], 0) + row["count"]
    return RankTables(
        calls=_stored(run, calls, order),
        around={name: getattr(calls, name)[order].astype(np.int64) for name in AROUND},
        whole=_columns(run, "ranks", "rank", rules),
        by_step=_columns(run, "ranks", "step", rules),
        steps=_columns(run, "steps", None, rules),
        events=int(run.tables.files.events.sum()),
        kept=int(run.tables.files.kept.sum()),
        damage=anomalies,
    )


def _columns(run: Run, verb: str, by: str | None, rules: Rules) -> Columns:
    result = run.result(verb, by=by, rules=rules)
    return {name: result.values(name) for name in result.columns}


class _Strings:
    """The texts that a small run needs, numbered anew."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._ids = {0: 0}
        self.texts = [run.string(0)]

    def take(self, ids: "NDArray[Any]") -> "NDArray[np.uint32]":
        """Return the new numbers of texts of the run."""
        found, places = np.unique(ids, return_inverse=True)
        for old in found.tolist():
            if old not in self._ids:
                self._ids[old] = len(self.texts)
                self.texts.append(self._run.string(old))
        return np.array([self._ids[old] for old in found.tolist()], np.uint32)[places]

    def add(self, texts: Sequence[str]) -> "NDArray[np.uint32]":
        """Return the numbers of texts of our own."""
        numbers = {text: len(self.texts) + i for i, text in enumerate(dict.fromkeys(texts))}
        self.texts.extend(numbers)
        return np.array([numbers[text] for text in texts], np.uint32)


def _stored(run: Run, calls: "_core.Table", order: "NDArray[Any]") -> Stored:
    strings = _Strings(run)
    rows = calls.span[order]
    lanes = np.flatnonzero(run.lanes.device >= 0) if "device" in run.lanes.columns else np.zeros(0, np.int64)
    lanes = np.union1d(lanes, run.spans.lane[rows]).astype(np.int64)
    spans: dict[str, Any] = {name: getattr(run.spans, name)[rows] for name in _SPAN_COLUMNS}
    spans["name"] = strings.take(spans["name"])
    spans["lane"] = np.searchsorted(lanes, run.spans.lane[rows]).astype(np.uint32)
    tables = {
        "spans": spans,
        "lanes": _rows(run, "lanes", lanes, strings),
        "collectives": _arguments(run, calls, order, strings),
    }
    unix = -1 if run.start_unix_ns is None else run.start_unix_ns
    return Stored(strings.texts, tables, run.start_ns, run.end_ns, unix, run.complete)


def _rows(run: Run, table: str, rows: "NDArray[Any]", strings: _Strings) -> dict[str, Any]:
    described = column_types("run", table)
    found = {}
    for name in run.table(table).columns:
        cells = getattr(run.table(table), name)[rows]
        found[name] = strings.take(cells) if described[name] == "name" else cells
    return found


def _arguments(run: Run, calls: "_core.Table", order: "NDArray[Any]", strings: _Strings) -> dict[str, Any]:
    """Return a row of `collectives` on each call: as recorded, else what its surroundings say that it is."""
    recorded = calls.arguments[order]
    known = np.flatnonzero(recorded >= 0)
    found = _rows(run, "collectives", recorded[known], strings) if len(known) else {}
    kinds = calls.collective[order]
    named = np.flatnonzero((recorded < 0) & (kinds != _core.COLLECTIVES.index("unknown")))
    if not len(known) and not len(named):
        return {}
    types = column_types("run", "collectives")
    total = len(known) + len(named)
    filled = {
        name: np.concatenate((cells, np.full(len(named), 0 if types[name] == "name" else -1, cells.dtype)))
        for name, cells in found.items()
        if name != "span"
    }
    names = strings.add([_core.COLLECTIVES[kind] for kind in kinds[named].tolist()])
    texts = found["collective"] if "collective" in found else np.zeros(len(known), np.uint32)
    filled["collective"] = np.concatenate((texts, names)).astype(np.uint32)
    filled["span"] = np.concatenate((known, named)).astype(np.uint32)
    assert all(len(column) == total for column in filled.values())
    return filled
