# SPDX-License-Identifier: Apache-2.0
"""What the steps of a training program wait for: their input, a lock, or that they differ."""

from pathlib import Path

import pytest
from verdicts import leading, verdict
from warm import record

import regimeter

# A step of training is short beside what makes its batch, in an iterator that is no DataLoader.
BATCHES = """
import torch
torch.set_num_threads(1)

class Feed:
    def __iter__(self):
        return iter(Batch() for _ in range(12))

class Batch:
    def __getitem__(self, index):
        return torch.tensor([sum(range(index * 900, index * 900 + 9000)) % 7.0 for index in range(220)])

model = torch.nn.Linear(220, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for batch in Feed():
    optimizer.zero_grad()
    model(batch[0]).sum().backward()
    optimizer.step()
"""


# A thread holds the lock that one step in three waits for.
HELD_UP = """
import threading, time, torch
torch.set_num_threads(1)
asked, held, lock = threading.Event(), threading.Event(), threading.Lock()
def hold():
    while True:
        asked.wait()
        asked.clear()
        with lock:
            held.set()
            time.sleep(0.1)  # far more than what other programs take of a step
threading.Thread(target=hold, daemon=True).start()
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(45):
    optimizer.zero_grad()
    if step % 3 == 2:
        held.clear()
        asked.set()
        held.wait()
        with lock:
            pass
    model(torch.ones(8, 64)).sum().backward()
    optimizer.step()
"""


def test_what_some_steps_wait_for_comes_before_that_they_differ(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, HELD_UP)))
    leading(found, "lock")
    crowded = found.displaced > found.samples / 10  # a step of which others had 40 % tells nothing
    assert crowded or "uneven_steps" in [one.cause for one in found.causes]


def test_a_batch_that_the_loop_makes_by_itself_is_its_input(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, BATCHES)))
    first = leading(found, "input")
    assert found.steps > 3
    assert "Batch.__getitem__" in first.place


def test_a_step_within_an_iterator_is_not_its_input(tmp_path: Path) -> None:
    """What hands out items does the whole step here, so that its own work between the parts of it is no batch."""
    code = BATCHES.partition("class Batch")[0].replace("return iter(Batch() for _ in range(12))", "pass") + (
        "class Trainer:\n    def __iter__(self):\n        for _ in range(8):\n"
        "            total = sum(value % 7 for value in range(400_000))\n            optimizer.zero_grad()\n"
        "            model(torch.ones(100, 500) * (total % 3)).sum().backward()\n            optimizer.step()\n"
        "            yield total\n"
        "model = torch.nn.Sequential(*(torch.nn.Linear(500, 500) for _ in range(8)))\n"
        "optimizer = torch.optim.Adam(model.parameters(), lr=0.001)\nfor total in Trainer():\n    pass\n"
    )
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert "input" not in found.shares, found.why


KEPT = """import time, torch
model, kept = torch.nn.Linear(8, 8), []
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(60):
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    kept.append(torch.ones(1_000_000))
    time.sleep(0.02)
"""


def test_what_is_kept_from_step_to_step_comes_first(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, KEPT)))
    leading(found, "memory_growth")
    assert "regimeter record --memory" in found.next


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_that_is_late_is_told_where_its_batches_are_made(workers: int, tmp_path: Path) -> None:
    code = (
        "import time, torch\nfrom torch.utils.data import DataLoader, Dataset\ntorch.set_num_threads(1)\n"
        "class Slow(Dataset):\n    def __len__(self):\n        return 160\n"
        "    def __getitem__(self, index):\n        time.sleep(0.01)\n        return torch.zeros(8), index % 2\n"
        "model = torch.nn.Linear(8, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
        "def train():\n"
        f"    for rows, labels in DataLoader(Slow(), batch_size=8, num_workers={workers}):\n"
        "        optimizer.zero_grad()\n        torch.nn.functional.cross_entropy(model(rows), labels).backward()\n"
        "        optimizer.step()\n"
        "if __name__ == '__main__':\n    train()\n"
    )
    found = verdict(regimeter.load(record(tmp_path, code)))
    first = leading(found, "input")
    assert first.elsewhere == bool(workers)
    assert ("worker processes of its loader" in found.sentence) == bool(workers)
    assert ("Load ahead in worker processes" in found.next) == (not workers)
    assert first.place.startswith("DataLoader.__next__" if workers else "Slow.__getitem__ (program.py:8)")


# Calls of a model come in bursts, for its thread waits for what another one makes of its answers.
BURSTS = """
import queue, threading, torch
from concurrent.futures import Future, ThreadPoolExecutor
torch.set_num_threads(1)
model = torch.nn.Linear(128, 64).eval()
requests, pool = queue.Queue(), ThreadPoolExecutor(1)

def name_all(scores):
    names = {}
    for turn in range(60):
        for index, score in enumerate(scores):
            names[f"label-{index}-{turn}"] = score * turn
    return sorted(names.items())[:5]

def batches():
    while (first := requests.get()) is not None:
        batch = [first] + [requests.get() for _ in range(15)]
        with torch.inference_mode():
            rows = model(torch.stack([row for row, _ in batch])).tolist()
        for (_, answer), row in zip(batch, rows):
            pool.submit(name_all, row).add_done_callback(lambda named, to=answer: to.set_result(named.result()))

threading.Thread(target=batches, daemon=True).start()
for _ in range(8):
    answers = [Future() for _ in range(64)]
    for answer in answers:
        requests.put((torch.ones(128), answer))
    for answer in answers:
        answer.result()
"""


@pytest.mark.slow
def test_what_other_threads_do_meanwhile_says_more_than_that_steps_are_uneven(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, BURSTS)))
    # Where others have the processors, who has the interpreter's lock is seen to wait for one now and then, and the
    # line that waits for the lock may come first.
    assert found.cause in ("python", "interpreter_lock"), (found.sentence, found.why)
    first = next(cause for cause in found.causes if cause.cause == "python")
    assert (found.causes[0].elsewhere, first.elsewhere) == (True, True)
    assert first.place.startswith("name_all (program.py:")
