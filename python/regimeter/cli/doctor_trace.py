# SPDX-License-Identifier: Apache-2.0
"""What is in a trace, what was repaired or left out of it, and what follows from that."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from .. import _core
from ..run.trace_facts import DAMAGE
from ..system.arrays import distinct, np
from ..system.text import amount, count, printable
from .common import next_step, print_document

if TYPE_CHECKING:
    from ..public.run import Run

FORMAT, VERSION = "regimeter.doctor", 2
SOUND, DAMAGED = 0, 1
NAMED_SERIES = 8


def verify(run: "Run", arguments: argparse.Namespace) -> int:
    """Print what there is to know: 0 for a sound trace, 1 for one that is damaged or of which rows were left out."""
    found = facts(run, arguments.file)
    if arguments.json:
        print_document(found)
    else:
        print(text(found))
        if not arguments.quiet:
            print(f"Next: {next_step('breakdown', arguments.file)}")
    sys.stdout.flush()
    return SOUND if found["sound"] else DAMAGED


def facts(run: "Run", file: str) -> dict[str, Any]:
    """Return the findings as a JSON-ready dictionary."""
    anomalies = _anomalies(run)
    files = _files(run)
    lost = sum(row["lost"] for row in anomalies)
    read, kept = sum(row["events"] for row in files), sum(row["kept"] for row in files)
    return {
        "format": FORMAT,
        "version": VERSION,
        "file": file,
        "sound": lost == 0 and read == kept and not any(row["code"] in DAMAGE for row in anomalies),
        "complete": run.complete,
        "files": files,
        "rows": {"read": read, "kept": kept, "lost": lost, "unexplained": read - kept - lost},
        "kinds": _kinds(run),
        "tables": {name: len(run.table(name)) for name in _core.schema()["run"] if len(run.table(name))},
        "devices": sorted({f"{_key(rank, device)}" for rank, device in _devices(run)}, key=_natural),
        "ranks": sorted({rank for rank in run.lanes.rank.tolist() if rank >= 0}),
        "steps": _steps(run),
        "anomalies": anomalies,
        "not_kept": [{"keys": keys.split("|"), "reason": reason} for keys, reason in _not_kept(files)],
    }


def _anomalies(run: "Run") -> list[dict[str, Any]]:
    table = run.tables.anomalies
    rows = zip(
        run.anomaly_list(), table.lost.tolist(), table.first_ns.tolist(), table.first_offset.tolist(), strict=True
    )
    return [
        row | {"lost": lost, "first_ns": first if first >= 0 else None, "first_offset": offset if offset >= 0 else None}
        for row, lost, first, offset in rows
    ]


def _files(run: "Run") -> list[dict[str, Any]]:
    table = run.tables.files
    columns = zip(
        table.file.tolist(), table.format.tolist(), table.bytes.tolist(), table.events.tolist(), table.kept.tolist(),
        table.rank.tolist(), table.base_ns.tolist(), table.shift_ns.tolist(), strict=True,
    )  # fmt: skip
    return [
        {
            "file": run.string(name),
            "format": run.string(form),
            "bytes": size if size >= 0 else None,
            "events": events,
            "kept": kept,
            "rank": rank if rank >= 0 else None,
            "base_ns": base or None,
            "shift_ns": shift,
        }
        for name, form, size, events, kept, rank, base, shift in columns
    ]


def _kinds(run: "Run") -> dict[str, int]:
    numbers = np.bincount(run.spans.kind, minlength=len(_core.SPAN_KINDS)).tolist()
    return {kind: number for kind, number in zip(_core.SPAN_KINDS, numbers, strict=True) if number}


def _devices(run: "Run") -> set[tuple[int, int]]:
    pairs = zip(run.lanes.rank.tolist(), run.lanes.device.tolist(), strict=True)
    return {(rank, device) for rank, device in pairs if device >= 0}


def _key(rank: int, device: int) -> str:
    return f"{rank}/{device}" if rank >= 0 else str(device)


def _natural(key: str) -> list[int]:
    return [int(part) for part in key.split("/")]


def _steps(run: "Run") -> list[int]:
    return [step for step in distinct(run.spans.step) if step >= 0]


def _not_kept(files: list[dict[str, Any]]) -> tuple[tuple[str, str], ...]:
    return () if all(row["format"] == "nsys" for row in files) else _core.not_kept()


def text(found: dict[str, Any]) -> str:
    """Return the findings for a reader."""
    rows = found["rows"]
    lines = [f"{printable(found['file'])}: {'sound' if found['sound'] else 'damaged or incomplete'}"]
    for row in found["files"] if len(found["files"]) > 1 else found["files"][:1]:
        size = f", {amount(row['bytes'])} of text" if row["bytes"] is not None else ""
        rank = f", rank {row['rank']}" if row["rank"] is not None else ""
        name = f"{printable(row['file'])}: " if len(found["files"]) > 1 else ""
        lines.append(f"  {name}{row['format']}{size}, {count(row['events'], 'row')} read, {row['kept']:,} kept{rank}")
    lines.append("  no row left out" if not rows["lost"] and not rows["unexplained"] else
                 f"  {count(rows['lost'], 'row')} left out, all named below" if not rows["unexplained"] else
                 f"  {count(rows['lost'], 'row')} left out and {rows['unexplained']:,} unexplained")  # fmt: skip
    lines.append(f"  spans: {', '.join(f'{n:,} {kind}' for kind, n in found['kinds'].items()) or 'none'}")
    others = {name: n for name, n in found["tables"].items() if name not in ("spans", "files", "anomalies")}
    lines.append(f"  beside them: {', '.join(f'{n:,} {name}' for name, n in others.items()) or 'nothing'}")
    lines.append(f"  devices: {', '.join(found['devices']) or 'none'}; steps: {_range(found['steps'])}")
    if found["ranks"]:
        lines.append(f"  ranks: {_range(found['ranks'])}")
    for row in found["anomalies"]:
        where = f", first at byte {row['first_offset']:,}" if row["first_offset"] is not None else ""
        lost = f", {row['lost']:,} left out" if row["lost"] else ""
        lines.append(f"  {row['count']:,} {row['code']}: {printable(row['detail'])}{lost}{where}")
    if not found["anomalies"]:
        lines.append("  no anomaly: nothing was dropped, repaired or doubted")
    if found["not_kept"]:
        lines.append("  not kept, where events have them:")
        lines += [f"    {', '.join(row['keys'])}: {row['reason']}" for row in found["not_kept"]]
    return "\n".join(lines)


def _range(numbers: list[int]) -> str:
    """Return numbers shortly: 0 to 7, or 1, 4, 9."""
    if not numbers:
        return "none"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    named = ", ".join(map(str, numbers[:NAMED_SERIES]))
    return f"{named} and {len(numbers) - NAMED_SERIES} more" if len(numbers) > NAMED_SERIES else named
