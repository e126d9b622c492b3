# SPDX-License-Identifier: Apache-2.0
"""What limits a program: recorded as it is, and through every door."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import regimeter
from regimeter import _core
from regimeter.report.verdict import verdict_lines
from regimeter.suggest.causes import CAUSES
from regimeter.suggest.verdict import Verdict

TRACES = Path(__file__).parents[1] / "data" / "traces"
# Each spends nearly all of its time in one way; what that is follows from what it calls.
PROGRAMS = {
    "sleep": "import time\nfor _ in range(30):\n    time.sleep(0.03)\n",
    "python": "total = 0\nfor value in range(6_000_000):\n    total += value % 7\n",
    "child": "import subprocess\nfor _ in range(3):\n    subprocess.run(['sleep', '0.3'], check=True)\n",
    "network": (
        "import os, threading, time\nread, write = os.pipe()\n"
        "def answer():\n    for _ in range(30):\n        time.sleep(0.03)\n        os.write(write, b'x')\n"
        "threading.Thread(target=answer).start()\nfor _ in range(30):\n    os.read(read, 1)\n"
    ),
    "lock": (
        "import threading, time\nlock = threading.Lock()\n"
        "def hold():\n    for _ in range(30):\n        with lock:\n            time.sleep(0.03)\n"
        "        time.sleep(0.0005)\n"
        "thread = threading.Thread(target=hold)\nthread.start()\n"
        "while thread.is_alive():\n    with lock:\n        pass\n    thread.join(0.0002)\n"
    ),
    "garbage_collection": (
        "import gc\nkept = [[index] for index in range(300_000)]\nfor _ in range(40):\n    gc.collect()\n"
    ),
    "native": (
        "import numpy\nleft = numpy.full((400, 400), 0.5)\n"
        "for _ in range(120):\n    left = left @ left\n    left /= 100\n"
    ),
    "small_work": (
        "import torch\nleft, right = torch.eye(4), torch.ones(4, 4) / 5\n"
        "with torch.inference_mode():\n    for _ in range(300_000):\n"
        + "".join(f"        {line}\n" for line in ("one = left @ right", "two = one @ left", "left = torch.relu(two)"))
        + "        right = torch.addmm(right, one, two)\n        left = torch.sub(left, right)\n"
    ),
}
# A step of training is short beside what makes its batch, in an iterator that is no DataLoader.
BATCHES = """
import torch

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


def record(folder: Path, code: str, *options: str) -> Path:
    """Record a program without a change to it, as a user would."""
    program, run = folder / "program.py", folder / "run.rgm"
    program.write_text(code)
    command = [sys.executable, "-m", "regimeter", "record", "--quiet", *options, "-o", str(run), str(program)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return run


def verdict(run: "regimeter.Run") -> Verdict:
    """Return the verdict of a run that has one."""
    found = run.verdict()
    assert found is not None
    return found


@pytest.mark.parametrize("cause", PROGRAMS)
def test_a_program_that_does_one_thing_is_limited_by_it(tmp_path: Path, cause: str) -> None:
    run = regimeter.load(record(tmp_path, PROGRAMS[cause]))
    found = verdict(run)
    assert found.cause == cause, (found.sentence, found.why)
    assert found.samples + found.displaced > 10
    line = next(one for one in found.causes if one.cause == cause)
    assert "program.py" in line.place or cause == "garbage_collection", line
    assert sum(found.shares.values()) == pytest.approx(1, abs=0.02)


def test_a_batch_that_the_loop_makes_by_itself_is_its_input(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, BATCHES)))
    assert found.cause == "input", (found.sentence, found.why)
    assert found.steps > 3
    assert "Batch.__getitem__" in found.causes[0].place


def test_a_step_within_an_iterator_is_not_its_input(tmp_path: Path) -> None:
    """What hands out items does the whole step here, so that its own work between the parts of it is no batch."""
    code = BATCHES.partition("class Batch")[0].replace("return iter(Batch() for _ in range(12))", "pass") + (
        "class Trainer:\n    def __iter__(self):\n        for _ in range(12):\n"
        "            total = sum(value % 7 for value in range(700_000))\n            optimizer.zero_grad()\n"
        "            model(torch.ones(700, 700) * (total % 3)).sum().backward()\n            optimizer.step()\n"
        "            yield total\n"
        "model = torch.nn.Sequential(*(torch.nn.Linear(700, 700) for _ in range(12)))\n"
        "optimizer = torch.optim.Adam(model.parameters(), lr=0.001)\nfor total in Trainer():\n    pass\n"
    )
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert "input" not in found.shares, found.why


def test_large_products_on_several_lines_are_no_small_work(tmp_path: Path) -> None:
    lines = "".join(f"    {name} = left @ right\n" for name in ("one", "two", "three", "four"))
    code = "import torch\nleft = right = torch.rand(500, 500)\n" + f"for _ in range(60):\n{lines}"
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert "small_work" not in found.shares, found.why


@pytest.mark.parametrize("kept", [True, False])
def test_memory_that_is_kept_in_each_round_grows_and_what_an_import_makes_does_not(kept: bool, tmp_path: Path) -> None:
    """An import of a third of the time, in a function, so that nothing but the levels tells where it ended."""
    code = (
        "import time\nkept = []\ndef imported(ms, size):\n    for _ in range(50):\n"
        "        kept.append(bytearray(size))\n        time.sleep(ms / 1000)\n"
        f"imported(16, 2_000_000)\nfor _ in range(80):\n    imported(0, {50_000 if kept else 0})\n"
        "    time.sleep(0.02)\n"
    )
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert ("memory_growth" in [one.cause for one in found.causes]) == kept, found.why
    assert found.cause != "memory_growth" or "regimeter record --memory" in found.next


def test_a_program_that_keeps_to_one_processor_is_crowded_by_its_own_children(tmp_path: Path) -> None:
    """It says so after it has begun, and its other threads, ours among them, may go on elsewhere."""
    code = (
        "import os, subprocess, sys\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "others = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(4)]\n"
        "total = 0\nfor value in range(6_000_000):\n    total += value % 7\n"
        "for one in others:\n    one.kill()\n"
    )
    run = regimeter.load(record(tmp_path, code))
    assert run.tables.pressure.processors[-1] == 1
    assert verdict(run).cause == "processor", verdict(run).why


def test_every_door_says_the_same(tmp_path: Path) -> None:
    file = record(tmp_path, PROGRAMS["sleep"], "--html", str(tmp_path / "page.html"))
    found = verdict(regimeter.load(file))
    tool = [sys.executable, "-m", "regimeter"]
    shown = subprocess.run([*tool, "show", str(file), "--json"], check=True, capture_output=True, text=True)
    assert json.loads(shown.stdout)["verdict"] == found.to_dict()
    text = subprocess.run([*tool, "show", str(file)], check=True, capture_output=True, text=True).stdout
    words = " ".join(text.split())
    assert all(part in words for part in (found.sentence, found.why, found.next))
    assert json.dumps(found.sentence).strip('"') in (tmp_path / "page.html").read_text()


def test_record_tells_it_at_once(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS["sleep"])
    command = [sys.executable, "-m", "regimeter", "record", "-o", str(tmp_path / "run.rgm"), str(program)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.stderr.lstrip().startswith("Limit: The program sleeps in")


def test_scopes_alone_name_the_largest() -> None:
    profiler = regimeter.GPUProfiler()
    for name, count in (("small", 1), ("large", 40)):
        with profiler.profile(name, device="cpu"):
            sum(range(count * 20_000))
    found = verdict(profiler.run())
    assert (found.cause, found.causes[0].place, found.samples) == ("scope", "large", 0)
    profiler.close()


def test_nothing_recorded_has_no_verdict() -> None:
    profiler = regimeter.GPUProfiler()
    assert profiler.run().verdict() is None
    profiler.close()


def test_an_unknown_threshold_is_refused() -> None:
    profiler = regimeter.GPUProfiler()
    with pytest.raises(ValueError, match="verdict_nothing"):
        profiler.run().verdict({"verdict_nothing": 1})
    profiler.close()


@pytest.mark.parametrize("file", sorted(path.name for path in TRACES.glob("*.json.gz")))
def test_a_device_that_works_most_of_the_time_is_the_limit(file: str) -> None:
    """The breakdown says how much of its time the busiest device works; the verdict agrees with it."""
    run = regimeter.load(TRACES / file)
    shares = run.result("breakdown")
    found = run.verdict()
    if not len(shares):
        assert found is None or found.cause not in ("device", "launches", "device_idle")
        return
    assert found is not None
    busiest = int(shares.table.busy_ns.argmax())
    device = next((one.share for one in found.causes if one.cause == "device"), 0.0)
    assert device == pytest.approx(float(shares.table.compute_share[busiest]), abs=1e-6)
    limit = float(_core.policy()["verdict_device_share"]["default"])
    if device >= limit:
        assert found.cause == "device"
    assert sum(found.shares.values()) == pytest.approx(1, abs=0.02)


def test_every_cause_has_words() -> None:
    assert set(CAUSES) == set(_core.LIMIT_CAUSES)
    known = {"share": "", "of": "", "place": "", "at": "", "by_line": "", "figure": ""}
    for words in CAUSES.values():
        assert words.sentence.format_map(known)
        assert words.next.format_map(known)


def test_lines_fit_their_width(tmp_path: Path) -> None:
    found: Any = verdict(regimeter.load(record(tmp_path, PROGRAMS["python"])))
    assert all(len(line) <= 80 for line in verdict_lines(found, 80))
