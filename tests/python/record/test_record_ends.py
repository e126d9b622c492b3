# SPDX-License-Identifier: Apache-2.0
"""`regimeter record`: data and a report however the program ends, and its signals."""

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recorded_program import RECORD, SCOPES, names

import regimeter
from regimeter import _core
from regimeter.run.environment import Environment

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


def test_a_profiler_without_scopes_counts_as_none(program, record_warm, tmp_path):
    done = record_warm(program("import regimeter; regimeter.get_profiler(enabled=False)"))
    assert done.returncode == 0, done.stderr
    run = regimeter.load(tmp_path / "run.rgm")
    assert names(run) == ["prog.py"]
    assert "numpy" in str(run.environment["libraries"]) or run.environment["libraries"] == {}


def test_a_cut_recording_is_made_readable(program, record_warm, tmp_path):
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
    done = record_warm(name)
    assert "4 corrupt_bytes" in done.stderr
    run = regimeter.load(tmp_path / "run.rgm")
    assert names(run) == ["step"] * 5
    assert not run.complete


def test_a_recording_that_the_program_removes(program, record_warm, tmp_path):
    done = record_warm(program(SCOPES + "    import os; os.unlink(profiler.path)"))
    assert done.returncode == 1
    assert "run.rgm was removed while the program ran; what the program had recorded there is lost" in done.stderr
    assert "recorded no scope" not in done.stderr
    assert names(regimeter.load(tmp_path / "run.rgm")) == ["prog.py"]


def test_a_recording_whose_folder_the_program_removes(program, record_warm, tmp_path):
    (tmp_path / "dd").mkdir()
    name = program(SCOPES + "    import shutil; shutil.rmtree('dd')")
    done = record_warm(name, options=("-o", "dd/run.rgm"))
    assert done.returncode == 1
    assert "dd/run.rgm was removed while the program ran, and its folder" in done.stderr
    assert "the recording is in" not in done.stderr
    assert "regimeter: not saved: " in done.stderr
    assert not (tmp_path / "dd").exists()
    assert "Next:" not in done.stderr
    assert "stacks" not in done.stderr


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
def test_a_file_that_the_program_puts_in_the_recordings_place_is_kept(change, program, record_warm, tmp_path):
    done = record_warm(program(SCOPES + CHANGED + f"    {change}"))
    assert done.returncode == 1
    assert (tmp_path / "run.rgm").read_text() == "a text of the user"
    assert "run.rgm is another file now, which was not written over; what the program had recorded" in done.stderr
    assert "recorded no scope of its own" not in done.stderr


def test_a_recording_that_the_program_empties(program, record_warm, tmp_path):
    done = record_warm(program(SCOPES + "    profiler.flush(); open('run.rgm', 'w').close()"))
    assert done.returncode == 1
    assert "run.rgm is empty: the program emptied it, or its disk has no room" in done.stderr


FULL = """
    import resource, regimeter
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
    # No samples of memory either, so that what finds no room is scopes.
    profiler = regimeter.GPUProfiler(enable_detailed_metrics=False, memory_interval_ms=0)
    for _ in range(20_000):
        with profiler.profile("step", device="cpu"):
            pass
"""


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_a_disk_that_fills_up_is_said_and_fails(options, program, record_warm, tmp_path):
    done = record_warm(program(FULL), options=("-o", "run.rgm", "--no-witness", "--stacks", "0", *options))
    assert done.returncode == 1
    run = regimeter.load(tmp_path / "run.rgm")
    missing = {row["code"]: row["count"] for row in run.anomaly_list()}
    # One may have been written while it was open; then it is its end that found no room.
    assert len(run.spans) + missing["unwritten_rows"] == 20_000 + missing.get("open_scopes", 0)
    assert run.complete
    assert f"{missing['unwritten_rows']:,} scopes, samples or device rows found no room on the disk" in done.stderr
    assert "not closed" not in done.stderr


@pytest.mark.parametrize(("ending", "code"), [("", 1), ("sys.exit(3)", 3)])
def test_a_limit_below_the_length_of_the_recording_is_said_and_fails(ending, code, program, record_warm, tmp_path):
    text = (
        SCOPES + "    import resource, sys\n    profiler.flush()\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        f"    with profiler.profile('late', device='cpu'):\n        pass\n    {ending}"
    )
    done = record_warm(program(text))
    assert done.returncode == code, done.stderr
    run = regimeter.load(tmp_path / "run.rgm")
    assert names(run) == ["step"] * 5
    assert "journal_failed" in {row["code"] for row in run.anomaly_list()}
    assert "the recording found no room on the disk, or a limit on file sizes; the file lacks its end" in done.stderr


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
    profiler = regimeter.GPUProfiler(enable_detailed_metrics=False, memory_interval_ms=0)
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


@pytest.mark.parametrize(("then", "told"), [("os.execv('/bin/sleep', ['sleep', '1.5'])", True), ("os._exit(0)", False)])
def test_a_recording_that_ends_before_its_program_says_so(then, told, program, record):
    done = record(program(SCOPES + f"    profiler.flush()\n    import os\n    {then}"))
    assert done.returncode == 0, done.stderr
    assert "not closed by its program" in done.stderr
    assert ("s before the program did: " in done.stderr) == told, done.stderr


def test_a_killed_supervisor_takes_the_program_with_it(program, start, tmp_path):
    process = start(program(SCOPES + "    import signal\n    print('ready', flush=True)\n    signal.pause()"))
    assert process.stdout.readline() == "ready\n"
    process.kill()
    # The program holds the other end of the pipe: it is read to its end once the program is gone.
    assert process.communicate(timeout=300)[0] == ""
    assert (tmp_path / "run.rgm").stat().st_size > 0
    regimeter.load(tmp_path / "run.rgm", recover=True)


# --- signals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("send", "number"),
    [(os.kill, signal.SIGINT), (os.kill, signal.SIGTERM), (os.kill, signal.SIGHUP), (os.killpg, signal.SIGHUP)],
)
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


def test_who_waits_for_a_signal_and_is_stopped_meanwhile_gets_none() -> None:
    """Python's own sigtimedwait returns what lies in memory then."""
    waiting = (
        "import signal, sys\nfrom regimeter import _core\n"
        "waited = {signal.SIGUSR1, signal.SIGCHLD}\nsignal.pthread_sigmask(signal.SIG_BLOCK, waited)\n"
        "for seconds in (0.05, 0.05, 60.0):\n"
        "    print('waits', flush=True)\n    print(_core.next_signal(waited, seconds), flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", waiting], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(2):
            assert process.stdout.readline() == "waits\n"
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            time.sleep(0.1)
            process.send_signal(signal.SIGCONT)
            assert process.stdout.readline() == "None\n"
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.read() == f"waits\n{(int(signal.SIGUSR1), 0, os.getpid())}\n"
    for wrong, error in (((1, 2), TypeError), (({0}, 1.0), ValueError), (({1}, -1.0), ValueError)):
        with pytest.raises(error):
            _core.next_signal(*wrong)


def test_a_program_that_is_suspended_for_a_while_goes_on(program, start, tmp_path):
    """As by Ctrl-Z and fg, or by the scheduler of a cluster."""
    process = start(program("import time\nprint('there', flush=True)\nfor _ in range(10):\n    time.sleep(0.1)\n"))
    assert process.stdout.readline() == "there\n"
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for _ in range(5):
        os.kill(process.pid, signal.SIGSTOP)
        os.kill(int(child), signal.SIGSTOP)
        time.sleep(0.15)
        os.kill(int(child), signal.SIGCONT)
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.05)
    _, errors = process.communicate()
    assert (process.returncode, "Invalid" in errors) == (0, False), errors
    assert regimeter.load(tmp_path / "run.rgm").complete
