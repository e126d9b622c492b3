# SPDX-License-Identifier: Apache-2.0
"""What a run says of memory as the data of a page: levels, who asked, growth, the segments and their blocks."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis.memory_place import are_of, place_of, place_text
from ..system.arrays import np
from ..system.text import amount, duration, percent
from .document import TEXT, Column, Section, document, first, levels, table
from .memory_run import THERE_BEFORE, UNRECORDED, asked_by, has_allocations, memory_document, sample_text

if TYPE_CHECKING:
    from ..public.run import Run

DRAWN = 8  # places whose levels are drawn, largest peaks
SEGMENTS = 60  # largest first; the rest is in `regimeter pools`
FOLDERS = re.compile(r".*[/\\]")  # before the name of a file
READ = ("allocated", "resident set")  # on a device, on the host
Row = Mapping[str, Any]
CALLERS = "The innermost function first; files without their folders"
OTHERS = "others"
NOBODY = (UNRECORDED, THERE_BEFORE, OTHERS)  # parts of the peak that name no caller


def memory_run_data(run: "Run", name: str) -> Section:
    """Return the page's data. ValueError where nothing is known of memory."""
    found = memory_document(run, name)
    sections = _drawn(found["devices"], _device) + _drawn(found["readings"], _read)
    sections += [_readings(found["readings"])] if found["readings"] else []
    if has_allocations(run):
        sections += _allocated(run, found)
    return document("memory", f"{name}: memory", file=name, limit=_first(found), sections=sections)


def _allocated(run: "Run", found: Row) -> list[Section]:
    maps = [_segments(run, one) for one in found["devices"]]
    return [
        _figures(found["devices"]),
        _categories(found["categories"]),
        *([_kinds(found["kinds"])] if found["kinds"] else []),
        _allocations([row for row in found["allocations"] if row["peak_bytes"]]),
        _scopes(found["scopes"]),
        _growth(found["growth"]),
        *(one for one in maps if one is not None),
        _pools(found["pools"]),
        _cuda_pools(found["cuda_pools"]),
        _shortages(found["shortages"]),
    ]


# --- the first screen -------------------------------------------------------------------------------------------------


def _first(found: Row) -> Section:
    """Return the largest peak and who asked for it; the bar has what it was for, else who asked."""
    title = "What memory was used for"
    place = max(found["devices"] or found["readings"], key=lambda one: one["peak_bytes"])
    peak = place["peak_bytes"]
    what = "The process" if place["device"] < 0 and max(place_of(place)[1:]) < 0 else _place(place)
    when = "" if place["peak_ns"] is None else f" after {duration(place['peak_ns'] / 1e6)}"
    sample = "" if found["drawn_bytes"] is None else f" {sample_text(found['drawn_bytes'])}"
    ends = f"At the end it is {amount(place['end_bytes'])}.{sample}"
    asked = [row for row in found["allocations"] if place_of(row) == place_of(place) and row["peak_bytes"]]
    kinds = [row for row in found["categories"] if place_of(row) == place_of(place) and row["peak_bytes"]]
    parts = {row["category"] or "not said": row["peak_bytes"] for row in kinds}
    by_kind = len(parts) > 1
    parts = parts if by_kind else _by_caller(asked, peak)
    most = ""
    callers = {name: size for name, size in _by_caller(asked, peak).items() if name not in NOBODY}
    if callers and peak:
        first_of = max(callers, key=lambda name: callers[name])
        most = f", {percent(callers[first_of] / peak, 0)} of it asked for by {first_of}"
    of = "Memory at the peak, by what it was for" if by_kind else "Memory at the peak, by who asked"
    return first(title, f"{what} held at most {amount(peak)}{when}{most}.", why=ends, of=of, parts=parts)


def _short(caller: str) -> str:
    """Return "function (file:line)" without the folders of the file."""
    function, mark, place = caller.partition(" (")
    return function + mark + FOLDERS.sub("", place)


def _by_caller(asked: Sequence[Row], peak: int) -> dict[str, float]:
    parts: dict[str, float] = {}
    for row in asked:
        name = _short(asked_by(row)[0])
        parts[name] = parts.get(name, 0) + row["peak_bytes"]
    rest = peak - sum(parts.values())
    return parts | ({OTHERS: rest} if parts and rest > 0 else {})


# --- over time --------------------------------------------------------------------------------------------------------


def _place(row: Row) -> str:
    text = place_text(row)
    return text[0].upper() + text[1:]


def _key(row: Row) -> str:
    return place_text(row).replace(" ", "-")


def _series(name: str, points: Sequence[Row], key: str = "live", steps: bool = True) -> Section:
    known = [point for point in points if point[key] is not None]
    times = [point["time_ns"] for point in known]
    return {"name": name, "time_ns": times, "value": [point[key] for point in known], "steps": steps}


def _drawn(rows: Sequence[Row], draw: Callable[[Row], Section]) -> list[Section]:
    """Return a section for each; of many ranks for those with the largest peaks."""
    largest = {place_of(row) for row in sorted(rows, key=lambda row: -row["peak_bytes"])[:DRAWN]}
    sections = [draw(row) for row in rows if place_of(row) in largest]
    if len(rows) > DRAWN:
        sections[0]["note"] = f"Drawn are the {DRAWN} of {len(rows):,} with the largest peaks; all are in the tables."
    return sections


def _device(one: Row) -> Section:
    shown = [_series("allocated", one["timeline"]), _series("reserved", one["timeline"], "reserved")]
    drawn = [series for series in shown if len(series["time_ns"]) > 1]
    title = f"{_place(one)}: allocated over time"
    return levels(f"levels-{_key(one)}", title, drawn, nothing="No allocation was recorded.")


def _read(one: Row) -> Section:
    what = READ[one["device"] < 0]
    drawn = [_series(what, one["timeline"], steps=False)] if len(one["timeline"]) > 1 else []
    title = f"{_place(one)}: {what} over time"
    return levels(f"levels-read-{_key(one)}", title, drawn, nothing="It was read once only.")


def _kinds(kinds: Sequence[Row]) -> Section:
    several = len({place_of(one) for one in kinds}) > 1
    ordered = sorted(kinds, key=lambda one: -one["peak_bytes"])
    names = [f"{_place(one)}, {one['category']}" if several else one["category"] for one in ordered]
    drawn = [_series(name, one["timeline"]) for name, one in zip(names, ordered, strict=True)]
    places = ", ".join(dict.fromkeys(_place(one) for one in kinds))
    note = "The kinds with the largest peaks first."
    return levels("kinds", f"{places}: each kind of memory over time", drawn, note=note)


# --- tables -----------------------------------------------------------------------------------------------------------


def _devices(rows: Sequence[Row]) -> Column:
    return Column("device", TEXT, [_place(row) for row in rows], "Where the memory is")


def _sizes(rows: Sequence[Row], heading: str, name: str, doc: str) -> Column:
    return Column(heading, "bytes", [row[name] for row in rows], doc)


def _whole(rows: Sequence[Row], heading: str, name: str, doc: str) -> Column:
    return Column(heading, "", [row[name] for row in rows], doc)


def _times(rows: Sequence[Row], heading: str, name: str) -> Column:
    return Column(heading, "at", [row[name] for row in rows], "Since the start of the run")


def _callers(rows: Sequence[Row]) -> Column:
    stacks = [" ← ".join(map(_short, asked_by(row))) for row in rows]
    return Column("asked for by", TEXT, stacks, CALLERS, prose=True)


def _readings(rows: Sequence[Row]) -> Section:
    columns = [
        Column("of", TEXT, [f"{_place(row)}, {READ[row['device'] < 0]}" for row in rows], "What was read"),
        _sizes(rows, "peak", "peak_bytes", "The largest reading"),
        _times(rows, "peak at", "peak_ns"),
        _sizes(rows, "at the start", "start_bytes", "The first reading"),
        _sizes(rows, "at the end", "end_bytes", "The last reading"),
        _whole(rows, "readings", "count", "How often it was read"),
    ]
    return table("readings", "Readings", columns, "None.")


def _figures(rows: Sequence[Row]) -> Section:
    columns = [
        _devices(rows),
        _sizes(rows, "peak", "peak_bytes", "Most that lived at once"),
        _times(rows, "peak at", "peak_ns"),
        _sizes(rows, "at the end", "end_bytes", "What lives at the end of the recording"),
        _sizes(rows, "reserved at most", "reserved_bytes", "By the allocator; missing where it is not recorded"),
    ]
    return table("figures", "Figures", columns, "None.")


def _categories(rows: Sequence[Row]) -> Section:
    columns = [
        Column("for", TEXT, [row["category"] or "not said" for row in rows], "What the memory was for"),
        _sizes(rows, "at the peak", "peak_bytes", "What lived then"),
        _sizes(rows, "at the end", "end_bytes", "What lives at the end of the recording"),
        _devices(rows),
    ]
    return table("categories", "By category", columns, "The recording does not say what memory is for.")


def _scopes(rows: Sequence[Row]) -> Section:
    columns = [
        Column("asked for in", TEXT, [row["scope"] for row in rows], "The innermost scope or operator"),
        _sizes(rows, "at the peak", "peak_bytes", "What lived then"),
        _sizes(rows, "at the end", "end_bytes", "What lives at the end of the recording"),
        _sizes(rows, "asked for", "allocated_bytes", "All of it, also what was given back"),
        _whole(rows, "times", "allocations", "How often memory was asked for"),
        _devices(rows),
    ]
    return table("scopes", "By scope", columns, "The recording does not say which scopes asked.")


def _cuda_pools(rows: Sequence[Row]) -> Section:
    columns = [
        Column("address", TEXT, [f"{row['pool']:#x}" for row in rows], "Of the pool"),
        _sizes(rows, "held at most", "peak_bytes", "Missing where the recording does not say"),
        _sizes(rows, "in blocks at most", "peak_used_bytes", "Missing where the recording does not say"),
        _sizes(rows, "at the end", "end_bytes", "Missing where the recording does not say"),
        _whole(rows, "allocations", "allocations", "Blocks that it gave out"),
        _devices(rows),
    ]
    return table("cuda-pools", "Pools of CUDA", columns, "The recording has no pools of CUDA.")


def _allocations(rows: Sequence[Row]) -> Section:
    columns = [
        _callers(rows),
        _sizes(rows, "size", "peak_bytes", "At the peak"),
        Column("share", "share", [row["peak_share"] for row in rows], "Of the peak of its device"),
        _whole(rows, "blocks", "peak_blocks", "At the peak"),
        _sizes(rows, "at the end", "end_bytes", "What lives at the end of the recording"),
        _devices(rows),
    ]
    return table("allocations", "At the peak, by who asked", columns, "Nothing lived at the peak.")


def _growth(rows: Sequence[Row]) -> Section:
    columns = [
        _callers(rows),
        _sizes(rows, "size", "kept_bytes", "Alive at the end of the recording"),
        _whole(rows, "blocks", "kept_blocks", "Alive at the end of the recording"),
        _devices(rows),
    ]
    return table("growth", "Growth: asked for in the recording, and alive at its end", columns, "Nothing.")


def _pools(rows: Sequence[Row]) -> Section:
    columns = [
        _devices(rows),
        _whole(rows, "segments", "segments", "That the allocator holds"),
        _sizes(rows, "reserved", "reserved", "In segments"),
        _sizes(rows, "in use", "active", "By blocks"),
        Column("idle", "share", [row["idle_share"] for row in rows], "Of what is reserved"),
        _sizes(rows, "split and free", "inactive_split", "Free parts of segments that are in use"),
        _sizes(rows, "free segments", "free_segments", "Segments without a block in use"),
        _sizes(rows, "largest free", "largest_free", "The largest block that could be given out"),
    ]
    return table("pools", "Pools", columns, "The recording has no segments of an allocator.")


def _shortages(rows: Sequence[Row]) -> Section:
    columns = [
        _callers(rows),
        Column("what", TEXT, [str(row["shortage"]).replace("_", " ") for row in rows], "What came of it"),
        _times(rows, "at", "time_ns"),
        _sizes(rows, "asked for", "requested", "Missing where the recording does not say"),
        _sizes(rows, "device had", "device_free", "Free on the device then"),
        _sizes(rows, "live", "live", "What lived then"),
        _sizes(rows, "reserved", "reserved", "By the allocator then"),
    ]
    nothing = "It did not run short, or there is no history of an allocator."
    return table("shortages", "Too little memory", columns, nothing)


# --- segments ---------------------------------------------------------------------------------------------------------


def _segments(run: "Run", one: Row) -> Section | None:
    """Return the largest segments of a device with the blocks in use that lie in them; None where it has none."""
    segments, blocks = run.tables.segments, run.tables.blocks
    rows = np.flatnonzero(are_of(run, segments, one))
    if not len(rows):
        return None
    rows = rows[np.argsort(-segments.bytes[rows], kind="stable")]
    drawn: list[Section] = []
    used = are_of(run, blocks, one) & (blocks.state > 0)
    for segment in rows[:SEGMENTS].tolist():
        base = int(segments.address[segment])
        inside = np.flatnonzero((blocks.segment_address == base) & used)
        sizes = blocks.bytes[inside]
        drawn.append({
            "address": f"{base:#x}", "bytes": int(segments.bytes[segment]), "used": int(sizes.sum()),
            "starts": (blocks.address[inside].astype("i8") - base).tolist(), "sizes": sizes.tolist(),
        })  # fmt: skip
    largest = f", the {SEGMENTS} largest" if len(rows) > SEGMENTS else ""
    widest = amount(drawn[0]["bytes"])
    note = f"{len(rows):,} segments at the end{largest}: filled what blocks in use hold, the widest {widest}."
    return {"id": f"segments-{_key(one)}", "title": f"{_place(one)}: segments and the blocks in use",
            "form": "segments", "note": note, "segments": drawn}  # fmt: skip
