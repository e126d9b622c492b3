# SPDX-License-Identifier: Apache-2.0
"""Documents about this machine: what it reaches, what can be measured on it, the workloads."""

from typing import Any, TypedDict

from ..system.telemetry import Device
from ..workloads.advice import Advice
from ..workloads.alerts import Alert
from .comparisons import Comparison, Series
from .runs import Anomaly, LostAnomaly, Row


class Check(TypedDict):
    """One thing that a measurement needs; `remedy` is '' where none is needed. state: ok, limited or missing."""

    name: str
    state: str
    detail: str
    remedy: str


class DoctorMachine(TypedDict):
    """What can be measured on this machine: `regimeter doctor --json`."""

    checks: list[Check]


class DoctorRecording(TypedDict):
    """Whether a recording is sound: `regimeter doctor RUN --json`."""

    file: str
    sound: bool
    complete: bool
    problem: str | None
    intact: str
    scopes: int
    anomalies: list[Anomaly]


class NotKept(TypedDict):
    """Arguments of events that are not worth keeping, and why."""

    keys: list[str]
    reason: str


class DoctorTrace(TypedDict):
    """Whether a trace is sound, and what became of each row: `regimeter doctor TRACE --json`."""

    file: str
    sound: bool
    complete: bool
    files: list[Row]
    rows: dict[str, int]
    kinds: dict[str, int]
    tables: dict[str, int]
    devices: list[str]
    ranks: list[int]
    steps: list[int]
    anomalies: list[LostAnomaly]
    not_kept: list[NotKept]


class CostRow(TypedDict):
    """A way to mark a block: nanoseconds a block, and their ratio to contextlib.nullcontext."""

    what: str
    ns: float
    ratio: float


class Selftest(TypedDict):
    """What a scope costs here: `regimeter selftest overhead --json`."""

    burst: int
    bursts: int
    statistic: str
    unit: str
    rows: list[CostRow]


class TelemetrySample(TypedDict):
    """What a device said at one moment; `unavailable` says why the rest is not known."""

    device: int | str
    unix_ns: int
    values: dict[str, Any]
    unavailable: dict[str, str | None]


class Telemetry(TypedDict):
    """What the GPUs say now: `regimeter telemetry --json`."""

    devices: list[Device]
    samples: list[TelemetrySample]


class CounterChips(TypedDict):
    """The chips that counters can be planned for: `regimeter counters --chips --json`."""

    chips: list[str]


class CounterPlan(TypedDict):
    """Metrics and passes on a chip: `regimeter counters --chip NAME --json`."""

    chip: str
    library: dict[str, Any]
    sets: list[Row]
    refused: list[dict[str, str]]


class WorkloadTimes(TypedDict):
    """A workload that was timed. Times in microseconds, those of `host_call` and `kernel` in nanoseconds."""

    name: str
    workload_description: str
    backend: str
    device: str | None
    basis: str
    iterations: int
    times_us: list[float]
    mean_us: float
    stddev_us: float | None
    min_us: float
    max_us: float
    p50_us: float
    p95_us: float
    cv: float | None
    throughput_ops_sec: float | None
    host_call: dict[str, Any] | None
    kernel: dict[str, Any] | None
    parameters: dict[str, Any]
    operations: float | None
    bytes: float | None
    operations_per_second: float | None
    unavailable: dict[str, str]
    facts: dict[str, Any]


class Workloads(TypedDict):
    """The workloads, timed: `regimeter workloads run --json` (docs/workloads.md)."""

    warmup: int
    note: str
    kernels: list[WorkloadTimes]
    left_out: dict[str, str]
    slowest: list[str]
    most_variable: list[str]
    alerts: list[Alert]
    recommendations: list[Advice]
    policy: dict[str, float]
    environment: dict[str, Any]


class WorkloadList(TypedDict):
    """What can be timed, where, and by which thresholds it is judged: `regimeter workloads list --json`."""

    workloads: dict[str, Any]
    backends: dict[str, str]
    thresholds: list[Row]


class WorkloadSweep(TypedDict):
    """A workload over sizes: `regimeter workloads sweep --format json`."""

    name: str
    over: list[str]
    basis: str
    note: str
    exponent: float | None
    exponents: Any
    operations_per_second: list[float]
    saturated_from: int | None
    verdict: str
    kernels: list[WorkloadTimes]


class WorkloadAb(TypedDict):
    """Two variants of a workload: `regimeter workloads ab --format json`."""

    kernel: str
    base: str
    current: str
    pairs: int
    seed: int
    cannot_see: str
    compared: str
    unavailable: dict[str, str]
    comparison: Comparison


class Budget(TypedDict):
    """A budget and what became of it; times in nanoseconds."""

    kernel: str
    quantity: str
    limit: float
    unit: str
    backend: str | None
    device: str | None
    state: str
    value: float | None
    low: float | None
    high: float | None
    reason: str


class WorkloadBudgets(TypedDict):
    """Budgets that a run was held to: `regimeter workloads budgets --check --format json`."""

    file: str
    exit_code: int
    budgets: list[Budget]


class Trend(Series):
    """A series with the judgement of its last run against a stated or the first time."""

    value: float
    baseline: float | None
    baseline_source: str
    factor: float | None
    judged: Any
    degraded: bool
    suspected: bool | None
    percent: float | None
    reasons: list[str]


class WorkloadTrend(TypedDict):
    """A workload over the runs that were kept: `regimeter workloads trend --format json`."""

    history: str
    trends: list[Trend]
