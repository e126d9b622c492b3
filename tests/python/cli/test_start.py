# SPDX-License-Identifier: Apache-2.0
"""What is imported, and started, before a user's code runs: all of it is time that the user waits."""

import json
import os
import platform
import subprocess
import sys

from regimeter.cli import supervise
from regimeter.system.description import describe_machine

# Before the program begins, the supervisor has imported none of these: each takes from 3 to 80 ms.
LATE = {"ctypes", "dataclasses", "gzip", "inspect", "numpy", "pathlib", "platform", "shutil", "tempfile", "torch"}
# What belongs to torch waits for it, and what counts instructions is for those who count.
LATE_IN_THE_PROGRAM = {
    "ctypes",
    "numpy",
    "subprocess",
    "torch",
    "regimeter.capture.structure.modules",
    "regimeter.public.run",
}


def printed(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_the_package_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import regimeter; print(*sorted(set(sys.modules) - before))"
    assert printed(code).split() == ["regimeter"]


def test_what_the_supervisor_imports_before_the_program(tmp_path):
    code = """if True:
        import json, os, sys
        from regimeter.cli import main, supervise

        def run_child(*_):
            print(json.dumps(sorted(sys.modules)), flush=True)
            os._exit(0)

        supervise.run_child = run_child
        main(["record", "-o", sys.argv[1], "-c", "pass"])
        """
    imported = set(json.loads(printed(code, str(tmp_path / "run.rgm"))))
    parser = "import argparse, sys; argparse.ArgumentParser().add_argument('--any', help='it'); print(*sys.modules)"
    assert "regimeter.cli.record" in imported
    assert imported & LATE <= set(printed(parser).split()), "what any command has: colours from 3.14 on"


def test_what_the_report_needs_is_imported_while_the_program_runs():
    code = """if True:
        import sys, time
        from regimeter.cli import record
        from regimeter.cli.ahead import Ahead

        for ended in (True, False):
            ahead = Ahead(record.needed_at_the_end, 0.05)
            ahead.begin(0)
            if ended:
                with ahead:
                    pass
            until = time.monotonic() + (0.5 if ended else 60)
            while "regimeter.analysis.waiting" not in sys.modules and time.monotonic() < until:
                time.sleep(0.01)
            print("regimeter.cli.outcome" in sys.modules, "regimeter.analysis.waiting" in sys.modules)
        from regimeter.analysis import waiting  # waits for the other thread to end it
        waiting.VERBS
        """
    assert printed(code).split() == ["False", "False", "True", "True"]


def test_the_interpreter_does_not_end_in_the_midst_of_a_step():
    code = """if True:
        import time
        from regimeter.cli.ahead import Ahead

        begun, done = [], []

        def steps():
            for number in range(3):
                begun.append(number)
                time.sleep(0.3)
                done.append(number)
                yield number

        with Ahead(steps, 0.0) as ahead:
            ahead.begin(0)
            while not begun:
                time.sleep(0.001)
        print(begun == done, len(done) < 3)
        time.sleep(0.5)
        print(begun == done, len(done) < 3)
        """
    assert printed(code).split() == ["True"] * 4


def test_the_report_imports_nothing_beyond_that(tmp_path):
    code = """if True:
        import json, sys
        from regimeter.cli import main, record, supervise

        run_child, before = supervise.run_child, set()

        def run_child_after_imports(*all):
            for _ in record.needed_at_the_end():
                pass
            before.update(sys.modules)
            return run_child(*all)

        supervise.run_child = run_child_after_imports
        assert main(["record", "-o", sys.argv[1], "-c", "sum(i * i for i in range(2_000_000))"]) == 0
        late = sorted(set(sys.modules) - before)
        main(["show", sys.argv[1]])
        print(json.dumps([late, "numpy" in sys.modules]))
        """
    late, numpy = json.loads(printed(code, str(tmp_path / "run.rgm")).splitlines()[-1])
    assert [name for name in late if name.partition(".")[0] == "regimeter"] == []
    assert not numpy, "45 ms, for a verdict and a table"


def test_the_supervisor_looks_more_rarely_beside_a_profiler_the_longer_a_program_runs():
    beside, alone = supervise.beside_a_profiler(), supervise.MemorySamples(10_000_000)
    pauses = []
    for second in range(30):
        for samples in (beside, alone):
            samples.add(second * 1_000_000_000, second)
        pauses.append((beside.pause_s(), alone.pause_s()))
    assert [round(10 * pause) for pause, _ in pauses[:12]] == [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]
    assert set(pauses[11:]) == {(1.0, 0.01)}


def test_what_is_imported_and_started_in_the_program(tmp_path):
    code = "import json, resource, sys; print(json.dumps([sorted(sys.modules), resource.getrusage(-1).ru_maxrss]))"
    command = [sys.executable, "-m", "regimeter", "record", "-q", "-o", str(tmp_path / "run.rgm"), "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported, memory_of_children = json.loads(done.stdout)
    assert "regimeter.public.standin" in imported
    assert set(imported) & LATE_IN_THE_PROGRAM == set()
    assert memory_of_children == 0  # no process was started and waited for


def test_the_platform_is_what_python_tells():
    assert describe_machine()["platform"] == platform.platform()


def test_what_records_is_imported_aside_and_the_program_sees_nothing_of_it(tmp_path):
    """In a thread, whose heap is another one. A sitecustomize of the user's comes first, and sees who imports."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, _thread\nseen = {}\nclass Finder:\n    def find_spec(self, name, *_):\n"
        "        seen.setdefault(name, _thread.get_ident())\nsys.meta_path.insert(0, Finder())\n"
    )
    (tmp_path / "prog.py").write_text(
        "import json, sitecustomize, threading\nmain = threading.main_thread()\n"
        "assert main is threading.current_thread()\n"
        "assert len(threading.enumerate()) == 1\nassert threading.Thread().name == 'Thread-1'\n"
        "print(json.dumps([name for name, thread in sitecustomize.seen.items() if thread == main.ident]))\n"
    )
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "regimeter", "record", "-q", "-o", "run.rgm", "prog.py"],
        cwd=tmp_path, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert [name for name in json.loads(done.stdout) if name.partition(".")[0] == "regimeter"] == []
    assert "1 scope" in done.stderr
