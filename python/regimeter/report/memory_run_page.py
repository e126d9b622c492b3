# SPDX-License-Identifier: Apache-2.0
"""What a run says of memory as one static page: levels, who asked, growth, the segments and their blocks."""

import os
from html import escape
from typing import TYPE_CHECKING, Any

from ..system.files import atomic_writer
from ..system.text import amount, duration, percent
from .memory_page import WIDTH, level_picture
from .memory_run import has_allocations, memory_document, sample_text
from .static_page import UNAVAILABLE, page, table

if TYPE_CHECKING:
    from ..public.run import Run

SEGMENTS = 60  # largest first; the rest is in `regimeter pools`
ROW = 14.0
READ = ("allocated", "resident set")  # on a device, on the host


def write_memory_run(run: "Run", path: str | os.PathLike[str], name: str) -> None:
    """Write the page, atomically. ValueError where nothing is known of memory."""
    text = render_memory_run(run, name)
    with atomic_writer(path) as file:
        file.write(text)


def render_memory_run(run: "Run", name: str) -> str:
    """Return the page."""
    document = memory_document(run, name)
    parts = [f"<h1>{escape(name)}: memory</h1>"]
    for device in document["devices"]:
        parts += [f"<h2>{_place(device['device'])}</h2>", _levels(device), _segment_map(run, device["device"])]
    for one in document["readings"]:
        parts += [f"<h2>{_place(one['device'])}: {READ[one['device'] < 0]}</h2>", _levels(one, READ[one["device"] < 0])]
    if document["readings"]:
        parts += [
            table("Readings", ("", "peak", "at", "at the start", "at the end", "readings"),
                  map(_reading, document["readings"])),
        ]  # fmt: skip
    if not has_allocations(run):
        return page(f"{name} - memory", "\n".join(parts))
    if document["drawn_bytes"] is not None:
        parts.append(f'<p class="note">{escape(sample_text(document["drawn_bytes"]))}</p>')
    parts += [
        table("Figures", ("", "peak", "when", "at the end", "reserved at most"), map(_figures, document["devices"])),
        table("By category", ("", "device", "at the peak", "at the end"), map(_category, document["categories"]),
              "The recording does not say what memory is for."),
        *(f"<h2>{_place(one['device'])}: {escape(one['category'])}</h2>{_levels(one)}" for one in document["kinds"]),
        table("By scope", ("asked for in", "device", "at the peak", "at the end", "asked for", "times"),
              map(_scope, document["scopes"]), "The recording does not say which scopes asked."),
        table("Pools of CUDA", ("address", "device", "held at most", "in blocks at most", "at the end", "allocations"),
              map(_cuda_pool, document["cuda_pools"]), "The recording has no pools of CUDA."),
        table("At the peak, by who asked", ("asked for by", "device", "size", "share", "blocks", "at the end"),
              [_allocation(row) for row in document["allocations"] if row["peak_bytes"]], "Nothing lived."),
        table("Growth: asked for in the recording, and alive at its end", ("asked for by", "device", "size", "blocks"),
              map(_growth, document["growth"]), "Nothing."),
        table("Pools",
              ("", "segments", "reserved", "in use", "idle", "split and free", "free segments", "largest free"),
              map(_pool, document["pools"]), "The recording has no segments of an allocator."),
        table("Too little memory", ("asked for by", "what", "at", "asked for", "device had", "live", "reserved"),
              map(_shortage, document["shortages"]), "It did not run short, or there is no history of an allocator."),
    ]  # fmt: skip
    return page(f"{name} - memory", "\n".join(parts))


def _place(device: int) -> str:
    return "Host" if device < 0 else f"Device {device}"


def _size(value: int | None) -> str:
    return UNAVAILABLE if value is None else amount(value)


def _callers(row: dict[str, Any]) -> str:
    return " ← ".join(row["stack"]) or "not recorded"


def _levels(device: dict[str, Any], word: str = "allocated") -> str:
    return level_picture([(point["time_ns"] / 1e6, point["live"]) for point in device["timeline"]], word)


def _reading(row: dict[str, Any]) -> tuple[str, ...]:
    sizes = (amount(row["start_bytes"]), amount(row["end_bytes"]))
    return _place(row["device"]), amount(row["peak_bytes"]), duration(row["peak_ns"] / 1e6), *sizes, f"{row['count']:,}"


def _figures(row: dict[str, Any]) -> tuple[str, ...]:
    when = "at the start" if row["peak_ns"] is None else duration(row["peak_ns"] / 1e6)
    sizes = (row["end_bytes"], row["reserved_bytes"])
    return _place(row["device"]), amount(row["peak_bytes"]), when, *(_size(size) for size in sizes)


def _category(row: dict[str, Any]) -> tuple[str, ...]:
    name = row["category"] or "not said"
    return name, _place(row["device"]), amount(row["peak_bytes"]), amount(row["end_bytes"])


def _scope(row: dict[str, Any]) -> tuple[str, ...]:
    sizes = (row["peak_bytes"], row["end_bytes"], row["allocated_bytes"])
    return row["scope"], _place(row["device"]), *(amount(size) for size in sizes), f"{row['allocations']:,}"


def _cuda_pool(row: dict[str, Any]) -> tuple[str, ...]:
    sizes = (row["peak_bytes"], row["peak_used_bytes"], row["end_bytes"])
    return f"{row['pool']:#x}", _place(row["device"]), *(_size(size) for size in sizes), f"{row['allocations']:,}"


def _allocation(row: dict[str, Any]) -> tuple[str, ...]:
    share = percent(row["peak_share"])
    return (_callers(row), _place(row["device"]), amount(row["peak_bytes"]), share, f"{row['peak_blocks']:,}",
            amount(row["end_bytes"]))  # fmt: skip


def _growth(row: dict[str, Any]) -> tuple[str, ...]:
    return _callers(row), _place(row["device"]), amount(row["kept_bytes"]), f"{row['kept_blocks']:,}"


def _pool(row: dict[str, Any]) -> tuple[str, ...]:
    return (_place(row["device"]), f"{row['segments']:,}", amount(row["reserved"]), amount(row["active"]),
            percent(row["idle_share"]), amount(row["inactive_split"]), amount(row["free_segments"]),
            amount(row["largest_free"]))  # fmt: skip


def _shortage(row: dict[str, Any]) -> tuple[str, ...]:
    return (_callers(row), str(row["shortage"]).replace("_", " "), duration(row["time_ns"] / 1e6),
            *(_size(row[name]) for name in ("requested", "device_free", "live", "reserved")))  # fmt: skip


def _segment_map(run: "Run", device: int) -> str:
    """Draw the segments as rows, as wide as they are large; blocks in use are filled."""
    import numpy as np

    segments, blocks = run.tables.segments, run.tables.blocks
    rows = np.flatnonzero(segments.device == device)
    if not len(rows):
        return ""
    rows = rows[np.argsort(-segments.bytes[rows], kind="stable")]
    most = max(1, int(segments.bytes[rows[0]]))
    drawn: list[str] = []
    for row, segment in enumerate(rows[:SEGMENTS].tolist()):
        base, y = int(segments.address[segment]), row * ROW
        width = WIDTH * int(segments.bytes[segment]) / most
        drawn.append(f'<rect class="reserved" x="0" y="{y:g}" width="{width:.2f}" height="{ROW - 3:g}"/>')
        inside = np.flatnonzero((blocks.segment_address == base) & (blocks.device == device) & (blocks.state > 0))
        steps = [
            f"M{WIDTH * (int(blocks.address[at]) - base) / most:.2f},{y:g}"
            f"h{max(0.5, WIDTH * int(blocks.bytes[at]) / most):.2f}v{ROW - 3:g}"
            f"h-{max(0.5, WIDTH * int(blocks.bytes[at]) / most):.2f}z"
            for at in inside.tolist()
        ]
        drawn.append(f'<path class="memory" d="{"".join(steps)}"/>' if steps else "")
    height = ROW * min(len(rows), SEGMENTS)
    left_out = f", the {SEGMENTS} largest" if len(rows) > SEGMENTS else ""
    label = f"{len(rows):,} segments at the end{left_out}: filled what blocks in use hold, the widest {amount(most)}"
    return (
        f'<svg class="map" viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(label)}">'
        f'{"".join(drawn)}</svg><p class="note">{escape(label)}</p>'
    )
