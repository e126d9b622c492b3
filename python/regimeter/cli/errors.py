# SPDX-License-Identifier: Apache-2.0
"""Errors of the command as one line: the file, what and where, and the remedy."""

import errno

from .. import _core

REMEDIES = {
    errno.ENOENT: "check the path",
    errno.EACCES: "check who may read and write there",
    errno.EPERM: "check who may read and write there",
    errno.ENOSPC: "make room or write elsewhere",
    errno.EROFS: "write elsewhere",
    errno.ENOTDIR: "check the path",
}
FAILED, USAGE = 1, 2


class CommandError(Exception):
    """A message for the user of the command; `code` is the exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


def describe(error: Exception) -> tuple[str, int]:
    """Return the message, on one line, and the exit code."""
    message, code = _describe(error)
    return " ".join(message.split("\n")), code


def _describe(error: Exception) -> tuple[str, int]:
    if isinstance(error, CommandError):
        return str(error), error.code
    code = getattr(error, "exit_code", None)  # of the history's errors
    if isinstance(error, _core.Error) and isinstance(code, int):
        return str(error), code
    if isinstance(error, _core.UnavailableError):
        return str(error), FAILED
    if isinstance(error, _core.Error | ValueError):
        return str(error), USAGE
    if isinstance(error, OSError):
        remedy = REMEDIES.get(error.errno or 0)
        text = error.strerror or str(error)
        where = f"{error.filename}: " if error.filename is not None and str(error.filename) not in text else ""
        return f"{where}{text}{'; ' + remedy if remedy else ''}", USAGE
    if isinstance(error, MemoryError):
        return "not enough memory for this", FAILED
    return f"internal error: {type(error).__name__}: {error}; REGIMETER_DEBUG=1 shows where", FAILED
