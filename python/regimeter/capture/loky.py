# SPDX-License-Identifier: Apache-2.0
"""Processes that loky starts for joblib, scikit-learn and others are recorded like those of multiprocessing.

It hands them a copy of `os.environ`, in which the program is not to see how a recording is passed on.
"""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from .structure.arrival import Arrival

PACKAGES = ("loky", "joblib.externals.loky")


def pass_on(variables: Callable[[str], Mapping[str, str]]) -> None:
    """Add the variables for a PYTHONPATH to the environment of each process, once loky has been imported."""
    for package in PACKAGES:
        Arrival(f"{package}.backend.fork_exec", functools.partial(_stand_in, variables)).wait()


def _stand_in(variables: Callable[[str], Mapping[str, str]], module: ModuleType) -> None:
    run = getattr(module, "fork_exec", None)
    if run is None:
        return

    @functools.wraps(run)
    def fork_exec(cmd: Sequence[str], keep_fds: Sequence[int], env: Mapping[str, str] | None = None) -> Any:
        asked = env or {}
        before = asked.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        return run(cmd, keep_fds, env={**asked, **variables(before)})

    module.fork_exec = fork_exec  # type: ignore[attr-defined]
