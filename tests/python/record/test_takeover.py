# SPDX-License-Identifier: Apache-2.0
"""A program that has a profiler of its own is recorded from its first line to its last all the same."""

import sys
from pathlib import Path
from typing import Any

import pytest
from recorded_program import names

import regimeter
from regimeter import _core

# Sleeps that long in each of three functions; the scope of its own is around the one in the middle.
PARTS = ("before", "inside", "after")
FEWEST = 3  # samples of each; 25 where nobody else has the processors
SLEEPS = "import time, regimeter\n" + "".join(f"def {part}():\n    time.sleep(0.25)\n" for part in PARTS)
# A thread that takes samples may get its first processor after the quarter of a second; one that takes none never does.
UNTIL_LOOKED_AT = """
def inside():
    for _ in range(1200):
        time.sleep(0.05)
        if len(own.run().samples) >= 20:
            break
"""
USES = {
    "the profiler of the process": "with regimeter.profile('own', device='cpu'):\n    inside()\nafter()\n",
    "one that is closed": (
        "with regimeter.GPUProfiler() as profiler, profiler.profile('own', device='cpu'):\n    inside()\n"
        "print([entry.operation for entry in profiler.get_entries()])\nafter()\n"
    ),
    "one that nobody holds": (
        "def main():\n    with regimeter.GPUProfiler().profile('own', device='cpu'):\n        inside()\n"
        "main()\nafter()\n"
    ),
    "one that is off": (
        "profiler = regimeter.GPUProfiler(enabled=False)\n"
        "with profiler.profile('own', device='cpu'):\n    inside()\nafter()\n"
    ),
    "one that was refused": (
        "for wrong in ({'sample_rate': 2}, {'device_id': -1}, {'stacks': -1, 'seed': 1}):\n"
        "    try:\n        regimeter.GPUProfiler(**wrong)\n    except ValueError:\n        pass\n"
        "with regimeter.profile('own', device='cpu'):\n    inside()\nafter()\n"
    ),
    "two, the first is closed": (
        "for _ in range(2):\n    with regimeter.GPUProfiler(track_memory=True) as profiler:\n"
        "        with profiler.profile('own', device='cpu'):\n            inside()\n    after()\n"
    ),
    "one of another thread": (
        "import threading\ndef work():\n    with regimeter.profile('own', device='cpu'):\n        inside()\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\nafter()\n"
    ),
}


def parts_of(run: regimeter.Run) -> dict[str, int]:
    """Count the samples in each of the program's functions."""
    stacks, found = run.tables.stacks, dict.fromkeys(PARTS, 0)
    functions, parents = stacks.function.tolist(), stacks.parent.tolist()
    for stack in run.samples.stack.tolist():
        while stack >= 0:
            if (name := run.string(functions[stack])) in found:
                found[name] += 1
            stack = parents[stack]
    return found


def whole(folder: Path) -> regimeter.Run:
    """Read all recordings of the program as one."""
    files = sorted(folder.glob("run.rgm*"))
    return regimeter.load(files if len(files) > 1 else files[0])


@pytest.mark.parametrize("use", USES)
def test_what_the_program_does_beside_its_scopes_is_recorded(use: str, program: Any, record_warm: Any, tmp_path: Path):
    done = record_warm(program(f"{SLEEPS}before()\n{USES[use]}"))
    assert done.returncode == 0, done.stderr
    run = whole(tmp_path)
    assert min(parts_of(run).values()) >= FEWEST, use
    own = [name for name in names(run) if name != "prog.py"]
    assert own == ["own"] * {"one that is off": 0, "two, the first is closed": 2}.get(use, 1)
    assert not {"orphan_parents", "lost_scopes"} & {row["code"] for row in run.anomaly_list()}
    verdict = run.verdict()
    assert verdict is not None
    assert (verdict.cause, verdict.causes[0].share) == ("sleep", pytest.approx(1, abs=0.4))
    assert verdict.window_ms >= 550  # of 750; of its scope alone 250
    beside = use not in ("one that is off", "one of another thread")  # scopes of the main thread
    assert ("Outside of the program's scopes: " in verdict.why) == beside, verdict.why
    assert "sleeps" in " ".join(done.stderr.split())
    if use == "one that is closed":  # it has its own scopes, and no other
        assert done.stdout.startswith("['own']\n")


def test_its_results_are_those_of_a_run_that_is_not_recorded(program, record_warm, run_in, tmp_path):
    name = program(
        """
        import gc, regimeter, torch
        def step():
            model = torch.nn.Linear(4, 4)
            torch.optim.SGD(model.parameters()).zero_grad()
            gc.collect()
        step()
        for profiler in (regimeter.get_profiler(), regimeter.GPUProfiler()):
            for _ in range(3):
                with profiler.profile("own", device="cpu"), profiler.profile("within", device="cpu"):
                    step()
            print([(entry.operation, entry.parent, entry.depth) for entry in profiler.get_entries()])
            profiler.close()
            print([(entry.operation, entry.parent, entry.depth) for entry in profiler.get_entries()])
            print(sorted(profiler.get_summary()), len(profiler.run().spans))
        """
    )
    assert record_warm(name).stdout == run_in(sys.executable, name).stdout != ""
    assert "gc generation 2" in [row.operation for row in regimeter.load(tmp_path / "run.rgm").get_entries()]


def test_a_profiler_that_is_closed_at_once_ends_nothing(program, record_warm, tmp_path):
    done = record_warm(
        program(f"import regimeter\nregimeter.GPUProfiler().close()\n{SLEEPS}before()\ninside()\nafter()\n")
    )
    assert min(parts_of(whole(tmp_path)).values()) >= FEWEST
    told = " ".join(done.stderr.split())
    assert "The program sleeps" in told, done.stderr
    assert "No GPU work in this trace" not in told


def test_who_is_killed_had_a_profiler_whatever_of_it_is_in_the_file(program, record_warm, tmp_path):
    """What stood for the program had long been written by then."""
    done = record_warm(
        program(
            "import os, time, regimeter\ntime.sleep(0.3)\nprofiler = regimeter.get_profiler()\n"
            "with profiler.profile('own', device='cpu'):\n    pass\nos._exit(0)"
        )
    )
    assert "recorded no scope of its own" not in done.stderr
    assert not regimeter.load(tmp_path / "run.rgm").environment.get("stand_in")


def test_its_own_file_has_its_scopes_and_no_other(program, record_warm, tmp_path):
    record_warm(program(f"{SLEEPS}before()\n{USES['the profiler of the process']}"))
    assert names(regimeter.load(tmp_path / "run.rgm")) == ["own"]
    assert [path.name for path in tmp_path.glob("run.rgm*")] == ["run.rgm"]


def test_a_program_that_ends_with_its_profiler_leaves_one_file(program, record_warm, tmp_path):
    record_warm(
        program(SLEEPS + "with regimeter.GPUProfiler() as own, own.profile('own', device='cpu'):\n    inside()\n")
    )
    assert [path.name for path in tmp_path.glob("run.rgm*")] == ["run.rgm"]


def test_options_that_a_session_learns_are_kept(program, record_warm, tmp_path):
    """Those of the program's profiler count from then on."""
    record_warm(
        program(
            SLEEPS
            + "profiler = regimeter.GPUProfiler(sample_rate=0.0, track_memory=True, enable_detailed_metrics=False)\n"
            "assert (profiler.sample_rate, profiler.track_memory) == (0.0, True)\n"
            "for _ in range(5):\n    with profiler.profile('left out', device='cpu'):\n        pass\n"
            "profiler.set_sample_rate(1.0)\nwith profiler.profile('own', device='cpu'):\n    inside()\n"
        )
    )
    run = regimeter.load(tmp_path / "run.rgm")
    assert names(run) == ["own"]
    assert {row["code"]: row["count"] for row in run.anomaly_list()}["sampled_out"] == 5
    memory = run.tables.memory
    assert {_core.MEMORY_ACTIONS[action] for action, span in zip(memory.action, memory.span, strict=True) if span >= 0}


@pytest.mark.parametrize("options", ["stacks=True", "stacks=50", "structure=True", "profile_kernels='auto', seed=0"])
def test_what_is_recorded_already_may_be_asked_for(options, program, record_warm, tmp_path):
    use = f"with regimeter.GPUProfiler({options}) as own:\n    inside()\n"
    record_warm(program(f"{SLEEPS}before()\n{use}"))
    assert parts_of(regimeter.load(tmp_path / "run.rgm"))["before"] >= FEWEST


def test_the_interval_of_the_memory_sampler_is_learnt(program, record_warm, tmp_path):
    """Here none, from there on; the sampler writes what has changed."""
    step = "kept.append(bytes(200_000))\n        time.sleep(0.002)"
    grow = f"def grow():\n    kept = []\n    for _ in range(100):\n        {step}\n"
    use = "own = regimeter.GPUProfiler(memory_interval_ms=0)\nwith own.profile('own', device='cpu'):\n    grow()\n"
    record_warm(program(f"{SLEEPS}{grow}grow()\nbefore()\n{use}"))
    run = regimeter.load(tmp_path / "run.rgm")
    memory, begin = run.tables.memory, run.spans.start_ns[0]
    sampled = [time for time, span in zip(memory.time_ns, memory.span, strict=True) if span < 0]
    assert parts_of(run)["before"] >= FEWEST
    assert sum(time < begin for time in sampled) > 3
    assert not [time for time in sampled if begin < time < begin + run.spans.duration_ns[0]]


def test_structure_is_found_from_where_it_is_asked_for(program, record_warm, tmp_path):
    use = "own = regimeter.GPUProfiler(structure=True)\nfor _ in range(3):\n    gc.collect()\n"
    record_warm("--no-structure", program(f"import gc\n{SLEEPS}gc.collect()\nbefore()\n{use}"))
    run = regimeter.load(tmp_path / "run.rgm")
    assert len(run.spans) >= 3
    assert parts_of(run)["before"] >= FEWEST


@pytest.mark.parametrize("options", ["seed=1", "stacks=500", "witness=False", "budget='1%'"])
def test_what_a_session_cannot_learn_begins_the_recording_anew(options, program, record_warm, tmp_path):
    use = (
        f"with regimeter.GPUProfiler({options}) as own:\n    with own.profile('own', device='cpu'):\n        inside()\n"
    )
    record_warm(program(f"{SLEEPS}{UNTIL_LOOKED_AT}before()\n{use}after()\n"))
    first = regimeter.load(tmp_path / "run.rgm")
    assert names(first) == ["own"]
    assert parts_of(first)["before"] == 0
    assert min(count for part, count in parts_of(whole(tmp_path)).items() if part != "before") >= FEWEST


def test_a_subclass_begins_the_recording_anew(program, record_warm, tmp_path):
    record_warm(
        program(
            SLEEPS + "class Named(regimeter.GPUProfiler):\n    def __init__(self, name):\n        super().__init__()\n"
            "        self.name = name\nown = Named('mine')\n"
            "assert own.name == 'mine'\nwith own.profile('own', device='cpu'):\n    inside()\n"
        )
    )
    assert names(regimeter.load(tmp_path / "run.rgm")) == ["own"]


def test_a_forked_process_has_a_recording_of_its_own(program, record_warm, tmp_path):
    record_warm(
        program(
            SLEEPS + "import os\nchild = os.fork()\nif not child:\n"
            "    with regimeter.profile('of the child', device='cpu'):\n        inside()\n"
            "    regimeter.get_profiler().close()\n    os._exit(0)\nos.waitpid(child, 0)\n"
            "with regimeter.profile('own', device='cpu'):\n    after()\n"
        )
    )
    assert names(regimeter.load(tmp_path / "run.rgm")) == ["own"]
    others = [regimeter.load(path) for path in tmp_path.glob("run.rgm.*")]
    assert [names(run) for run in others] == [["of the child"]]


def test_the_signature_is_that_of_its_arguments():
    class Other(regimeter.GPUProfiler):
        def __init__(self, name: str) -> None:
            super().__init__()

    import inspect

    assert list(inspect.signature(regimeter.GPUProfiler).parameters)[:3] == [
        "enabled",
        "device_id",
        "enable_detailed_metrics",
    ]
    assert list(inspect.signature(Other).parameters) == ["name"]
