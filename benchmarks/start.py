# SPDX-License-Identifier: Apache-2.0
"""Processor time of starts: what a user waits for before anything is done.

Each round starts every command once, in random order; shown is the least and the median of what each used more than
`python -c pass` did, and how many modules it had imported. `until the program` is `regimeter record` up to where the
program is started, `the program` the recorded program up to its first line; together they are what `record` adds.

Usage: start.py [--rounds N]
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TOLD = "import sys, time; print(time.process_time(), len(sys.modules), flush=True)"
CALLED = """if True:
    import contextlib, io, sys
    from regimeter.cli import main
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(sys.argv[1:])
    """
UNTIL = """if True:
    import os, sys, time
    from regimeter.cli import main, supervise
    def run_child(*_):
        print(time.process_time(), len(sys.modules), flush=True)
        os._exit(0)
    supervise.run_child = run_child
    main(sys.argv[1:])
    """


def commands(folder: Path) -> dict[str, list[str]]:
    """Return what is started, by what it is called; each prints its processor time and number of modules."""
    python, run = sys.executable, str(folder / "run.rgm")
    program = folder / "program.py"
    program.write_text("total = sum(i * i for i in range(3_000_000))\n")
    record = ["record", "-q", "-o", str(folder / "made.rgm")]
    subprocess.run(
        [python, "-m", "regimeter", "record", "-q", "-o", run, str(program)], check=True, capture_output=True
    )

    def called(*words: str) -> list[str]:
        return [python, "-c", CALLED + TOLD, *words]

    return {
        "python -c pass": [python, "-c", TOLD],
        "import regimeter": [python, "-c", f"import regimeter; {TOLD}"],
        "record, until the program": [python, "-c", UNTIL, *record, "-c", "pass"],
        "record, the program": [python, "-m", "regimeter", *record, "-c", TOLD],
        "regimeter --help": [python, "-c", f"{CALLED.replace('main(', 'with contextlib.suppress(SystemExit): main(')}"
                             + TOLD, "--help"],
        "regimeter show": called("show", run),
        "regimeter compare": called("compare", run, run),
    }  # fmt: skip


def measure(command: list[str]) -> tuple[float, int]:
    """Return milliseconds and modules."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    used, modules = done.stdout.split()[:2]
    return float(used) * 1e3, int(modules)


def main() -> None:
    """Print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    print(
        f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, Python {sys.version.split()[0]}, {rounds} rounds"
    )
    with tempfile.TemporaryDirectory() as made:
        wanted = commands(Path(made))
        found: dict[str, list[tuple[float, int]]] = {name: [] for name in wanted}
        for _ in range(rounds):
            for name in random.sample(list(wanted), len(wanted)):
                found[name].append(measure(wanted[name]))
    bare = found.pop("python -c pass")
    print(f"python -c pass: least {min(bare)[0]:.0f} ms, median {statistics.median(ms for ms, _ in bare):.0f} ms")
    for name, rows in found.items():
        more = [row[0] - one[0] for row, one in zip(rows, bare, strict=True)]
        print(f"{name:26} least {min(rows)[0] - min(bare)[0]:+5.0f} ms, median {statistics.median(more):+5.0f} ms, "
              f"{rows[0][1]} modules")  # fmt: skip


if __name__ == "__main__":
    main()
