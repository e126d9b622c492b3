# SPDX-License-Identifier: Apache-2.0
"""``regimeter record --count``: the program under Callgrind, which counts its instructions."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from ..system import callgrind
from .environment import environment_of


def check_counting() -> None:
    """Raise UnavailableError where there is no Callgrind."""
    callgrind.version()


@contextlib.contextmanager
def launch_counted(
    options: dict[str, Any], command: list[str], file: str, layout: int
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield the command that runs the program under Callgrind, and its environment; then move what it left to `file`.

    A folder of its own, because how many files lie beside a recording is in the heap of the program that looks there.
    """
    with tempfile.TemporaryDirectory(prefix="regimeter-") as folder:
        log, made = os.path.join(folder, "callgrind.log"), os.path.join(folder, "run.rgm")
        options["count"] = {"log": log, "file": made, "layout": layout, "version": callgrind.version()}
        options["memory_interval_ms"] = 0.0
        with callgrind.addresses_held():
            yield callgrind.command(log, command), callgrind.environment(environment_of(options, made), layout)
        for name in os.listdir(folder):
            if name.startswith("run.rgm"):
                shutil.move(os.path.join(folder, name), file + name.removeprefix("run.rgm"))
