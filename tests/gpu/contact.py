# SPDX-License-Identifier: Apache-2.0
"""The first three minutes on a GPU: what the doubles had to assume, asked of the hardware, one process a question.

    python3 tests/gpu/contact.py --out DIR [--only STEP ...] [--seconds S]

Needs a Python with torch, a C compiler and its headers; nothing else is installed. Each step runs in a process of its
own with a limit of its own, and leaves one line in DIR/contact.jsonl, whatever happens to it: its state, what it saw,
the end of its output, and, when it was ended for its time, the stacks of its threads. What a step has seen so far lies
in DIR/STEP.json until its line is written, so a machine that is taken away in the middle leaves that. Steps that do not
fit into the seconds are named with that state. The raw buffers of CUPTI's records are kept beside it, the two largest
of each step that records, as input for tests of the parser. With REGIMETER_DOUBLES=1 everything runs on the doubles
of the libraries instead; no figure of such a run means anything, and each line says so.

Exit status: 0 every step came to its end, 2 some did not, 1 nothing could be run.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from evidence import doubles
from evidence.bounded import keep_device, read_answer, run_bounded

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DOUBLES = doubles.ON
RAW_FILES, RAW_BYTES = 2, 16 << 20  # what may be kept of raw buffers: of a step, of a file
RECORDING = ("tracing", "tracing_nodes", "memory", "queue_times")  # steps whose raw buffers are kept


LEAST_S = 8.0  # a step is not begun with less


class Step(NamedTuple):
    """A function of contact_steps, the seconds that it may take, and the question it answers."""

    name: str
    limit_s: float
    question: str


STEPS = (
    Step("facts", 15, "What is this machine?"),
    Step("build", 60, "Does the package build here, and do our declarations agree with its headers?"),
    Step("libraries", 25, "Are all libraries found, and can CUPTI plan counters?"),
    Step("tracing", 40, "Do kernels, launches and scopes join, also from other threads and beside a capture?"),
    Step("tracing_nodes", 40, "The same with a record for each node of a graph."),
    Step(
        "several", 25, "Where CUPTI serves several tools (13.3): do records come, and what becomes of torch.profiler?"
    ),
    Step("memory", 25, "What do records of memory say: kinds, what is freed, pools, mappings, torch's segments?"),
    Step("queue_times", 40, "Do queued and submitted times come, and also where CUDA was used before?"),
    Step("events", 25, "What does an event cost, and what does a scope's device time hold beside the kernel?"),
    Step("ranges", 40, "Does a range drain the device, are its counts exact, may it stand beside tracing?"),
    Step("samples", 25, "Which clock do the times of PM samples carry?"),
    Step("stalls", 80, "Do samples of stalls add up, begin late, stand beside records of kernels, and have lines?"),
    Step("evidence", 70, "Do the first claims hold?"),
    Step("endings", 75, "Does a process that traces survive fork, a missing close, and torch.profiler?"),
)


def run(step: Step, out: Path, variables: dict[str, str]) -> dict[str, Any]:
    """Run a step and return its line."""
    result, raw = out / f"{step.name}.json", out / f"raw-{step.name}"
    command = [sys.executable, str(HERE / "contact_steps.py"), step.name, str(result), str(out)]
    if step.name in RECORDING:
        raw.mkdir(exist_ok=True)
        variables = {**variables, "REGIMETER_KEEP_ACTIVITY": str(raw)}
    ended = run_bounded(command, step.limit_s, variables)
    found = read_answer(result)
    keep_raw(raw, out, step.name)
    state = {None: f"no end after {step.limit_s:g} s", 0: "done"}.get(
        ended.status, f"failed with status {ended.status}"
    )
    line = {"step": step.name, "question": step.question, "state": state, "seconds": round(ended.seconds, 2)}
    return line | {"on": "doubles" if DOUBLES else "hardware", "found": found, "output": ended.output}


def with_doubles(step: Step) -> dict[str, str]:
    """Return the variables of a step on doubles: there is one of CUPTI for its records and one for its counters."""
    kinds = {"libraries": "counters", "ranges": "counters", "samples": "counters", "several": "several"}
    return doubles.variables(kinds.get(step.name, "tracing"))


def with_site() -> dict[str, str]:
    """Return variables that put what the step `build` makes in front."""
    paths = [str(ROOT / "build/gpu/site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def keep_raw(folder: Path, out: Path, step: str) -> None:
    """Keep the largest of a step's raw files that are not too large, under the step's name."""
    sizes = {path: path.stat().st_size for path in folder.glob("*.raw")}
    largest = sorted((path for path in sizes if sizes[path] <= RAW_BYTES), key=lambda path: -sizes[path])
    for path in largest[:RAW_FILES]:
        path.replace(out / f"{step}-{path.name}")
    shutil.rmtree(folder, ignore_errors=True)


def errors_of(found: dict[str, Any]) -> list[str]:
    """Return the parts of a step that failed, each with its error."""
    parts = {name: part for name, part in found.items() if isinstance(part, dict)}
    return [f"{name}: {part['error']}" for name, part in parts.items() if "error" in part]


def told(line: dict[str, Any]) -> str:
    """Return what is printed of a step: its time and state, and below it what failed in it."""
    errors = [f"{'':25}{error}"[:200] for error in errors_of(line["found"])]
    return "\n".join([f"{line['step']:14} {line['seconds']:6.1f} s  {line['state']}", *errors])


def main() -> int:
    """Run the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for contact.jsonl and raw buffers")
    parser.add_argument("--seconds", type=float, default=570, help="for all of it; 570, to end within ten minutes")
    parser.add_argument("--only", nargs="+", metavar="STEP", choices=[step.name for step in STEPS])
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    for path in asked.out.glob("*.raw"):  # of a run before
        path.unlink()
    if DOUBLES and not (shutil.which("cc") or shutil.which("gcc")):
        print("contact: the doubles need a C compiler", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what is held is let go
    end, held = time.monotonic() + asked.seconds, keep_device()
    lines: list[dict[str, Any]] = []
    try:
        with (asked.out / "contact.jsonl").open("w", encoding="utf-8") as file:
            for step in STEPS:
                if asked.only and step.name not in asked.only:
                    continue
                fitting = step._replace(limit_s=min(step.limit_s, end - time.monotonic()))
                if fitting.limit_s < LEAST_S:
                    lines.append({"step": step.name, "state": "no time was left", "seconds": 0.0, "found": {}})
                else:
                    lines.append(run(fitting, asked.out, with_doubles(step) if DOUBLES else with_site()))
                file.write(json.dumps(lines[-1], default=str) + "\n")
                file.flush()
                (asked.out / f"{step.name}.json").unlink(missing_ok=True)
                print(told(lines[-1]), flush=True)
    finally:
        held.kill()
        held.wait()
    print(
        f"answers: {asked.out / 'contact.jsonl'}, {len(list(asked.out.glob('*.raw')))} raw files beside it. Next: look"
    )
    print(
        "at the states and errors above, then `make evidence-gpu`, then `make test-gpu` (tests/gpu/evidence, suite.py)"
    )
    return 2 if any(line["state"] != "done" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
