# SPDX-License-Identifier: Apache-2.0
"""What is known of torch.compile, as the data of a page: of the document that ``CompileReport.to_dict`` returns."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..system.text import count, duration
from .document import MOST_ACTIONS, TEXT, Column, Section, action, document, figure, figures, first, sentences, table

Report = Mapping[str, Any]
# Phases that lie one within the other, and what of each is not in the next one.
NESTED = {"frame": "tracing Python", "backend": "the rest of the backend", "inductor": "inductor",
          "code_generation": "generating code"}  # fmt: skip
UNKNOWN = "an unknown number of"


def compile_data(report: Report, name: str = "") -> Section:
    """Return the page's data. name: of the file, where it is one; else what was compiled gives the title."""
    called = f"{report['subject']} ({report['backend']}, {report['mode']})"
    what = name or os.path.basename(report["source"].rstrip("/\\")) or called
    sections = [_figures(report), *_advice(report), _breaks(report), _recompiles(report), _kernels(report)]
    sections += _of_log(report) if report["source"] else []
    sections += [sentences("logged", "Logged", report["logs"], "Nothing.")] if report["logs"] else []
    return document("compile", f"torch.compile: {what}", file=report["source"], limit=_first(report), sections=sections)


def _first(report: Report) -> Section:
    sentence, why = _sentence(report)
    advice = [action(text, _evidence(report, text)) for text in report["recommendations"][:MOST_ACTIONS]]
    of = "Where the time of compiling went"
    return first("What compiling gave", sentence, why=why, of=of, parts=_parts(report), actions=advice)


def _sentence(report: Report) -> tuple[str, str]:
    """Return what came of it, and how it came to that."""
    again = None if "recompiles" in report["unavailable"] else len(report["recompiles"])
    met = f"{_number(report['total_graph_breaks'], 'graph break')} and {_number(again, 'recompile')}"
    cold = report["compile_time_ms"]
    if report["error"]:
        return f"Compiling failed: {report['error'].splitlines()[0]}", ""
    if report["source"]:
        took = "" if cold is None else f" in {duration(cold)}"
        return f"{_number(report['graphs'], 'graph')} compiled{took}, with {met}.", _nothing(report)
    paid = report["break_even_calls"]
    why = [
        "" if cold is None else f"Compiling takes {duration(cold)} with cold caches.",
        "" if paid is None else f"{paid:,.0f} calls pay for it.",
        f"There were {met}.",
        _nothing(report),
    ]
    speed = report["speedup"]
    if speed is None:
        return "It was compiled, and not timed.", " ".join(filter(None, why))
    low, high = report["speedup_low"], report["speedup_high"]
    if report["verdict"] == "regression" and speed > 0 and low:
        longer = f"{1 / speed:.2f} times as long as an eager one ({1 / high:.2f} to {1 / low:.2f})"
        return f"A compiled call takes {longer}.", " ".join(filter(None, why))
    ends = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    told = ", which is no difference that can be told" if report["verdict"] == "no_change" else ""
    return f"A compiled call is {speed:.2f} times as fast as an eager one{ends}{told}.", " ".join(filter(None, why))


def _nothing(report: Report) -> str:
    return "" if report["recommendations"] else "Nothing stands out that could be tried."


def _number(value: int | None, noun: str) -> str:
    return f"{UNKNOWN} {noun}s" if value is None else count(value, noun)


def _parts(report: Report) -> dict[str, float]:
    """Return parts of compiling that have nothing in common, in ms: what of each phase is not in the next one.

    Backward graphs go through the backend after the frame was compiled, and inductor's time has theirs in it.
    """
    phases = {name: ms for name, ms in report["phases_ms"].items() if ms}
    later = phases.get("backward", 0.0)
    more = {"frame": later, "backend": later}
    sizes = [(name, phases[name] + more.get(name, 0.0)) for name in NESTED if name in phases]
    parts: dict[str, float] = {}
    for at, (name, size) in enumerate(sizes):
        inside = sizes[at + 1][1] if at + 1 < len(sizes) else 0.0
        if inside > size:  # not within it, as it seems: nothing more can be told apart
            return parts | {NESTED[name]: size}
        parts[NESTED[name]] = size - inside
    return {name: size for name, size in parts.items() if size > 0}


def _evidence(report: Report, text: str) -> str:
    """Return the section that a piece of advice is made of."""
    if any(one["reason"] in text and f"{one['location']}:" in text for one in report["graph_breaks"]):
        return "breaks"
    if any(one["guard"] in text for one in report["recompiles"]):
        return "recompiles"
    return "figures"


def _figures(report: Report) -> Section:
    def one(label: str, name: str, unit: str, factor: float = 1.0, ends: tuple[Any, Any] = (None, None)) -> Section:
        value = report.get(name)
        note = report["unavailable"].get(name) or report["definitions"].get(name, "")
        return figure(label, None if value is None else value * factor, unit, note=note, ends=ends)

    interval = (report["speedup_low"], report["speedup_high"])
    rows = [
        one("speed-up", "speedup", "×", ends=interval),
        one("eager call", "eager_time_ms", "ns", 1e6),
        one("compiled call", "compiled_time_ms", "ns", 1e6),
        one("compiling, cold", "compile_time_ms", "ns", 1e6),
        one("compiling, warm", "compile_time_warm_ms", "ns", 1e6),
        one("calls that pay for compiling", "break_even_calls", ""),
        one("fusion ratio", "fusion_ratio", "×"),
        one("operators before fusion", "ops_before_fusion", ""),
        one("calls after fusion", "ops_after_fusion", ""),
        one("launches, eager", "eager_launches", ""),
        one("launches, compiled", "compiled_launches", ""),
        one("moved, eager", "eager_bytes", "bytes"),
        one("moved, compiled", "compiled_bytes", "bytes"),
        one("peak memory", "peak_memory_mb", "bytes", 1e6),
        one("memory saved", "memory_savings_mb", "bytes", 1e6),
        one("largest difference", "max_abs_difference", ""),
        one("relative to the largest value", "max_rel_difference", ""),
    ]
    if report["source"]:
        rows = [
            figure("backend", report["backend"] or None, note=report["unavailable"].get("backend", "")),
            one("compiling, slowest process", "compile_time_ms", "ns", 1e6),
            *(figure(f"of that, {name.replace('_', ' ')}", ms * 1e6, "ns") for name, ms in report["phases_ms"].items()),
            one("graphs", "graphs", ""),
            one("operators in them", "captured_ops", ""),
            one("calls after fusion", "ops_after_fusion", ""),
        ]
    return figures("figures", "Figures", rows)


def _advice(report: Report) -> list[Section]:
    """Return all advice where it is more than what the first screen has."""
    found = report["recommendations"]
    return [sentences("advice", "What to try", found, "")] if len(found) > MOST_ACTIONS else []


def _breaks(report: Report) -> Section:
    rows = report["graph_breaks"]
    columns = [
        Column("place", TEXT, [_place(one) for one in rows], "Where the graph ends"),
        Column("times", "", [one["count"] for one in rows], "How often it was met"),
        Column("reason", TEXT, [f"{one['code']} {one['reason']}".strip() for one in rows], "Of torch", prose=True),
        Column("hint", TEXT, [one["suggestion"] for one in rows], "What torch suggests", prose=True),
    ]
    return table("breaks", "Graph breaks", columns, _none(report, "total_graph_breaks", "The graph never ends early."))


def _recompiles(report: Report) -> Section:
    rows = report["recompiles"]
    columns = [
        Column("place", TEXT, [f"{one['function']} ({_place(one)})" for one in rows], "The function"),
        Column("guard that failed", TEXT, [one["guard"] for one in rows], "What no longer held", prose=True),
    ]
    return table("recompiles", "Compiled again", columns, _none(report, "recompiles", "Nothing was compiled again."))


def _kernels(report: Report) -> Section:
    rows = report["fused_kernels"]
    columns = [
        Column("kernel", TEXT, [one["name"] for one in rows], "As it was generated"),
        Column("calls", "", [one["call_count"] for one in rows], "In the code"),
        Column("operators", TEXT, [", ".join(one["fused_ops"]) for one in rows], "What it does", prose=True),
    ]
    return table("kernels", "Kernels that were generated", columns, "None is known.")


def _of_log(report: Report) -> list[Section]:
    """Return the sections that only a log fills."""
    phases = sorted(report["events_ms"].items(), key=lambda one: -one[1])
    caches = report["caches"]
    uses = list(dict.fromkeys(use for one in caches.values() for use in one))
    return [
        _frames(report),
        table("phases", "Phases, one within the other", [
            Column("phase", TEXT, [name for name, _ in phases], "As torch calls it"),
            Column("time", "ns", [ms * 1e6 for _, ms in phases], "In the slowest process"),
        ], _none(report, "events_ms", "None.")),
        table("caches", "Caches", [
            Column("cache", TEXT, list(caches), "As torch calls it"),
            *(Column(use, "", [one.get(use) for one in caches.values()], "Graphs") for use in uses),
        ], _none(report, "caches", "None.")),
        _processes(report["processes"]),
    ]  # fmt: skip


def _frames(report: Report) -> Section:
    rows = sorted(report["frames"], key=lambda one: -(one["time_ms"] or 0.0))

    def times(heading: str, name: str, doc: str) -> Column:
        return Column(heading, "ns", [None if one[name] is None else one[name] * 1e6 for one in rows], doc)

    columns = [
        Column("frame", TEXT, [f"{one['function']} ({_place(one)})" for one in rows], "The function"),
        times("time", "time_ms", "All of it; the log does not tell it where it is missing"),
        times("backend", "backend_ms", "Within the time"),
        times("inductor", "inductor_ms", "Within the backend's"),
        times("backward", "backward_ms", "Of its backward graphs, later"),
        Column("operators", "", [one["operators"] for one in rows], "In its graph"),
        Column("compiled", TEXT, [one["compile_id"] for one in rows], "Torch's number of it"),
        Column("process", TEXT, [str(one["process"]) for one in rows], "Of those below"),
        Column("error", TEXT, [one["error"] for one in rows], "Why it failed", prose=True),
    ]
    return table("frames", "Functions that were compiled", columns, _none(report, "frames", "None."))


def _processes(rows: Sequence[Report]) -> Section:
    columns = [
        Column("file", TEXT, [one["file"] for one in rows], "Its log"),
        Column("process", TEXT, [str(at) for at in range(len(rows))], "As functions name it"),
        Column("pid", TEXT, ["" if one["pid"] is None else str(one["pid"]) for one in rows], "Of the system"),
        Column("rank", TEXT, ["" if one["rank"] is None else str(one["rank"]) for one in rows], "Of the job"),
        Column("torch", TEXT, [one["torch_version"] for one in rows], "Its version"),
        Column("frames", "", [one["frames"] for one in rows], "Functions that were compiled"),
        Column("graphs", "", [one["graphs"] for one in rows], "That were compiled"),
        Column("time", "ns", [None if (ms := one["compile_time_ms"]) is None else ms * 1e6 for one in rows],
               "Of frames and backward graphs"),
        Column("records lost", "", [one["lost"] for one in rows], "That could not be read"),
        Column("damage", TEXT, [one["damage"] for one in rows], "The first of them", prose=True),
    ]  # fmt: skip
    return table("processes", "Processes", columns, "None.")


def _place(one: Report) -> str:
    return one["location"] if one["line_number"] is None else f"{one['location']}:{one['line_number']}"


def _none(report: Report, name: str, text: str) -> str:
    """Return what is said of a table without rows."""
    found: str = report["unavailable"].get(name, text)
    return found
