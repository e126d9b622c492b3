# SPDX-License-Identifier: Apache-2.0
"""Processes with a time limit, and answers that survive it: what the evidence and the contact script share.

At its limit a process is first sent SIGABRT, at which Python's fault handler prints the stacks of all threads, then
killed with everything that it started. A process that is to end inside another's limit asks `left_s` how long it may
still take.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

TAIL = 4000
STACKS_S = 3.0  # for the fault handler to write
RESERVE_S = 2.0  # of a limit, for writing what was found
END = "REGIMETER_EVIDENCE_END"  # when this process is ended, on the clock of time.monotonic()


class Ended(NamedTuple):
    """How a process ended: its status, None when it was ended for its time, and the end of its output."""

    status: int | None
    output: str
    seconds: float


def run_bounded(
    command: Sequence[str],
    limit_s: float,
    variables: Mapping[str, str] | None = None,
    *,
    apart: bool = True,
    log: Path | None = None,
) -> Ended:
    """Run a process; `apart`, in a session of its own, which is ended whole; its whole output goes to `log`.

    What is not apart belongs to the session of its parent, and what it leaves behind ends with that.
    """
    begin = time.monotonic()
    own = {"PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1", END: str(begin + limit_s)}
    with log.open("w+b") if log else tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=apart,
            env={**os.environ, **(variables or {}), **own},
        )
        status: int | None = None
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STACKS_S)
        finally:
            # Also what a crash has left behind, such as workers of a DataLoader.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL) if apart else process.kill()
            process.wait()
        output.seek(0, os.SEEK_END)
        output.seek(max(0, output.tell() - TAIL))
        text = output.read().decode("utf-8", "replace")
    return Ended(status, text, time.monotonic() - begin)


def left_s(wanted_s: float) -> float:
    """Return the seconds that a part of this process may take: what it wants, but no more than is left."""
    end = os.environ.get(END)
    return wanted_s if end is None else max(0.1, min(wanted_s, float(end) - RESERVE_S - time.monotonic()))


def write_answer(path: Path, answer: Mapping[str, Any]) -> None:
    """Write an answer whole or not at all."""
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(answer, default=str), encoding="utf-8")
    partial.replace(path)


def read_answer(path: Path) -> dict[str, Any]:
    """Return the answer of a process, {} when it left none."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def keep_device() -> subprocess.Popen[bytes]:
    """Hold the device's context, so that the driver stays initialised between processes; changes no setting."""
    program = (
        "import ctypes, os, time\n"
        "cuda = ctypes.CDLL(os.environ.get('REGIMETER_LIBCUDA', 'libcuda.so.1'))\n"
        "cuda.cuInit(0); cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0)\n"
        "time.sleep(900)\n"
    )
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
