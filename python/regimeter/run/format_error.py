# SPDX-License-Identifier: Apache-2.0
"""The error of an input that cannot be read."""

from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    pass


BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def format_error(message: str, offset: int | None = None) -> _core.FormatError:
    """Return a FormatError with its offset set."""
    error = _core.FormatError(message)
    error.offset = offset
    return error
