# SPDX-License-Identifier: Apache-2.0
"""Cause: native. NumPy products of large matrices."""

import numpy

left, right = numpy.full((900, 900), 0.5), numpy.full((900, 900), 0.25)
for _ in range(40):
    left = left @ right
    left /= left.max()
