# SPDX-License-Identifier: Apache-2.0
"""The data caches of the processor."""

import functools

from .. import _core

LINE_BYTES = 64  # what memory moves at once


@functools.cache
def cache_sizes() -> tuple[float | None, ...]:
    """Return the bytes of the data caches of levels 1 to 3, None for those that the system does not tell of."""
    found = {row["level"]: float(row["bytes"]) for row in _core.host_caches()}
    return tuple(found.get(level) for level in (1, 2, 3))
