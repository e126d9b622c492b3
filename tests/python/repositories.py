# SPDX-License-Identifier: Apache-2.0
"""Repositories of a test's own, whoever runs it and however that user has set up git."""

import os
import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """Run git there as Ada; return what it printed."""
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    variables = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(["git", *who, *words], cwd=folder, env=variables, check=True, capture_output=True, text=True)
    return done.stdout.strip()
