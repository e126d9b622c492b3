# SPDX-License-Identifier: Apache-2.0
"""Callgrind, the tool of Valgrind that counts instructions: whether it is here, and how a program is run under it.

Counts repeat only where everything stands still that moves without the program: the seed of str hashes, the place of
the stack and of the heap, what an allocation costs (csrc/heap/steady.c), the number of BLAS threads, the collector.
What is held still may hold by chance (two names that share a slot of a cache), so a comparison runs several *layouts*:
layout 3 is another hash seed, another size of the environment and another place in the heap than layout 4, and the same
on both sides.
"""

import contextlib
import ctypes
import functools
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping

from .._core import UnavailableError
from . import preload

LAYOUTS = 5
# The environment of a layout has this size in bytes, above the next multiple of a page.
PAGE, STEP = 4096, 48
PADDING = "REGIMETER_LAYOUT_PADDING"
ADDR_NO_RANDOMIZE = 0x0040000
# glibc moves its threshold for large blocks while the program runs, and gives memory back where the heap's end is free.
HELD = {
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "MALLOC_TOP_PAD_": "131072",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
REMEDY = "install it (Debian and Ubuntu: apt-get install valgrind), or compare times: leave out --count"


@functools.cache
def version() -> str:
    """Return the version of Valgrind here. UnavailableError with the remedy where instructions cannot be counted."""
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        raise UnavailableError("instructions can be counted on Linux on x86-64 only; compare times: leave out --count")
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise UnavailableError(f"instructions are counted by Valgrind's Callgrind, and there is no valgrind: {REMEDY}")
    try:
        done = subprocess.run([valgrind, "--tool=callgrind", "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise UnavailableError(f"{valgrind} cannot be run: {error.strerror}; {REMEDY}") from None
    found = re.search(r"valgrind-(\S+)", done.stdout)
    if done.returncode or found is None:
        said = " ".join((done.stderr or done.stdout).split())[:200]
        raise UnavailableError(f"{valgrind} has no Callgrind that works ({said}); {REMEDY}")
    return found[1]


def command(log: str, program: list[str]) -> list[str]:
    """Return the command line that runs a program under Callgrind; counting begins when the program asks for it."""
    version()
    options = ["--tool=callgrind", "--instr-atstart=no", f"--log-file={log}", "--callgrind-out-file=/dev/null"]
    return [str(shutil.which("valgrind")), *options, "--", *program]


def environment(given: Mapping[str, str], layout: int) -> dict[str, str]:
    """Return the environment of a layout (1 or more): variables that hold the program still, and its size."""
    made = {**given, **HELD, **heap(given), "PYTHONHASHSEED": str(layout), PADDING: ""}
    used = sum(len(os.fsencode(name)) + len(os.fsencode(value)) + 2 for name, value in made.items())
    made[PADDING] = "." * (-used % PAGE + STEP * (layout % (PAGE // STEP)))
    return made


def heap(given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that say which heap the program has; where it is steady, Python's objects lie in it too."""
    if not steady(given):
        return {"PYTHONMALLOC": "pymalloc"}
    return {"PYTHONMALLOC": "malloc", **preload.variables(given, preload.STEADY)}


def steady(given: Mapping[str, str]) -> bool:
    """Return whether a program has the heap whose calls cost the same whatever was allocated before: this build has
    it, and nothing else stands before malloc."""
    return not given.get(preload.VARIABLE) and preload.STEADY.exists()


@contextlib.contextmanager
def addresses_held() -> Iterator[None]:
    """Keep the system from choosing addresses at random for the programs that this thread starts meanwhile."""
    personality = ctypes.CDLL(None, use_errno=True).personality
    before = personality(ctypes.c_ulong(0xFFFFFFFF))
    if before >= 0:
        personality(ctypes.c_ulong(before | ADDR_NO_RANDOMIZE))
    try:
        yield
    finally:
        if before >= 0:
            personality(ctypes.c_ulong(before))
