# SPDX-License-Identifier: Apache-2.0
"""Documents about one run: exported, shown, recorded, explained, asked."""

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from ..run.records import ProfileEntry, ProfileSummary
from ..suggest.suggestion import OptimizationSuggestion
from ..suggest.verdict import Cause

File = str | list[str]
Row = dict[str, Any]


class Anomaly(TypedDict):
    """What was repaired, dropped or is in doubt; the codes are in docs/schema.md."""

    code: str
    count: int
    detail: str


class LostAnomaly(Anomaly):
    """An anomaly with the rows that it cost, and the first place: in the run's time and in the text."""

    lost: int
    first_ns: int | None
    first_offset: int | None


class Limits(TypedDict):
    """What limits a run (docs/verdict.md). Shares are from 0 to 1, of `window_ms`."""

    cause: str
    sentence: str
    why: str
    next: str
    confidence: str
    tied: list[str]
    shares: dict[str, float]
    window_ms: float
    steps: int
    samples: int
    displaced: int
    unseen_ms: float
    causes: list[Cause]


class RunFacts(TypedDict):
    """Scalars of a run. Times in nanoseconds; start_ns and end_ns on CLOCK_MONOTONIC."""

    source: str
    complete: bool
    start_ns: int
    end_ns: int
    duration_ns: int | None
    started_unix_ns: int | None
    span_count: int
    lane_count: int


class Unavailable(TypedDict):
    """Why figures are missing, by declared device and by field."""

    gpu: dict[str, str]
    cpu: dict[str, str]


class Show(TypedDict):
    """What `regimeter show RUN --json` prints. `units` says what the ends of names mean."""

    file: str
    verdict: Limits | None
    units: dict[str, str]
    run: RunFacts
    environment: dict[str, Any]
    cost: dict[str, Any] | None
    witness: dict[str, Any]
    summary: list[ProfileSummary]
    bottlenecks: list[str]
    unavailable: Unavailable
    anomalies: list[Anomaly]


class Record(Show):
    """What `regimeter record --json` prints: what `show` says of the run, and how the program ended."""

    html: str | None
    exit_code: int | None
    killed_by: int | None
    scoped: bool
    losses: list[str]
    other_files: list[str]


class Launch(TypedDict):
    """The times of one process, by operation, in `unit`."""

    id: int
    pid: int | None
    unit: str
    samples: dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class ExportedEntry(ProfileEntry):
    """An entry with its times in nanoseconds as well, which are exact; null where the run has no start times."""

    start_ns: int | None = None
    duration_ns: int = 0
    own_ns: int = 0


class Profile(TypedDict):
    """An exported profile: `regimeter export RUN -o run.json`, `export_json`. `units` says what the ends of names mean.

    entries: one a scope, in order of start; `memory` and `witness` are columns of equal length.
    """

    units: dict[str, str]
    environment: dict[str, Any]
    run: RunFacts
    cost: dict[str, Any] | None
    anomalies: list[Anomaly]
    memory: dict[str, list[int]]
    witness: dict[str, Any]
    unavailable: Unavailable
    entries: list[ExportedEntry]
    summary: dict[str, ProfileSummary]
    launches: list[Launch]


class Table(TypedDict):
    """A table of a run: `regimeter export RUN --table NAME -o table.json`. Columns and units are in docs/schema.md."""

    table: str
    rows: int
    columns: dict[str, list[Any]]


class Suggestions(TypedDict):
    """What to try next: `regimeter suggest RUN --json`, `export_suggestions`. `merged`: counted by another one."""

    suggestions: list[OptimizationSuggestion]
    merged: list[OptimizationSuggestion]
    file: NotRequired[File]


class Explain(TypedDict):
    """One page for an issue: `regimeter explain RUN --format json`."""

    file: File
    what: str
    verdict: Limits | None
    suggestions: list[OptimizationSuggestion]
    doubts: list[str]
    memory: list[str]
    markdown: str


class QueryColumn(TypedDict):
    """A column of an answer, with its SQL type."""

    name: str
    type: str


class Query(TypedDict):
    """The rows of a SELECT: `regimeter query RUN SQL --json`."""

    file: File
    columns: list[QueryColumn]
    rows: list[Row]


class Regime(TypedDict):
    """What limits a run, its regions and its kernels: `regimeter regime TRACE --json` (docs/regime_profiler.md)."""

    file: str
    ceilings: dict[str, str]
    shares: dict[str, str]
    run: list[Row]
    regions: list[Row]
    kernels: list[Row]


class Memory(TypedDict):
    """Memory of a snapshot, a trace or a recording: `regimeter memory FILE --json` (docs/memory.md)."""

    file: str
    devices: list[Row]
    readings: list[Row]
    drawn_bytes: int | None
    allocations: list[Row]
    growth: list[Row]
    categories: list[Row]
    kinds: list[Row]
    scopes: list[Row]
    cuda_pools: list[Row]
    pools: list[Row]
    shortages: list[Row]


class Recover(TypedDict):
    """What a damaged file still held: `regimeter recover FILE -o OUT --json`."""

    file: str
    scopes: int
    samples: int
    lanes: int
    complete: bool
    missing: list[Anomaly]


class Top(TypedDict):
    """A recording that is being written: `regimeter top RUN --json`, one document a look."""

    file: str
    bytes: int
    writing: bool
    complete: bool
    duration_ns: int
    verdict: Limits | None


class MonitorAlert(TypedDict):
    """A change of an alert, as `regimeter monitor --webhook URL` posts it (docs/monitor.md). It states no format."""

    alert: str
    state: Literal["firing", "cleared"]
    value: float
    threshold: float
    unit: str
    what: str
    recording: str
    pid: int
    time: str | float


class Ranks(TypedDict):
    """A job of many ranks: `regimeter ranks DIR --json` (docs/ranks.md). Times in nanoseconds."""

    file: File
    headline: list[str]
    shares: dict[str, str]
    rows: list[Row]
    ranks: int
    world_size: int | None
    missing: dict[str, Any]
    left_out: list[dict[str, str]]
    files: list[Row]
    clocks: dict[str, Any]
    stragglers: list[Row]
    steps: list[Row]
    collectives: list[Row]
    pipeline: Any
    losses: dict[str, Any]
