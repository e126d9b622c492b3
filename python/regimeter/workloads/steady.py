# SPDX-License-Identifier: Apache-2.0
"""The steady state that times are taken in: freed memory is kept, and no call touches a new page.

Without it a call's time depends on what the process did before. glibc gives blocks above its threshold of mmap back
to the system when they are freed, so that each call touches all pages of its results anew; and it raises that
threshold, and that of trimming to twice as much, to the largest block that was ever freed, up to 32 MiB (mallopt(3),
"dynamic mmap threshold"). A block of that size, freed once, brings every process to where one that has worked with
large arrays is anyway. Other allocators are left as they are; page faults during the times are counted in any case.
"""

import resource

import numpy as np

# glibc's DEFAULT_MMAP_THRESHOLD_MAX of 64-bit systems, less the head of the block and rounding to pages.
KEPT_BYTES = (32 << 20) - (64 << 10)
STEADY_FAULTS = 1.0  # page faults of a run, from which its time is said to have new pages in it
MORE_WARMUP = 32  # runs at the most, beyond those that were asked for; as RGM_HOST_MORE_WARMUP
ABOUT = "steady state: freed memory is kept for the next call, warm-up goes on until a call touches no new page"


def settle_allocator() -> None:
    """Let the allocator keep what is freed; the block is not touched, so no memory is taken."""
    np.empty(KEPT_BYTES, np.uint8)


def page_faults() -> int:
    """Return how many pages this process, all threads, has touched first."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
