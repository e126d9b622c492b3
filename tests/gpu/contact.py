# SPDX-License-Identifier: Apache-2.0
"""The first three minutes on a GPU: what the doubles had to assume, asked of the hardware, one process a question.

    python3 tests/gpu/contact.py --out DIR [--only STEP ...]

Needs a Python with torch, a C compiler and its headers; nothing else is installed. Each step runs in a process of its
own with a limit of its own, and leaves one line in DIR/contact.jsonl, whatever happens to it: its state, what it saw,
the end of its output, and, when it was ended for its time, the stacks of its threads. The raw buffers of CUPTI's
records are kept beside it, as input for tests of the parser. With REGIMETER_DOUBLES=1 everything runs on the doubles
of the libraries instead; no figure of such a run means anything, and each line says so.

Exit status: 0 every step came to its end, 2 some did not, 1 nothing could be run.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from evidence import doubles
from evidence.bounded import keep_device, read_answer, run_bounded

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DOUBLES = doubles.ON
RAW_FILES, RAW_BYTES = 8, 16 << 20  # what may be kept of raw buffers


class Step(NamedTuple):
    """A function of contact_steps, the seconds that it may take, and the question it answers."""

    name: str
    limit_s: float
    question: str


STEPS = (
    Step("facts", 15, "What is this machine?"),
    Step("build", 60, "Does the package build here, and do our declarations agree with its headers?"),
    Step("libraries", 20, "Are all libraries found, and can CUPTI plan counters?"),
    Step("tracing", 40, "Do kernels, launches and scopes join, also from other threads and beside a capture?"),
    Step("tracing_nodes", 40, "The same with a record for each node of a graph."),
    Step("memory", 25, "What do records of memory say: kinds, what is freed, pools, mappings, torch's segments?"),
    Step("queue_times", 40, "Do queued and submitted times come, and also where CUDA was used before?"),
    Step("events", 25, "What does an event cost, and what does a scope's device time hold beside the kernel?"),
    Step("ranges", 30, "Does a range drain the device, are its counts exact, may it stand beside tracing?"),
    Step("samples", 25, "Which clock do the times of PM samples carry?"),
    Step("evidence", 70, "Do the first claims hold?"),
    Step("endings", 30, "Does a process that traces survive fork, a missing close, and torch.profiler?"),
)


def run(step: Step, out: Path, variables: dict[str, str]) -> dict[str, Any]:
    """Run a step and return its line."""
    with tempfile.TemporaryDirectory(prefix="regimeter-contact-") as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, str(HERE / "contact_steps.py"), step.name, str(result), str(out)]
        ended = run_bounded(command, step.limit_s, variables)
        found = read_answer(result)
    state = {None: f"no end after {step.limit_s:g} s", 0: "done"}.get(
        ended.status, f"failed with status {ended.status}"
    )
    line = {"step": step.name, "question": step.question, "state": state, "seconds": round(ended.seconds, 2)}
    return line | {"on": "doubles" if DOUBLES else "hardware", "found": found, "output": ended.output}


def with_doubles(step: Step) -> dict[str, str]:
    """Return the variables of a step on doubles: there is one of CUPTI for its records and one for its counters."""
    return doubles.variables("counters" if step.name in ("libraries", "ranges", "samples") else "tracing")


def with_site() -> dict[str, str]:
    """Return variables that put what the step `build` makes in front."""
    paths = [str(ROOT / "build/gpu/site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def trim(out: Path) -> None:
    """Remove raw files beyond what may be kept, the latest first."""
    for number, path in enumerate(sorted(out.glob("*.raw"))):
        if number >= RAW_FILES or path.stat().st_size > RAW_BYTES:
            path.unlink()


def main() -> int:
    """Run the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for contact.jsonl and raw buffers")
    parser.add_argument("--only", nargs="+", metavar="STEP", choices=[step.name for step in STEPS])
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    if DOUBLES and not (shutil.which("cc") or shutil.which("gcc")):
        print("contact: the doubles need a C compiler", file=sys.stderr)
        return 1
    held = keep_device()
    lines = []
    try:
        with (asked.out / "contact.jsonl").open("w", encoding="utf-8") as file:
            for step in STEPS:
                if asked.only and step.name not in asked.only:
                    continue
                lines.append(run(step, asked.out, with_doubles(step) if DOUBLES else with_site()))
                file.write(json.dumps(lines[-1], default=str) + "\n")
                file.flush()
                print(f"{step.name:14} {lines[-1]['seconds']:6.1f} s  {lines[-1]['state']}", flush=True)
    finally:
        held.kill()
        held.wait()
        trim(asked.out)
    return 2 if any(line["state"] != "done" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
