# SPDX-License-Identifier: Apache-2.0
"""Files elsewhere: s3://, gs://, http:// and whatever else fsspec and its drivers read, where they are installed."""

import re
from typing import Any

from .._core import UnavailableError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(path: object) -> bool:
    """Whether a path names a protocol."""
    return isinstance(path, str) and _URL.match(path) is not None


def find(url: str) -> list[str] | None:
    """Return the files of a folder or a pattern, in no order; None for what is one file.

    FileNotFoundError for a pattern that nothing matches, UnavailableError without fsspec or its driver.
    """
    system, path = _system(url)
    if any(mark in path for mark in "*?["):
        found = [name for name, row in system.glob(path, detail=True).items() if row.get("type") == "file"]
        if not found:
            raise FileNotFoundError(2, "no file matches the pattern", url)
    elif system.isdir(path):
        found = [row["name"] for row in system.ls(path, detail=True) if row.get("type") == "file"]
    else:
        return None
    return [str(system.unstrip_protocol(name)) for name in found if not name.rpartition("/")[2].startswith(".")]


def open_url(url: str) -> Any:
    """Return a binary file to read. OSError where it cannot be opened, UnavailableError as above."""
    system, path = _system(url)
    return system.open(path, "rb")


def _system(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UnavailableError(f"{url} needs the package fsspec: pip install 'regimeter[remote]'") from None
    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:  # a driver that is not installed, a protocol that nobody knows
        raise UnavailableError(f"{url}: {error}") from None
    return system, str(path)
