# SPDX-License-Identifier: Apache-2.0
"""How far pairs of one program differ: launches one after the other, and in turn, with turns of several lengths.

python benchmarks/gate/turns.py [--pairs N] [--busy N] [--turns MS ...] [--] PROGRAM [ARGS ...]: runs pairs of each kind
by turns, so that all kinds see the same machine, and prints the standard deviation between pairs of the difference of
each operation, in percent.
"""

import argparse
import math
import os
import tempfile
from contextlib import redirect_stderr

import numpy as np
from field import busy

from regimeter.compare.ab.experiment import Experiment
from regimeter.compare.ab.in_turns import by_neighbours
from regimeter.compare.ab.launches import Command


def differences(experiment: Experiment) -> dict[str, float]:
    """Run one pair; return the difference of each operation as a logarithm."""
    experiment.run()
    (pair,) = experiment.found.pairs
    before, after = pair.sides[0], by_neighbours(*pair.sides)[0]
    times = [side.metrics["time"].launches for side in (before, after)]
    return {name: float(np.subtract(*(np.median(np.log(one[name][0])) for one in times[::-1]))) for name in times[0]}


def main() -> None:
    """Run pairs, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside")
    parser.add_argument("--turns", type=float, nargs="*", default=[2.0, 5.0, 20.0], help="milliseconds; 0: none")
    parser.add_argument("program", nargs="+")
    chosen = parser.parse_args()
    command = Command.parse(chosen.program)
    kinds = [0.0, *chosen.turns]
    found: dict[float, list[dict[str, float]]] = {kind: [] for kind in kinds}
    with busy(chosen.busy), tempfile.TemporaryDirectory() as folder, redirect_stderr(None):
        for number in range(chosen.pairs):
            for kind in kinds:
                place = os.path.join(folder, f"{number}-{kind:g}")
                os.mkdir(place)
                one = Experiment(command, command, place, pairs=1, seed=number, in_turns=kind > 0, early=False)
                if kind:
                    one.turn_s = kind * 1e-3
                found[kind].append(differences(one))
    print(f"{chosen.pairs} pairs of each kind, {chosen.busy} busy loops, load {os.getloadavg()[0]:.1f}", flush=True)
    for kind, rows in found.items():
        spread = {name: 100 * float(np.std([row[name] for row in rows], ddof=1)) for name in rows[0]}
        whole = math.sqrt(sum(value**2 for value in spread.values()) / len(spread))
        usual = 100 * 1.4826 * float(np.median([abs(value) for row in rows for value in row.values()]))
        label = f"turns of {kind:g} ms" if kind else "one after the other"
        print(f"{label:20} {whole:6.2f} (from the median: {usual:5.2f})", {k: round(v, 2) for k, v in spread.items()})


if __name__ == "__main__":
    main()
