# SPDX-License-Identifier: Apache-2.0
"""`regimeter record`: the program behaves as without us; files and options."""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from published import check
from recorded_program import RECORD, SCOPES, names

import regimeter
from regimeter import GPUProfiler, _core

# --- as without us ------------------------------------------------------------------------------------------------

FACTS = """
    import json, os, signal, sys
    print(json.dumps({
        "argv": sys.argv, "path": sys.path, "name": __name__, "file": globals().get("__file__"),
        "package": __package__, "spec": getattr(__spec__, "name", None),
        "main": vars(sys.modules["__main__"]) is globals(),
        "command": sys.orig_argv,
        "streams": [
            (s.encoding, s.errors, s.line_buffering, s.write_through) for s in (sys.stdin, sys.stdout, sys.stderr)
        ],
        "variables": {k: v for k, v in os.environ.items() if k.startswith("PYTHON")},
        "flags": [tuple(sys.flags), sys.warnoptions, sorted(sys._xoptions)],
        "imported": sorted(name for name in sys.modules if name.startswith("regimeter")),
        "ignored": [s for s in (1, 2, 13, 15, 17) if signal.getsignal(s) is signal.SIG_IGN],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "frames": len(__import__("inspect").stack()),
    }))
"""


FLAGS = ["-O", "-X", "dev", "-W", "ignore::DeprecationWarning", "-P"]


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["prog.py"], []),
        (["prog.py", "-o", "x", "--", "-m", "--json"], FLAGS),
        (["./prog.py"], []),
        (["-m", "prog", "-q"], []),
        (["-m", "prog", "-q"], FLAGS),
        (["folder"], []),
    ],
)
def test_the_program_sees_what_it_would_see(words, flags, program, run_in, tmp_path):
    program(FACTS)
    (tmp_path / "folder").mkdir()
    program(FACTS, "folder/__main__.py")
    if "-P" in flags and "-m" in words:
        flags = flags[:-1]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    plain = run_in(sys.executable, *flags, *words, env=environment)
    recorded = run_in(sys.executable, *flags, "-m", "regimeter", "record", "-q", *words, env=environment)
    assert recorded.stderr.count("\n") == 1, recorded.stderr
    assert without_ours(recorded.stdout) == without_ours(plain.stdout)


@pytest.mark.parametrize(
    ("variables", "options"),
    [
        ({"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1"}, []),
        ({"PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2", "PYTHONDEVMODE": "1", "PYTHONNOUSERSITE": "1"}, []),
        ({"PYTHONIOENCODING": "utf-8:replace", "PYTHONHASHSEED": "7"}, ["-u", "-Werror"]),
        ({"PYTHONPATH": "some/where", "PYTHONSTARTUP": "/nowhere"}, ["-B", "-W", "error"]),
    ],
)
def test_what_the_environment_says_is_left_to_it(variables, options, program, run_in, tmp_path):
    """It came to the program as options: sys.orig_argv was another, and `show` told of a command that nobody gave."""
    name = program(FACTS)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | variables
    plain = run_in(sys.executable, *options, name, env=environment)
    file = tmp_path / "ein Ordner é" / "run.rgm"
    file.parent.mkdir()
    recorded = run_in(
        sys.executable, *options, "-m", "regimeter", "record", "-q", "-o", str(file), name, env=environment
    )
    assert without_ours(recorded.stdout) == without_ours(plain.stdout), recorded.stderr
    assert file.exists()


def without_ours(facts: str) -> dict[str, object]:
    """Facts but for the modules of the profiler that stands in for one of the program."""
    return {name: fact for name, fact in json.loads(facts).items() if name != "imported"}


def test_without_stacks_and_structure_nothing_of_ours_is_imported(program, run_in):
    name = program(FACTS)
    recorded = run_in(*RECORD, "-q", "--stacks", "0", "--no-structure", name)
    assert json.loads(recorded.stdout) == json.loads(run_in(sys.executable, name).stdout)


def test_code_and_standard_input_as_the_program(program, run_in):
    text = textwrap.dedent(FACTS)
    for words, stdin in ((["-c", text, "a", "-b"], None), (["-c" + text], None), (["-", "a"], text)):
        plain = run_in(sys.executable, *words, input=stdin)
        recorded = run_in(*RECORD, "-q", *words, input=stdin)
        assert without_ours(recorded.stdout) == without_ours(plain.stdout)


def test_standard_input_is_inherited(program, record):
    name = program("import sys; print(sys.stdin.read().upper(), end='')")
    assert record(name, input="hello\n").stdout == "hello\n".upper()


def test_standard_output_holds_nothing_of_ours(program, record_warm):
    done = record_warm(program(SCOPES + "    print('mine')"))
    assert done.stdout == "mine\n"
    assert "step" in done.stderr


@pytest.mark.parametrize("code", ["import sys; sys.exit('text')", "def"])
def test_exit_codes(code, program, record):
    """What else a program ends with: test_data_and_report_in_every_case."""
    assert record(program(code)).returncode == 1


@pytest.mark.parametrize("words", [["prog.py"], ["-m", "prog"]])
def test_tracebacks_are_the_programs_own(words, program, record, run_in):
    program(
        SCOPES
        + """
    def inner():
        with profiler.profile("failing", device="cpu"):
            raise ValueError("on purpose") from KeyError("cause")
    inner()
    """
    )
    plain, recorded = run_in(sys.executable, *words), record(*words)
    assert "on purpose" in plain.stderr
    assert recorded.stderr.startswith(plain.stderr)
    assert recorded.returncode == plain.returncode == 1


def test_random_numbers_are_untouched(program, record, run_in):
    name = program(
        """
        import random, sys
        import numpy
        random.seed(1); numpy.random.seed(1)
        if len(sys.argv) > 1:
            import regimeter
            profiler = regimeter.get_profiler(sample_rate=0.5)
            for _ in range(100):
                with profiler.profile("step", device="cpu"):
                    pass
        print(random.random(), numpy.random.random())
        """
    )
    assert record(name, "scopes").stdout == run_in(sys.executable, name).stdout


def test_collections_of_the_program_look_through_nothing_of_ours(program, record, run_in):
    name = program(
        """
        import gc
        print(len(gc.get_objects()))
        class Last:
            def __del__(self):
                print(gc.get_freeze_count())
        last = Last()
        """
    )
    plain, recorded = (told.stdout.split() for told in (run_in(sys.executable, name), record(name)))
    assert int(recorded[0]) <= int(plain[0])
    assert recorded[1] == plain[1] == "0", "at the end it is as it would have been"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pickling_and_multiprocessing(method, program, record, tmp_path):
    name = program(
        """
        import multiprocessing, os, pickle, sys
        import regimeter

        class Mine:
            def __init__(self, pid): self.pid = pid

        def work(queue):
            with regimeter.profile("child", device="cpu"):
                queue.put(pickle.dumps(Mine(os.getpid())))

        if __name__ == "__main__":
            with regimeter.profile("parent", device="cpu"):
                context = multiprocessing.get_context(sys.argv[1])
                queue = context.SimpleQueue()
                children = [context.Process(target=work, args=(queue,)) for _ in range(2)]
                for child in children: child.start()
                for child in children: child.join()
                print(*sorted(pickle.loads(queue.get()).pid for _ in children))
        """
    )
    done = record(name, method)
    assert done.returncode == 0, done.stderr
    pids = done.stdout.split()
    assert len(pids) == 2
    for pid in pids:
        run = regimeter.load(tmp_path / f"run.rgm.{pid}")
        count = "1 scope" if len(run.spans) == 1 else f"{len(run.spans)} scopes"
        told = rf"^regimeter: also run\.rgm\.{pid}: {count} of process {pid}"
        # What limits it follows where it lasted for long enough.
        assert re.search(rf"{told}(: .* the run of .*)?$", done.stderr, re.M), done.stderr
        assert (names(run), run.complete) == (["child"], True)
    assert names(regimeter.load(tmp_path / "run.rgm")) == ["parent"]
    assert sorted(os.listdir(tmp_path)) == sorted(["prog.py", "run.rgm", *(f"run.rgm.{pid}" for pid in pids)])


# --- files --------------------------------------------------------------------------------------------------------


DAEMON = """
    import os, sys, threading, time
    free = os.dup(0)
    os.close(free)
    os.closerange(3, 4096)  # as a daemon does
    files = [open(f"{number}.bin", "wb+", buffering=0) for number in range(8)]
    for number in range(200, 208):  # those of the recording
        os.dup2(files[0].fileno(), number)
    for file in files:
        file.write(b"x" * 1_000_000)
    def work(rounds):
        return sum(value % 7 for value in range(rounds))
    waits = threading.Thread(target=time.sleep, args=(0.5,))
    waits.start()
    while waits.is_alive():
        work(20_000)
    for file in files:
        file.seek(0)
        print(file.read() == b"x" * 1_000_000, end=" ")
    print(free)
"""


def test_a_program_that_closes_all_files_loses_neither_its_own_nor_the_recording(program, record, run_in, tmp_path):
    done = record(program(DAEMON), options=("-o", "run.rgm"))
    assert done.returncode == 0, done.stderr
    bare = run_in(sys.executable, program(DAEMON))
    assert done.stdout == bare.stdout  # the number that is free, too
    assert done.stdout.split()[:-1] == ["True"] * 8
    assert all((tmp_path / f"{number}.bin").read_bytes() == b"x" * 1_000_000 for number in range(8))
    run = regimeter.load(tmp_path / "run.rgm")
    assert run.complete
    assert "cannot write" not in done.stderr
    states = {_core.SAMPLE_STATES[state] for state in run.samples.state.tolist()}
    assert "sleeping" in states
    assert states & {"interpreting", "calling", "running", "native", "waiting_for_processor"}
    last = run.samples.time_ns.max() - run.start_ns
    assert last > 0.4e9, last


def test_the_file_has_a_name_of_its_own(program, run_in, tmp_path):
    done = run_in(*RECORD, program(SCOPES, "my prog.py"))
    (file,) = tmp_path.glob("*.rgm")
    assert re.fullmatch(r"regimeter-my_prog-\d{8}-\d{6}\.rgm", file.name)
    assert done.stderr.splitlines()[-1] == f"Next: regimeter report {file.name} -o report.html"


def test_two_records_in_one_folder(program, tmp_path):
    name = program(SCOPES + "    print('ready', flush=True); input()")
    both = [
        subprocess.Popen(
            [*RECORD, name],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.communicate("\n", timeout=300)
        assert process.returncode == 0
    files = list(tmp_path.glob("regimeter-prog-*.rgm"))
    assert [len(regimeter.load(file).spans) for file in files] == [5, 5]


def test_every_profiler_without_a_file_is_recorded(program, record_warm, tmp_path):
    name = program(
        """
        import regimeter
        for place in (None, None, "own.rgm", None):
            profiler = regimeter.GPUProfiler(path=place)
            if place or profiler.path.endswith("run.rgm") or profiler.path.endswith(".2"):
                with profiler.profile("scope", device="cpu"):
                    pass
        """
    )
    done = record_warm(name)
    assert "also run.rgm.2: 1 scope" in done.stderr
    # The third one recorded nothing, so it leaves no file.
    assert sorted(os.listdir(tmp_path)) == ["own.rgm", "prog.py", "run.rgm", "run.rgm.2"]


def test_of_many_recordings_beside_it_twelve_are_named(program, record_warm):
    done = record_warm(
        program(
            """
            import regimeter
            for _ in range(15):
                with regimeter.GPUProfiler() as profiler, profiler.profile("scope", device="cpu"):
                    pass
            """
        )
    )
    assert done.stderr.count("also run.rgm.") == 12
    assert "and 2 more files run.rgm.*" in done.stderr


def test_the_end_of_a_program_is_no_recording_however_long_the_recorder_takes(program, record_warm, tmp_path):
    """On a machine that others kept busy a third file was left, with a verdict of the recorder's own ending."""
    name = program(
        """
        import time
        import regimeter
        from regimeter.public import standin

        class Late(regimeter.GPUProfiler):
            def close(self):
                time.sleep(0.2)
                super().close()

        for _ in range(2):
            with regimeter.GPUProfiler() as profiler, profiler.profile("scope", device="cpu"):
                standin.GPUProfiler = Late  # what stands in after it
        """
    )
    done = record_warm(name)
    assert "also run.rgm.2: 1 scope" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["prog.py", "run.rgm", "run.rgm.2"]


def test_older_files_beside_the_run_are_left_alone(program, record_warm, tmp_path):
    with GPUProfiler(path=tmp_path / "run.rgm.99"):
        pass
    done = record_warm(program(SCOPES))
    assert "run.rgm.99" not in done.stderr
    assert (tmp_path / "run.rgm.99").exists()


def test_another_recording_whose_name_begins_with_the_run_is_left_alone(program, record_warm, tmp_path):
    """Also one that was written while the program ran, and without a scope."""
    inner = program("print('nothing recorded')", "inner.py")
    outer = program(
        f"""
        import os, subprocess, sys
        env = {{name: value for name, value in os.environ.items() if not name.startswith("REGIMETER_")}}
        command = [sys.executable, "-m", "regimeter", "record", "-q", "-o", "run.rgm.10", "{inner}"]
        subprocess.run(command, env=env, check=True)
        open("run.rgm.11", "w").write("a log of the program")
        """
    )
    done = record_warm(outer)
    assert "also run.rgm.10" not in done.stderr
    assert "also run.rgm.11" not in done.stderr
    assert regimeter.load(tmp_path / "run.rgm.10").environment["recorded_program"]["file"] == "run.rgm.10"
    assert (tmp_path / "run.rgm.11").read_text() == "a log of the program"


def test_a_program_that_changes_its_folder(program, record_warm, tmp_path):
    assert record_warm(program("import os; os.chdir('/')\n" + textwrap.dedent(SCOPES))).returncode == 0
    assert len(regimeter.load(tmp_path / "run.rgm").spans) == 5


def test_a_finished_recording_is_replaced_and_an_unfinished_one_kept(program, record_warm, tmp_path):
    name = program(SCOPES)
    record_warm(name)
    record_warm(name)
    assert len(regimeter.load(tmp_path / "run.rgm").spans) == 5
    record_warm(program(SCOPES + "    profiler.flush(); import os; os._exit(0)", "exits.py"))
    done = record_warm(name)
    assert f"kept as {tmp_path}/run.rgm.unfinished-1" in done.stderr
    assert len(regimeter.load(tmp_path / "run.rgm.unfinished-1").spans) == 5


@pytest.mark.parametrize("words", [["-o", "no/run.rgm"], ["-o", "folder"], ["-o", "text.txt"], ["--html", "no/x.html"]])
def test_a_place_that_cannot_be_written_is_found_before_the_run(words, program, run_in, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").write_text("mine")
    done = run_in(*RECORD, *words, program("print('has run')"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("regimeter: ")
    assert done.stderr.count("\n") == 1
    assert words[1] in done.stderr
    assert (tmp_path / "text.txt").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["folder", "prog.py", "text.txt"]


def test_a_file_that_is_being_written_is_refused(program, record_warm, tmp_path, make_profiler):
    make_profiler(path=tmp_path / "run.rgm")
    done = record_warm(program("print('has run')"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "another session" in done.stderr


# --- options ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [[], ["--nonsense", "prog.py"], ["missing.py"], ["-m"], ["-c"], ["--interval", "-1", "prog.py"],
     ["--interval", "nan", "prog.py"], ["--sample-rate", "2", "prog.py"], ["--html", "prog.py"]],
)  # fmt: skip
def test_wrong_usage(words, program, run_in, tmp_path):
    program("print('has run')")
    done = run_in(*RECORD, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("regimeter: ")
    assert done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["prog.py"]


def test_a_sample_rate_for_the_program(program, record_warm, tmp_path):
    record_warm(program(SCOPES), options=("-o", "run.rgm", "--sample-rate", "0"))
    run = regimeter.load(tmp_path / "run.rgm")
    assert names(run) == ["prog.py"]
    assert {row["code"]: row["count"] for row in run.anomaly_list()} == {"sampled_out": 5}


def test_memory_options_for_the_program(program, record_warm, tmp_path):
    record_warm(program(SCOPES), options=("-o", "run.rgm", "--track-memory", "--interval", "0"))
    run = regimeter.load(tmp_path / "run.rgm")
    assert {entry.memory_source for entry in run.get_entries()} == {"scope"}
    record_warm(program("pass", "plain.py"), options=("-o", "run.rgm", "--interval", "0"))
    assert len(regimeter.load(tmp_path / "run.rgm").memory) == 0


def test_quiet_and_json(program, record_warm):
    name = program(SCOPES)
    assert re.fullmatch(
        r"regimeter: run\.rgm: 5 scopes, .*\n", record_warm(name, options=("-q", "-o", "run.rgm")).stderr
    )
    done = record_warm(program("import sys; sys.exit(3)"), options=("--json", "-o", "run.rgm"))
    found = check(json.loads(done.stderr))
    assert (found["exit_code"], found["killed_by"], found["scoped"], found["file"]) == (3, None, False, "run.rgm")
    assert found["summary"][0]["operation"] == "prog.py"


def test_a_closed_standard_error_keeps_the_exit_code(program, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    command = [*RECORD, "-o", "run.rgm", program("import sys; sys.exit(5)")]
    try:
        done = subprocess.run(command, cwd=tmp_path, stderr=writing, timeout=300, check=False)
    finally:
        os.close(writing)
    assert done.returncode == 5
    assert names(regimeter.load(tmp_path / "run.rgm")) == ["prog.py"]


def test_the_rest_of_the_environment_is_the_users(program, record, run_in):
    name = program("import json, os; print(json.dumps(dict(os.environ)))")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("REGIMETER_")}
    plain = json.loads(run_in(sys.executable, name, env=environment).stdout)
    recorded = json.loads(record(name, env=environment).stdout)
    added = {key: recorded.pop(key) for key in set(recorded) - set(plain)}
    assert recorded == plain
    assert set(added) == {"REGIMETER_RECORD", "REGIMETER_RECORD_OWNER", "REGIMETER_RECORD_OPTIONS"}


def test_the_variable_alone_records_too(program, run_in, tmp_path):
    done = run_in(sys.executable, program(SCOPES), env={**os.environ, "REGIMETER_RECORD": str(tmp_path / "run.rgm")})
    assert done.returncode == 0, done.stderr
    assert len(regimeter.load(tmp_path / "run.rgm").spans) == 5


def test_a_recording_that_cannot_be_opened_does_not_break_the_program(program, run_in, tmp_path: Path):
    (tmp_path / "run.rgm").write_text("not ours")
    done = run_in(sys.executable, program(SCOPES), env={**os.environ, "REGIMETER_RECORD": str(tmp_path / "run.rgm")})
    assert done.returncode == 0
    assert "recording continues in memory" in done.stderr
    assert (tmp_path / "run.rgm").read_text() == "not ours"


def test_scopes_that_never_reached_the_file_are_not_denied(program, record_warm):
    done = record_warm(program(SCOPES + "    import os; os._exit(0)"))
    assert "recorded no scope of its own" not in done.stderr
