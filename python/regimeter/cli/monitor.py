# SPDX-License-Identifier: Apache-2.0
"""``regimeter monitor``: record a program and tell Prometheus how it does meanwhile."""

import argparse
import errno
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..monitor.alerts import Webhook
from ..monitor.push import Push
from ..monitor.rings import room_beside
from ..monitor.server import Monitor
from . import supervise
from .common import next_step, number, port
from .environment import environment_of
from .errors import CommandError
from .program import command_of
from .record import add_budget_option
from .reservation import reserve
from .watching import ALERTED, add_options, address_of, remarks, signals_of, watch_of

if TYPE_CHECKING:
    from .common import Verbs

USAGE = (
    "regimeter monitor [--port N] [--keep TIME] [--alert RULE] [-o RUN] [--]"
    " (SCRIPT | COMMAND | -m MODULE | -c CODE) [ARGS ...]"
)
PORT, INTERVAL_S = 9839, 5.0
HOST = "127.0.0.1"


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("monitor", parents=[common], usage=USAGE)
    parser.add_argument("-o", "--output", metavar="RUN", help="recording (default: regimeter-SCRIPT-TIME.rgm)")
    parser.add_argument("--port", metavar="N", type=port, default=PORT, help=f"0 for any (default: {PORT})")
    parser.add_argument("--host", metavar="ADDRESS", default=HOST, help=f"to listen on (default: {HOST})")
    parser.add_argument("--name", metavar="HOST", action="append", default=[], help="a further name of the live page")
    parser.add_argument(
        "--interval",
        metavar="S",
        type=number("seconds from 0.05 to 3600", lambda seconds: 0.05 <= seconds <= 3600.0),
        default=INTERVAL_S,
        help=f"seconds between looks at the recording (default: {INTERVAL_S:g})",
    )
    add_budget_option(parser)
    add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the program; the exit code is the program's, and so is the signal that ends it."""
    command, name = command_of(arguments.program, "monitor", USAGE)
    webhook = Webhook(address_of("--webhook", arguments.webhook)) if arguments.webhook is not None else None
    otlp = address_of("--otlp", arguments.otlp) if arguments.otlp is not None else None
    push = Push(otlp, arguments.interval, name) if otlp is not None else None
    watch = watch_of(arguments, webhook)
    try:
        monitor = Monitor(arguments.host, arguments.port, arguments.interval, watch, tuple(arguments.name), push)
    except (OSError, OverflowError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "is taken, perhaps by another monitor" if taken else f"cannot be listened on: {error}"
        raise CommandError(f"{arguments.host}:{arguments.port} {reason}; choose another with --port") from None
    try:
        reserved = reserve(arguments.output, name)
        options: dict[str, Any] = {"program": name, "structure": True, "states_cost": True}
        if arguments.budget is not None:
            options["budget"] = arguments.budget
        if watch.keep_s:
            options["disk_budget_bytes"] = watch.disk_bytes + room_beside(os.path.abspath(reserved.file))
        outcome = _watched(options, arguments.quiet, monitor, reserved.file, command, signals_of(monitor, watch))
    finally:
        monitor.close()
        if webhook is not None:
            webhook.close()
    from .outcome import Recording  # when the program has ended, see there

    recording = Recording(reserved, outcome, command, name)
    if not arguments.quiet:
        lines = [*remarks(monitor, webhook), f"{recording.file}; Next: {next_step('show', recording.file)}"]
        print(*(f"regimeter: {line}" for line in lines), sep="\n", file=sys.stderr, flush=True)
    failed = ALERTED if arguments.fail_on_alert and monitor.alerts.raised else 0
    return supervise.end_like(outcome) or (1 if recording.losses() else failed)


def _watched(
    options: dict[str, Any],
    quiet: bool,
    monitor: Monitor,
    file: str,
    command: list[str],
    taken: dict[int, Callable[[], None]],
) -> supervise.Outcome:
    file = os.path.abspath(file)
    if not quiet:
        lines = [monitor.url, f"live page: {monitor.page_url}"]
        print(*(f"regimeter: {line}" for line in lines), sep="\n", file=sys.stderr, flush=True)
    samples = supervise.beside_a_profiler()
    return supervise.run_child(
        command, environment_of(options, file), samples, lambda pid: monitor.start(pid, file), taken
    )
