# SPDX-License-Identifier: Apache-2.0
"""`regimeter record`: the program behaves as without us, and there is data and a report however it ends."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from published import check

import regimeter
from regimeter import GPUProfiler
from regimeter.run.environment import Environment

RECORD = [sys.executable, "-m", "regimeter", "record"]
SCOPES = """
    import regimeter
    profiler = regimeter.get_profiler(enable_detailed_metrics=False)
    for _ in range(5):
        with profiler.profile("step", device="cpu"):
            pass
"""
# Counts what arrives, and tells on SIGUSR1, which the supervisor passes on after all that came before it.
COUNTER = """
    import os, signal, sys, time
    got = []
    def tell(*_):
        print(json.dumps(got), flush=True)
        os._exit(0)
    import json
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: got.append(number) or print("got", flush=True))
    signal.signal(signal.SIGUSR1, tell)
    print("ready", flush=True)
    while True:  # not pause(): a signal that comes just before it would be told only after the next one
        time.sleep(0.05)
"""


@pytest.fixture
def program(tmp_path):
    """Write a program and return its name; the tests run in its folder."""

    def write(text: str, name: str = "prog.py") -> str:
        (tmp_path / name).write_text(textwrap.dedent(text))
        return name

    return write


@pytest.fixture
def run_in(tmp_path):
    """Run a command in the test's folder."""

    def run(*words: object, **options: object) -> "subprocess.CompletedProcess[str]":
        options.setdefault("stdin", subprocess.DEVNULL) if "input" not in options else None
        return subprocess.run(
            [str(word) for word in words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            **options,
        )

    return run


@pytest.fixture
def record(run_in):
    """Record to run.rgm."""

    def run(*words: object, options: tuple[str, ...] = ("-o", "run.rgm"), **others: object):
        return run_in(*RECORD, *options, *words, **others)

    return run


@pytest.fixture
def start(tmp_path):
    """Start `record -q -o run.rgm` and leave it running."""
    started = []

    def begin(*words: str, **options: object) -> "subprocess.Popen[str]":
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True} | options
        process = subprocess.Popen([*RECORD, "-q", "-o", "run.rgm", *words], cwd=tmp_path, text=True, **options)
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def names(run: regimeter.Run) -> list[str]:
    return [run.strings[name] for name in run.spans.name.tolist()]


# --- as without us ------------------------------------------------------------------------------------------------

FACTS = """
    import json, signal, sys
    print(json.dumps({
        "argv": sys.argv, "path": sys.path, "name": __name__, "file": globals().get("__file__"),
        "package": __package__, "spec": getattr(__spec__, "name", None),
        "main": vars(sys.modules["__main__"]) is globals(),
        "flags": [tuple(sys.flags), sys.warnoptions, sorted(sys._xoptions)],
        "imported": sorted(name for name in sys.modules if name.startswith("regimeter")),
        "ignored": [s for s in (1, 2, 13, 15, 17) if signal.getsignal(s) is signal.SIG_IGN],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "frames": len(__import__("inspect").stack()),
    }))
"""


@pytest.mark.parametrize(
    "words",
    [["prog.py"], ["prog.py", "-o", "x", "--", "-m", "--json"], ["./prog.py"], ["-m", "prog", "-q"], ["folder"]],
)
@pytest.mark.parametrize("flags", [[], ["-O", "-X", "dev", "-W", "ignore::DeprecationWarning", "-P"]])
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


def test_standard_output_holds_nothing_of_ours(program, record):
    done = record(program(SCOPES + "    print('mine')"))
    assert done.stdout == "mine\n"
    assert "step" in done.stderr


@pytest.mark.parametrize(
    ("code", "expected"),
    [("", 0), ("import sys; sys.exit(7)", 7), ("import sys; sys.exit('text')", 1), ("1/0", 1), ("def", 1)],
)
def test_exit_codes(code, expected, program, record):
    assert record(program(code)).returncode == expected


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
        assert f"regimeter: also run.rgm.{pid}: 1 scope of process {pid}\n" in done.stderr
        run = regimeter.load(tmp_path / f"run.rgm.{pid}")
        assert (names(run), run.complete) == (["child"], True)
    assert names(regimeter.load(tmp_path / "run.rgm")) == ["parent"]
    assert sorted(os.listdir(tmp_path)) == sorted(["prog.py", "run.rgm", *(f"run.rgm.{pid}" for pid in pids)])


# --- how it ends --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("raise ValueError", 1),
        ("import sys; sys.exit(3)", 3),
        ("profiler.flush(); import os; os._exit(4)", 4),
        ("profiler.flush(); import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("profiler.flush(); import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("profiler.flush(); import os; os.abort()", -signal.SIGABRT),
        ("raise KeyboardInterrupt", -signal.SIGINT),
    ],
)
def test_data_and_report_in_every_case(ending, code, program, record, tmp_path):
    done = record(program(SCOPES + f"    {ending}"), options=("-o", "run.rgm", "--html", "report.html"))
    assert done.returncode == code, done.stderr
    assert names(regimeter.load(tmp_path / "run.rgm")) == ["step"] * 5
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert "regimeter: run.rgm: 5 scopes" in done.stderr
    if code < 0:
        assert f"the program was ended by {signal.Signals(-code).name}" in done.stderr
    if "flush" in ending:
        assert "unfinished" in done.stderr


@pytest.mark.parametrize("ending", ["pass", "1/0", "import os; os._exit(1)", "import os; os.kill(os.getpid(), 9)"])
def test_a_program_without_scopes_is_one_scope(ending, program, record, tmp_path):
    done = record(
        program(f"kept = bytearray(30_000_000)\n{ending}", "plain.py"),
        options=("-o", "run.rgm", "--interval", "1", "--stacks", "0", "--no-structure"),
    )
    run = regimeter.load(tmp_path / "run.rgm")
    entry = run.get_entries()[0]
    assert names(run) == ["plain.py"]
    assert (entry.device, entry.failed, entry.parent) == ("cpu", ending != "pass", None)
    assert (run.memory.bytes > 0).all()
    assert ((run.memory.time_ns >= run.start_ns) & (run.memory.time_ns <= run.end_ns)).all()
    assert run.environment["command"][-1] == "plain.py"
    assert run.cost["per_scope_ns"] == 0.0
    here = Environment.of(run.environment)
    assert (here.python, here.libraries, here.blas) == (None, None, None)  # of the recorder they would be
    assert here.cores
    assert here.cpu
    assert "recorded no scope of its own" in done.stderr


def test_a_profiler_without_scopes_counts_as_none(program, record, tmp_path):
    done = record(program("import regimeter; regimeter.get_profiler(enabled=False)"))
    assert done.returncode == 0, done.stderr
    run = regimeter.load(tmp_path / "run.rgm")
    assert names(run) == ["prog.py"]
    assert "numpy" in str(run.environment["libraries"]) or run.environment["libraries"] == {}


def test_a_cut_recording_is_made_readable(program, record, tmp_path):
    # What a kill in the middle of a write leaves.
    name = program(
        SCOPES
        + """
    import os
    profiler.flush()
    with open(profiler.path, "ab") as file:
        file.write(b"torn")
    os._exit(0)
    """
    )
    done = record(name)
    assert "4 corrupt_bytes" in done.stderr
    run = regimeter.load(tmp_path / "run.rgm")
    assert names(run) == ["step"] * 5
    assert not run.complete


def test_a_recording_that_the_program_removes(program, record, tmp_path):
    done = record(program(SCOPES + "    import os; os.unlink(profiler.path)"))
    assert done.returncode == 1
    assert "run.rgm was removed while the program ran; what the program had recorded there is lost" in done.stderr
    assert "recorded no scope" not in done.stderr
    assert names(regimeter.load(tmp_path / "run.rgm")) == ["prog.py"]


def test_a_recording_whose_folder_the_program_removes(program, record, tmp_path):
    (tmp_path / "dd").mkdir()
    name = program(SCOPES + "    import shutil; shutil.rmtree('dd')")
    done = record(name, options=("-o", "dd/run.rgm"))
    assert done.returncode == 1
    assert "dd/run.rgm was removed while the program ran, and its folder" in done.stderr
    assert "the recording is in" not in done.stderr
    assert "regimeter: not saved: " in done.stderr
    assert not (tmp_path / "dd").exists()


CHANGED = """
    import os
    profiler.flush()
    with open("other.txt", "w") as file:
        file.write("a text of the user")
"""


@pytest.mark.parametrize(
    "change",
    ["os.rename('other.txt', 'run.rgm')", "profiler.close(); os.rename('other.txt', 'run.rgm')",
     "open('run.rgm', 'w').write('a text of the user')",
     "profiler.close(); open('run.rgm', 'w').write('a text of the user')"],
)  # fmt: skip
def test_a_file_that_the_program_puts_in_the_recordings_place_is_kept(change, program, record, tmp_path):
    done = record(program(SCOPES + CHANGED + f"    {change}"))
    assert done.returncode == 1
    assert (tmp_path / "run.rgm").read_text() == "a text of the user"
    assert "run.rgm is another file now, which was not written over; what the program had recorded" in done.stderr
    assert "recorded no scope of its own" not in done.stderr


def test_a_recording_that_the_program_empties(program, record, tmp_path):
    done = record(program(SCOPES + "    profiler.flush(); open('run.rgm', 'w').close()"))
    assert done.returncode == 1
    assert "run.rgm is empty: the program emptied it, or its disk has no room" in done.stderr


FULL = """
    import resource, regimeter
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
    profiler = regimeter.get_profiler(enable_detailed_metrics=False)
    for _ in range(20_000):
        with profiler.profile("step", device="cpu"):
            pass
"""


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_a_disk_that_fills_up_is_said_and_fails(options, program, record, tmp_path):
    done = record(program(FULL), options=("-o", "run.rgm", "--no-witness", "--stacks", "0", *options))
    assert done.returncode == 1
    run = regimeter.load(tmp_path / "run.rgm")
    missing = {row["code"]: row["count"] for row in run.anomaly_list()}
    assert len(run.spans) + missing["unwritten_rows"] == 20_000
    assert run.complete
    assert f"{missing['unwritten_rows']:,} scopes, samples or device rows found no room on the disk" in done.stderr
    assert "not closed" not in done.stderr


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own of 2 MB; skipped where none can be mounted."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here; the limit on file sizes has a test of its own")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


WARNED = """
    import os, sys, time, warnings
    import regimeter
    def told(message, *_, **__):
        print("WARNED", message, file=sys.stderr, flush=True)
        if "kill" in sys.argv:
            os.kill(os.getpid(), 9)
        if "free" in sys.argv:
            os.unlink(sys.argv[1])
    warnings.showwarning = told
    profiler = regimeter.get_profiler(enable_detailed_metrics=False)
    for _ in range(150_000):
        with profiler.profile("step", device="cpu"):
            pass
    deadline = time.monotonic() + 300
    while "kill" in sys.argv:  # asleep, as the interpreter looks for what is pending when it takes its lock
        time.sleep(0.01)
        if time.monotonic() > deadline:
            os._exit(3)
"""


@pytest.mark.parametrize("then", ["kill", "free", "nothing"])
def test_a_full_file_system(then, program, record, small_disk):
    (small_disk / "ballast").write_bytes(bytes(1_800_000 if then != "nothing" else 1_000_000))
    done = record(
        program(WARNED),
        small_disk / "ballast",
        then,
        options=("--no-witness", "--stacks", "0", "-o", small_disk / "run.rgm"),
    )
    assert done.stderr.count("WARNED") == 1
    assert "No space left on device" in done.stderr
    run = regimeter.load(small_disk / "run.rgm")
    missing = {row["code"]: row["count"] for row in run.anomaly_list()}
    if then == "kill":  # the warning came when it happened
        assert done.returncode == -signal.SIGKILL
        assert not run.complete
    elif then == "free":  # nothing that fits later is lost
        assert len(run.spans) + missing.get("unwritten_rows", 0) == 150_000
        assert len(run.spans) > 20_000
    else:
        assert done.returncode == 1
        assert len(run.spans) + missing["unwritten_rows"] + missing.get("dropped_scopes", 0) == 150_000


def test_images_of_exec_are_listed(program, record, tmp_path):
    name = program(SCOPES + """
    import os, sys
    profiler.flush()
    if len(sys.argv) < 3:
        with profiler.profile("open", device="cpu"):
            os.execv(sys.executable, [sys.executable, *sys.argv, "again"])
    """)  # fmt: skip
    done = record(name)
    assert done.returncode == 0
    assert "also run.rgm.unfinished-1: " in done.stderr
    assert "also run.rgm.unfinished-2: " in done.stderr


def test_a_killed_supervisor_takes_the_program_with_it(program, start, tmp_path):
    process = start(program(SCOPES + "    import signal\n    print('ready', flush=True)\n    signal.pause()"))
    assert process.stdout.readline() == "ready\n"
    process.kill()
    # The program holds the other end of the pipe: it is read to its end once the program is gone.
    assert process.communicate(timeout=300)[0] == ""
    assert (tmp_path / "run.rgm").stat().st_size > 0
    regimeter.load(tmp_path / "run.rgm", recover=True)


# --- signals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_a_signal_reaches_the_program_once(number, send, program, start):
    process = start(program(COUNTER))
    assert process.stdout.readline() == "ready\n"
    send(process.pid, number)
    assert process.stdout.readline() == "got\n"
    os.kill(process.pid, signal.SIGUSR1)
    out, err = process.communicate(timeout=300)
    assert json.loads(out) == [number]
    assert process.returncode == 0, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_program_that_is_ended_by_a_signal(number, program, start, tmp_path):
    process = start(
        program(
            SCOPES
            + "    import time\n    profiler.flush()\n    print('ready', flush=True)\n    while True: time.sleep(0.05)"
        )
    )
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, number)
    err = process.communicate(timeout=300)[1]
    assert process.returncode == -number
    assert "regimeter: run.rgm: 5 scopes" in err
    assert len(regimeter.load(tmp_path / "run.rgm").spans) == 5


def test_an_ignored_signal_stays_ignored(program, start):
    name = program("import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)")
    process = start(name, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert process.communicate(timeout=300)[0] == "True\n"


def test_ctrl_c_in_a_terminal_reaches_the_program_once(program, tmp_path):
    name = program(COUNTER)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [*RECORD, "-q", "-o", "run.rgm", name])
    seen = b""

    def read_until(mark: bytes) -> None:
        nonlocal seen
        while mark not in seen:
            assert select.select([terminal], [], [], 60)[0], seen
            seen += os.read(terminal, 4096)

    try:
        read_until(b"ready\r\n")
        os.write(terminal, b"\x03")
        read_until(b"got\r\n")
        os.kill(pid, signal.SIGUSR1)
        read_until(b"[2]\r\n")
        with contextlib.suppress(OSError):
            while os.read(terminal, 4096):
                pass
    finally:
        os.close(terminal)
        status = os.waitpid(pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0
    assert b"[2, 2]" not in seen


@pytest.mark.parametrize("interpreter", ["python", "python3", sys.executable])
def test_python_may_stand_before_the_program(interpreter, program, run_in, tmp_path):
    done = run_in(*RECORD, "-o", "run.rgm", "--", interpreter, program(SCOPES))
    assert done.returncode == 0, done.stderr
    assert regimeter.load(tmp_path / "run.rgm").environment["command"][-1].endswith(".py")


def test_another_python_is_one_clear_error(program, run_in, tmp_path):
    other = tmp_path / "bin/python3"
    other.parent.mkdir()
    other.write_text("")
    done = run_in(*RECORD, str(other), program(SCOPES))
    assert done.returncode == 2
    assert (
        done.stderr.rstrip()
        == f"regimeter: {other}: another Python than {sys.executable}, where regimeter is installed"
    )


# --- files --------------------------------------------------------------------------------------------------------


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


def test_every_profiler_without_a_file_is_recorded(program, record, tmp_path):
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
    done = record(name)
    assert "also run.rgm.2: 1 scope" in done.stderr
    # The third one recorded nothing, so it leaves no file.
    assert sorted(os.listdir(tmp_path)) == ["own.rgm", "prog.py", "run.rgm", "run.rgm.2"]


def test_older_files_beside_the_run_are_left_alone(program, record, tmp_path):
    with GPUProfiler(path=tmp_path / "run.rgm.99"):
        pass
    done = record(program(SCOPES))
    assert "run.rgm.99" not in done.stderr
    assert (tmp_path / "run.rgm.99").exists()


def test_a_program_that_changes_its_folder(program, record, tmp_path):
    assert record(program("import os; os.chdir('/')\n" + textwrap.dedent(SCOPES))).returncode == 0
    assert len(regimeter.load(tmp_path / "run.rgm").spans) == 5


def test_a_finished_recording_is_replaced_and_an_unfinished_one_kept(program, record, tmp_path):
    name = program(SCOPES)
    record(name)
    record(name)
    assert len(regimeter.load(tmp_path / "run.rgm").spans) == 5
    record(program(SCOPES + "    profiler.flush(); import os; os._exit(0)", "exits.py"))
    done = record(name)
    assert "kept as run.rgm.unfinished-1" in done.stderr
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


def test_a_file_that_is_being_written_is_refused(program, record, tmp_path, make_profiler):
    make_profiler(path=tmp_path / "run.rgm")
    done = record(program("print('has run')"))
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


def test_a_sample_rate_for_the_program(program, record, tmp_path):
    record(program(SCOPES), options=("-o", "run.rgm", "--sample-rate", "0"))
    run = regimeter.load(tmp_path / "run.rgm")
    assert names(run) == ["prog.py"]
    assert {row["code"]: row["count"] for row in run.anomaly_list()} == {"sampled_out": 5}


def test_memory_options_for_the_program(program, record, tmp_path):
    record(program(SCOPES), options=("-o", "run.rgm", "--track-memory", "--interval", "0"))
    run = regimeter.load(tmp_path / "run.rgm")
    assert {entry.memory_source for entry in run.get_entries()} == {"scope"}
    record(program("pass", "plain.py"), options=("-o", "run.rgm", "--interval", "0"))
    assert len(regimeter.load(tmp_path / "run.rgm").memory) == 0


def test_quiet_and_json(program, record):
    name = program(SCOPES)
    assert re.fullmatch(r"regimeter: run\.rgm: 5 scopes, .*\n", record(name, options=("-q", "-o", "run.rgm")).stderr)
    done = record(program("import sys; sys.exit(3)"), options=("--json", "-o", "run.rgm"))
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


def test_scopes_that_never_reached_the_file_are_not_denied(program, record):
    done = record(program(SCOPES + "    import os; os._exit(0)"))
    assert "recorded no scope of its own" not in done.stderr
