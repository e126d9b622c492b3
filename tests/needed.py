# SPDX-License-Identifier: Apache-2.0
"""What a machine may lack that tests need: the one place that skips for it.

All tests that miss the same thing are skipped for the same reason, so the summary has one line for it, with their
number. Where ``REGIMETER_REQUIRE`` names the thing its absence is a failure; `.ci/run` names what it has installed.
"""

import importlib
import os
import sys
from importlib.util import find_spec
from types import ModuleType

import pytest
from places import ROOT

# Names of things, separated by commas, that have to be there.
VARIABLE = "REGIMETER_REQUIRE"

# Thing -> why it is absent, and what brings it.
THINGS = {
    "benchmarks": "no folder of benchmarks, which a source distribution leaves out",
    "chromium": "no browser at /usr/bin/chromium-headless-shell or /usr/bin/chromium; CHROMIUM names another",
    "cupti": "no CUPTI that can plan counters; pip install nvidia-cuda-cupti",
    "fonts": "other fonts than those of the kept pictures of pages; make screenshots makes pictures with these",
    "gpu": "no CUDA device",
    "groff": "no groff; the system's package of that name",
    "nvcc": "no CUDA toolkit",
    "nvrtc": "no NVRTC; pip install nvidia-cuda-nvrtc, or name it in REGIMETER_LIBNVRTC",
    "packages": "a Python package of the group `test` is not installed; make env",
    "postgres": "no PostgreSQL answers; REGIMETER_TEST_POSTGRES names a server",
    "speedscope": "no speedscope to read files back; it needs node and npm, or REGIMETER_SPEEDSCOPE names its build",
    "valgrind": "no valgrind; the system's package of that name",
    "traces": "oracle tests whose traces are not here; REGIMETER_TRACES names the folder that has them",
}


def required(thing: str) -> bool:
    """Return whether the checks promise that the thing is there."""
    return thing in os.environ.get(VARIABLE, "").split(",")


def need(thing: str, there: object, detail: str = "") -> None:
    """Skip the test unless `there`; fail it, with the detail, where the thing is required."""
    if there:
        return
    if required(thing):
        pytest.fail(f"{thing} required by {VARIABLE}: {detail or THINGS[thing]}")
    pytest.skip(f"{thing}: {THINGS[thing]}", allow_module_level=True)


def package(name: str) -> ModuleType:
    """Import a package that only tests use, or skip."""
    need("packages", find_spec(name.partition(".")[0]), f"no package {name}")
    return importlib.import_module(name)


def benchmarks(folder: str = "") -> None:
    """Let the test import from the benchmarks: `benchmarks.NAME`, or NAME of one folder; skip where they are absent."""
    place = ROOT / "benchmarks" / folder
    need("benchmarks", place.is_dir())
    sys.path.append(str(place if folder else ROOT))


def leave_out(items: list[pytest.Item], lacking: list[pytest.Item], thing: str) -> None:
    """Leave all but one of the lacking tests out of the session; that one is skipped and tells how many they are.

    For tests that drive one tool, a browser say: forty skips say no more than one.
    """
    if not lacking or required(thing):
        return
    first, others = lacking[0], set(lacking[1:])
    reason = f"{thing}: {len(lacking)} tests are left out: {THINGS[thing]}"
    first.add_marker(pytest.mark.skipif(True, reason=reason), append=False)  # before those of the test itself
    items[:] = [item for item in items if item not in others]
    first.config.hook.pytest_deselected(items=list(others))
