# SPDX-License-Identifier: Apache-2.0
"""Many readers at once: no error, and no more memory from round to round. benchmarks/serve.py has the large form."""

import shutil
from pathlib import Path

import pytest
from needed import benchmarks
from serving import SPANS_A_COUNT, record, serving

benchmarks()

from benchmarks.serve import Clients, resident_mb  # noqa: E402

pytestmark = pytest.mark.slow
COUNT, CLIENTS, REQUESTS, ROUNDS = 10_000, 25, 4, 4
GROWTH_MB = 40  # of a process that holds some 150 MB


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("recorded"), "run", COUNT)


def test_many_readers_at_once(recording: Path) -> None:
    with serving(str(recording)) as server:
        whole = server.ask("/api/profiler/timeline").json()
        assert whole["spans"] == COUNT * SPANS_A_COUNT
        clients = Clients(server.port, whole["duration_ns"], whole["spans"])
        resident = []
        for number in range(ROUNDS):
            clients.round(CLIENTS, REQUESTS, number)
            resident.append(resident_mb(server.process.pid))
    assert clients.errors == []
    assert sum(map(len, clients.times.values())) == CLIENTS * REQUESTS * ROUNDS
    assert resident[-1] - resident[1] < GROWTH_MB, resident


def test_what_stays_loaded_is_bounded(tmp_path: Path, recording: Path) -> None:
    for number in range(6):
        shutil.copy(recording, tmp_path / f"run{number}.rgm")
    with serving(str(tmp_path), "--memory", "20") as server:
        ids = [run["id"] for run in server.ask("/api/runs").json()["runs"]]
        resident = []
        for _ in range(3):
            for run in ids:
                assert server.ask(f"/api/profiler/timeline?run={run}&width={len(resident) + 100}").status == 200
            resident.append(resident_mb(server.process.pid))
    assert resident[-1] - resident[0] < GROWTH_MB, resident
