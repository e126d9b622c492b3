# SPDX-License-Identifier: Apache-2.0
"""How much of the disk traces may take: what no longer fits is analysed and not kept, and nothing kept is removed."""

import math
import os
import shutil
from pathlib import Path


class DiskBudget:
    """Bytes that files may take in all. limit_mb: in 10**6 bytes, None for no limit. ValueError below 0."""

    def __init__(self, limit_mb: float | None = None) -> None:
        if limit_mb is not None and not 0 <= limit_mb < math.inf:
            raise ValueError(f"disk_budget_mb must be a number of at least 0 or None, got {limit_mb}")
        self.limit = math.inf if limit_mb is None else limit_mb * 1e6
        self.used = 0

    def keep(self, source: Path, target: Path) -> bool:
        """Move a file to where it is to be kept; False, with the file left where it is, where the rest is too small.

        A file that stands there already, as of an earlier cycle, is replaced and makes room.
        """
        size = os.path.getsize(source) - (os.path.getsize(target) if target.exists() else 0)
        if self.used + size > self.limit:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, target)
        self.used += size
        return True
