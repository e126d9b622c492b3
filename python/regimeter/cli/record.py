# SPDX-License-Identifier: Apache-2.0
"""``regimeter record``: run a program, keep what its profilers record, and report on it however it ends."""

import argparse
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .common import Verbs
    from .outcome import Recording

USAGE = "regimeter record [-o RUN] [--html OUT] [options] [--] (SCRIPT | -m MODULE | -c CODE) [ARGS ...]"
VALUED = ("-o", "--output", "--html", "--interval", "--sample-rate", "--counter-ranges")
INTERVAL_MS = 10.0
FAILED = 1
DESCRIPTION = """\
Runs the program as `python SCRIPT ARGS` would: same arguments, streams, exit code and signals. Profilers of the
program that name no file write RUN: the first one RUN itself, further ones RUN.2 and so on, those of its forked or
spawned processes RUN.PID. A program without any scope is reported as one scope with its memory over time; with
--kernels the kernels of such a program are recorded too, under that scope.
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
    parser.add_argument("--track-memory", action="store_true", help="measure memory at begin and end of every scope")
    parser.add_argument(
        "--kernels", action="store_true", help="trace kernels, copies and waits of the device with CUPTI"
    )
    parser.add_argument(
        "--graph-nodes", action="store_true", help="with --kernels, a record for each node of a CUDA graph"
    )
    parser.add_argument(
        "--telemetry",
        action="store_true",
        help="sample power, clocks, utilisation and memory of the devices every 100 ms",
    )
    parser.add_argument("--counters", action="store_true", help="sample hardware counters of the device")
    parser.add_argument(
        "--counter-ranges",
        metavar="SET",
        help="count in the outermost scopes that use the device: regime, roofline-hw, fp, tensor, speed-of-light",
    )
    parser.add_argument(
        "--sample-rate", metavar="R", type=_rate, help="part of the outermost scopes to record, 0 to 1 (default: 1)"
    )
    parser.set_defaults(run=run)


def _interval(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"expected milliseconds of at least 0, got {text!r}")
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
    if words[verb : verb + 1] != ["record"]:
        return words, []
    i = verb + 1
    while i < len(words):
        word = words[i]
        if word == "--":
            return words[:i], words[i + 1 :]
        if word == "-" or not word.startswith("-") or word[:2] in ("-m", "-c"):
            return words[:i], words[i:]
        i += 2 if word in VALUED else 1
    return words, []


def run(arguments: argparse.Namespace) -> int:
    """Run the program, then report; the exit code is the program's, or 1 where only the recording is incomplete."""
    from .outcome import Recording
    from .supervise import end_like, run_child

    command, name = _command(arguments.program)
    if arguments.html is not None:
        from ..formats import PAGES, choose
        from .files import check_writable

        choose(arguments.html, PAGES, default="html")
        check_writable(arguments.html)
    options = _options(arguments, name)  # what is wrong with them is said before there is a file
    recording = Recording.reserve(arguments.output, name)
    interval_ms = INTERVAL_MS if arguments.interval is None else arguments.interval
    outcome = run_child(command, _environment(options, recording), round(interval_ms * 1e6))
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
    from .. import recording as told
    from .outcome import Recording
    from .supervise import run_child

    command, name = _command(program)
    recording = Recording.reserve(output, name)
    stated = {told.FILE: os.path.abspath(recording.file), told.OPTIONS: json.dumps(options)}
    outcome = run_child(command, {**os.environ, **stated}, round(INTERVAL_MS * 1e6))
    recording.finish(outcome, command, name)
    return recording, 128 + outcome.killed_by if outcome.killed_by else outcome.code


def _command(program: list[str]) -> tuple[list[str], str]:
    """Return the child's command line and a name for the program."""
    from subprocess import _args_from_interpreter_flags  # type: ignore[attr-defined]

    from .errors import CommandError

    if not program:
        raise CommandError("record: no program given; usage: " + USAGE)
    first, name = program[0], ""
    if first[:2] in ("-m", "-c"):
        option, given = first[:2], first[2:] or (program[1] if len(program) > 1 else "")
        if not given:
            raise CommandError(f"record: {option} needs {'a module' if option == '-m' else 'code'}; usage: " + USAGE)
        name = given if option == "-m" else "-c"
    elif first == "-":
        name = "stdin"
    elif not os.path.exists(first):
        raise CommandError(f"{first}: no such program file; check the path, or use -m for a module")
    else:
        name = os.path.basename(os.path.abspath(first))
    return [sys.executable, *_args_from_interpreter_flags(), *program], name


def _options(arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    """Return the options of the program's profilers; CommandError for a wrong one."""
    options: dict[str, Any] = {}
    if arguments.track_memory:
        options["track_memory"] = True
    if arguments.kernels or arguments.graph_nodes:
        options["profile_kernels"] = {"graph_nodes": 1} if arguments.graph_nodes else True
        options["program"] = name
    if arguments.telemetry:
        options["telemetry"] = True
    if arguments.counters:
        options["counters"] = True
    if arguments.counter_ranges is not None:
        options["counters"] = {"set": _set_for_ranges(arguments.counter_ranges)}
    if arguments.interval is not None:
        options["memory_interval_ms"] = arguments.interval
    if arguments.sample_rate is not None:
        options["sample_rate"] = arguments.sample_rate
    return options


def _environment(options: dict[str, Any], recording: "Recording") -> dict[str, str]:
    from .. import recording as told

    made = {**os.environ, told.FILE: os.path.abspath(recording.file), told.OPTIONS: json.dumps(options)}
    return made | _bootstrap() if "profile_kernels" in options else made


def _bootstrap() -> dict[str, str]:
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
            recording.run.write_html(arguments.html)
    if arguments.json:
        _say(json.dumps(recording.document(arguments.html), ensure_ascii=False, default=str))
    else:
        recording.print(sys.stderr, quiet=arguments.quiet, html=arguments.html)


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)
