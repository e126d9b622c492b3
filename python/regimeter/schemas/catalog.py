# SPDX-License-Identifier: Apache-2.0
"""All schemas by the name of the document: NAME of the format regimeter.NAME."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ..analysis.catalog import find_verbs
from ..analysis.result import VERSION
from ..calibration.ceiling import Calibration
from ..suite.compile_report import CompileReport
from ..suite.hta import HTAReport
from . import analyses, comparisons, machine, runs, suite
from .json_schema import Schema, object_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FORMAT = "regimeter."


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of document: what it holds, several where it has several forms. named: it states format and version."""

    kinds: tuple[Any, ...]
    version: int = 1
    named: bool = True


DOCUMENTS = {
    "profile": Document((runs.Profile,)),
    "table": Document((runs.Table,)),
    "show": Document((runs.Show,)),
    "record": Document((runs.Record,)),
    "suggestions": Document((runs.Suggestions,)),
    "explain": Document((runs.Explain,)),
    "query": Document((runs.Query,)),
    "regime": Document((runs.Regime,)),
    "memory": Document((runs.Memory,)),
    "recover": Document((runs.Recover,)),
    "top": Document((runs.Top,)),
    "alert": Document((runs.MonitorAlert,), named=False),
    "ranks": Document((runs.Ranks,)),
    "comparison": Document((comparisons.Comparison,)),
    "ab": Document((comparisons.Ab,)),
    "noise": Document((comparisons.Noise,)),
    "history_comparison": Document((comparisons.HistoryComparison,)),
    "history_run": Document((comparisons.HistoryRun,)),
    "history_runs": Document((comparisons.HistoryRuns,)),
    "history_series": Document((comparisons.HistorySeries,)),
    "baseline": Document((comparisons.Baseline,)),
    "baselines": Document((comparisons.Baselines,)),
    "perf": Document((comparisons.Perf,)),
    "calibration": Document((Calibration,)),
    "doctor": Document((machine.DoctorMachine, machine.DoctorRecording)),
    "doctor/v2": Document((machine.DoctorTrace,), 2),
    "selftest": Document((machine.Selftest,)),
    "telemetry": Document((machine.Telemetry,)),
    "counter_chips": Document((machine.CounterChips,)),
    "counter_plan": Document((machine.CounterPlan,)),
    "workloads": Document((machine.Workloads,)),
    "workload_list": Document((machine.WorkloadList,)),
    "workload_sweep": Document((machine.WorkloadSweep,)),
    "workload_ab": Document((machine.WorkloadAb,)),
    "workload_budgets": Document((machine.WorkloadBudgets,)),
    "workload_trend": Document((machine.WorkloadTrend,)),
    "hta": Document((HTAReport,)),
    "flame": Document((suite.Flame,), named=False),
    "suite.timeline": Document((suite.Timeline,)),
    "suite.session": Document((suite.Session,)),
    "suite.memory": Document((suite.MemoryProfile,)),
    "suite.out_of_memory": Document((suite.OutOfMemory,)),
    "suite.compile": Document((CompileReport,)),
}


def names() -> list[str]:
    """Return the names of all documents that have a schema, sorted."""
    return sorted({*DOCUMENTS, *find_verbs()})


def find_schema(name: str) -> Schema:
    """Return a document's schema, JSON Schema 2020-12. ValueError for a name that no document has.

    name: "show", "kernels", ...; "doctor/v2" for another version than the first, "regimeter.show/v1" in full.
    """
    short = name.removeprefix(FORMAT).removesuffix("/v1")
    verb = find_verbs().get(short)
    if short in DOCUMENTS:
        return _published(short, DOCUMENTS[short])
    if verb is None:
        near = get_close_matches(short, names(), 3)
        hint = f"did you mean {', '.join(near)}?" if near else "`regimeter schema` lists them"
        raise ValueError(f"no document is called {name!r}; {hint}")
    return _titled(short, VERSION, _headed(short, VERSION, analyses.body_of(verb)))


def _published(name: str, document: Document) -> Schema:
    parts: dict[str, Schema] = {}
    short = name.partition("/")[0]
    bodies = [object_of(kind, parts) for kind in document.kinds]
    if document.named:
        bodies = [_headed(short, document.version, body) for body in bodies]
    found = bodies[0] if len(bodies) == 1 else {"anyOf": bodies}
    return _titled(short, document.version, found | {"$defs": parts})


def _titled(name: str, version: int, body: Schema) -> Schema:
    return {"$schema": DIALECT, "$id": f"{FORMAT}{name}/v{version}"} | body


def _headed(name: str, version: int, body: Schema) -> Schema:
    head = {"format": {"const": f"{FORMAT}{name}"}, "version": {"const": version}}
    properties = head | {key: schema for key, schema in body["properties"].items() if key not in head}
    return body | {"properties": properties, "required": [*dict.fromkeys([*head, *body["required"]])]}
