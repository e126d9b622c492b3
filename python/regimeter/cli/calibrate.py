# SPDX-License-Identifier: Apache-2.0
"""``regimeter calibrate noise``: how much launches of one program differ. What the machine reaches: ceilings.py."""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from ..compare.ab.launches import Command, LaunchError, launch
from ..compare.ab.pairs import Pair, launch_side, sides_of
from ..compare.comparison import ProfilerComparison
from ..compare.floors import BARE, VIRTUAL, default_of, kind_of
from ..compare.noise_floor import PAIRS, detectable, detectable_single, keep, learn, wilson
from ..system.cache import NoCacheError
from . import ceilings
from .ab import _teller, duration, failed, new_folder
from .common import print_document, whole_number
from .errors import CommandError

if TYPE_CHECKING:
    from ..compare.noise_floor import NoiseFloor
    from ..compare.side import Side
    from .common import Verbs

WORK = ("-m", "regimeter.compare.noise_work")
FEWEST = 4
NAMED = 12


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb and its subjects."""
    parser = verbs.add_parser(
        "calibrate",
        parents=[common],
        description="Measures what the processors, the memory or a GPU reach at most, prints it and keeps it for the "
        "classification of what limits a program. With `noise`: how much launches of one program differ.",
    )
    ceilings.add_options(parser)
    subjects = parser.add_subparsers(dest="subject", metavar="SUBJECT", required=False)
    noise = subjects.add_parser(
        "noise",
        parents=[common],
        usage="regimeter calibrate noise [--repeat N] [options] [-- CMD ...]",
        help="how much launches of one program differ",
        description="Launches one program again and again (a built-in one without CMD), learns how much its operations "
        "differ from launch to launch, and keeps that for `regimeter compare`, which otherwise takes a default.",
    )
    repeat = whole_number(f"a number of launches from {FEWEST} to 9999", FEWEST, 9999)
    noise.add_argument("--repeat", metavar="N", type=repeat, default=20, help="launches (default: 20)")
    noise.add_argument("--budget", metavar="TIME", type=duration, help="begin no launch that would end later")
    noise.add_argument("--dry-run", action="store_true", help="print only, keep nothing")
    noise.add_argument("-o", "--output", metavar="FOLDER", help="keep the recordings there (default: they are removed)")
    noise.set_defaults(run=run_noise)


def _keep(floor: "NoiseFloor") -> str | None:
    """Keep the floor and return its file; None where nothing is to be kept, which is said."""
    try:
        return keep(floor)
    except NoCacheError as error:
        print(f"regimeter: the floor is not kept: {error}", file=sys.stderr)
        return None


def run_noise(arguments: argparse.Namespace) -> int:
    """Launch, learn, print and keep."""
    sides = _launch(arguments)
    if len(sides) < FEWEST:
        raise CommandError(f"calibrate: {len(sides)} launches fit into the budget; at least {FEWEST} are needed", 1)
    floor = learn(sides, sides[0].environments[0])
    if not floor.operations:
        raise CommandError("calibrate: the program recorded no operation that every launch has", 1)
    document = floor.to_dict() | {"alarms": alarms(sides), "detectable": table(floor), "file": None}
    if not arguments.dry_run:
        document["file"] = _keep(floor)
    if arguments.json:
        print_document(document)
    else:
        print(*text_of(document), sep="\n")
    return 0


def _launch(arguments: argparse.Namespace) -> "list[Side]":
    try:
        command = Command.parse(arguments.program or WORK)
    except ValueError as error:
        raise CommandError(f"calibrate: {error}") from None
    tell, sides, start = _teller(arguments.quiet), [], time.monotonic()
    with _folder(arguments.output) as folder:
        for number in range(1, arguments.repeat + 1):
            file = os.path.join(folder, f"launch-{number:02d}.rgm")
            try:
                done = launch(command, file, "--interval", "0")
            except LaunchError as error:
                raise failed(error, folder) from None
            sides.append(launch_side(done.run, "baseline", command.name))
            spent = time.monotonic() - start
            tell(f"launch {number} of {arguments.repeat}, {done.seconds:.1f} s, "
                 f"about {spent / number * (arguments.repeat - number):.0f} s to go")  # fmt: skip
            if arguments.budget is not None and spent * (number + 1) / number > arguments.budget:
                break
    return sides


@contextlib.contextmanager
def _folder(given: str | None) -> Iterator[str]:
    """Yield the folder for the recordings; a temporary one stays only when something fails."""
    if given is not None:
        yield new_folder(given, "noise")
        return
    folder = tempfile.mkdtemp(prefix="regimeter-noise-")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


# --- what it means --------------------------------------------------------------------------------------------


def alarms(sides: "Sequence[Side]") -> list[dict[str, Any]]:
    """Count false alarms: launches of the same compared, with the usual floor, with one learned here, and as pairs.

    The floor that is tried on the second half of the launches is learned from the first: on those that it was learned
    from it would look better than it is.
    """
    kind = kind_of([environment for side in sides for environment in side.environments])
    default = default_of(BARE if kind == BARE else VIRTUAL, {})
    half = max(len(sides) // 2, 3) if len(sides) >= 6 else len(sides)
    learned = learn(sides[:half], {})
    later = sides[half:] if len(sides) - half >= 2 else sides
    plans: list[tuple[str, Sequence[Side], dict[str, Any]]] = [
        ("one process a side, default floor", sides, {"policy": default}),
        ("one process a side, learned floor", later,
         {"run_floor": learned.operations,
          "policy": {**default, "run_floor": learned.overall or default["run_floor"], "speed_floor": 0.0}}),
    ]  # fmt: skip
    found = []
    for what, used, options in plans:
        rows = [
            row
            for first, second in zip(used[::2], used[1::2], strict=False)
            for row in ProfilerComparison(first, second, fdr="none", **options).comparisons
        ]
        found.append((what, sum(row.is_significant for row in rows), len(rows)))
    pairs = [
        Pair(number, ("base", "current"), ("", ""), (first, second))
        for number, (first, second) in enumerate(zip(sides[::2], sides[1::2], strict=False))
    ]
    rows = ProfilerComparison(*sides_of(pairs), paired=True, fdr="none").comparisons
    found.append((f"{len(pairs)} pairs", sum(row.is_significant for row in rows), len(rows)))
    return [
        {"what": what, "alarms": count, "comparisons": total, "low": wilson(count, total)[0],
         "high": wilson(count, total)[1]}
        for what, count, total in found
    ]  # fmt: skip


def table(floor: "NoiseFloor") -> list[dict[str, Any]]:
    """Return the smallest change that is detected, for the median and the worst operation, by the number of pairs."""
    rows: list[tuple[int, dict[str, float]]] = [
        (0, {name: detectable_single(value) for name, value in floor.operations.items()})
    ]
    rows += [(pairs, {name: detectable(value, pairs) for name, value in floor.paired.items()}) for pairs in PAIRS]
    found = []
    for pairs, values in rows:
        worst = max(values, key=lambda name: values[name])
        found.append({"pairs": pairs, "median": median(values.values()), "worst": values[worst], "operation": worst})
    return found


def text_of(document: dict[str, Any]) -> list[str]:
    """Return the calibration as lines."""
    overall, operations = document["overall"], document["operations"]
    lines = [
        f"noise floor {100 * overall:.2f} % (median of {len(operations)} operations, {document['launches']} launches)"
    ]
    largest = sorted(operations, key=lambda name: -operations[name])
    lines += [f"  {name}  {100 * operations[name]:.2f} %" for name in largest[:NAMED]]
    if len(largest) > NAMED:
        lines.append(f"  and {len(largest) - NAMED} quieter ones")
    lines += ["", "false alarms among launches of the same, at 5 % each"]
    lines += [
        f"  {row['what']}: {row['alarms']} of {row['comparisons']}"
        f" (95 % interval {100 * row['low']:.1f} to {100 * row['high']:.1f} %)"
        for row in document["alarms"]
    ]
    lines += ["", "smallest change detected (80 %): median operation, worst operation"]
    for row in document["detectable"]:
        what = f"{row['pairs']} pairs" if row["pairs"] else "one process a side"
        lines.append(f"  {what}: {100 * row['median']:.2f} %, {100 * row['worst']:.2f} % ({row['operation']})")
    if document["file"]:
        lines += ["", f"kept for `regimeter compare` in {document['file']}"]
    return lines
