# SPDX-License-Identifier: Apache-2.0
"""The number of threads of NumPy's BLAS, which NumPy itself has no function for: the library that is loaded has one."""

import contextlib
import ctypes
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
    for path in _libraries():
        for part, names in SETTERS.items():
            if part not in Path(path).name:
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
    found = sorted(path for path in paths if any(part in Path(path).name for part in SETTERS))
    numpy: Any = sys.modules["numpy"]
    home = str(Path(numpy.__file__).parent)
    return sorted(found, key=lambda path: not path.startswith(home))
