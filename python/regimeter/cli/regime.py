# SPDX-License-Identifier: Apache-2.0
"""``regimeter regime``: what limits a trace, a run or a program: the region with all its shares, then the kernels."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from .. import _core
from ..calibration.choice import choose
from ..report.regime_data import reason_of, sureness_of
from ..report.roofline_text import roofline_lines
from ..system.text import count, duration, percent, shorten
from . import record
from .analyse import CEILINGS
from .common import not_negative, print_document, text_width
from .errors import CommandError
from .runs import load_run

if TYPE_CHECKING:
    from ..analysis.result import Result
    from ..calibration.choice import Choice
    from ..public.run import Run
    from .common import Verbs

FORMAT, VERSION = "regimeter.regime", 1
KERNELS, REGIONS = 8, 12
UNJUDGED = 3  # kernels that are named of those of which nothing is known
PARTS = (
    ("compute kernels", "kernels_ns"),
    ("exposed communication", "communication_ns"),
    ("exposed transfer", "transfer_ns"),
    ("device waits for host", "host_wait_ns"),
    ("launch gaps", "launch_gap_ns"),
    ("waits of streams", "wait_ns"),
    ("idle, cause unknown", "unknown_ns"),
)
HOST_PARTS = (
    ("data loader", "host_input_ns"),
    ("synchronisation", "host_sync_ns"),
    ("allocation", "host_allocation_ns"),
    ("compilation", "host_compile_ns"),
    ("optimizer step", "host_optimizer_ns"),
    ("other host code", "host_other_ns"),
)
# What the shares of a region are of: of a run, the time from the first work of the device to its last.
SPANS = {"run": "device span", "step": "step", "scope": "scope"}
KERNEL_PARTS = (
    ("overhead", "overhead_kernels_share"),
    ("memory", "memory_kernels_share"),
    ("arithmetic", "compute_kernels_share"),
    ("not known", "unjudged_kernels_share"),
)


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "regime",
        parents=[common],
        description="Prints how the time of each device divides and what limits it, for the whole run and its steps or "
        "scopes, then what limits the kernels. A program (PROGRAM.py) is recorded first; it runs once.",
    )
    parser.add_argument("--ceilings", metavar="FILE", help=CEILINGS)
    parser.add_argument(
        "--by", choices=("run", "step", "scope"), default="step", help="regions after the whole run (default: step)"
    )
    parser.add_argument("--top", metavar="N", type=not_negative, default=KERNELS, help="kernels to print; 0 for all")
    parser.add_argument("-o", "--output", metavar="RUN", help="recording of a program")
    parser.add_argument("target", metavar="TRACE|RUN|PROGRAM.py", help="what is judged")
    parser.add_argument(
        "arguments", nargs="*", metavar="ARGS", help="arguments of the program; after -- if any begins with -"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Record where asked to, judge and print."""
    loaded, code = _load(arguments)
    ceilings = choose(loaded, arguments.ceilings)
    if arguments.json:
        print_document(document(loaded, ceilings, arguments.by, arguments.target))
    else:
        print(*text_of(loaded, ceilings, arguments.by, arguments.top, text_width()), sep="\n")
    return code


def _load(arguments: argparse.Namespace) -> "tuple[Run, int]":
    if not arguments.target.endswith(".py"):
        if arguments.arguments:
            raise CommandError("regime: only a program takes arguments; one trace, run or directory at a time")
        return load_run(arguments.target, quiet=arguments.quiet), 0
    program = [arguments.target, *arguments.arguments]
    recorded, outcome = record.record(program, arguments.output, {"profile_kernels": True} if _has_device() else {})
    if not arguments.quiet:
        print(f"regimeter: recorded in {recorded.file}", file=sys.stderr)
    return recorded.run, outcome


def _has_device() -> bool:
    try:
        return bool(_core.telemetry_devices())
    except _core.Error:
        return False


# --- document -------------------------------------------------------------------------------------------------


def document(run: "Run", ceilings: "Choice", by: str, file: str) -> dict[str, Any]:
    """Return regions and kernels as a JSON-ready dictionary."""
    found = {"format": FORMAT, "version": VERSION, "file": file, "ceilings": ceilings.to_dict()}
    whole = run.result("region-regimes", by="run", ceilings=ceilings)
    found |= {"shares": whole.shares, "run": list(whole)}
    found["regions"] = [] if by == "run" else list(run.result("region-regimes", by=by, ceilings=ceilings))
    return found | {"kernels": list(run.result("kernel-regimes", ceilings=ceilings))}


# --- text -----------------------------------------------------------------------------------------------------


def text_of(run: "Run", ceilings: "Choice", by: str, top: int, width: int) -> list[str]:
    """Return the whole report as lines; width: of the picture and of rows with a name, in cells."""
    whole = run.result("region-regimes", by="run", ceilings=ceilings)
    lines = [line for row in whole for line in (*region_lines(row), "")] or ["nothing was recorded", ""]
    lines.append(f"ceilings: {ceilings.note}")
    if any(row["stacks"] for row in whole):
        lines.append("Python stacks were recorded, which slows the host: its waits may be half as long without")
    if by != "run":
        regions = run.result("region-regimes", by=by, ceilings=ceilings)
        lines += ["", *_regions(regions, by)] if len(regions) else []
    kernels = run.result("kernel-regimes", ceilings=ceilings)
    lines += ["", *_kernels(kernels, top, width)] if len(kernels) else []
    roofs = roofline_lines(run, ceilings, width)
    return [*lines, "", *roofs] if roofs else lines


def verdict(row: dict[str, Any], of: str = "device span") -> str:
    """Return the label of a row with what stands beside it; `of`: what the shares of a region are of."""
    return f"{_label(row)}: {reason_of(row, of)}"


def _label(row: dict[str, Any]) -> str:
    words = [row["regime"]]
    if row["detail"] not in (None, "none"):
        words.append(row["detail"].replace("_", " "))
    if row["regime"] == "AMBIGUOUS" and row["leans_to"] not in (None, "UNKNOWN"):
        words.append(f"leans to {row['leans_to']}")
    if sure := sureness_of(row):
        words.append(sure)
    return ", ".join(words)


def region_lines(row: dict[str, Any], by: str = "run") -> list[str]:
    """Return the paragraph of one device in a region of that sort."""
    place = f"device {row['device']}" if row["device"] >= 0 else "host"
    rank = f"rank {row['rank']}, " if row["rank"] >= 0 else ""
    lines = [f"{rank}{place}: {verdict(row, SPANS[by])}"]
    wall = row["wall_ns"]
    if row["device"] < 0 or not wall:
        return [*lines, f"  {'window':24} {duration(wall / 1e6):>9}"]

    def line(label: str, value: float) -> str:
        return f"  {label:24} {duration(value / 1e6):>9} {percent(value / wall):>8}"

    lines += [f"{'of ' + SPANS[by]:>45}"]
    lines += [line(label, row[name]) for label, name in PARTS]
    lines += [line(f"= {SPANS[by]}", wall)]
    lines += [line(f"  host: {label}", row[name]) for label, name in HOST_PARTS if row[name]]
    lines += [line(f"  kernels: {label}", wall * (row[name] or 0)) for label, name in KERNEL_PARTS if row[name]]
    delay = row["queue_delay_ns"]
    return lines if delay is None else [*lines, f"  {'median queue delay':24} {duration(delay / 1e6):>9}"]


def _regions(regions: "Result", by: str) -> list[str]:
    """Return a line a region; neighbours with the same verdict are one line, without their times."""
    lines = [f"by {by}; shares are of the time of the {SPANS[by]}"]
    groups: list[tuple[str, list[dict[str, Any]]]] = []
    for row in regions[: REGIONS if by == "scope" else len(regions)]:
        known = _label(row) if row["reason"] == "shares" else verdict(row)  # the share stands before it
        if by == "step" and groups and groups[-1][0] == known and row["overhead_share"] is None:
            groups[-1][1].append(row)
        else:
            groups.append((known, [row]))
    for known, rows in groups:
        row = rows[0]
        label = shorten(row["name"], 40) if by == "scope" else f"step {row['step']}"
        place = f"  device {row['device']}" if row["device"] >= 0 else ""
        if len(rows) > 1:
            lines.append(f"  steps {row['step']} to {rows[-1]['step']}{place}: {known}")
            continue
        share = "" if row["overhead_share"] is None else f" {percent(row['overhead_share']):>8} not in kernels"
        lines.append(f"  {label}{place}: {duration(row['wall_ns'] / 1e6)}{share}  {known}")
    return lines


def _kernels(kernels: "Result", top: int, width: int) -> list[str]:
    """Return two lines a kernel, and one for all those of which the same is not known."""
    room = max(12, min(60, width - 21))
    judged = [row for row in kernels if row["regime"] != "UNKNOWN"]
    shown = judged[: top or len(judged)]
    unknown: dict[str, list[dict[str, Any]]] = {}
    for row in kernels:
        if row["regime"] == "UNKNOWN":
            unknown.setdefault(verdict(row), []).append(row)
    blocks = []
    for row in shown:
        roofs = f"compute {percent(row['sol_compute'])}, memory {percent(row['sol_memory'])}"
        said = f"{verdict(row)}; {roofs} of the roof; work from {row['source']}"
        blocks.append((row["total_ns"], row["share"], shorten(row["name"], room), [said]))
    for said, rows in unknown.items():
        names = [shorten(row["name"], room) for row in (rows[:UNJUDGED] if top else rows)]
        more = [f"and {len(rows) - len(names)} more"] if len(rows) > len(names) else []
        share, time = sum(row["share"] or 0.0 for row in rows), sum(row["total_ns"] for row in rows)
        blocks.append((time, share, f"{count(len(rows), 'kernel')} in all: {said}", [*names, *more]))
    blocks.sort(key=lambda block: -block[0])
    lines = [f"kernels with most time (of {count(len(kernels), 'name')}); shares are of the time of all kernels"]
    for time, share, head, texts in blocks:
        lines.append(f"  {percent(share):>7} {duration(time / 1e6):>9}  {head}")
        lines += [f"  {'':17}  {text}" for text in texts]
    return [*lines, f"  ({len(judged) - len(shown):,} more: --top 0)"] if len(judged) > len(shown) else lines
