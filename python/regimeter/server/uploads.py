# SPDX-License-Identifier: Apache-2.0
"""What clients send: written to a file as it comes, looked at, and listed only when it can be read."""

import contextlib
import os
import unicodedata
from collections.abc import AsyncIterable
from pathlib import Path

from fastapi.concurrency import run_in_threadpool

from .. import _core
from ..run.inputs import inflated_bytes
from .loaded import read
from .options import Options
from .problems import Problem
from .shelf import Entry, Shelf, kind_of

MOST_NAME = 200  # characters
CHUNK_BYTES = 1 << 20


async def take(shelf: Shelf, options: Options, name: str, pieces: AsyncIterable[bytes]) -> Entry:
    """Write an upload and list it. Problem for a name or content that is not taken; nothing is left of it then."""
    shown = checked_name(name)
    key, part = shelf.new_upload()
    try:
        await _write(part, pieces, options.upload_bytes)
        return await run_in_threadpool(_list, shelf, options, key, part, shown)
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()


async def _write(part: Path, pieces: AsyncIterable[bytes], most: int) -> None:
    total = 0
    try:
        with open(part, "xb") as file:
            async for piece in pieces:
                total += len(piece)
                if total > most:
                    raise Problem(413, f"the body is above the limit of {most:,} bytes")
                file.write(piece)
    except OSError as error:
        raise Problem(413, f"the upload cannot be kept: {error.strerror}") from None


def _list(shelf: Shelf, options: Options, key: str, part: Path, name: str) -> Entry:
    """List an upload that can be read."""
    try:
        size = inflated_bytes(part, options.inflated_bytes)
    except (OSError, _core.Error, EOFError) as error:
        raise Problem(422, f"{name}: {str(error).replace(os.fspath(part), name)}") from None
    if size > options.inflated_bytes:
        raise Problem(413, f"{name}: more than {options.inflated_bytes:,} bytes when it is unpacked")
    kind = kind_of(part)
    if kind:
        facts = part.stat()
        read(Entry(key, name, part, kind, facts.st_size, facts.st_mtime_ns, True))
    return shelf.add(key, part, name)


def checked_name(name: str) -> str:
    """Return a name under which an upload is listed. Problem for one that is a path, hidden, or cannot be shown."""
    shown = name.strip()
    hostile = any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for letter in shown)
    if not shown or len(shown) > MOST_NAME or hostile or "/" in shown or "\\" in shown or shown.startswith("."):
        raise Problem(422, f"name: 1 to {MOST_NAME} characters that can be shown, no path, and no dot in front")
    return shown
