# SPDX-License-Identifier: Apache-2.0
"""Writing a file whole or not at all."""

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator
from typing import IO, Any

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # writing a file that is open says so without its name


@contextlib.contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a temporary file beside `path` for UTF-8 text and rename it to `path` when the block ends well."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", errors="replace") as file:
        yield file


def write_json(
    path: str | os.PathLike[str],
    document: object,
    *,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    default: Callable[[Any], Any] | None = None,
    end: str = "",
) -> None:
    """Write a document as JSON, whole or not at all. ValueError for NaN and infinity, which JSON does not have.

    indent, separators, default: as for json.dumps. end: what stands behind the document.
    """
    text = json.dumps(
        document, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators, default=default
    )
    with atomic_writer(path) as file:
        file.write(text + end)


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the name of a temporary file beside `path` and rename it to `path` when the block ends well.

    What is there and is no regular file (a terminal, a pipe, /dev/null) cannot be replaced; it is written to.
    OSError names `path`, never the temporary file.
    """
    target = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        yield os.fspath(path)
        return
    temporary = _make_beside(target, os.fspath(path))
    try:
        try:
            yield temporary
        except OSError as error:
            if error.errno not in FULL or error.filename is not None:
                raise  # of something else that the block does
            raise _about(error, os.fspath(path)) from None
        try:
            _to_disk(temporary)
            os.replace(temporary, target)
        except OSError as error:
            raise _about(error, os.fspath(path)) from None
        with contextlib.suppress(OSError):  # the name is there; a folder that cannot be synchronised is no failure
            _to_disk(os.path.dirname(target))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _make_beside(target: str, asked: str) -> str:
    """Make a temporary file with the permissions that the umask leaves; asking for the umask would change it."""
    folder, file = os.path.split(target)
    for _ in range(100):
        name = os.path.join(folder, f".{file[:40]}.{os.urandom(4).hex()}")
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        except FileExistsError:
            continue
        except OSError as error:
            raise _about(error, asked) from None
        return name
    raise FileExistsError(errno.EEXIST, "a hundred temporary files stand beside it", asked)


def _about(error: OSError, asked: str) -> OSError:
    """Return the error as one of the file that was asked for; a missing folder is named."""
    folder = os.path.dirname(os.path.realpath(asked))
    if isinstance(error, FileNotFoundError) and not os.path.isdir(folder):
        return FileNotFoundError(errno.ENOENT, f"no directory {folder}", asked)
    return type(error)(error.errno, error.strerror, asked)


def _to_disk(path: str, unable: tuple[int, ...] = (errno.EINVAL, errno.EROFS, errno.ENOTSUP)) -> None:
    """Have it on the disk before it is relied on, except where the file system has no way to."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in unable:
            raise
    finally:
        os.close(handle)
