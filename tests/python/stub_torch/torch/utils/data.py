# SPDX-License-Identifier: Apache-2.0
"""Items read in forked workers, batch by batch; what they read is not sent, only that it was."""

import multiprocessing
from collections.abc import Iterator
from typing import Any

from .. import tensors


class Dataset:
    pass


def _read(dataset: Any, batches: list[range], answers: Any) -> None:
    for batch in batches:
        answers.put(dataset[batch[0]].shape and len([dataset[index] for index in batch[1:]]) + 1)


class DataLoader:
    def __init__(
        self, dataset: Any, batch_size: int, num_workers: int, multiprocessing_context: str, timeout: float = 20
    ) -> None:
        assert multiprocessing_context == "fork"
        self.dataset, self.workers, self.timeout = dataset, num_workers, timeout or 20
        self.batches = [range(at, at + batch_size) for at in range(0, len(dataset), batch_size)]

    def __iter__(self) -> Iterator[tensors.Tensor]:
        context = multiprocessing.get_context("fork")
        answers = context.Queue()
        parts = [self.batches[number :: self.workers] for number in range(self.workers)]
        workers = [context.Process(target=_read, args=(self.dataset, part, answers)) for part in parts]
        for worker in workers:
            worker.start()
        for _ in self.batches:
            count = answers.get(timeout=self.timeout)
            yield tensors.Tensor((count, 8), tensors.float32, tensors.device("cpu"))
        for worker in workers:
            worker.join(self.timeout)
            if worker.exitcode != 0:
                raise RuntimeError(f"a worker of the loader ended with {worker.exitcode}")
