# SPDX-License-Identifier: Apache-2.0
"""Writing a file whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a temporary file beside `path` for UTF-8 text and rename it to `path` when the block ends well."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", errors="replace") as file:
        yield file


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the name of a temporary file beside `path` and rename it to `path` when the block ends well.

    What is there and is no regular file (a terminal, a pipe, /dev/null) cannot be replaced; it is written to.
    """
    target = Path(os.path.realpath(path))
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        yield os.fspath(path)
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
