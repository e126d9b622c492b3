# SPDX-License-Identifier: Apache-2.0
"""``regimeter memory``: the peak of memory, of what it was, who asked for it.

Of a program of torch, which is run with its memory tracked, or of a file: a snapshot of torch's allocator, a trace with
allocations, a recording.
"""

import argparse
from typing import TYPE_CHECKING, Any

from .common import declare_in_process, load_run, print_document, tell_in_process

if TYPE_CHECKING:
    from ..suite import MemoryProfiler
    from .common import Verbs

USAGE = "regimeter memory [-o FILE] [options] (SNAPSHOT | TRACE | RUN | [--] (SCRIPT | -m MODULE) [ARGS ...])"
TOP = 10


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = declare_in_process(
        verbs,
        common,
        "memory",
        run,
        usage=USAGE,
        help="memory of a torch program, a snapshot or a trace: peak, owners, stacks, growth",
        description="Say of a memory snapshot of torch, a trace with allocations or a recording how much memory lived"
        " at the peak, of what it was and who asked for it. Or run a program in this process with every allocation of"
        " torch tracked, and say the same of it.",
    )
    parser.add_argument("file", metavar="FILE", nargs="*", help="a snapshot, trace or recording; else a program is run")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write a page (.html), .json or .pickle; of a file the last is what torch writes",
    )
    parser.add_argument(
        "--interval", metavar="MS", type=float, default=10.0, help="read the resident set so often; 0 for never"
    )


def run(arguments: argparse.Namespace) -> int:
    """Report on the file, or run the program and report; the exit code is then the program's."""
    from ..run.formats import PAGES, choose
    from .files import check_writable

    form = ""
    if arguments.output is not None:
        form = choose(arguments.output, PAGES | {".json": "json", ".pickle": "pickle"})
        check_writable(arguments.output)
    return _of_file(arguments, form) if arguments.file else _of_program(arguments, form)


def _of_program(arguments: argparse.Namespace, form: str) -> int:
    from ..suite import MemoryProfiler
    from .in_process import name_of, run_program

    name = name_of(arguments.program)
    memory = MemoryProfiler(arguments.interval, track_allocations=not arguments.no_stack)
    code = run_program(arguments.program, memory.track(name))
    if form == "html":
        from ..report.memory_page import write_memory

        write_memory(memory.to_dict(), arguments.output, name)
    elif form:
        memory.export(arguments.output, form)
    tell_in_process(arguments, memory.to_dict, lambda: text(memory))
    return code


# --- of a file ----------------------------------------------------------------------------------------------------


def _of_file(arguments: argparse.Namespace, form: str) -> int:
    from ..report.memory_run import memory_document

    path = arguments.file[0] if len(arguments.file) == 1 else arguments.file
    run = load_run(path, quiet=arguments.quiet)
    document = memory_document(run, str(path))
    if form == "html":
        from pathlib import Path

        from ..report.memory_run_page import write_memory_run

        write_memory_run(run, arguments.output, Path(arguments.file[0]).name)
    elif form == "json":
        _write_document(document, arguments.output)
    elif form:
        run.export(arguments.output, "pickle")
    if arguments.json:
        print_document(document)
    else:
        print(run_text(document))
    return 0


def _write_document(document: dict[str, Any], path: str) -> None:
    import json

    from ..system.files import atomic_writer

    with atomic_writer(path) as file:
        json.dump(document, file, ensure_ascii=False, allow_nan=False)


def run_text(document: dict[str, Any]) -> str:
    """Return what a run says of memory for a terminal."""
    from ..report.memory_run import sample_text
    from ..system.text import amount, duration, printable

    lines: list[str] = []
    if document["drawn_bytes"] is not None:
        lines += [sample_text(document["drawn_bytes"]), ""]
    for row in document["devices"]:
        where = "host" if row["device"] < 0 else f"device {row['device']}"
        when = "" if row["peak_ns"] is None else f" after {duration(row['peak_ns'] / 1e6)}"
        pool = "" if row["reserved_bytes"] is None else f", reserved at most {amount(row['reserved_bytes'])}"
        lines.append(f"{where}: peak {amount(row['peak_bytes'])}{when}, at the end {amount(row['end_bytes'])}{pool}")
    for row in document["readings"]:
        what = "the process" if row["device"] < 0 else f"device {row['device']}"
        lines.append(
            f"{what}: peak {amount(row['peak_bytes'])} after {duration(row['peak_ns'] / 1e6)}, at the start"
            f" {amount(row['start_bytes'])}, at the end {amount(row['end_bytes'])}"
        )
    lines += [_pool(row) for row in document["pools"]]
    lines += [_cuda_pool(row) for row in document["cuda_pools"]]
    lines += [f"  {amount(row['peak_bytes']):>10}  {row['category'] or 'not said'}" for row in document["categories"]]
    asked = [row for row in document["scopes"][:TOP] if row["peak_bytes"] or row["end_bytes"]]
    if asked:
        lines += ["", "By scope, at the peak and at the end"]
        lines += [
            f"  {amount(row['peak_bytes']):>10} {amount(row['end_bytes']):>10}  {printable(row['scope'])}"
            for row in asked
        ]
    for title, key, size, number in (
        ("Largest at the peak", "allocations", "peak_bytes", "peak_blocks"),
        ("Asked for in the recording and alive at its end", "growth", "kept_bytes", "kept_blocks"),
    ):
        rows = [row for row in document[key][:TOP] if row[size]]
        if rows:
            lines += ["", title, *(f"  {_place(row, row[size], row[number])}" for row in rows)]
    if document["shortages"]:
        lines += ["", "Too little memory"]
        lines += [f"  {_shortage(row)}" for row in document["shortages"][:TOP]]
    return "\n".join(lines)


def _place(row: dict[str, Any], size: int, blocks: int) -> str:
    from ..system.text import amount, printable

    return f"{amount(size):>10} {blocks:>6,} ×  {printable(row['stack'][0] if row['stack'] else 'not recorded')}"


def _pool(row: dict[str, Any]) -> str:
    from ..system.text import amount, percent

    return (
        f"  of {amount(row['reserved'])} reserved at the end {percent(row['idle_share'])} idle:"
        f" {amount(row['free_segments'])} in free segments, {amount(row['inactive_split'])} in free parts of others;"
        f" the largest free block has {amount(row['largest_free'])}"
    )


def _cuda_pool(row: dict[str, Any]) -> str:
    from ..system.text import UNAVAILABLE, amount

    held, used, left = (
        UNAVAILABLE if row[name] is None else amount(row[name])
        for name in ("peak_bytes", "peak_used_bytes", "end_bytes")
    )
    where = "host" if row["device"] < 0 else f"device {row['device']}"
    return f"  pool of CUDA on {where}: held at most {held}, {used} of it in blocks; {left} at the end"


def _shortage(row: dict[str, Any]) -> str:
    from ..system.text import amount, duration, printable

    asked = row["stack"][0] if row["stack"] else "not recorded"
    what = str(row["shortage"]).replace("_", " ")
    return (
        f"{duration(row['time_ns'] / 1e6):>9}  {what}: {amount(row['requested'])} asked for,"
        f" {amount(row['live'])} live, device had {amount(row['device_free'])}: {printable(asked)}"
    )


# --- of a program -------------------------------------------------------------------------------------------------


def text(memory: "MemoryProfiler") -> str:
    """Return the analysis for a terminal."""
    from ..system.text import UNAVAILABLE, amount, printable

    found = memory.get_peak_analysis()

    def mb(name: str) -> str:
        return UNAVAILABLE if found[name] is None else amount(found[name] * 1e6)

    lines = [(f"peak {mb('peak_allocated_mb')}, at the end {mb('current_allocated_mb')}, of the process"
             f" {mb('peak_resident_mb')}")]  # fmt: skip
    lines += [f"  {name}: unavailable: {printable(why)}" for name, why in found["unavailable"].items()]
    lines += [f"  {amount(size):>10}  {name}" for name, size in found["categories"].items() if size]
    if found["top_allocations"]:
        lines += ["", "Largest at the peak"]
        lines += [f"  {_row(row)}" for row in found["top_allocations"][:TOP]]
    leak = found["leak"]
    if leak["verdict"] == "grows":
        lines += ["", f"Memory grows by {amount(leak['bytes_per_step'])} a step over {leak['steps']} steps"]
    if memory.post_mortem_path is not None:
        lines += ["", f"memory ran out: {memory.post_mortem_path}"]
    return "\n".join(lines)


def _row(row: dict[str, Any]) -> str:
    from ..system.text import amount, printable

    place = row["stack"][0] if row["stack"] else row["operator"] or "before tracking began"
    return f"{amount(row['bytes']):>10} {row['count']:>6,} ×  {row['category']}: {printable(place)}"
