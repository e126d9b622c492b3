# SPDX-License-Identifier: Apache-2.0
"""NumPy, imported when something of it is first asked for: it takes longer to import than all else that a command needs
to print its help. Columns of a run may be larger than memory, so what is made of a whole one is made part by part."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Later:
        def __getattr__(self, name: str) -> Any:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)  # asked for once
            return value

    np = _Later()

__all__ = ["distinct", "distinct_pairs", "np", "parts"]

PART_ROWS = 1 << 20


def parts(column: Any, rows: int = PART_ROWS) -> Iterator[Any]:
    """Yield a column in parts of so many values."""
    for at in range(0, len(column), rows):
        yield column[at : at + rows]


def distinct(column: Any) -> list[int]:
    """Return the different whole numbers of a column, ascending."""
    found: set[int] = set()
    for part in parts(column):
        found.update(np.unique(part).tolist())
    return sorted(found)


def distinct_pairs(first: Any, second: Any) -> list[tuple[int, int]]:
    """Return the different pairs of whole numbers that two columns have in the same row, ascending."""
    found: set[tuple[int, int]] = set()
    for one, two in zip(parts(first), parts(second), strict=True):
        found.update(zip(one.tolist(), two.tolist(), strict=True))
    return sorted(found)
