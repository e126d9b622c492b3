# SPDX-License-Identifier: Apache-2.0
"""Options of ``regimeter monitor`` beside the port: what of the recording is kept, and which alerts are raised."""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from ..capture.rates import budget_ppm
from ..monitor.alerts import Webhook, line_of
from ..monitor.policy import LEAST_DISK, RULES
from ..monitor.ring import can_punch
from ..monitor.server import Watch
from ..monitor.steps import steps_of
from ..monitor.triggers import Trigger
from ..system import quantities
from .errors import CommandError
from .runs import load_run

if TYPE_CHECKING:
    from ..monitor.policy import Rule
    from ..monitor.server import Monitor

DISK = "1G"
ALERTED = 3


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    parser.add_argument(
        "--keep",
        metavar="TIME",
        help="keep the last TIME of the recording, such as 10m; older blocks leave the file",
    )
    parser.add_argument(
        "--disk", metavar="SIZE", help=f"with --keep, the room that the recording may take (default: {DISK})"
    )
    parser.add_argument(
        "--on",
        metavar="WHEN",
        action="append",
        default=[],
        help="with --keep, write that out when: slow-step>500ms, failed-scope, memory>8G, alert, SIGUSR1, SIGUSR2",
    )
    parser.add_argument(
        "--alert",
        metavar="RULE[>VALUE]",
        action="append",
        default=[],
        help="raise an alert: step-time, memory-growth, throttling, gpu-idle, own-cost, or all",
    )
    parser.add_argument("--baseline", metavar="RUN", help="run whose steps step-time compares with")
    parser.add_argument("--webhook", metavar="URL", help="post each alert there as JSON")
    parser.add_argument("--otlp", metavar="URL", help="push the metrics to a collector of OpenTelemetry at each look")
    parser.add_argument(
        "--fail-on-alert",
        action="store_true",
        help=f"exit with {ALERTED} where an alert was raised",
    )


def watch_of(arguments: argparse.Namespace, webhook: Webhook | None) -> Watch:
    """Return what is asked for. CommandError where it cannot be."""
    for option in ("disk", "on"):
        if getattr(arguments, option) and not arguments.keep:
            raise CommandError(f"--{option} is for the last minutes of a recording: say how long with --keep")
    for option in ("baseline", "webhook", "fail_on_alert"):
        if getattr(arguments, option) and not arguments.alert:
            raise CommandError(f"--{option.replace('_', '-')} is for alerts: say which with --alert")
    if "alert" in arguments.on and not arguments.alert:
        raise CommandError("--on alert is for alerts: say which with --alert")
    rules = _rules(arguments.alert)
    keep_s = _read("--keep", quantities.seconds, arguments.keep) if arguments.keep else 0.0
    if keep_s and not can_punch(os.path.dirname(os.path.abspath(arguments.output or "."))):
        raise CommandError(
            "--keep: the file system gives the room of a part of a file not back; choose another place with -o"
        )

    disk_bytes = round(_read("--disk", quantities.size, arguments.disk or DISK))
    if disk_bytes < LEAST_DISK:
        raise CommandError(f"--disk: expected at least {LEAST_DISK // 10**6}M, got {arguments.disk}")

    def say(change: dict[str, Any]) -> None:
        print(f"regimeter: {line_of(change)}", file=sys.stderr, flush=True)

    return Watch(
        rules=rules,
        baseline_ns=_step_of(arguments.baseline) if arguments.baseline else None,
        tell=(say, *([webhook] if webhook is not None else [])),
        keep_s=keep_s,
        disk_bytes=disk_bytes,
        triggers=[_read("--on", Trigger.of, text) for text in arguments.on],
        budget=budget_ppm(arguments.budget) / 1e6,
    )


def _read(option: str, function: "Callable[[str], Any]", text: str) -> Any:
    try:
        return function(text)
    except ValueError as error:
        raise CommandError(f"{option}: {error}") from None


def _rules(asked: list[str]) -> "list[Rule]":
    found: dict[str, Rule] = {}
    for text in asked:
        name, _, limit = text.partition(">")
        if name == "all" and not limit:
            found = {**RULES, **found}
            continue
        if name not in RULES:
            raise CommandError(f"--alert: expected all or one of {', '.join(RULES)}; got {text!r}")
        found[name] = RULES[name].above(_read("--alert", _positive, limit)) if ">" in text else RULES[name]
    return list(found.values())


def _positive(text: str) -> float:
    value = float(text) if text.replace(".", "", 1).isdigit() and text.isascii() else 0.0
    if not 0.0 < value < 1e9:
        raise ValueError(f"expected a number above 0, got {text!r}")
    return value


def _step_of(path: str) -> float:
    """Return the median step of a run in nanoseconds."""
    steps = steps_of(load_run(path, quiet=True, told=True))
    if not len(steps):
        raise CommandError(f"{path}: no steps to compare with; a run with scopes of the role `step` has some")
    return float(np.median(steps))


def address_of(option: str, url: str) -> str:
    """Return an address of HTTP. CommandError where it is none."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise CommandError(f"{option}: expected http://HOST... or https://HOST..., got {url!r}")
    return url


def signals_of(monitor: "Monitor", watch: Watch) -> dict[int, Callable[[], None]]:
    """Return the signals that write the last minutes out, which the program does not get."""
    named = [trigger.name for trigger in watch.triggers if trigger.name.startswith("SIG")]
    return {getattr(signal, name): partial(monitor.ask, name) for name in named}


def remarks(monitor: "Monitor", webhook: Webhook | None) -> list[str]:
    """Return what is to be said at the end, in lines."""
    lines = []
    if monitor.rings is not None:
        lines += [f"the last minutes are in {path}" for path in monitor.rings.copies]
        if monitor.rings.failure:
            lines.append(f"the last minutes could not be written at a time: {monitor.rings.failure}")
        if monitor.rings.left_out:
            lines.append(f"{monitor.rings.left_out} more times a condition asked for the last minutes; not written")
    if monitor.waits_for_steps:
        lines.append("no step was seen, so none was slow: steps are those of loops of torch (docs/structure.md)")
    if monitor.alerts.raised:
        lines.append(f"alerts were raised: {', '.join(monitor.alerts.raised)}")
    if webhook is not None and webhook.failures:
        lines.append(f"{webhook.failures} alerts could not be posted, at last because: {webhook.reason}")
    push = monitor.push
    if push is not None and push.failures:
        lines.append(f"the collector did not take the metrics {push.failures} of {push.sent} times: {push.reason}")
    return lines
