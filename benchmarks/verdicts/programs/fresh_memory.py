# SPDX-License-Identifier: Apache-2.0
"""Cause: page_faults. Memory that is mapped anew and touched once, a small page at a time."""

import mmap

import numpy

total = 0.0
for _ in range(150):
    fresh = mmap.mmap(-1, 16_000_000)
    fresh.madvise(mmap.MADV_NOHUGEPAGE)
    pages = numpy.frombuffer(fresh, dtype=numpy.uint8)
    pages[::4096] = 1
    total += float(pages[0])
    del pages
    fresh.close()
