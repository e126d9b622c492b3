# SPDX-License-Identifier: Apache-2.0
"""Files of the kernel that stay open in a program that may close them, as `csrc/base/descriptor.h` has them in C.

Where a program was started with closed standard streams, the next open gives 0, 1 or 2, and what anybody prints goes
there. And a daemon closes all that is open: then its own next file has the number.
"""

import contextlib
import fcntl
import os

# Far from the numbers that a program is given, where its limit allows one; else beyond the standard streams.
FIRST_KEPT, FIRST_FREE = 200, 3


class Kept:
    """A file that is opened when it is first read, and again where the program has closed it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: tuple[int, int, int] | None = None  # descriptor, device, inode

    def read(self, most: int = 128) -> bytes:
        """Return its first bytes. OSError where it cannot be opened or read."""
        if not self._is_ours():
            self._file = _opened(self._path)
        assert self._file is not None
        return os.pread(self._file[0], most, 0)

    def close(self) -> None:
        """Close it; what the program has put in its place stays open."""
        if self._is_ours() and self._file is not None:
            os.close(self._file[0])
        self._file = None

    def _is_ours(self) -> bool:
        try:
            return self._file is not None and _facts(self._file[0]) == self._file
        except OSError:
            return False


def _facts(file: int) -> tuple[int, int, int]:
    found = os.fstat(file)
    return file, found.st_dev, found.st_ino


def _opened(path: str) -> tuple[int, int, int]:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    for least in (FIRST_KEPT, FIRST_FREE):
        with contextlib.suppress(OSError):
            if file < least:
                moved = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, least)
                os.close(file)
                file = moved
    return _facts(file)
