# SPDX-License-Identifier: Apache-2.0
"""The environment of a program that is recorded: what its profilers are told, and what of ours begins before it."""

import json
import os
from typing import Any

from ..capture import recording as told


def environment_of(options: dict[str, Any], file: str) -> dict[str, str]:
    """Return the environment by which a program's profilers write the file, with these options."""
    made = {**os.environ, told.FILE: os.path.abspath(file), told.OPTIONS: json.dumps(options)}
    if begins_inside(options):
        made |= bootstrap()
    if "allocations" in options:
        from ..system import preload  # with pathlib it takes 6 ms, for which only these programs wait

        made |= preload.variables(made)
    return made


def begins_inside(options: dict[str, Any]) -> bool:
    """Whether something of ours runs in the program before it."""
    return any(asked in options for asked in ("stacks", "structure", "count")) or told.may_have_kernels(options)


def bootstrap() -> dict[str, str]:
    """Return variables by which Python imports our `sitecustomize` before the program, which puts them back."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bootstrap")
    before = os.environ.get("PYTHONPATH", "")
    path = f"{folder}{os.pathsep}{before}" if before else folder
    return {"PYTHONPATH": path, "REGIMETER_RECORD_PYTHONPATH": before}
