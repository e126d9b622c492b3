# SPDX-License-Identifier: Apache-2.0
"""The command ``gpu-profile``: one operation, or the plots of several, on this machine."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..regime.calls import Question, check_device, need_ceilings, profile_call
from ..regime.plots import DEFAULT, create_performance_plots
from ..regime.suggestion import suggest_optimization
from ..regime.sweep import DTYPES, OPERATIONS, has_torch, make_call, work_of
from ..report.html import write_html
from ..run.formats import PAGES, choose
from ..system.text import sureness
from .common import number, whole_number

FAILED, USAGE = 1, 2
DEFAULT_SIZE = 1_000_000


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="gpu-profile",
        description="Says what limits an operation on this machine: compute, memory bandwidth or overhead.",
        allow_abbrev=False,
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument(
        "--profile", choices=sorted(OPERATIONS), metavar="OPERATION", help=", ".join(sorted(OPERATIONS))
    )
    action.add_argument("--visualize", action="store_true", help="measure several operations over sizes and draw them")
    action.add_argument("--dashboard", action="store_true", help="write the page that opens any recording")
    parser.add_argument(
        "--size", type=_size, default=DEFAULT_SIZE, metavar="N", help="elements; matmul: of a square matrix (1000000)"
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="calls (default: 5)")
    parser.add_argument("--flops", type=_amount, metavar="N", help="operations of a call, where they are known better")
    parser.add_argument("--bytes", type=_amount, metavar="N", help="bytes that a call moves, likewise")
    parser.add_argument("-o", "--output", metavar="PATH", help=f"of --visualize (default: {DEFAULT}; .html: a page)")
    parser.add_argument("--json", action="store_true", help="print the whole profile as JSON")
    parser.add_argument("--dashboard-port", type=int, metavar="PORT", help="accepted; a page needs no server")
    parser.add_argument("--dashboard-host", metavar="HOST", help="accepted; a page needs no server")
    return parser


_amount = number("a number of at least 0", lambda amount: 0 <= amount < float("inf"))


_size = whole_number("a whole number of at least 1", 1)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 for what is unavailable, 2 for usage."""
    try:
        arguments = make_parser().parse_args(argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    try:
        if arguments.visualize:
            return _visualize(arguments)
        return _dashboard(arguments) if arguments.dashboard else _profile(arguments)
    except (_core.Error, ValueError, OSError) as error:
        print(f"gpu-profile: {error}", file=sys.stderr)
        return USAGE if isinstance(error, ValueError) else FAILED


def _profile(arguments: argparse.Namespace) -> int:
    _load_torch(arguments)
    check_device(arguments.device)
    function, args = make_call(arguments.profile, arguments.size, arguments.device, arguments.dtype)
    known = work_of(function, args)
    given = (arguments.flops, arguments.bytes)
    flops, moved = (own if own is not None else known[at] for at, own in enumerate(given))
    question = Question(arguments.repeat, flops, moved)
    function(*args)
    _, profile = profile_call(function, args, {}, question, lambda device: need_ceilings(None, device))
    print(json.dumps(profile, indent=2) if arguments.json else text(arguments.profile, arguments.size, profile))
    return 0


def _load_torch(arguments: argparse.Namespace) -> None:
    """Load torch where a device other than the host, or a type that NumPy lacks, asks for it."""
    if (arguments.device != "cpu" or arguments.dtype == "bfloat16") and has_torch():
        __import__("torch")


def text(operation: str, size: int, profile: dict[str, Any]) -> str:
    """Return the profile as a few lines."""

    def number(value: float | None, factor: float, unit: str) -> str:
        return "unavailable" if value is None else f"{value * factor:,.4g} {unit}"

    achieved = (
        number(profile["achieved_flops"], 1e-9, "GFLOP/s"),
        number(profile["achieved_bandwidth"], 1e-9, "GB/s"),
    )
    used = (number(profile["flops_utilization"], 100, "%"), number(profile["bandwidth_utilization"], 100, "%"))
    told = (profile["detail"], profile["evidence"]["reason"])
    rows = [
        ("regime", f"{profile['regime']} ({', '.join(dict.fromkeys(told))})"),
        ("confidence", "unavailable" if profile["confidence"] is None else sureness(profile["confidence"])),
        ("time", f"{profile['runtime_ms']:,.4g} ms, median of {profile['calls']} calls"),
        ("achieved", f"{achieved[0]}, {achieved[1]}"),
        ("of the ceilings", f"compute {used[0]}, bandwidth {used[1]}"),
        ("intensity", number(profile["compute_intensity"], 1, "FLOP/byte")),
        ("try", suggest_optimization(profile)),
    ]
    lines = [f"{operation}, {size:,} elements, {profile['device']}"]
    lines += [f"  {name:16} {value}" for name, value in rows]
    lines += [f"  note: {note}" for note in profile["warnings"]]
    return "\n".join(lines)


def _visualize(arguments: argparse.Namespace) -> int:
    _load_torch(arguments)
    path = create_performance_plots(arguments.output or DEFAULT, arguments.device, dtype=arguments.dtype)
    print(path)
    return 0


def _dashboard(arguments: argparse.Namespace) -> int:
    path = arguments.output or "dashboard.html"
    choose(path, PAGES, default="html")
    write_html(None, path)
    print(f"{path}: open it in a browser and drop a recording or an exported profile on it; no server is needed")
    return 0
