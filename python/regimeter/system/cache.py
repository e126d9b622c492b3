# SPDX-License-Identifier: Apache-2.0
"""Where files are kept that a later process may use: calibrations, tuning decisions, noise floors.

The folder is ``$REGIMETER_CACHE``, else ``$XDG_CACHE_HOME/regimeter``, else ``~/.cache/regimeter``. With
``REGIMETER_CACHE=off`` nothing is kept. Compiled kernels lie below it too
(csrc/cuda/compile/cubin_cache.c has the same rule).
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAME_DIGITS = 32


class NoCacheError(Exception):
    """Nothing can be kept; the message says why."""


def cache_folder(name: str) -> Path:
    """Return the folder called `name` below the cache folder, whether or not it is there.

    NoCacheError where there is to be none, or no place for it.
    """
    root = os.environ.get("REGIMETER_CACHE")
    if root == "off":
        raise NoCacheError("switched off by REGIMETER_CACHE=off")
    if root:
        return Path(root, name)
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not home.startswith("/"):  # the specification of these variables asks to ignore it
        if not os.environ.get("HOME"):
            raise NoCacheError("no HOME and no REGIMETER_CACHE in the environment")
        home = os.path.join(os.environ["HOME"], ".cache")
    return Path(home, "regimeter", name)


def file_of(folder: Path, identity: Mapping[str, Any]) -> Path:
    """Return the file in a folder for what an identity stands for."""
    text = json.dumps(identity, sort_keys=True, default=str)
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:NAME_DIGITS]}.json"
