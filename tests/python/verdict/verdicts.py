# SPDX-License-Identifier: Apache-2.0
"""What tests of verdicts share."""

from collections.abc import Collection
from pathlib import Path

from warm import record

import regimeter
from regimeter import Run
from regimeter.suggest.verdict import Cause, Verdict

# The main thread waits for what two others pack.
POOL = """import os, zlib
from concurrent.futures import ThreadPoolExecutor
block = os.urandom(1 << 18) * 4
def pack(_):
    return len(zlib.compress(block, 6))
with ThreadPoolExecutor(2) as pool:
    print(sum(pool.map(pack, range(40))))
"""


def of_program(folder: Path, code: str) -> Verdict:
    """Return the verdict of a program with its processes."""
    record(folder, code)
    return verdict(regimeter.load([str(file) for file in sorted(folder.glob("run.rgm*"))]))


def verdict(run: Run) -> Verdict:
    """Return the verdict of a run that has one."""
    found = run.verdict()
    assert found is not None
    return found


def leading(found: Verdict, cause: str, besides: Collection[str] = ()) -> Cause:
    """Return a cause that is the first, or within the margin of the first: where others have the processors few samples
    are left, and what waits for a program that is held up waits in truth. besides: causes that may come before it."""
    first = next(one for one in found.causes if one.cause not in besides)
    leads = [one for one in found.causes if one.cause == cause and (one is first or one.tied)]
    assert leads, (found.sentence, found.why)
    return leads[0]
