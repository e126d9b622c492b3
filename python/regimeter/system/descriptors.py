# SPDX-License-Identifier: Apache-2.0
"""File descriptors that live long, away from the standard streams.

Where a program was started with closed streams, the next open gives 0, 1 or 2, and what anybody prints goes there.
"""

import fcntl
import os

FIRST_FREE = 3


def open_clear(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """Open as os.open does, never below 3, and not inherited by other programs. OSError as from os.open."""
    found = os.open(path, flags | os.O_CLOEXEC, mode)
    if found >= FIRST_FREE:
        return found
    try:
        return fcntl.fcntl(found, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
    finally:
        os.close(found)
