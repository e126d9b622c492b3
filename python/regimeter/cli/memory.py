# SPDX-License-Identifier: Apache-2.0
"""``regimeter memory``: the peak of memory, of what it was, who asked for it.

Of a program of torch, which is run with its memory tracked, or of a file: a snapshot of torch's allocator, a trace with
allocations, a recording.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..report.html import write_html
from ..report.memory_page import memory_data
from ..report.memory_run import memory_document
from ..report.memory_run_page import memory_run_data
from ..report.memory_text import run_text
from ..run.formats import PAGES, choose
from ..suite import MemoryProfiler
from ..system.files import write_json
from ..system.text import UNAVAILABLE, amount, printable
from .common import declare_in_process, print_document, tell_in_process
from .files import check_output
from .in_process import name_of, run_program
from .runs import load_run, shown_name

if TYPE_CHECKING:
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
        description="Say of a memory snapshot of torch, a trace with allocations or a recording how much memory lived"
        " at the peak, of what it was and who asked for it. Or run a program in this process with every allocation of"
        " torch tracked, and say the same of it: one that ends in .py, a module after -m, or any other after --.",
    )
    parser.add_argument("file", metavar="FILE", nargs="*", help="a snapshot, trace or recording")
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
    form = ""
    if arguments.output is not None:
        form = choose(arguments.output, PAGES | {".json": "json", ".pickle": "pickle"})
        check_output(arguments.output, arguments.file)
    return _of_file(arguments, form) if arguments.file else _of_program(arguments, form)


def _of_program(arguments: argparse.Namespace, form: str) -> int:
    name = name_of(arguments.program)
    memory = MemoryProfiler(arguments.interval, track_allocations=not arguments.no_stack)
    code = run_program(arguments.program, memory.track(name))
    if form == "html":
        write_html(memory_data(memory.to_dict(), name), arguments.output)
    elif form:
        memory.export(arguments.output, form)
    tell_in_process(arguments, memory.to_dict, lambda: text(memory))
    return code


# --- of a file ----------------------------------------------------------------------------------------------------


def _of_file(arguments: argparse.Namespace, form: str) -> int:
    path = arguments.file[0] if len(arguments.file) == 1 else arguments.file
    run = load_run(path, quiet=arguments.quiet)
    document = memory_document(run, shown_name(arguments.file))
    if form == "html":
        write_html(memory_run_data(run, shown_name([Path(file).name for file in arguments.file])), arguments.output)
    elif form == "json":
        write_json(arguments.output, document)
    elif form:
        run.export(arguments.output, "pickle")
    if arguments.json:
        print_document(document)
    else:
        print(run_text(document))
    return 0


def text(memory: MemoryProfiler) -> str:
    """Return the analysis for a terminal."""
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
    place = row["stack"][0] if row["stack"] else row["operator"] or "before tracking began"
    return f"{amount(row['bytes']):>10} {row['count']:>6,} ×  {row['category']}: {printable(place)}"
