# SPDX-License-Identifier: Apache-2.0
"""Where the libraries of vendors are: pip's wheels hold them below site-packages, where no loader looks."""

import functools
import os
import sys

from .. import _core


@functools.cache
def search_wheels() -> tuple[str, ...]:
    """Tell the core which folders of ``sys.path`` hold wheels of NVIDIA's libraries, and return them."""
    found = tuple(
        dict.fromkeys(
            folder for folder in sys.path if ":" not in folder and os.path.isdir(os.path.join(folder, "nvidia"))
        )
    )
    _core.library_search(":".join(found))
    return found
