# SPDX-License-Identifier: Apache-2.0
"""How much calibrations of the same machine differ, beside figures that others measure.

Calibrates the host several times without keeping anything, and prints for each ceiling the values' median and how far
they lie apart, then what NumPy's copyto, float64 matmul and (with --torch) torch.mm reach, measured apart.

Usage: calibration.py [--repeat 5] [--full] [--torch]
"""

import argparse
import os
import statistics
import time

import numpy as np

from regimeter.calibration.ceiling import Ceiling
from regimeter.calibration.host import measure_host
from regimeter.calibration.sampling import Effort
from regimeter.calibration.store import policy
from regimeter.calibration.text import amount

SAMPLES = 20


def best(work) -> float:
    """Return the seconds of the fastest of some calls."""
    times = []
    for _ in range(SAMPLES):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def independent(torch) -> dict[str, float]:
    """Return rates that no loop of ours has measured."""
    size = 1 << 28
    source, target = np.ones(size // 8), np.zeros(size // 8)
    found = {"numpy.copyto of 256 MiB, bytes/s": 2 * size / best(lambda: np.copyto(target, source))}
    found["numpy.sum of 256 MiB, bytes/s"] = size / best(source.sum)
    a = np.random.default_rng(1).standard_normal((1024, 1024))
    found["numpy.matmul float64, operations/s"] = 2 * 1024**3 / best(lambda: a @ a)
    if torch is not None:
        b = torch.randn(1024, 1024)
        found["torch.mm float32, operations/s"] = 2 * 1024**3 / best(lambda: torch.mm(b, b))
    return found


def main() -> None:
    """Calibrate, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--torch", action="store_true", help="import torch: its products count as ceilings then")
    arguments = parser.parse_args()
    torch = __import__("torch") if arguments.torch else None
    runs, seconds = [], []
    print(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors")
    for _ in range(arguments.repeat):
        begin = time.monotonic()
        runs.append(measure_host(Effort(not arguments.full, policy())))
        seconds.append(time.monotonic() - begin)
    print(f"{'full' if arguments.full else 'quick'} calibration: {statistics.median(seconds):.1f} s, "
          f"longest {max(seconds):.1f} s")  # fmt: skip
    for which, title in ((0, "all threads"), (1, "one thread")):
        print(f"\n{title:16} {'median':>14}  lowest to highest   own spread")
        for token, ceiling in runs[0][which].items():
            values = [run[which][token].value for run in runs if run[which][token].measured]
            if values:
                middle = statistics.median(values)
                spreads = statistics.median(run[which][token].spread for run in runs if run[which][token].measured)
                print(f"{token:16} {amount(Ceiling(middle, 0, ceiling.unit)):>14}  "
                      f"{100 * (min(values) / middle - 1):+6.1f} % to {100 * (max(values) / middle - 1):+6.1f} %  "
                      f"{100 * spreads:6.1f} %")  # fmt: skip
    print()
    for name, value in independent(torch).items():
        print(f"{name:36} {value:.3g}")
    for text in dict.fromkeys(text for run in runs for text in run[2]):
        print("doubt:", text)


if __name__ == "__main__":
    main()
