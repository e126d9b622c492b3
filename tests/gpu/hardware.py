# SPDX-License-Identifier: Apache-2.0
"""Claims that only hardware can prove, and tests that only hardware can run.

On hardware a claim is asserted. On doubles (REGIMETER_DOUBLES=1) what leads to it is executed, an assertion in it that
fails is no failure, and the claim is noted as not judged, whether it would have held or not.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from .evidence import doubles

NOTES = "REGIMETER_CLAIMS"  # a file that gets a line for each claim that was not judged
noted: list[tuple[str, str]] = []  # test and claim, of this process


def _note(kind: str, text: str) -> None:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)").removesuffix(" (setup)")
    noted.append((test, text))
    if os.environ.get(NOTES):
        with Path(os.environ[NOTES]).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"on": "doubles", "kind": kind, "test": test, "text": text}) + "\n")


@contextlib.contextmanager
def claim(text: str) -> Iterator[None]:
    """Hold the assertions of one claim about a physical value: ``with claim("a copy is fast"): assert ...``."""
    if not doubles.ON:
        yield
        return
    with contextlib.suppress(AssertionError):
        yield
    _note("claim", text)


def only(why: str) -> None:
    """Skip the test on doubles, which cannot run it; it is counted."""
    if doubles.ON:
        _note("test", why)
        pytest.skip(f"not on doubles: {why}")
