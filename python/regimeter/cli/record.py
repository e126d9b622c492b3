# SPDX-License-Identifier: Apache-2.0
"""``regimeter record``: run a program, keep what its profilers record, and report on it however it ends."""

import argparse
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..capture.rates import STACKS_HZ, budget_ppm
from .common import as_option

if TYPE_CHECKING:
    from .common import Verbs
    from .outcome import Recording

USAGE = "regimeter record [-o RUN] [--html OUT] [options] [--] (SCRIPT | -m MODULE | -c CODE) [ARGS ...]"
VALUED = (
    "-o",
    "--output",
    "--html",
    "--interval",
    "--sample-rate",
    "--stacks",
    "--counter-ranges",
    "--count",
    "--layout",
    "--turns",
    "--budget",
)
# Verbs that start a program -> their options that take a value.
STARTING = {
    "record": VALUED,
    "profile": ("-o", "--output", "--disk-budget-mb"),
    "memory": ("-o", "--output", "--interval", "--memory"),
    "monitor": (
        "-o",
        "--output",
        "--port",
        "--host",
        "--interval",
        "--keep",
        "--disk",
        "--on",
        "--alert",
        "--baseline",
        "--webhook",
        "--budget",
    ),
}
TORCHRUN = "torchrun"  # torch's command, which is a module
INTERPRETER = re.compile(r"python(3(\.\d+)?)?")
INTERVAL_MS = 10.0
FAILED = 1
DESCRIPTION = """\
Runs the program as `python SCRIPT ARGS` would: same arguments, streams, exit code and signals. Profilers of the
program that name no file write RUN: the first one RUN itself, further ones RUN.2 and so on, those of its forked or
spawned processes RUN.PID, of ranks that torchrun starts RUN.rankN.
A program without any scope is recorded as one scope. The call stacks of its threads are
sampled 100 times a second.
What is printed here goes to standard error.
"""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "record",
        parents=[common],
        allow_abbrev=False,
        usage=USAGE,
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        help="run a program and keep what its profilers record",
    )
    parser.add_argument(
        "-o", "--output", metavar="RUN", help="recording (default: regimeter-SCRIPT-TIME.rgm in this folder)"
    )
    parser.add_argument("--html", metavar="OUT", help="also write the report as one HTML file")
    parser.add_argument(
        "--interval", metavar="MS", type=_interval, help="interval of the memory sampler, 0 for none (default: 10)"
    )
    parser.add_argument(
        "--stacks",
        metavar="HZ",
        type=_stacks,
        default=STACKS_HZ,
        help="sample call stacks that many times a second, 1 to 1000, 0 for never (default: 100)",
    )
    parser.add_argument(
        "--memory",
        action="store_true",
        help="watch what the process allocates, by who asked, and what of it stays: `regimeter memory RUN`",
    )
    parser.add_argument("--track-memory", action="store_true", help="measure memory at begin and end of every scope")
    parser.add_argument(
        "--kernels", action="store_true", help="trace kernels, copies and waits of the device with CUPTI"
    )
    parser.add_argument(
        "--graph-nodes", action="store_true", help="with --kernels, a record for each node of a CUDA graph"
    )
    parser.add_argument(
        "--device-memory",
        action="store_true",
        help="with --kernels, memory that CUDA gives out, by kind, pool and scope: `regimeter memory RUN`",
    )
    parser.add_argument(
        "--queue-times",
        action="store_true",
        help="with --kernels, when each launch was queued and when it was submitted: `regimeter launches RUN`",
    )
    parser.add_argument(
        "--telemetry",
        action="store_true",
        help="sample power, clocks, utilisation and memory of the devices every 100 ms",
    )
    add_budget_option(parser)
    parser.add_argument("--counters", action="store_true", help="sample hardware counters of the device")
    parser.add_argument(
        "--counter-ranges",
        metavar="SET",
        help="count in the outermost scopes that use the device: regime, roofline-hw, fp, tensor, speed-of-light",
    )
    add_count_options(parser)
    parser.add_argument(
        "--sample-rate", metavar="R", type=_rate, help="part of the outermost scopes to record, 0 to 1 (default: 1)"
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
        "--layout", metavar="N", type=_layout, default=1, help="with --count, the layout of memory (default: 1)"
    )


def _layout(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10_000):
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 9999, got {text!r}")
    return int(text)


def _turns(text: str) -> list[int]:
    words = text.split(",")
    if len(words) != 2 or not all(word.isascii() and word.isdigit() for word in words):
        raise argparse.ArgumentTypeError(f"expected FD,SIDE, got {text!r}")
    return [int(word) for word in words]


def _interval(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"expected milliseconds of at least 0, got {text!r}")
    return value


def _stacks(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value != 0.0 and not 1.0 <= value <= 1000.0:
        raise argparse.ArgumentTypeError(f"expected a rate from 1 to 1000, or 0, got {text!r}")
    return value


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"expected a number between 0 and 1, got {text!r}")
    return value


def split_program(words: list[str]) -> tuple[list[str], list[str]]:
    """Split the command line into our words and those of the program, which are not ours to read."""
    verb = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    if words[verb : verb + 1] in (["ab"], ["calibrate"]):
        end = words.index("--", verb) if "--" in words[verb:] else len(words)
        return words[:end], words[end + 1 :]
    if verb == len(words) or words[verb] not in STARTING:
        return words, []
    valued, i = STARTING[words[verb]], verb + 1
    from .files import holds_recording

    takes_files = words[verb] == "memory"
    while i < len(words):
        word = words[i]
        if word == "--":
            return words[:i], words[i + 1 :]
        if word == "-" or not word.startswith("-") or word[:2] in ("-m", "-c"):
            return (words, []) if takes_files and holds_recording(word) else (words[:i], words[i:])
        i += 2 if word in valued else 1
    return words, []


def run(arguments: argparse.Namespace) -> int:
    """Run the program, then report; the exit code is the program's, or 1 where only the recording is incomplete."""
    from .errors import CommandError
    from .outcome import Recording
    from .supervise import end_like, run_child

    if not arguments.program and (arguments.html or "").endswith(".py"):
        raise CommandError(
            f"record: no program given: {arguments.html} was read as the value of --html; "
            f"write --html report.html {arguments.html}"
        )
    command, name = command_of(arguments.program)
    if arguments.html is not None:
        from ..run.formats import PAGES, choose
        from .files import check_writable

        choose(arguments.html, PAGES, default="html")
        check_writable(arguments.html)
    if arguments.count is not None:
        from ..system import callgrind

        callgrind.version()
    options = _options(arguments, name)  # what is wrong with them is said before there is a file
    recording = Recording.reserve(arguments.output, name)
    interval_ms = INTERVAL_MS if arguments.interval is None else arguments.interval
    with _counted(arguments, options, command, recording) as started:
        environment = _environment(options, recording, arguments.layout)
        outcome = run_child(started, environment, round(interval_ms * 1e6))
    try:
        recording.finish(outcome, command, name)
        _report(arguments, recording)
    except KeyboardInterrupt:
        _say(f"regimeter: report stopped; {_place(recording)}")
    except Exception as error:
        from .errors import describe

        if os.environ.get("REGIMETER_DEBUG"):
            raise
        _say(f"regimeter: no report: {describe(error)[0]}; {_place(recording)}")
        return end_like(outcome) or FAILED
    return end_like(outcome) or (FAILED if recording.losses() else 0)


def _place(recording: "Recording") -> str:
    there = os.path.exists(recording.file)
    return f"the recording is in {recording.file}" if there else f"there is no recording at {recording.file}"


def record(program: list[str], output: str | None, options: dict[str, Any]) -> "tuple[Recording, int]":
    """Run a program with options of its profilers; return what was recorded, and its exit code.

    A program that ends by a signal counts as 128 and its number.
    """
    from ..capture import recording as told
    from .outcome import Recording
    from .supervise import run_child

    command, name = command_of(program)
    recording = Recording.reserve(output, name)
    stated = {told.FILE: os.path.abspath(recording.file), told.OPTIONS: json.dumps(options)}
    outcome = run_child(command, {**os.environ, **stated}, round(INTERVAL_MS * 1e6))
    recording.finish(outcome, command, name)
    return recording, 128 + outcome.killed_by if outcome.killed_by else outcome.code


def command_of(program: list[str], verb: str = "record", usage: str = USAGE) -> tuple[list[str], str]:
    """Return the child's command line and a name for the program; CommandError, as of that verb, where it is none."""
    from subprocess import _args_from_interpreter_flags  # type: ignore[attr-defined]

    from .errors import CommandError

    program = _without_interpreter(program)
    if not program:
        raise CommandError(f"{verb}: no program given; usage: {usage}")
    if program[0] == TORCHRUN and not os.path.exists(TORCHRUN):
        program = ["-m", "torch.distributed.run", *program[1:]]
    first, name = program[0], ""
    if first[:2] in ("-m", "-c"):
        option, given = first[:2], first[2:] or (program[1] if len(program) > 1 else "")
        if not given:
            raise CommandError(f"{verb}: {option} needs {'a module' if option == '-m' else 'code'}; usage: {usage}")
        name = given if option == "-m" else "-c"
    elif first == "-":
        name = "stdin"
    elif not os.path.exists(first):
        raise CommandError(f"{first}: no such program file; check the path, or use -m for a module")
    else:
        name = os.path.basename(os.path.abspath(first))
    return [sys.executable, *_args_from_interpreter_flags(), *program], name


def _without_interpreter(program: list[str]) -> list[str]:
    """Return a command without the `python` before the program, as people write it; CommandError for another one."""
    from .errors import CommandError

    if not program or not INTERPRETER.fullmatch(os.path.basename(program[0])):
        return program
    there = os.path.isfile(program[0])
    if there and os.path.realpath(program[0]) != os.path.realpath(sys.executable):
        raise CommandError(f"{program[0]}: another Python than {sys.executable}, where regimeter is installed")
    return program[1:]


def _kernel_options(arguments: argparse.Namespace) -> dict[str, bool]:
    return {
        "graph_nodes": arguments.graph_nodes,
        "memory": arguments.device_memory,
        "queue_times": arguments.queue_times,
    }


def _options(arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    """Return the options of the program's profilers; CommandError for a wrong one."""
    options: dict[str, Any] = {"program": name}
    if arguments.track_memory:
        options["track_memory"] = True
    kernels = {name: 1 for name, asked in _kernel_options(arguments).items() if asked}
    if arguments.kernels or kernels:
        options["profile_kernels"] = kernels or True
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
    from ..system import preload
    from .errors import CommandError

    reason = preload.reason()
    if arguments.count is not None:
        reason = "instructions are counted, and every one of watching would be among them"
    elif not arguments.stacks:
        reason = "--stacks 0 leaves nobody to tell who asked"
    if reason:
        raise CommandError(f"record: --memory is not possible: {reason}")
    return True


@contextlib.contextmanager
def _counted(
    arguments: argparse.Namespace, options: dict[str, Any], command: list[str], recording: "Recording"
) -> Iterator[list[str]]:
    """Yield the command that runs the program, under Callgrind where its instructions are counted."""
    from ..system import callgrind

    if arguments.count is None:
        yield command
        return
    # A folder of its own, because how many files lie beside a recording is in the heap of the program that looks there.
    with tempfile.TemporaryDirectory(prefix="regimeter-") as folder:
        log, made = os.path.join(folder, "callgrind.log"), os.path.join(folder, "run.rgm")
        options["count"] = {"log": log, "file": made, "layout": arguments.layout, "version": callgrind.version()}
        options["memory_interval_ms"] = 0.0
        with callgrind.addresses_held():
            yield callgrind.command(log, command)
        for name in os.listdir(folder):
            if name.startswith("run.rgm"):
                shutil.move(os.path.join(folder, name), recording.file + name.removeprefix("run.rgm"))


def _environment(options: dict[str, Any], recording: "Recording", layout: int) -> dict[str, str]:
    from ..capture import recording as told
    from ..system import callgrind, preload

    file = options["count"]["file"] if "count" in options else os.path.abspath(recording.file)
    made = {**os.environ, told.FILE: file, told.OPTIONS: json.dumps(options)}
    if any(asked in options for asked in ("stacks", "structure", "profile_kernels", "count")):
        made |= bootstrap()
    if "allocations" in options:
        made |= preload.variables(made)
    return callgrind.environment(made, layout) if "count" in options else made


def bootstrap() -> dict[str, str]:
    """Return variables by which Python imports our `sitecustomize` before the program, which puts them back."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bootstrap")
    before = os.environ.get("PYTHONPATH", "")
    path = f"{folder}{os.pathsep}{before}" if before else folder
    return {"PYTHONPATH": path, "REGIMETER_RECORD_PYTHONPATH": before}


def _set_for_ranges(name: str) -> str:
    """Return the name; CommandError when it is no set that ranges are measured with."""
    from .. import _core
    from .errors import CommandError

    valid = [known for known, row in _core.counter_sets().items() if row["profiler"] == "range"]
    if name not in valid:
        raise CommandError(f"record: no set of counters for ranges is called {name!r}; valid are: {', '.join(valid)}")
    return name


def _report(arguments: argparse.Namespace, recording: "Recording") -> None:
    """Write the page and print the closing lines, on standard error."""
    from .progress import step

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
