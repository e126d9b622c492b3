# SPDX-License-Identifier: Apache-2.0
"""``regimeter workloads``: the nine workloads, run, swept over sizes, held to budgets, compared, watched."""

import argparse
from typing import TYPE_CHECKING

from .ab import duration
from .common import SIZE, not_negative
from .compare import FORMATS as COMPARISON_FORMATS
from .files import style_of
from .place import add_commit, add_place, at_least_one
from .workloads_actions import ACTIONS

if TYPE_CHECKING:
    from .common import Verbs

FORMATS = ("text", "json", "markdown", "html")
EPILOG = """\
regimeter workloads list                                          workloads, sizes, backends
regimeter workloads run --kernel conv2d --backend c               times, alerts
regimeter workloads sweep matrix_multiply --factors 0.25,0.5,1,2  how the time grows with the work
regimeter workloads budgets --check --file budgets.toml           gate: 1 over a budget, 5 nothing could be checked
regimeter workloads ab conv2d --base numpy --current c            two variants in one process, in random order
regimeter workloads watch --every 1h                              run, keep in the history, alert; until Ctrl-C
regimeter workloads trend conv2d                                  how it went over the runs that were kept

docs/workloads.md defines every figure and every alert.
"""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb and its subjects."""
    parser = verbs.add_parser(
        "workloads", parents=[common], epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    subjects = parser.add_subparsers(dest="subject", metavar="SUBJECT", required=True)

    def subject(name: str, text: str) -> argparse.ArgumentParser:
        made = subjects.add_parser(name, parents=[common], help=text, description=text)
        made.set_defaults(run=run)
        return made

    subject("list", "workloads with their sizes, backends, thresholds")
    one = subject("run", "time kernels and host calls, and say what stands out")
    _add_kernels(one)
    _add_measuring(one)
    one.add_argument("--keep", action="store_true", help="keep the run in the history")
    add_place(one)
    add_commit(one)
    _add_output(one, FORMATS)
    _add_sweep(subject("sweep", "time one workload at several sizes: exponent, saturation"))
    _add_budgets(subject("budgets", "show budgets, or hold a run to them"))
    _add_ab(subject("ab", "compare two backends, or two sizes, in one process"))
    _add_watch(subject("watch", "run again and again, keep each run, alert on degradation"))
    trend = subject("trend", "how a workload went over the runs in the history")
    trend.add_argument("kernel", metavar="KERNEL")
    trend.add_argument("--baseline", metavar="US", type=float, help="baseline in microseconds (default: earlier runs)")
    trend.add_argument(
        "--of", choices=("kernel", "host_call"), default="kernel", help="what is judged (default: kernel)"
    )
    trend.add_argument("--limit", metavar="N", type=at_least_one, default=None, help="newest runs only")
    trend.add_argument("--branch", metavar="NAME", help="runs of this branch only")
    add_place(trend)
    _add_policy(trend)
    _add_output(trend, FORMATS)


def _add_sweep(sweep: argparse.ArgumentParser) -> None:
    sweep.add_argument("kernel", metavar="KERNEL")
    sweep.add_argument("--over", metavar="NAME,...", help="parameters that are scaled together")
    sweep.add_argument("--factors", metavar="F,...", type=_numbers, help="of the sizes (default: 0.25,0.5,1,2,4)")
    _add_measuring(sweep)
    _add_output(sweep, FORMATS)


def _add_budgets(budgets: argparse.ArgumentParser) -> None:
    budgets.add_argument("--check", action="store_true", help="run and gate: exit code 0, 1 (over) or 5 (none checked)")
    budgets.add_argument("--file", metavar="TOML", help="budgets of your own (default: the documented ones)")
    budgets.add_argument("--force", action="store_true", help="also budgets for another backend or device")
    budgets.add_argument("--junit", metavar="FILE", help="also write a JUnit document")
    _add_measuring(budgets)
    _add_output(budgets, FORMATS)


def _add_ab(ab: argparse.ArgumentParser) -> None:
    ab.add_argument("kernel", metavar="KERNEL")
    text = "BACKEND, or BACKEND:size=value,..."
    ab.add_argument("--base", metavar="VARIANT", required=True, help=f"{text}: the baseline")
    ab.add_argument("--current", metavar="VARIANT", required=True, help="what is compared with it")
    ab.add_argument("--pairs", metavar="N", type=at_least_one, default=12, help="pairs of bursts (default: 12)")
    ab.add_argument("--burst", metavar="N", type=at_least_one, default=5, help="times in a burst (default: 5)")
    ab.add_argument("--seed", metavar="N", type=int, help="of the random order (default: a new one, told)")
    ab.add_argument("--fail-on", choices=("regression", "never"), default="regression", help="what exits with 1")
    ab.add_argument("--device", metavar="DEVICE", type=_device, default=0, help="ordinal, or a name of torch")
    ab.add_argument("--threads", metavar="N", type=not_negative, default=0, help="of the C backends")
    _add_policy(ab)
    _add_output(ab, tuple(name for name in COMPARISON_FORMATS if name != "github"))


def _add_watch(watch: argparse.ArgumentParser) -> None:
    _add_kernels(watch)
    _add_measuring(watch)
    watch.add_argument("--every", metavar="TIME", type=duration, required=True, help="30s, 5m, 1h")
    watch.add_argument("--count", metavar="N", type=at_least_one, help="runs (default: until Ctrl-C)")
    add_place(watch)
    add_commit(watch)


def _add_kernels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel", metavar="NAME", nargs="+", action="extend", help="workloads (default: all nine)")


def _add_measuring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backend", metavar="NAME", default="auto", help="see `list` (default: device, else c)")
    parser.add_argument("--device", metavar="DEVICE", type=_device, default=0, help="ordinal, or a name of torch")
    parser.add_argument(
        "--warmup", metavar="N", type=not_negative, default=3, help="runs before the times (default: 3)"
    )
    parser.add_argument("--iterations", metavar="N", type=at_least_one, default=20, help="times (default: 20)")
    parser.add_argument("--calls", metavar="N", type=not_negative, help="host calls timed (default: --iterations)")
    parser.add_argument("--size", metavar="K=V", type=_assignment, nargs="+", action="extend", default=[],
                        help="n=4096, or conv2d.height=512")  # fmt: skip
    parser.add_argument("--threads", metavar="N", type=not_negative, default=0, help="of the C backends (0: what pays)")
    _add_policy(parser)


def _add_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--policy", metavar="K=V", type=_assignment, nargs="+", action="extend", default=[],
                        help="thresholds by name, see `list`")  # fmt: skip


def _add_output(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    parser.add_argument("--format", choices=formats, default=None, help="format of the output (default: text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write it there instead of printing it")
    parser.set_defaults(formats=formats)


def _assignment(text: str) -> tuple[str, float]:
    match = SIZE.fullmatch(text)
    try:
        if match:
            return match[1], float(match[2])
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected NAME=NUMBER such as n=4096, got {text!r}")


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers such as 0.5,1,2, got {text!r}") from None


def _device(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


def run(arguments: argparse.Namespace) -> int:
    """Do what the subject says."""
    if getattr(arguments, "output", None):  # before minutes are spent
        style_of(arguments, arguments.formats)
    return ACTIONS[arguments.subject](arguments)
