# SPDX-License-Identifier: Apache-2.0
"""Samples of stacks of recorded programs: what they tell, in which processes, however those begin and end."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import warm
from sampled_stacks import count, found_most

import regimeter
from regimeter import GPUProfiler, Run, _core

SLEEPING = _core.SAMPLE_STATES[6]
RECORD = [sys.executable, "-m", "regimeter", "record", "-q", "-o", "run.rgm"]


@pytest.fixture
def started(tmp_path):
    """Record a program of this text from its start on, with words for `record`; return its run."""

    def record(text: str, words: tuple[str, ...] = ("prog.py",), *, code: int = 0, **more: object) -> Run:
        (tmp_path / "prog.py").write_text(textwrap.dedent(text))
        done = subprocess.run([*RECORD, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300, **more)
        assert done.returncode == code, done.stderr
        return regimeter.load(tmp_path / "run.rgm")

    return record


@pytest.fixture
def program(tmp_path):
    """Record a program of this text from a warm process; return its run."""

    def record(text: str, *options: str) -> Run:
        return regimeter.load(warm.record(tmp_path, textwrap.dedent(text), *options, name="prog.py"))

    return record


def test_a_stack_is_that_of_the_program(started, tmp_path):
    run = started(
        """
        import time

        def inner():
            time.sleep(0.4)

        def outer():
            inner()

        outer()
        """
    )
    file = str(tmp_path / "prog.py")
    sleeping = count(run, lambda frames, state: (tuple(frames), state))
    expected = (("inner", file, 5), ("outer", file, 8), ("<module>", file, 10))
    assert sleeping.most_common(1)[0][0] == (expected, SLEEPING)
    spans = run.samples.span.tolist()
    within = [number for number, span in enumerate(spans) if span == 0]
    assert set(spans) <= {-1, 0}
    assert within == list(range(within[0], within[-1] + 1))  # the first and the last may lie outside the scope
    assert len(within) > 0.5 * len(spans)
    assert set(run.samples.lane.tolist()) == {0}
    assert run.environment["stacks"] == {"hz": 100.0, "reason": ""}


def test_off_by_default_and_by_zero(program):
    assert GPUProfiler()._stats()["host_samples"] == 0
    assert len(program("import time; time.sleep(0.1)", "--stacks", "0").samples) == 0


@pytest.mark.parametrize("rate", [0.5, 1001, float("nan"), -1])
def test_a_rate_out_of_range(rate):
    with pytest.raises(ValueError, match="1 to 1000 times a second"):
        GPUProfiler(stacks=rate)


def test_samples_survive_files(program, tmp_path):
    run = program("import time; time.sleep(0.3)")
    again = tmp_path / "again.rgm"
    run.save(again)
    kept = regimeter.load(again)
    for table in ("samples", "stacks"):
        for column in _core.schema()["run"][table]["columns"]:
            name = column["name"]
            assert getattr(kept.table(table), name).tolist() == getattr(run.table(table), name).tolist(), name
    assert len(kept.samples) > 10


@pytest.mark.parametrize(("number", "state"), [("end", "waiting_for_pipe"), ("0", "waiting_for_socket")])
def test_a_pipe_is_told_but_for_standard_input(program, number, state):
    run = program(
        f"""
        import os, time
        end, write = os.pipe()
        os.dup2(end, 0)
        if os.fork() == 0:
            time.sleep(0.4)
            os.write(write, b"x")
            os._exit(0)
        os.read({number}, 1)
        os.wait()
        """
    )
    states = count(run, lambda frames, state: state)
    assert states.most_common(1)[0][0] == state, states


def test_a_forked_child_has_samples_of_its_own(program, tmp_path):
    program(
        """
        import os, time
        def child():
            time.sleep(0.4)
        pid = os.fork()
        if pid == 0:
            child()
            os._exit(0)
        os.waitpid(pid, 0)
        """
    )
    (path,) = Path(tmp_path).glob("run.rgm.*")
    run = regimeter.load(path, recover=True)
    assert count(run, lambda frames, state: frames[0][0]).most_common(1)[0][0] == "child"


def test_a_spawned_child_has_samples_of_its_own(program, tmp_path):
    program(
        """
        import multiprocessing, time
        def child():
            time.sleep(0.4)
        if __name__ == "__main__":
            process = multiprocessing.get_context("spawn").Process(target=child)
            process.start()
            process.join()
        """
    )
    (path,) = Path(tmp_path).glob("run.rgm.*")
    run = regimeter.load(path)
    assert run.complete
    assert count(run, lambda frames, state: frames[0][0]).most_common(1)[0][0] == "child"


def test_other_children_see_nothing_of_it(started):
    started(
        """
        import os, subprocess, sys
        code = "import os, sys; sys.exit('regimeter' in sys.modules or 'PYTHONPATH' in os.environ)"
        subprocess.run([sys.executable, "-c", code], check=True)
        """,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )


def test_a_library_is_at_the_line_that_calls_it(program):
    # The clock is asked rarely: a call of the system is where others get the processor.
    run = program(
        "import textwrap, time; text = 'some words ' * 400\ndef wraps(end):\n"
        "    while time.thread_time() < end:\n"
        "        for _ in range(100): textwrap.wrap(text)\nwraps(time.thread_time() + 0.8)\n"
    )
    own, lines = run.lines(by="own").table, run.lines().table
    assert int(own.self.sum()) == int(lines.self.sum()) == len(run.samples)
    first = int(np.argmax(own.self))
    assert (run.string(own.function[first]), int(own.line[first])) == ("wraps", 4)
    # Importing the library takes its time, too, and what is left of the program's where others have the processors.
    inside = count(run, lambda frames, state: "wraps" in [frame[0] for frame in frames])[True]
    assert own.self[first] > 0.9 * inside > 20
    assert "textwrap.py" in {Path(run.string(name)).name for name in lines.file[lines.self > 0]}
    assert "textwrap.py" not in {Path(run.string(name)).name for name in own.file[own.self > 0]}


def test_a_generator_has_its_caller(program):
    """It gives values back all the time, and is met between its caller and none."""
    code = """
    import json
    json.encoder.c_make_encoder = None  # from Python 3.15 on it indents, too
    rows = [{"id": number, "name": str(number)} for number in range(20_000)]
    for _ in range(30):
        json.dumps(rows, indent=1)
    """
    found = count(program(code), lambda frames, _: frames[-1][0])
    assert found["<module>"] > 20, found
    assert found["<module>"] > 0.9 * found.total(), found  # half without a second look


def test_a_changed_switch_interval(program):
    run = program(
        """
        import sys, time
        sys.setswitchinterval(5.0)
        def busy():
            end = time.thread_time() + 0.4
            while time.thread_time() < end:
                pass
        busy()
        """,
        "--stacks",
        "500",
    )
    assert count(run, lambda frames, state: frames[0][0])["busy"] > 0.8 * len(run.samples)


# --- how programs begin and end -----------------------------------------------------------------------------------

BUSY = """
import os, sys, time
def busy():
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        pass
busy()
"""


@pytest.mark.parametrize(
    ("words", "stdin", "file"),
    [(("-c", BUSY), None, "<string>"), (("-",), BUSY, "<stdin>"), (("-m", "prog"), None, "")],
)
def test_programs_without_a_file(words, stdin, file, started, tmp_path):
    run = started(BUSY, words=words, input=stdin)
    found = count(run, lambda frames, state: frames[0][:2])
    assert found_most(found) == ("busy", file or str(tmp_path / "prog.py"))


@pytest.mark.parametrize(
    ("end", "code"), [("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", 137), ("sys.exit(2)", 2), ("1/0", 1)]
)
def test_however_it_ends(end, code, started):
    run = started(BUSY + end, code=-9 if code == 137 else code)
    assert count(run, lambda frames, state: frames[0][0])["busy"] >= 3


def test_exec_leaves_both_recordings(started, tmp_path):
    run = started(BUSY + "if len(sys.argv) < 2: os.execv(sys.executable, [sys.executable, 'prog.py', 'again'])")
    assert count(run, lambda frames, state: frames[0][0])["busy"] >= 3
    before = regimeter.load(tmp_path / "run.rgm.unfinished-1", recover=True)
    assert count(before, lambda frames, state: frames[0][0])["busy"] > 10


def test_a_program_with_a_profiler_has_samples_in_its_scopes(program):
    run = program(
        """
        import regimeter, time
        profiler = regimeter.GPUProfiler()
        with profiler.profile("outer", device="cpu"):
            with profiler.profile("inner", device="cpu"):
                time.sleep(0.3)
        """
    )
    spans = run.samples.span.tolist()
    inside = [run.string(run.spans.name[span]) for span in spans if span >= 0]
    assert inside.count("inner") > 0.5 * len(spans)
    tree = run.sampled()
    kinds = [_core.SPAN_KINDS[kind] for kind in tree.spans.kind.tolist()]
    assert "scope" in kinds
    assert "python" in kinds


def test_threads_in_more_than_one_interpreter_are_refused():
    code = """
try:
    import _interpreters as other
except ImportError:
    import _xxsubinterpreters as other
import regimeter, warnings
kept = other.create()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    profiler = regimeter.GPUProfiler(stacks=100)
    with profiler.profile("x", device="cpu"):
        pass
assert "more than one interpreter" in str(told[0].message), told
assert "more than one interpreter" in profiler.run().environment["stacks"]["reason"]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_samples_that_another_interpreter_ends_tell_nothing_of_the_rest(program):
    """As of `concurrent.futures.InterpreterPoolExecutor`: the run was told to be what its first samples were."""
    run = program("""
        import time
        try:
            import _interpreters as other
        except ImportError:
            import _xxsubinterpreters as other
        def before():
            end = time.monotonic() + 0.2
            while time.monotonic() < end:
                pass
        before()
        kept = other.create()
        time.sleep(1.5)
    """)
    found = run.verdict()
    assert len(run.samples) > 0
    assert found.cause == "scope", (found.sentence, found.why)
    assert "more than one interpreter" in found.next
    alone = run.verdict({"verdict_unseen_ns": 1e18})
    assert alone.cause != "scope", (alone.sentence, alone.why)
