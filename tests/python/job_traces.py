# SPDX-License-Identifier: Apache-2.0
"""A simulated job of many ranks: a pipeline of stages, each of several replicas, and the traces that it would leave.

In every step each replica passes micro-batches down its stages, all replicas of a stage reduce their gradients, and all
ranks agree on a norm. A kernel of a collective runs from the arrival of its rank until the last has come and the
transfer is done. Trouble is planned, so who is to blame for what is known. Each rank has a clock of its own.
"""

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STEP_GAP, KERNEL, TRANSFER, NORM, PASS = 200_000, 20_000, 50_000, 10_000, 5_000
LAUNCH_LEAD, CALL = 12_000, 3_000
DEVICE_STREAM, COMM_STREAM = 7, 20
SLOW = 4  # times a kernel or a transfer takes in trouble


@dataclass
class Job:
    """What is simulated. trouble: step -> (rank, "compute", "host" or "network"); of "network" the rank is any."""

    replicas: int = 4
    stages: int = 2
    steps: int = 4
    micro_batches: int = 2
    kernels: int = 10
    trouble: dict[int, tuple[int, str]] = field(default_factory=dict)
    slow_stage: int = -1
    clock_ns: int = 40_000_000
    seed: int = 1

    @property
    def ranks(self) -> int:
        """Ranks of the job; rank = stage * replicas + replica."""
        return self.replicas * self.stages

    def stage_group(self, rank: int) -> list[int]:
        """Return the replicas of a rank's stage."""
        first = rank // self.replicas * self.replicas
        return list(range(first, first + self.replicas))

    def pipe_group(self, rank: int) -> list[int]:
        """Return the stages of a rank's replica."""
        return list(range(rank % self.replicas, self.ranks, self.replicas))


class Rank:
    """The trace of one rank as it comes into being."""

    def __init__(self, job: Job, rank: int, clock_ns: int) -> None:
        self.job, self.rank, self.clock_ns = job, rank, clock_ns
        self.free = 0
        self.events: list[dict[str, Any]] = []
        self.correlation = 0
        self.numbers: dict[str, int] = {}

    def _event(self, category: str, name: str, thread: int, start: int, duration: int, **arguments: Any) -> None:
        process = 0 if category == "kernel" else 1000
        self.events.append(
            {
                "ph": "X", "cat": category, "name": name, "pid": process, "tid": thread,
                "ts": (start + self.clock_ns) / 1000, "dur": duration / 1000, "args": arguments,
            }
        )  # fmt: skip

    def work(self, name: str, stream: int, start: int, end: int, **arguments: Any) -> None:
        """Add a kernel and the call that launched it."""
        self.correlation += 1
        launched = max(start - LAUNCH_LEAD, 0)
        self._event("cuda_runtime", "cudaLaunchKernel", 1000, launched, CALL, correlation=self.correlation)
        self._event(
            "kernel", name, stream, start, end - start,
            device=0, stream=stream, correlation=self.correlation, **arguments,
        )  # fmt: skip
        self.free = max(self.free, end)

    def compute(self, kernels: int, times: int = 1) -> None:
        """Add kernels one after the other."""
        for i in range(kernels):
            self.work(f"gemm_{i % 5}", DEVICE_STREAM, self.free, self.free + KERNEL * times)

    def communicate(
        self, kind: str, kernel: str, group: str, ranks: list[int], elements: int, start: int, end: int
    ) -> None:
        """Add a communication kernel with the arguments that torch records."""
        self.numbers[group] = number = self.numbers.get(group, -1) + 1
        told = {
            "Collective name": kind, "In msg nelems": elements, "Out msg nelems": elements, "Group size": len(ranks),
            "dtype": "Float", "Process Group Name": group, "Process Group Description": group.rstrip("0123456789"),
            "Process Group Ranks": str(ranks), "Seq": number,
        }  # fmt: skip
        self.work(f"ncclDevKernel_{kernel}", COMM_STREAM, start, end, **told)

    def step(self, number: int, start: int, end: int) -> None:
        """Add the annotation of a step."""
        self._event("user_annotation", f"ProfilerStep#{number}", 1000, start, end - start)

    def write(self, folder: Path, packed: bool) -> Path:
        """Write the trace."""
        head = {"distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": self.job.ranks}}
        text = json.dumps({"schemaVersion": 1, **head, "traceEvents": self.events}).encode()
        path = folder / (f"rank-{self.rank}.json" + (".gz" if packed else ""))
        path.write_bytes(gzip.compress(text, 1) if packed else text)
        return path


def simulate(job: Job) -> list[Rank]:
    """Return the traces of a job."""
    chance = random.Random(job.seed)
    ranks = [Rank(job, i, chance.randrange(job.clock_ns) if i else 0) for i in range(job.ranks)]
    for step in range(job.steps):
        begins = [rank.free + STEP_GAP for rank in ranks]
        for rank, begin in zip(ranks, begins, strict=True):
            rank.free = begin
        _step(job, ranks, *job.trouble.get(step, (-1, "")))
        for rank, begin in zip(ranks, begins, strict=True):
            rank.step(step, begin - STEP_GAP // 2, rank.free + STEP_GAP // 4)
    return ranks


def _step(job: Job, ranks: list[Rank], troubled: int, trouble: str) -> None:
    for _ in range(job.micro_batches):
        for rank in ranks:
            pipe = job.pipe_group(rank.rank)
            stage = pipe.index(rank.rank)
            rank.compute(job.kernels, 2 if stage == job.slow_stage else 1)
            if stage + 1 < job.stages:
                _pass_on(rank, ranks[pipe[stage + 1]], pipe)
    if trouble == "compute":
        ranks[troubled].compute(job.kernels, SLOW)
    if trouble == "host":
        ranks[troubled].free += job.kernels * KERNEL * SLOW
    slow = SLOW if trouble == "network" else 1
    for first in range(0, job.ranks, job.replicas):
        _collective(ranks, job.stage_group(first), "stage", 1_000_000, TRANSFER * slow)
    _collective(ranks, list(range(job.ranks)), "world", 1, NORM)


def _pass_on(source: Rank, target: Rank, pipe: list[int]) -> None:
    end = max(source.free, target.free) + PASS
    group = f"pipe{pipe[0]}"
    for rank, kind in ((source, "send"), (target, "recv")):
        rank.communicate(kind, "SendRecv", group, pipe, 4096, rank.free, end)


def _collective(ranks: list[Rank], members: list[int], name: str, elements: int, transfer: int) -> None:
    end = max(ranks[i].free for i in members) + transfer
    group = f"{name}{members[0]}"
    for i in members:
        ranks[i].communicate("allreduce", "AllReduce_Sum_f32_RING_LL", group, members, elements, ranks[i].free, end)


def write_job(folder: Path, job: Job, packed: bool = False) -> Iterator[Path]:
    """Write the traces of a job and give their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in simulate(job):
        yield rank.write(folder, packed)
