# SPDX-License-Identifier: Apache-2.0
"""What a test may be skipped for on a machine that lacks it, and must not be where the checks promise it."""

import os

import pytest

# Names, separated by commas, of what has to be there; the checks set it.
VARIABLE = "REGIMETER_REQUIRE"


def require(name: str, there: bool, reason: str) -> None:
    """Skip the test with the reason unless `there`; fail it where ``REGIMETER_REQUIRE`` names `name`."""
    if there:
        return
    if name in os.environ.get(VARIABLE, "").split(","):
        pytest.fail(f"{name} is required by {VARIABLE}: {reason}")
    pytest.skip(f"{name}: {reason}")
