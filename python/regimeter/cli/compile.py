# SPDX-License-Identifier: Apache-2.0
"""``regimeter compile``: what torch.compile makes of a function or module, or made of a program that logged."""

import argparse
import math
import os
import runpy
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..run.formats import PAGES, choose
from ..suite import TorchCompileAnalyzer
from ..system.text import UNAVAILABLE, amount, duration, printable
from ..system.torch_extra import torch_for
from .common import print_document
from .compile_log import advice, log_text
from .errors import CommandError
from .files import check_output

LIVE = {
    "inputs": None,
    "shape": None,
    "backend": "inductor",
    "mode": None,
    "warmup": 3,
    "iterations": 10,
    "warm": False,
}

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..suite import CompileReport
    from .common import Verbs


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "compile",
        parents=[common],
        description="Compile a function or module and compare it with what it is without: where the graph breaks and"
        " why, what is compiled again, what is fused, what compiling costs and what it brings. Or say of the logs of"
        " a program (TORCH_TRACE=FOLDER, or the text of TORCH_LOGS) what was compiled, how long that took, and why.",
    )
    parser.add_argument(
        "target",
        metavar="FILE.py:NAME|FOLDER|FILE.log",
        help="or MODULE:NAME; what the name holds is called. Of a folder or file of logs nothing is run",
    )
    inputs = parser.add_mutually_exclusive_group()
    inputs.add_argument("--inputs", metavar="NAME", help="of the same file: the inputs, or a function that makes them")
    inputs.add_argument("--shape", metavar="N,N", action="append", type=_shape, help="an input of random numbers")
    parser.add_argument("--backend", help="default: inductor")
    parser.add_argument("--mode", action="append", help="may be given several times; default: default")
    parser.add_argument("--warmup", metavar="N", type=int, help="calls before timing (default: 3)")
    parser.add_argument("--iterations", metavar="N", type=int, help="pairs of timed calls (default: 10)")
    parser.add_argument("--warm", action="store_true", help="use the caches that are there: quicker, tells less")
    parser.add_argument("-o", "--output", metavar="FILE", help="write a page (.html) or .json; not with several modes")
    parser.set_defaults(run=run, **LIVE)


def run(arguments: argparse.Namespace) -> int:
    """Compile and report, 1 where a backend failed; or report on logs."""
    modes = arguments.mode or ["default"]
    if arguments.output is not None:
        form = choose(arguments.output, PAGES | {".json": "json"})
        check_output(arguments.output, arguments.target)
        if len(modes) > 1:
            raise CommandError("-o writes the report of one mode; --json prints those of several")
    if is_log(arguments.target):
        return _of_log(arguments, form if arguments.output is not None else "")
    analyzers = {
        mode: TorchCompileAnalyzer(arguments.backend, mode, cold=not arguments.warm) for mode in dict.fromkeys(modes)
    }
    target, inputs = find(arguments.target, arguments.inputs, arguments.shape)
    reports = {
        mode: one.analyze(target, inputs, arguments.warmup, arguments.iterations) for mode, one in analyzers.items()
    }
    if arguments.output is not None:
        analyzers[modes[0]].export_report(reports[modes[0]], os.path.abspath(arguments.output), form)
    if arguments.json:
        found = {mode: report.to_dict() for mode, report in reports.items()}
        print_document(found if len(found) > 1 else found[modes[0]])
    else:
        print("\n\n".join(text(report) for report in reports.values()))
    return 1 if any(report.error for report in reports.values()) else 0


def is_log(target: str) -> bool:
    """Tell whether logs are meant, and no name in a file or module."""
    return target.endswith(".log") or os.path.isdir(target) or (os.path.isfile(target) and not target.endswith(".py"))


def _of_log(arguments: argparse.Namespace, form: str) -> int:
    given = [f"--{name}" for name, default in LIVE.items() if getattr(arguments, name) != default]
    if given:
        raise CommandError(f"{arguments.target}: of logs nothing is compiled; leave out {', '.join(given)}")
    report = TorchCompileAnalyzer.from_trace(arguments.target)
    if form:
        report.export(arguments.output, form)
    if arguments.json:
        print_document(report.to_dict())
    else:
        print(log_text(report))
    return 0


def find(target: str, inputs: str | None, shapes: list[tuple[int, ...]] | None) -> tuple[Any, Any]:
    """Return what is to be called and with what. CommandError for a file or name that is not there."""
    torch = torch_for("analysing torch.compile")
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise CommandError(f"{target}: FILE.py:NAME, MODULE:NAME, or a folder or file of logs is expected")
    names = _names_in(place)
    called = _get(names, name, place)
    if not callable(called):
        raise CommandError(f"{target}: is no function and no module but {type(called).__name__}")
    if inputs is not None:
        made = _get(names, inputs, place)
        return called, made() if callable(made) and not torch.is_tensor(made) else made
    return called, tuple(torch.rand(shape) for shape in shapes or ())


def _names_in(place: str) -> dict[str, Any]:
    if not place.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        try:
            return vars(import_module(place))
        except ModuleNotFoundError as error:
            raise CommandError(f"{place}: {error}") from None
    if not os.path.exists(place):
        raise CommandError(f"{place}: no such file; check the path")
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
    return runpy.run_path(place, run_name="__regimeter__")


def _get(names: dict[str, Any], name: str, place: str) -> Any:
    if name not in names:
        raise CommandError(f"{place}: has no {name!r}")
    return names[name]


def _shape(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in text.replace("x", ",").split(",") if part)
    except ValueError:
        found = (-1,)
    if not found or min(found) < 0:
        raise argparse.ArgumentTypeError(f"expected sizes as 8,16, got {text!r}")
    return found


def text(report: "CompileReport") -> str:
    """Return the report for a terminal."""

    def ms(value: float) -> str:
        return UNAVAILABLE if math.isnan(value) else duration(value)

    def times(value: float) -> str:
        return UNAVAILABLE if math.isnan(value) else f"{value:.2f} ×"

    def both(eager: int | None, compiled: int | None, write: "Callable[[int], str]") -> str:
        one, other = (UNAVAILABLE if value is None else write(value) for value in (eager, compiled))
        return f"{one} eager, {other} compiled"

    lines = [f"{report.backend}, {report.mode}: {report.graphs} graphs, {report.total_graph_breaks} breaks"]
    if report.error:
        lines.append(f"  compiling failed: {printable(report.error)}")
    known = not math.isnan(report.speedup_low)
    interval = f" ({report.speedup_low:.2f} to {report.speedup_high:.2f})" if known else ""
    lines += [
        (
            f"  speed-up {times(report.speedup)}{interval}: {ms(report.eager_time_ms)} eager,"
            f" {ms(report.compiled_time_ms)} compiled"
        ),
        f"  compiling {ms(report.compile_time_ms)} cold, {ms(report.compile_time_warm_ms)} warm",
        f"  fusion {times(report.fusion_ratio)}: {report.ops_before_fusion} operators, {report.ops_after_fusion} calls",
        f"  a call launches {both(report.eager_launches, report.compiled_launches, str)}",
        f"  and moves {both(report.eager_bytes, report.compiled_bytes, amount)}",
    ]
    return "\n".join(lines + advice(report))
