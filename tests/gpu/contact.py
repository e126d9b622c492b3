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
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DOUBLES = os.environ.get("REGIMETER_DOUBLES") == "1"
TAIL = 4000
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
    Step("events", 25, "What does an event cost, and what does a scope's device time hold beside the kernel?"),
    Step("ranges", 30, "Does a range drain the device, are its counts exact, may it stand beside tracing?"),
    Step("samples", 25, "Which clock do the times of PM samples carry?"),
    Step("evidence", 70, "Do the first claims hold?"),
    Step("endings", 30, "Does a process that traces survive fork, a missing close, and torch.profiler?"),
)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a step: first so that Python prints the stacks of its threads, then with everything it started."""
    for number, grace_s in ((signal.SIGABRT, 3.0), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            if number == signal.SIGKILL:
                os.killpg(process.pid, number)
            elif process.poll() is None:
                process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)


def run(step: Step, out: Path, variables: dict[str, str]) -> dict[str, Any]:
    """Run a step and return its line."""
    with tempfile.TemporaryDirectory(prefix="regimeter-contact-") as folder:
        result, begin = Path(folder) / "result.json", time.monotonic()
        command = [sys.executable, str(HERE / "contact_steps.py"), step.name, str(result), str(out)]
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **variables, "PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1"},
            )
            state = "done"
            try:
                if process.wait(step.limit_s) != 0:
                    state = f"failed with status {process.returncode}"
            except subprocess.TimeoutExpired:
                state = f"no end after {step.limit_s:g} s"
            stop(process)
            output.seek(0, os.SEEK_END)
            output.seek(max(0, output.tell() - TAIL))
            tail = output.read().decode("utf-8", "replace")
        found = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
    line = {"step": step.name, "question": step.question, "state": state, "seconds": round(time.monotonic() - begin, 2)}
    line["on"] = "doubles" if DOUBLES else "hardware"
    return line | {"found": found, "output": tail}


def counters_or_tracing(step: Step) -> str:
    """Return the double of CUPTI for a step: there is one for its records and one for its counters."""
    return "cupti_profiler" if step.name in ("libraries", "ranges", "samples") else "cupti"


def with_doubles(step: Step) -> dict[str, str]:
    """Return variables that put the doubles in the place of the libraries, and the stub in that of torch."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    import fakes

    made = fakes.environment(cuda="kernel_ns=20000", nvml="", nvrtc="", **{counters_or_tracing(step): ""})
    paths = [str(ROOT / "tests" / "python" / "stub_torch"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**made, "REGIMETER_LIBHIP": "off", "REGIMETER_CACHE": "off", "PYTHONPATH": os.pathsep.join(paths)}


def with_site() -> dict[str, str]:
    """Return variables that put what the step `build` makes in front."""
    paths = [str(ROOT / "build/gpu/site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def keeper() -> subprocess.Popen[bytes]:
    """Keep the device initialised between the steps, which it otherwise is anew for each; changes no setting."""
    program = """
import ctypes, os, time
cuda = ctypes.CDLL(os.environ.get("REGIMETER_LIBCUDA", "libcuda.so.1"))
context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
time.sleep(600)
"""
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


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
    held = keeper()
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
