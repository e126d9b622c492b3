# SPDX-License-Identifier: Apache-2.0
"""Real traces for tests: where they are, and how they are loaded.

A few small ones are in the repository (tests/data/traces); the whole collection lies beside it, or where
REGIMETER_TRACES says.
"""

import functools
import json
import os
from pathlib import Path

import pytest
from needed import need
from places import ROOT, TESTS
from slow_import import read_text

from regimeter import Run

COMMITTED = TESTS / "data" / "traces"
FOLDER = Path(os.environ.get("REGIMETER_TRACES", ROOT.parent / "shared" / "traces"))


def trace_path(name: str) -> Path:
    """Return the path of a trace, in the collection or in the repository; skip the test where it is in neither."""
    for folder in (FOLDER, COMMITTED):
        if (folder / name).exists():
            return folder / name
    need("traces", False, f"{FOLDER / name} is not here")
    raise AssertionError


def all_traces() -> list[str]:
    """Return the names of all traces that are here."""
    folder = FOLDER if FOLDER.is_dir() else COMMITTED
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.json*"))
    others = ("exact_gpu_time.json", "hta_reference/", "tracelens_reference/")
    return [name for name in names if not name.startswith(others)]


def exact_traces() -> list[str]:
    """Return the names of the traces with exact values; where the collection is absent, one that skips."""
    try:
        return list(json.loads(trace_path("exact_gpu_time.json").read_text()))
    except pytest.skip.Exception:
        return ["exact_gpu_time.json"]


def fast_import(text: bytes, name: str = "", *, strict: bool = False, threads: int = 1, scan: int = 0) -> Run:
    """Import JSON text with the C importer. scan: 1 portable, 2 vectorised."""
    run: Run = Run._import(text, name, strict, threads, scan)
    return run


@functools.cache
def trace_text(name: str) -> bytes:
    """Return the inflated text of a trace."""
    return read_text(trace_path(name))


@functools.cache
def load_trace(name: str) -> Run:
    """Return a trace of the collection as a Run, the same one each time."""
    return fast_import(trace_text(name), name)
