# SPDX-License-Identifier: Apache-2.0
"""``regimeter record``: run a program, keep what its profilers record, and report on it however it ends."""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import _core
from ..capture import recording as told
from ..capture.rates import STACKS_HZ, STALL_PERIODS, budget_ppm
from . import supervise
from .ahead import Ahead
from .common import as_option, number, whole_number
from .environment import begins_inside, environment_of
from .errors import CommandError, describe
from .program import command_of
from .progress import step
from .reservation import reserve

if TYPE_CHECKING:
    from .common import Verbs
    from .outcome import Recording

USAGE = "regimeter record [-o RUN] [--html OUT] [options] [--] (SCRIPT | COMMAND | -m MODULE | -c CODE) [ARGS ...]"
# Options, command, recording, layout of memory -> the command that runs the program, and its environment.
Launch = Callable[
    [dict[str, Any], list[str], str, int], contextlib.AbstractContextManager[tuple[list[str], dict[str, str]]]
]
INTERVAL_NS = 10_000_000
FAILED = 1
DESCRIPTION = """\
Runs the program as `python SCRIPT ARGS` would: same arguments, streams, exit code and signals. Profilers of the
program that name no file write RUN: the first one RUN itself, further ones RUN.2 and so on, those of its forked or
spawned processes RUN.PID, of ranks that torchrun starts RUN.rankN. COMMAND is an installed one of Python, such as
torchrun, pytest or accelerate.
A program without any scope is recorded as one scope. The call stacks of its threads are
sampled 100 times a second from its first line to its last, and its kernels traced from its first use of CUDA on.
What is printed here goes to standard error.
"""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "record",
        parents=[common],
        usage=USAGE,
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-o", "--output", metavar="RUN", help="recording (default: regimeter-SCRIPT-TIME.rgm in this folder)"
    )
    parser.add_argument("--html", metavar="OUT", help="also write the report as one HTML file")
    parser.add_argument(
        "--interval",
        metavar="MS",
        type=number("milliseconds of at least 0", lambda ms: 0.0 <= ms < 1e6),
        help="interval of the memory sampler, 0 for none (default: 10)",
    )
    parser.add_argument(
        "--stacks",
        metavar="HZ",
        type=number("a rate from 1 to 1000, or 0", lambda hz: hz == 0.0 or 1.0 <= hz <= 1000.0),
        default=STACKS_HZ,
        help="sample call stacks that many times a second, 1 to 1000, 0 for never (default: 100)",
    )
    parser.add_argument(
        "--memory",
        action="store_true",
        help="watch what the process allocates, by who asked, and what of it stays: `regimeter memory RUN`",
    )
    parser.add_argument("--track-memory", action="store_true", help="measure memory at begin and end of every scope")
    _add_kernel_options(parser)
    parser.add_argument(
        "--telemetry",
        action="store_true",
        help="sample power, clocks, utilisation and memory of the devices every 100 ms",
    )
    add_budget_option(parser)
    _add_counter_options(parser)
    add_count_options(parser)
    parser.add_argument(
        "--sample-rate",
        metavar="R",
        type=number("a number between 0 and 1", lambda rate: 0.0 <= rate <= 1.0),
        help="part of the outermost scopes to record, 0 to 1 (default: 1)",
    )
    parser.add_argument(
        "--no-witness", action="store_true", help="do not look how fast the machine is while the program runs"
    )
    parser.add_argument(
        "--no-structure",
        action="store_true",
        help="do not look for steps, modules and waits of programs that use torch",
    )
    # Of `regimeter ab`: FD,SIDE of a table of turns that was handed down.
    parser.add_argument("--turns", metavar="FD,SIDE", type=_turns, help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def _add_kernel_options(parser: argparse.ArgumentParser) -> None:
    """Declare what is recorded of kernels."""
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="trace kernels, copies and waits of the device from the start, which initialises CUDA before the program "
        "does (default: from the program's first use of CUDA on)",
    )
    for option, text in (
        ("--no-kernels", "do not trace kernels of programs that use CUDA"),
        ("--graph-nodes", "as --kernels, with a record for each node of a CUDA graph"),
        (
            "--device-memory",
            "as --kernels, with memory that CUDA gives out, by kind, pool and scope: `regimeter memory RUN`",
        ),
        (
            "--queue-times",
            "as --kernels, and how long each kernel waited from when its launch was queued: `regimeter launches RUN`",
        ),
    ):
        parser.add_argument(option, action="store_true", help=text)


def _add_counter_options(parser: argparse.ArgumentParser) -> None:
    """Declare what is measured with the device's counters."""
    parser.add_argument("--counters", action="store_true", help="sample hardware counters of the device")
    parser.add_argument(
        "--counter-ranges",
        metavar="SET",
        help="count in the outermost scopes that use the device: regime, roofline-hw, fp, tensor, speed-of-light",
    )
    parser.add_argument(
        "--stalls",
        action="store_true",
        help="sample why the warps of kernels do not go on, by instruction: `regimeter stalls RUN`; kernels are traced "
        "as with --kernels, unless --no-kernels",
    )
    parser.add_argument(
        "--stall-period",
        metavar="N",
        type=int,
        choices=STALL_PERIODS,
        help="as --stalls, a sample every 2^N cycles of each multiprocessor, "
        f"{STALL_PERIODS[0]} to {STALL_PERIODS[-1]} (default: CUPTI's own)",
    )


def add_budget_option(parser: argparse.ArgumentParser) -> None:
    """Declare --budget, as `record` and `monitor` take it."""
    parser.add_argument(
        "--budget",
        metavar="PERCENT",
        type=_budget,
        help="what recording may cost, such as 0.5%%: sampling becomes rarer to keep to it",
    )


def _budget(text: str) -> str:
    as_option(budget_ppm, text)
    return text


def add_count_options(parser: argparse.ArgumentParser) -> None:
    """Declare what asks for counts in place of times."""
    parser.add_argument(
        "--count",
        choices=("instructions",),
        help="run under Valgrind's Callgrind and count the instructions of each scope, some 50 times slower",
    )
    parser.add_argument(
        "--layout",
        metavar="N",
        type=whole_number("a number from 1 to 9999", 1, 9999),
        help="with --count, the layout of memory (default: 1)",
    )


def _turns(text: str) -> list[int]:
    words = text.split(",")
    if len(words) != 2 or not all(word.isascii() and word.isdigit() for word in words):
        raise argparse.ArgumentTypeError(f"expected FD,SIDE, got {text!r}")
    return [int(word) for word in words]


def run(arguments: argparse.Namespace) -> int:
    """Run the program, then report; the exit code is the program's, or 1 where only the recording is incomplete."""
    if not arguments.program and (arguments.html or "").endswith(".py"):
        raise CommandError(
            f"record: no program given: {arguments.html} was read as the value of --html; "
            f"write --html report.html {arguments.html}"
        )
    command, name = command_of(arguments.program, "record", USAGE)
    if arguments.html is not None:
        # What knows the formats takes 15 ms to import, for which no program waits without a page.
        from .files import check_page

        check_page(arguments.html)
    launch: Launch = _launch
    if arguments.layout is not None and arguments.count is None:
        raise CommandError("record: --layout is for counts: add --count instructions, or leave it out")
    if arguments.count is not None:
        # What runs Callgrind takes 20 ms to import, for which no program waits that is not counted.
        from .counted import check_counting, launch_counted

        check_counting()
        launch = launch_counted
    options = _options(arguments, name)  # what is wrong with them is said before there is a file
    reserved = reserve(arguments.output, name)
    samples = _samples(arguments, options)
    with (
        launch(options, command, reserved.file, arguments.layout or 1) as (started, environment),
        Ahead(needed_at_the_end) as ahead,
    ):
        outcome = supervise.run_child(started, environment, samples, ahead.begin)
    whole = False
    try:
        from .outcome import Recording  # when the program has ended, see there

        recording = Recording(reserved, outcome, command, name)
        whole = not recording.losses()
        _report(arguments, recording)
    except KeyboardInterrupt:
        _say(f"regimeter: report stopped; {_place(reserved.file)}")
    except Exception as error:
        if os.environ.get("REGIMETER_DEBUG"):
            raise
        _say(f"regimeter: no report: {describe(error)[0]}; {_place(reserved.file)}")
        whole = False
    return supervise.end_like(outcome) or (0 if whole else FAILED)


def needed_at_the_end() -> Iterator[object]:
    """Import what the end of this command does, a step at a time."""
    yield import_module(".outcome", __package__)
    for module in ("..run.ranks", "..suggest.verdict", "..analysis.result"):
        yield import_module(module, __package__)
    yield import_module("..analysis.catalog", __package__).find_verbs()


def _samples(arguments: argparse.Namespace, options: dict[str, Any]) -> supervise.MemorySamples:
    """Return the program's memory as it is read from here, which is of use where nothing is recorded in it."""
    if arguments.interval is None and begins_inside(options):
        return supervise.beside_a_profiler()
    return supervise.MemorySamples(INTERVAL_NS if arguments.interval is None else round(arguments.interval * 1e6))


def _place(file: str) -> str:
    return f"the recording is in {file}" if os.path.exists(file) else f"there is no recording at {file}"


def record(program: list[str], output: str | None, options: dict[str, Any]) -> "tuple[Recording, int]":
    """Run a program with options of its profilers; return what was recorded, and its exit code.

    A program that ends by a signal counts as 128 and its number.
    """
    command, name = command_of(program, "record", USAGE)
    reserved = reserve(output, name)
    stated = {told.FILE: os.path.abspath(reserved.file), told.OPTIONS: json.dumps(options)}
    outcome = supervise.run_child(command, {**os.environ, **stated}, supervise.MemorySamples(INTERVAL_NS))
    from .outcome import Recording  # as above

    return Recording(reserved, outcome, command, name), 128 + outcome.killed_by if outcome.killed_by else outcome.code


def _kernels(arguments: argparse.Namespace) -> dict[str, int] | str | bool:
    """Return what is asked of kernels, False for nothing; CommandError for options that contradict each other."""
    named = {
        "graph_nodes": arguments.graph_nodes,
        "memory": arguments.device_memory,
        "queue_times": arguments.queue_times,
    }
    kernels = {name: 1 for name, asked in named.items() if asked}
    asked = arguments.kernels or bool(kernels)
    if arguments.no_kernels:
        if asked:
            raise CommandError("record: --no-kernels contradicts --kernels and its options")
        return False
    if asked and arguments.counter_ranges is not None:
        raise CommandError("record: --counter-ranges counts nothing while kernels are recorded; leave --kernels out")
    # Who measures with counters asks the same tool of the vendor's, and chooses what it is asked for.
    elsewhere = arguments.counters or arguments.counter_ranges is not None or arguments.count is not None
    return (kernels or True) if asked else False if elsewhere else told.AWAITED


def _options(arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    """Return the options of the program's profilers; CommandError for a wrong one."""
    options: dict[str, Any] = {"program": name}
    if arguments.track_memory:
        options["track_memory"] = True
    kernels = _kernels(arguments)
    if kernels:
        options["profile_kernels"] = kernels
    if arguments.stacks and arguments.count is None:
        options["stacks"] = arguments.stacks
    if arguments.budget is not None:
        options["budget"] = arguments.budget
    if arguments.memory:
        options["allocations"] = _allocations(arguments)
    if not arguments.no_structure and arguments.count is None:
        options["structure"] = True
    if arguments.telemetry:
        options["telemetry"] = True
    if arguments.counters:
        options["counters"] = True
    if arguments.counter_ranges is not None:
        options["counters"] = {"set": _set_for_ranges(arguments.counter_ranges)}
    if arguments.stalls or arguments.stall_period:
        options["stalls"] = arguments.stall_period or True
    if arguments.no_witness:
        options["witness"] = False
    if arguments.turns is not None:
        options["turns"] = arguments.turns
    if arguments.interval is not None:
        options["memory_interval_ms"] = arguments.interval
    if arguments.sample_rate is not None:
        options["sample_rate"] = arguments.sample_rate
    return options


def _allocations(arguments: argparse.Namespace) -> bool:
    """Return True where allocations can be watched; CommandError with the reason where not."""
    from ..system import preload  # with pathlib it takes 6 ms, for which only these programs wait

    reason = preload.reason()
    if arguments.count is not None:
        reason = "instructions are counted, and every one of watching would be among them"
    elif not arguments.stacks:
        reason = "--stacks 0 leaves nobody to tell who asked"
    if reason:
        raise CommandError(f"record: --memory is not possible: {reason}")
    return True


@contextlib.contextmanager
def _launch(
    options: dict[str, Any], command: list[str], file: str, layout: int
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield the command that runs the program, and its environment."""
    yield command, environment_of(options, file)


def _set_for_ranges(name: str) -> str:
    """Return the name; CommandError when it is no set that ranges are measured with."""
    valid = [known for known, row in _core.counter_sets().items() if row["profiler"] == "range"]
    if name not in valid:
        raise CommandError(f"record: no set of counters for ranges is called {name!r}; valid are: {', '.join(valid)}")
    return name


def _report(arguments: argparse.Namespace, recording: "Recording") -> None:
    """Write the page and print the closing lines, on standard error."""
    if arguments.html is not None:
        with step(f"writing {arguments.html}", quiet=arguments.quiet):
            recording.whole.write_html(arguments.html)
    if arguments.json:
        _say(json.dumps(recording.document(arguments.html), ensure_ascii=False, default=str))
    else:
        recording.print(sys.stderr, quiet=arguments.quiet, html=arguments.html)


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)
