# SPDX-License-Identifier: Apache-2.0
"""NumPy's BLAS: its name, and its number of threads, which NumPy has no function for: the library itself has one."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Part of a library's file name -> functions that set and get its threads, the first that is there.
SETTERS = {
    "openblas": [
        (f"{head}openblas_set_num_threads{tail}", f"{head}openblas_get_num_threads{tail}")
        for head in ("scipy_", "")
        for tail in ("64_", "")
    ],
    "libmkl_rt": [("MKL_Set_Num_Threads", "MKL_Get_Max_Threads")],
    "libblis": [("bli_thread_set_num_threads", "bli_thread_get_num_threads")],
}


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
    found = _functions() if "numpy" in sys.modules else None
    return None if found is None else int(found[1]())


@contextlib.contextmanager
def blas_threads(count: int) -> Iterator[bool]:
    """Let NumPy's BLAS use `count` threads inside of the block; gives False, and changes nothing, where that is not
    possible."""
    found = _functions()
    if found is None:
        yield False
        return
    set_threads, get_threads = found
    before = int(get_threads())
    set_threads(count)
    try:
        yield int(get_threads()) == count
    finally:
        set_threads(before)


def _functions() -> tuple[Callable[[int], Any], Callable[[], int]] | None:
    import ctypes

    for path in _libraries():
        for part, names in SETTERS.items():
            if part not in os.path.basename(path):
                continue
            try:
                library = ctypes.CDLL(path)
            except OSError:
                continue
            for setter, getter in names:
                if hasattr(library, setter) and hasattr(library, getter):
                    return getattr(library, setter), getattr(library, getter)
    return None


def _libraries() -> list[str]:
    """Return the files of loaded libraries that may be a BLAS, those that came with NumPy first."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[5] for line in lines if len(line.split(maxsplit=5)) == 6}
    # As texts: pathlib would keep every part of every path for the life of the process.
    found = sorted(path for path in paths if any(part in os.path.basename(path) for part in SETTERS))
    numpy: Any = sys.modules["numpy"]
    home = str(Path(numpy.__file__).parent)
    return sorted(found, key=lambda path: not path.startswith(home))
