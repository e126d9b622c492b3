# SPDX-License-Identifier: Apache-2.0
"""``regimeter monitor``: record a program and tell Prometheus how it does meanwhile."""

import argparse
import errno
import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .common import next_step
from .record import add_budget_option
from .watching import ALERTED, add_options, remarks, signals_of, watch_of, webhook_of

if TYPE_CHECKING:
    from ..monitor.server import Monitor
    from .common import Verbs
    from .outcome import Recording
    from .supervise import Outcome

USAGE = (
    "regimeter monitor [--port N] [--keep TIME] [--alert RULE] [-o RUN] [--] (SCRIPT | -m MODULE | -c CODE) [ARGS ...]"
)
PORT, INTERVAL_S, RESIDENT_MS = 9839, 5.0, 100.0
HOST = "127.0.0.1"
HELP = "record a program and serve /metrics for Prometheus while it runs"


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("monitor", parents=[common], allow_abbrev=False, usage=USAGE, help=HELP)
    parser.add_argument("-o", "--output", metavar="RUN", help="recording (default: regimeter-SCRIPT-TIME.rgm)")
    parser.add_argument("--port", metavar="N", type=_port, default=PORT, help=f"0 for any (default: {PORT})")
    parser.add_argument("--host", metavar="ADDRESS", default=HOST, help=f"to listen on (default: {HOST})")
    parser.add_argument(
        "--interval",
        metavar="S",
        type=_seconds,
        default=INTERVAL_S,
        help=f"seconds between looks at the recording (default: {INTERVAL_S:g})",
    )
    add_budget_option(parser)
    add_options(parser)
    parser.set_defaults(run=run)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.05 <= value <= 3600.0:
        raise argparse.ArgumentTypeError(f"expected seconds from 0.05 to 3600, got {text!r}")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Run the program; the exit code is the program's, and so is the signal that ends it."""
    from ..monitor.server import Monitor
    from .errors import CommandError
    from .outcome import Recording
    from .record import command_of
    from .supervise import end_like

    command, name = command_of(arguments.program, "monitor", USAGE)
    webhook = webhook_of(arguments.webhook)
    watch = watch_of(arguments, webhook)
    try:
        monitor = Monitor(arguments.host, arguments.port, arguments.interval, watch)
    except (OSError, OverflowError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "is taken, perhaps by another monitor" if taken else f"cannot be listened on: {error}"
        raise CommandError(f"{arguments.host}:{arguments.port} {reason}; choose another with --port") from None
    try:
        recording = Recording.reserve(arguments.output, name)
        outcome = _watched(arguments, monitor, recording, command, name, signals_of(monitor, watch))
    finally:
        monitor.close()
        if webhook is not None:
            webhook.close()
    recording.finish(outcome, command, name)
    if not arguments.quiet:
        lines = [*remarks(monitor, webhook), f"{recording.file}; Next: {next_step('show', recording.file)}"]
        print(*(f"regimeter: {line}" for line in lines), sep="\n", file=sys.stderr, flush=True)
    failed = ALERTED if arguments.fail_on_alert and monitor.alerts.raised else 0
    return end_like(outcome) or (1 if recording.losses() else failed)


def _watched(
    arguments: argparse.Namespace,
    monitor: "Monitor",
    recording: "Recording",
    command: list[str],
    name: str,
    taken: dict[int, Callable[[], None]],
) -> "Outcome":
    from ..capture import recording as told
    from .record import bootstrap
    from .supervise import run_child

    file = os.path.abspath(recording.file)
    options: dict[str, Any] = {"program": name, "structure": True}
    if arguments.budget is not None:
        options["budget"] = arguments.budget
    stated = {told.FILE: file, told.OPTIONS: json.dumps(options), **bootstrap()}
    if not arguments.quiet:
        print(f"regimeter: {monitor.url}", file=sys.stderr, flush=True)
    interval_ns = round(RESIDENT_MS * 1e6)
    return run_child(command, {**os.environ, **stated}, interval_ns, lambda pid: monitor.start(pid, file), taken)
