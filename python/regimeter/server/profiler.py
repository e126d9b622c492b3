# SPDX-License-Identifier: Apache-2.0
"""What /api/profiler answers, made by the functions that the commands of the same names use.

Each takes what is loaded and returns a JSON-ready dictionary. Where an analysis does not apply to the run, that is
``{"format", "file", "unavailable"}``: the sentence says why, and the status is 200 all the same.
"""

from typing import Any

from .. import _core
from ..analysis.catalog import find_verbs
from ..report.memory_data import memory_series
from ..report.trace_data import lanes_of
from ..run.trace_facts import is_trace
from ..suite.flame import FlameGraphGenerator, sampled_by_default, spans_of
from ..suite.hta import HTAAnalyzer
from .lines import window_of
from .loaded import Loaded
from .shelf import COMPILE, MEMORY

NO_VERDICT = "nothing in the run can be judged: no start times, nothing recorded, or no look at its main thread at work"
NO_SPANS = "the run holds no spans"
NO_STACKS = "no call stacks are in the recording: record with --stacks, or GPUProfiler(stacks=100)"
NO_MEMORY = "the trace holds no memory events: record it with profile_memory=True"
NO_COMPILE = (
    "a recording or trace does not say what torch.compile did; `regimeter compile FILE.py:NAME -o report.json` does:"
    " serve that file"
)


def unavailable(name: str, loaded: Loaded, why: str) -> dict[str, Any]:
    """Return the answer of an analysis that does not apply."""
    return {"format": f"regimeter.{name}", "file": loaded.entry.name, "unavailable": why}


def flame(
    loaded: Loaded,
    *,
    metric: str | None,
    of: str | None,
    state: str,
    min_duration_us: float,
    max_depth: int,
    in_time: bool,
) -> dict[str, Any]:
    """Return the flame graph, as ``regimeter flame --json`` prints it."""
    run = loaded.need_run()
    if of == "samples" and not len(run.samples):
        return unavailable("flame", loaded, NO_STACKS)
    drawn = spans_of(run, of, state, default=sampled_by_default(run))
    if not len(drawn.spans):
        return unavailable("flame", loaded, NO_SPANS)
    data = FlameGraphGenerator(min_duration_us, max_depth, metric=metric, in_time=in_time).from_run(drawn)
    return data | {"trace": loaded.entry.name}


def timeline(
    loaded: Loaded, *, start_ns: int | None, end_ns: int | None, width: int, min_duration_us: float
) -> dict[str, Any]:
    """Return the active times, as ``regimeter timeline --json`` prints them, and every span of a window."""
    run = loaded.need_run()
    figures = loaded.active_times(min_duration_us)
    window = window_of(run, start_ns, end_ns, width)
    head = {"format": "regimeter.timeline", "version": 1, "file": loaded.entry.name, "duration_ns": run.duration_ns}
    return head | figures | window | {"lanes": lanes_of(run)}


def kernels(loaded: Loaded, *, by: str | None, top: int | None) -> dict[str, Any]:
    """Return device work by name, as ``regimeter kernels --json`` prints it."""
    found = loaded.need_run().result("kernels", by=by, **rows_option("kernels", top))
    if not len(found.table):
        return unavailable("kernels", loaded, found.verb.empty)
    return found.to_document(loaded.entry.name)


def hta(loaded: Loaded) -> dict[str, Any]:
    """Return the holistic analysis, as ``regimeter hta --json`` prints it; `unavailable` is by figure here."""
    report = HTAAnalyzer().analyze_trace(loaded.need_run())
    report.trace_path = loaded.entry.name
    return report.to_dict()


def memory(loaded: Loaded) -> dict[str, Any]:
    """Return a memory report as ``regimeter memory -o FILE.json`` wrote it; of a run, its memory over time."""
    if loaded.entry.kind == MEMORY and loaded.document is not None:
        return loaded.document
    run = loaded.need_run()
    found = memory_series(run, recorded=not is_trace(run))
    if not found["series"]:
        why = "; ".join(f"{row['name']}: {row['reason']}" for row in found["unavailable"])
        return unavailable("memory", loaded, why or NO_MEMORY)
    series = [one | {name: one[name].tolist() for name in ("time_ns", "value")} for one in found["series"]]
    return {"format": "regimeter.memory", "version": 1, "file": loaded.entry.name} | found | {"series": series}


def compile_report(loaded: Loaded) -> dict[str, Any]:
    """Return a report of torch.compile as ``regimeter compile -o FILE.json`` wrote it."""
    if loaded.entry.kind == COMPILE and loaded.document is not None:
        return loaded.document
    return unavailable("compile", loaded, NO_COMPILE)


def verdict(loaded: Loaded) -> dict[str, Any]:
    """Return what limits the run, as ``regimeter show --json`` has it under `verdict`."""
    found = loaded.verdict
    if found is None:
        return unavailable("verdict", loaded, NO_VERDICT)
    return found.to_dict()


def analysis(
    loaded: Loaded, other: Loaded | None, verb: str, *, top: int | None, thresholds: dict[str, float], **options: Any
) -> dict[str, Any]:
    """Return an analysis by the name of its command, as that prints it with --json."""
    limits = rows_option(verb, top)
    limits["thresholds"] = limits.get("thresholds", {}) | thresholds
    base = other.need_run() if other else None
    found = loaded.need_run().result(verb, other=base, ceilings=loaded.ceilings, **limits, **options)
    compared = {"baseline": other.entry.name} if other else {}
    return found.to_document(loaded.entry.name) | compared


def summary(loaded: Loaded) -> dict[str, Any]:
    """Return the facts of a run that a list shows."""
    run = loaded.need_run()
    return {
        "source": run.source.partition(" ")[0],
        "spans": len(run.spans),
        "scopes": len(run.entries),
        "lanes": len(run.lanes),
        "duration_ns": run.duration_ns,
        "complete": run.complete,
        "started_unix_ns": run.start_unix_ns,
        "anomalies": int(run.tables.anomalies.count.sum()),
    }


def rows_option(verb: str, top: int | None) -> dict[str, Any]:
    """Return what `--top` of a command stands for: some analyses look for the first N themselves."""
    threshold = find_verbs()[verb].options.get("top")
    if top is None:
        return {}
    return {"thresholds": {threshold: float(top)}} if threshold else {"top": top or None}


def thresholds_of(texts: list[str]) -> dict[str, float]:
    """Return thresholds given as NAME=VALUE. ValueError for other text, an unknown name or a negative value."""
    found = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or name not in _core.policy():
            raise ValueError(f"set: NAME=VALUE with the name of a threshold (docs/schema.md), not {text!r}")
        number = float(value) if value.replace(".", "", 1).isdigit() and value.isascii() else -1.0
        if number < 0:
            raise ValueError(f"set: {name} takes a number of at least 0, not {value!r}")
        found[name] = number
    return found
