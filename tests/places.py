# SPDX-License-Identifier: Apache-2.0
"""Where things lie that tests read or run."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
HELPERS = TESTS / "python"  # what its rooms share
