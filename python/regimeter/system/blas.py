# SPDX-License-Identifier: Apache-2.0
"""NumPy's BLAS: its name, and its number of threads, which NumPy has no function for."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any


def name() -> str | None:
    """Return name and version of NumPy's BLAS, None where NumPy is not loaded or does not tell."""
    numpy: Any = sys.modules.get("numpy")
    try:
        row = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{row['name']} {row['version']}"
    except (AttributeError, KeyError, TypeError):  # without NumPy, half imported, or an old one
        return None


def threads() -> int | None:
    """Return how many threads NumPy's BLAS uses, None where NumPy is not loaded or its BLAS does not tell."""
    library = _library()
    return None if library is None else library.num_threads


@contextlib.contextmanager
def blas_threads(count: int) -> Iterator[bool]:
    """Let NumPy's BLAS use `count` threads inside of the block; gives False, and changes nothing, where that is not
    possible."""
    library = _library()
    if library is None:
        yield False
        return
    before = library.num_threads
    library.set_num_threads(count)
    try:
        yield library.num_threads == count
    finally:
        library.set_num_threads(before)


def _library() -> Any:
    """Return threadpoolctl's controller of NumPy's BLAS, or of another one that is loaded where NumPy has none."""
    home = getattr(sys.modules.get("numpy"), "__file__", None)
    if home is None:
        return None
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    own = os.path.dirname(home)
    return next(iter(sorted(found, key=lambda library: not library.filepath.startswith(own))), None)
