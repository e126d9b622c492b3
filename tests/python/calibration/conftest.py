# SPDX-License-Identifier: Apache-2.0
"""A cache of each test's own, and measurements that cost nothing."""

import pytest
from small_calibration import ceilings_of

from regimeter.calibration import measure


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """A cache of the test's own, and a process that knows nothing yet."""
    monkeypatch.setenv("REGIMETER_CACHE", str(tmp_path / "cache"))
    measure.forget()
    yield tmp_path / "cache" / "calibration"
    measure.forget()


@pytest.fixture
def counted(monkeypatch):
    """Measurements that cost nothing and are counted."""
    calls = []

    def measured(effort):
        calls.append(effort.quick)
        found = ceilings_of(memory_copy=1e10, compute_fp32=2e11)
        return found, ceilings_of(memory_copy=9e9, compute_fp32=1e11), [], {}

    monkeypatch.setattr(measure, "measure_host", measured)
    return calls
