# SPDX-License-Identifier: Apache-2.0
"""A program that is being recorded and goes on when a test says so."""

import subprocess
import sys
from pathlib import Path

# It goes on when it is told so, a line each time, and ends when there is no more to read.
PROGRAM = """
import sys
from regimeter import GPUProfiler

profiler = GPUProfiler()
for line in sys.stdin:
    for _ in range(int(line)):
        with profiler.profile("step"):
            with profiler.profile("forward"):
                pass
    print("done", flush=True)
"""


class Program:
    """A program that is being recorded and does what it is told; words: of the command before the program."""

    def __init__(self, folder: Path, path: Path, *words: str) -> None:
        self.path = path
        script = folder / "program.py"
        script.write_text(PROGRAM)
        command = [*(words or ("record", "-q")), "-o", str(path), str(script)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "regimeter", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def go_on(self, count: int) -> None:
        """Have it record that many steps of two scopes."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self) -> None:
        """Let it end, and wait until the recording is closed."""
        self.process.communicate(timeout=60)

    def kill(self) -> None:
        """End it where it has not ended itself."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
