# SPDX-License-Identifier: Apache-2.0
"""Run workloads in a process of their own, because a process has one driver: arguments in, results out, as pickles."""

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def worker(environment: dict[str, str]) -> Iterator["Worker"]:
    """Start a process with these variables added, and end it."""
    command = [sys.executable, __file__]
    with subprocess.Popen(
        command, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Worker(process)
        finally:
            process.kill()


class Worker:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def run(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        """Call ``regimeter._core.NAME`` over there and return its result, or raise what it raised."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        pickle.dump((name, arguments, keywords), self.process.stdin)
        self.process.stdin.flush()
        try:
            good, value = pickle.load(self.process.stdout)
        except EOFError:
            raise AssertionError(f"the process died with {self.process.wait()} in {name}{arguments}") from None
        if not good:
            raise RuntimeError(value)
        return value


def serve() -> None:
    from regimeter import _core

    out = os.fdopen(os.dup(1), "wb")
    while True:
        try:
            name, arguments, keywords = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = True, getattr(_core, name)(*arguments, **keywords)
        except Exception as error:
            answer = False, f"{type(error).__name__}: {error}"
        pickle.dump(answer, out)
        out.flush()


if __name__ == "__main__":
    serve()
