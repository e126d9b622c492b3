# SPDX-License-Identifier: Apache-2.0
"""Files that tools write, and whether they are current."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def settle(wanted: Mapping[Path, str], *, check: bool) -> int:
    """Write the files that are not as wanted; to check, say which they are instead and return 1 if there are any."""
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if check:
            tool = os.path.basename(sys.argv[0])
            print(f"{os.path.relpath(path)} is not current; run tools/{tool}", file=sys.stderr)
        else:
            path.write_text(wanted[path], encoding="utf-8")
            print(f"wrote {os.path.relpath(path)}")
    return 1 if check and stale else 0
