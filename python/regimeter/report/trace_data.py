# SPDX-License-Identifier: Apache-2.0
"""What the HTML page shows of a run, recorded or imported, as one JSON-ready dictionary."""

import datetime
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from .. import _core
from ..analysis.flame_tree import activities_of, places_in_time
from ..calibration.choice import choose
from ..run.trace_facts import anomalies_of, facts_of, files_of, heads_of, is_trace, title_of
from ..suggest.paragraphs import suggestions_data
from ..system.kernel_name import short_names
from .counter_tracks import counters_of
from .first_screen import first_screen
from .idle_data import idle_of
from .memory_data import memory_of
from .pack import Names, packed, packed_table
from .panels import divided, panel_of, panel_verbs
from .path_data import path_of
from .regime_data import regimes_of
from .roofline_data import roofline_of
from .scopes import scopes_of
from .scopes import title_of as command_of
from .stages import Progress, Stages
from .trace_timeline import timeline_of
from .verdict import verdict_data

if TYPE_CHECKING:
    import os

    from ..calibration.ceiling import Calibration
    from ..calibration.choice import Choice
    from ..public.run import Run

FORMAT = "regimeter.report"
VERSION = 2
# Python stacks of real programs are deeper than the generator's default; kernels are told apart by name.
FLAME = {"flame_max_depth": 200, "flame_small_share": 0}

LEAST_RECURSION = 0.01  # of the rows of a flame graph: for fewer a page need not hold the tree twice


def trace_data(
    run: "Run",
    *,
    title: str | None = None,
    file: str | None = None,
    progress: Progress | None = None,
    ceilings: "Calibration | str | os.PathLike[str] | None" = None,
    most: int | None = None,
    first: bool = False,
) -> dict[str, Any]:
    """Return the page's data for a run; what only a recording of ours knows is left out for a trace of others.

    ceilings: a calibration or its file, by default what `choose` finds. FormatError or OSError for no calibration.
    most: spans with a row of their own in the timeline, by default the threshold `timeline_max_spans`.
    first: only what is quickly there, for a page that asks for all of it when it is open; without LATER and the tables.
    """
    names, recorded = Names(run), not is_trace(run)
    chosen = choose(run, ceilings)
    files = files_of(run)
    verbs = [] if first else panel_verbs()
    views = {name: view for name, view in OVERVIEW.items() if not (first and name in LATER)}
    stages = Stages(len(views) + len(verbs) + 1, progress)
    named = command_of(run) if recorded else PurePath(file or "").name or title_of(run) or "trace"
    data = {
        **_head(title or named),
        "run": {
            "source": run.source,
            "file": file or (files[0]["file"] if len(files) == 1 else None),
            "duration_ns": run.duration_ns if run.has_start_times else None,
            "started_unix_ns": run.start_unix_ns,
            # A recording that is still going on is not one that ended early.
            "complete": run.complete or run.source == "live",
            "span_count": len(run.spans),
            "lane_count": len(run.lanes),
        },
        "facts": facts_of(run),
        "files": files,
        "environment": environment_of(run),
        "anomalies": anomalies_of(run),
        "lanes": lanes_of(run),
    }
    if recorded:
        data |= scopes_of(run)
    for name, view in views.items():
        stages.begin(name)
        data[name] = timeline_of(run, names, most=most) if name == "timeline" else view(run, names, chosen)
    panels = []
    for verb in verbs:
        stages.begin(f"{verb.name} table")
        panels.append(panel_of(run, verb, names, chosen))
    if verbs:
        data |= divided(panels)
    stages.begin("page")
    tables = {panel["name"] for panel in data.get("panels", ())}
    data["limit"] = first_screen(run, verdict_data(run), data.get("suggestions", []), tables)
    data["short_names"] = short_names_of(names)
    return data | {"names": names.packed()}


def timeline_data(run: "Run", *, title: str | None = None) -> dict[str, Any]:
    """Return the page's data for the timeline alone."""
    names = Names(run)
    shown: dict[str, Any] = {
        "breakdown": breakdown_of(run),
        "lanes": lanes_of(run),
        "timeline": timeline_of(run, names),
    }
    shown |= {"path": path_of(run), "counters": counters_of(run), "anomalies": anomalies_of(run)}
    verdict = verdict_data(run)
    if verdict is not None:
        shown["limit"] = {name: verdict[name] for name in ("sentence", "confidence", "shares")}
    shown["short_names"] = short_names_of(names)
    return _head(title or f"Timeline of {title_of(run) or 'a run'}") | shown | {"names": names.packed()}


def short_names_of(names: Names) -> list[list[Any]]:
    """Return the short forms of kernels' names, as pairs of the name's number on the page and the form."""
    ids = names.run.analyse("kernel_times").name.tolist()
    known = {names.run.string(name): number for name, number in zip(ids, names.number(ids).tolist(), strict=True)}
    return [[known[name], short] for name, short in short_names(known).items()]


def _head(title: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }


def environment_of(run: "Run") -> dict[str, Any]:
    """Return what a recording was measured on, or what the first file of a trace says of its machine."""
    if is_trace(run):
        return heads_of(run)[0]
    return {name: value for name, value in run.environment.items() if name not in ("cost", "skipped")}


def judged_regimes_of(run: "Run", ceilings: "Choice") -> dict[str, Any] | None:
    """Return what limits the run; None for a recording without device work, of which nothing can be judged."""
    found = regimes_of(run, ceilings)
    judged = is_trace(run) or any(row["reason"] != "no_device" for row in found["devices"])
    return found if judged else None


def breakdown_of(run: "Run") -> list[dict[str, Any]]:
    """Return the rows of the breakdown, one a device."""
    table = run.analyse("breakdown")
    described = _core.schema()["results"]["breakdown"]["columns"]
    rows = []
    for i in range(len(table)):
        row = {column["name"]: getattr(table, column["name"])[i].item() for column in described}
        row["process_name"] = run.string(row["process_name"])
        row["first_ns"] -= run.start_ns
        rows.append(row)
    return rows


def straggler_of(run: "Run") -> dict[str, Any] | None:
    """Return the rank for which the others waited most, None where they waited for none."""
    rows = run.result("stragglers", top=1).rows(0, 1)
    if not rows or rows[0]["caused_ns"] <= 0:
        return None
    return {name: rows[0][name] for name in ("rank", "last", "collectives", "caused_ns")}


def lanes_of(run: "Run") -> list[dict[str, Any]]:
    """Return the lanes with the texts that name them."""
    lanes, strings = run.lanes, run.strings
    return [
        {
            "name": strings[lanes.name[i]],
            "process": int(lanes.process[i]),
            "process_name": strings[lanes.process_name[i]],
            "label": strings[lanes.label[i]],
            "thread": int(lanes.thread[i]),
            "device": int(lanes.device[i]),
            "rank": int(lanes.rank[i]),
        }
        for i in range(len(lanes))
    ]


def flame_of(run: "Run", names: Names) -> dict[str, Any]:
    """Return the merged call tree, and as `collapsed` the same with direct recursion as one row."""
    table = run.analyse("flame", thresholds=FLAME)
    collapsed = run.analyse("flame", thresholds=FLAME | {"flame_collapse": 1})
    shown = _packed_flame(table, names)
    fewer = len(collapsed) < (1 - LEAST_RECURSION) * len(table)
    return shown | ({"collapsed": _packed_flame(collapsed, names)} if fewer else {})


def _packed_flame(table: Any, names: Names) -> dict[str, Any]:
    types = {column["name"]: column["type"] for column in _core.schema()["results"]["flame"]["columns"]}
    kinds = {"roles": list(_core.FLAME_ROLES), "kinds": list(_core.SPAN_KINDS), "activities": list(_core.ACTIVITIES)}
    shown = [name for name in types if name != "first_ns"]  # the order of the siblings says what is drawn
    made = packed_table(table, shown, types, names, slice(None)) | kinds
    made["columns"]["place"] = packed(places_in_time(table.parent, table.first_ns))
    made["columns"]["activity"] = packed(activities_of(names.run, table))
    return made


def sampled_flame_of(run: "Run") -> dict[str, Any] | None:
    """Return the merged stacks of the host's samples with names and lanes of their own; None without samples."""
    if not len(run.samples):
        return None
    sampled = run.sampled()
    names = Names(sampled)
    return {"flame": flame_of(sampled, names), "lanes": lanes_of(sampled), "names": names.packed()}


# The views of the page that are no panels: each is a stage of its making, in this order.
OVERVIEW: dict[str, Callable[["Run", Names, "Choice"], Any]] = {
    "breakdown": lambda run, _names, _ceilings: breakdown_of(run),
    "straggler": lambda run, _names, _ceilings: straggler_of(run),
    "regimes": lambda run, _names, ceilings: judged_regimes_of(run, ceilings),
    "roofline": roofline_of,
    "suggestions": lambda run, _names, _ceilings: suggestions_data(run.suggestions()),
    "timeline": lambda run, names, _ceilings: timeline_of(run, names),
    "path": lambda run, _names, _ceilings: path_of(run),
    "idle": lambda run, names, _ceilings: idle_of(run, names),
    "counters": lambda run, _names, _ceilings: counters_of(run),
    "flame": lambda run, names, _ceilings: flame_of(run, names),
    "samples": lambda run, _names, _ceilings: sampled_flame_of(run),
    "memory": lambda run, _names, _ceilings: memory_of(run, recorded=not is_trace(run)),
}
# What takes longest of a run with very many spans.
LATER = frozenset({"regimes", "roofline", "suggestions", "path"})
