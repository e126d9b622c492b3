# SPDX-License-Identifier: Apache-2.0
"""Documents about several runs: compared, in pairs, against a history, kept."""

from typing import Any, NotRequired, TypedDict

from ..compare.environments import Difference
from ..compare.result import OperationComparison
from .runs import Row


class ComparisonCounts(TypedDict):
    """Counts over the rows; regressions and improvements are null where nothing could be compared."""

    total_operations: int
    regressions: int | None
    improvements: int | None
    unchanged: int
    new_operations: int
    removed_operations: int
    invalid: int
    inconclusive: int
    total_change_ms: float | None
    total_change_percent: float | None


class Comparison(TypedDict):
    """Did it get slower: `regimeter compare BASE CURRENT --format json` (docs/comparison.md)."""

    format: str
    version: int
    summary: ComparisonCounts
    exit_code: int
    outcome: str
    nothing_compared: str
    threshold_percent: float
    alpha: float
    fdr: str
    decision: str
    paired: bool | None
    metrics: list[str]
    fail_on: Any
    strict: bool
    force: bool
    policy: dict[str, float]
    run_floors: dict[str, Any]
    facts: dict[str, Any]
    wholes: list[Row]
    warnings: list[str]
    environments: dict[str, list[dict[str, Any]]]
    environment_differences: list[Difference]
    comparisons: list[OperationComparison]


class Ab(TypedDict):
    """Two versions in random pairs: `regimeter ab --json`, and `ab.json` in its folder."""

    base: str
    current: str
    pairs_wanted: int
    pairs_used: int
    pairs_rejected: int
    seed: int
    guard_percent: float
    cpus: list[int] | None
    count: str | None
    in_turns: bool
    apart: str | None
    ended: str
    invalid: str | None
    alpha: float
    level: float
    pairs: list[Row]
    comparison: Comparison | None


class Noise(TypedDict):
    """How much launches of one program differ: `regimeter calibrate noise --json`. Floors are parts of 1."""

    launches: int
    overall: float | None
    operations: dict[str, float]
    paired: dict[str, float]
    environment: dict[str, Any]
    alarms: NotRequired[Any]
    detectable: NotRequired[Any]
    file: NotRequired[str | None]


class HistoryComparison(TypedDict):
    """A run judged against the history: `regimeter history judge FILE --json`."""

    environment: str
    branch: str | None
    confirmed: bool
    rule: str
    least_runs: int
    suspected: list[str]
    too_few: list[str]
    raised: list[str]
    exit_code: int
    comparisons: list[OperationComparison]


class KeptRun(TypedDict):
    """A run of the history. environment: the key of where it was measured; created_at: ISO 8601."""

    id: int
    uid: str
    label: str
    environment: str
    commit: str | None
    branch: str | None
    tag: str | None
    dirty: bool | None
    state: str
    created_at: str


class HistoryRun(TypedDict):
    """The run that was added: `regimeter history add FILE --json`."""

    history: str
    run: KeptRun


class HistoryRuns(TypedDict):
    """The runs of the history: `regimeter history list --json`."""

    history: str
    runs: list[KeptRun]


class Point(TypedDict):
    """One run of a series: the median over its launches of their medians, in the unit of the metric."""

    run: KeptRun
    value: float
    launches: int
    samples: int
    accepted: bool


class LevelChange(TypedDict):
    """A new level from point number `at` on; `run` is that point's run, before and after the medians of both levels."""

    at: int
    run: int
    p: float
    before: float
    after: float
    percent: float | None


class Series(TypedDict):
    """The points of an operation in one environment, oldest first."""

    operation: str
    metric: str
    environment: str
    branch: str | None
    points: list[Point]
    changes: list[LevelChange]


class HistorySeries(TypedDict):
    """An operation over the runs of the history: `regimeter history OPERATION --json`."""

    history: str
    series: list[Series]


class BaselineRow(TypedDict):
    """A row of the audit log: `name` stands for run `run_id`, or is a pattern of operations that are accepted."""

    id: int
    kind: str
    name: str
    run_id: int | None
    environment: str | None
    action: str
    author: str
    reason: str
    until: str | None
    created_at: str
    withdrawn_at: str | None
    withdrawn_by: str | None


class Baseline(TypedDict):
    """The row that was written, null with a reason for none: `regimeter baseline save|accept|promote --json`."""

    row: BaselineRow | None
    reason: NotRequired[str]


class Baselines(TypedDict):
    """The baselines and acceptances: `regimeter baseline list --json`."""

    history: str
    rows: list[BaselineRow]


class Perf(TypedDict):
    """Benchmarks of pytest, saved (`--perf-save`) or written (`--perf-json`, which adds what was judged). session: the
    same under whatever names it is saved."""

    session: NotRequired[str]
    name: str
    created: str
    commit: str | None
    branch: str | None
    dirty: NotRequired[bool | None]
    environment: dict[str, Any]
    tests: list[Row]
    comparison: NotRequired[Comparison | None]
    missing: NotRequired[dict[str, str]]
    not_run: NotRequired[list[str]]
    failed: NotRequired[Any]
    exit_code: NotRequired[int]
    partial: NotRequired[str]
