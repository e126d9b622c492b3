# SPDX-License-Identifier: Apache-2.0
"""What the live page shows of a program under watch, as sections of the application's pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..report import following
from ..report.document import TEXT, Column, Section, action, document, figure, figures, first, levels, table
from ..system.text import amount, count, duration, percent
from .alerts import value_text
from .devices import slowed_by
from .figures import OPERATIONS, OTHERS, WINDOW_S

if TYPE_CHECKING:
    from ..suggest.verdict import Verdict
    from .alerts import Alarm
    from .figures import Durations, Figures
    from .look import Look
    from .rings import Rings
    from .trail import Trail
    from .triggers import Trigger

NO_DEVICE = "No device of this machine says how busy it is."
LOOKS = "Of what ended between the last two looks."
FEW = "A chart needs two looks."
ALONE: Mapping[str, float] = MappingProxyType({})
NO_KEEP = "All of the recording is kept; with --keep only its last minutes are, and they can be written out."
NAMES = f"The first {OPERATIONS} names; the rest is {OTHERS}"
MINUTE = f"Of those that ended in the last {WINDOW_S:.0f} s; missing where none did"


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known at one moment. budget: the part of the time that recording
    may take, 0 for any; ended: whether the program has."""

    name: str
    pid: int
    now: float
    elapsed_s: float
    recorded_bytes: int
    verdict: "Verdict | None"
    figures: "Figures"
    look: "Look | None"
    trail: "Trail"
    alarms: "Sequence[Alarm]"
    changes: Sequence[dict[str, Any]]
    rings: "Rings | None"
    triggers: "Sequence[Trigger]"
    budget: float
    ended: bool


def monitor_data(seen: Seen) -> Section:
    """Return the page's data."""
    counted = seen.figures.read(lambda found, now: [_now(seen, found, now), *_charts(seen), _operations(found, now)])
    rest = [_alerts(seen), _changes(seen), *_ring(seen), _devices(seen), _losses(seen)]
    return document("monitor", f"{seen.name}: live", limit=_first(seen), sections=[*counted, *rest])


def _first(seen: Seen) -> Section:
    title = "What limited the program at the end" if seen.ended else "What limits the program now"
    raised = [alarm.rule.name for alarm in seen.alarms if alarm.firing]
    alerts = f"Raised now: {', '.join(raised)}. " if raised and not seen.ended else ""
    if seen.verdict is None:
        return first(title, following.NOTHING, why=alerts.strip())
    made = first(title, seen.verdict.sentence, why=f"{alerts}{seen.verdict.why} {LOOKS}", parts=seen.verdict.shares)
    return made | {"confidence": seen.verdict.confidence, "actions": [action(seen.verdict.next, "operations")]}


# --- figures and charts -----------------------------------------------------------------------------------------------


def _now(seen: Seen, figures_now: "Figures", now: float) -> Section:
    rows = [
        figure("running for", seen.elapsed_s * 1e9, "ns", note=f"process {seen.pid}"),
        figure("scopes a second", figures_now.rate, "scopes/s", note=_ended(figures_now)),
        _steps(figures_now.steps, now),
        _own_cost(seen, figures_now),
        _memory(seen),
        _busy(seen),
        figure("alerts", _alerts_text(seen), note="" if seen.alarms else "--alert asks for them"),
        figure("recording", seen.recorded_bytes, "bytes", note=seen.name),
    ]
    return figures("now", "At the end" if seen.ended else "Now", rows)


def _ended(found: "Figures") -> str:
    failed = f", {found.failed:,} of them by an exception" if found.failed else ""
    return f"{count(found.scopes, 'scope')} ended so far{failed}"


def _steps(steps: "Durations", now: float) -> Section:
    quantiles = steps.quantiles(now)
    median, most = quantiles.get(0.5), quantiles.get(0.95)
    if median is None or most is None:
        return figure("step", None, note="no step ended in the last minute" if steps.count else "no step was recorded")
    note = (
        f"the median of the last minute; 95 % took at most {duration(most * 1e3)}; {count(steps.count, 'step')} so far"
    )
    return figure("step", median * 1e9, "ns", note=note)


def _own_cost(seen: Seen, found: "Figures") -> Section:
    now = seen.look.rules["own-cost"] if seen.look else None
    bound = f"the budget is {percent(seen.budget, 2)}" if seen.budget else "no --budget was set"
    shown = None if now is None else now * 100
    return figure("own cost", shown, "%", note=f"of the time; {duration(found.own_ns / 1e6)} so far; {bound}")


def _memory(seen: Seen) -> Section:
    levels_seen = seen.trail.column("resident_bytes")[1]
    if not levels_seen:
        return figure("memory", None, "bytes", note="not read yet")
    return figure(
        "memory", levels_seen[-1], "bytes", note=f"resident; at most {amount(max(levels_seen))} in the charts"
    )


def _busy(seen: Seen) -> Section:
    busy = seen.look.busy if seen.look else None
    return figure("devices", busy, "share", note=NO_DEVICE if busy is None else "busy, the mean of all; by NVML")


def _alerts_text(seen: Seen) -> str:
    if not seen.alarms:
        return "none is watched"
    raised = [alarm.rule.name for alarm in seen.alarms if alarm.firing]
    return ", ".join(raised) if raised else f"none of {len(seen.alarms)} is raised"


def _charts(seen: Seen) -> list[Section]:
    budget = {"budget": seen.budget} if seen.budget else {}
    return [
        _chart(seen, "rates", "Scopes a second", "scopes_per_s", "scopes/s"),
        _chart(seen, "own-cost", "Own cost, of the time", "own_cost", "share", held=budget),
        _chart(seen, "resident", "Resident memory", "resident_bytes", "bytes"),
        _chart(seen, "step-time", "Step, the median of a minute", "step_ns", "ns", nothing="No step was recorded."),
        _chart(seen, "busy", "Devices busy, of the time", "busy", "share", nothing=NO_DEVICE),
    ]


def _chart(
    seen: Seen, id: str, title: str, name: str, unit: str, *, nothing: str = FEW, held: Mapping[str, float] = ALONE
) -> Section:
    """Return a chart over the looks; held: further levels that do not change, by name."""
    times, values = seen.trail.column(name)
    shown = [{"name": title.split(",")[0].lower(), "unit": unit, "time_ns": times, "value": values}]
    for label, level in held.items():
        shown.append({"name": label, "unit": unit, "time_ns": times, "value": [level] * len(times)})
    return levels(id, title, shown if len(times) > 1 else [], nothing=nothing) | {"span": 6}


def _operations(found: "Figures", now: float) -> Section:
    ordered = sorted(found.operations.items(), key=lambda one: -one[1].total_ns)
    recent = [one.quantiles(now) for _, one in ordered]

    def quantile(heading: str, part: float) -> Column:
        values = [None if part not in one else one[part] * 1e9 for one in recent]
        return Column(heading, "ns", values, MINUTE)

    columns = [
        Column(
            "operation", TEXT, [name for name, _ in ordered], f"The first {OPERATIONS} names; the rest is `{OTHERS}`"
        ),
        Column("calls", "", [one.count for _, one in ordered], "That ended since the start"),
        Column("total", "ns", [one.total_ns for _, one in ordered], "Since the start, with what is nested"),
        quantile("median", 0.5),
        quantile("95 %", 0.95),
        quantile("99 %", 0.99),
    ]
    return table("operations", "Operations", columns, "No scope has ended yet.")


# --- alerts, devices, losses ------------------------------------------------------------------------------------------


def _state(alarm: "Alarm") -> str:
    return "raised" if alarm.firing else "quiet" if alarm.value is not None else "not known yet"


def _alerts(seen: Seen) -> Section:
    alarms = seen.alarms
    columns = [
        Column("alert", TEXT, [one.rule.name for one in alarms], "The rule"),
        Column("state", TEXT, [_state(one) for one in alarms], "Raised, quiet, or without a value so far"),
        Column(
            "value", TEXT, [value_text(one.value, one.rule.unit) for one in alarms], "Of the last look that had one"
        ),
        Column("raised above", TEXT, [value_text(one.rule.fires, "") for one in alarms], "In so many looks in a row"),
        Column("looks", "", [one.rule.looks for one in alarms], "In a row"),
        Column("cleared at", TEXT, [value_text(one.rule.clears, "") for one in alarms], "Or below"),
        Column("raised", "", [one.raised for one in alarms], "How often"),
        Column("what it is", TEXT, [one.rule.doc for one in alarms], "The value", prose=True),
    ]
    return table("alerts", "Alerts", columns, "No alert was asked for; --alert all watches every rule.")


def _changes(seen: Seen) -> Section:
    rows = list(reversed(seen.changes))
    columns = [
        Column("time", TEXT, [str(row["time"])[:19].replace("T", " ") for row in rows], "UTC"),
        Column("alert", TEXT, [row["alert"] for row in rows], "The rule"),
        Column("became", TEXT, ["raised" if row["state"] == "firing" else "cleared" for row in rows], "What changed"),
        Column("value", TEXT, [value_text(row["value"], row["unit"]) for row in rows], "Then"),
        Column("limit", TEXT, [value_text(row["threshold"], "") for row in rows], "That was passed"),
    ]
    return table("changes", "What was raised and cleared", columns, "No alert was raised.")


def _devices(seen: Seen) -> Section:
    read = seen.look.devices if seen.look else []

    def column(heading: str, unit: str, metric: str, doc: str, by: float = 1.0) -> Column:
        values = [readings[metric].value for _, readings in read]
        return Column(heading, unit, [None if value is None else value * by for value in values], doc)

    slowed = [slowed_by(readings) for _, readings in read]
    columns = [
        Column("device", TEXT, [f"{one.index}: {one.name or one.uuid}" for one, _ in read], "As NVML names it"),
        column("busy", "share", "gpu_utilization_percent", "Part of the time with a kernel", 0.01),
        column("memory", "bytes", "memory_used_bytes", "In use, by all processes"),
        column("of", "bytes", "memory_total_bytes", "In all"),
        column("power", "W", "power_average_watts", "The mean of a second"),
        column("temperature", "°C", "temperature_gpu_celsius", "Of the chip"),
        column("clock", "MHz", "clock_sm_mhz", "Of the multiprocessors"),
        Column("slowed by", TEXT, ["" if by is None else ", ".join(by).replace("_", " ") for by in slowed],
               "What keeps it from its full clocks", blank=True),
    ]  # fmt: skip
    return table("devices", "Devices", columns, "NVML tells of no device on this machine.")


def _losses(seen: Seen) -> Section:
    found = sorted(seen.figures.anomalies.items())
    columns = [
        Column("what", TEXT, [code.replace("_", " ") for code, _ in found], "What the recorder lost or doubts"),
        Column("count", "", [number for _, number in found], "So far"),
    ]
    return table("losses", "Lost or in doubt", columns, "Nothing was lost, and nothing is in doubt.")


# --- the last minutes -------------------------------------------------------------------------------------------------


def _ring(seen: Seen) -> list[Section]:
    if seen.rings is None:
        return [table("ring", "The last minutes", [Column("file", TEXT, [])], NO_KEEP)]
    rings = seen.rings
    rows = [
        figure("kept", rings.keep_s * 1e9, "ns", note="at the most; less where it would take too much room"),
        figure("takes", rings.taken_bytes(), "bytes", note=f"of {amount(rings.disk_bytes)} for all files together"),
        figure("written out", count(len(rings.copies), "time"), note=_last(rings)),
    ]
    can = not seen.ended
    form = {"id": "ring", "title": "The last minutes", "form": "ring", "rows": rows, "can": can, "span": 12}
    return [form, _triggers(seen), _copies(rings)]


def _last(rings: "Rings") -> str:
    said = [f"the last attempt failed: {rings.failure}"] if rings.failure else []
    said += [f"{rings.left_out:,} more were asked for than conditions may have"] if rings.left_out else []
    return "; ".join(said)


def _triggers(seen: Seen) -> Section:
    rests = [one.rests_until - seen.now for one in seen.triggers]
    columns = [
        Column("condition", TEXT, [one.text for one in seen.triggers], "When they are written out"),
        Column("state", TEXT, [f"rests for {left:.0f} s" if left > 0 else "armed" for left in rests],
               "A condition rests for a while after it was met"),
    ]  # fmt: skip
    nothing = "No condition was set with --on; POST /trigger and the button above work without one."
    return table("triggers", "Conditions", columns, nothing)


def _copies(rings: "Rings") -> Section:
    columns = [Column("file", TEXT, [path.rpartition("/")[2] for path in rings.copies], "Beside the recording")]
    return table("copies", "Written out", columns, "The last minutes were not written out so far.")
