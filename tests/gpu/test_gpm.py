# SPDX-License-Identifier: Apache-2.0
"""NVML's performance monitoring of a real device: ``make test-gpu``."""

import numpy as np
import pytest

from regimeter.capture import counters

from . import hardware
from .test_counters import busy, copying, inside, started

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device"),
]


def test_gpm_of_a_copy():
    copy = copying()
    with started(lambda: counters.sample(source="gpm")) as measurement:
        interval = busy(copy, 2.0)
    throughput = np.median(inside(measurement.result.series("dram_throughput"), interval))
    with hardware.claim("a copy is near the peak of memory"):
        assert 40 <= throughput <= 105
