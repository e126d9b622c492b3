# SPDX-License-Identifier: Apache-2.0
"""`record --memory`: a sample of what the process allocates, by who asked, against programs whose blocks are known."""

import functools
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from needed import package
from published import check
from shared import once

import regimeter
from regimeter import GPUProfiler, Run, _core
from regimeter.system import preload

TOOL = [sys.executable, "-m", "regimeter"]
MB = 1_000_000


def recorded(folder: Path, text: str) -> Run:
    """Record a program of this text with its allocations; return its run."""
    (folder / "prog.py").write_text(textwrap.dedent(text))
    command = [*TOOL, "record", "-q", "--memory", "-o", "run.rgm", "prog.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return regimeter.load(folder / "run.rgm")


@pytest.fixture
def record(tmp_path):
    return functools.partial(recorded, tmp_path)


def by_line(run: Run) -> dict[str, dict[str, int]]:
    """Return rows of allocations by "function:line", of the program's own lines."""
    rows = run.result("allocations", by="own")
    return {f"{row['function']}:{row['line']}": row for row in rows if row["file"].endswith("prog.py")}


def test_large_blocks_are_told_as_they_are(record):
    run = record("""
        kept = []
        def keep():
            kept.append(bytearray(8_000_000))
        def pass_by():
            return len(bytearray(8_000_000))
        for _ in range(20):
            keep()
            pass_by()
    """)
    rows = by_line(run)
    kept, passed = rows["keep:4"], rows["pass_by:6"]
    assert kept["kept_bytes"] == kept["allocated_bytes"] == pytest.approx(160 * MB, rel=0.01)
    assert kept["kept_blocks"] == 20
    assert passed["allocated_bytes"] == pytest.approx(160 * MB, rel=0.01)
    assert passed["end_bytes"] == 0
    assert passed["peak_bytes"] < 20 * MB


@pytest.mark.parametrize(
    ("last", "function"),
    [("kept = bytes(80_000_000)", "<module>"), ("kept = list(map(lambda n: bytes(n), [80_000_000]))", "<lambda>")],
)
def test_code_that_goes_right_after_has_its_line(record, last, function):
    """The code of a module is gone when its last statement has run, and with it what it made for that."""
    run = record(f"import time\n\ntime.sleep(0.05)\n{last}\n")
    assert by_line(run)[f"{function}:4"]["allocated_bytes"] == pytest.approx(80 * MB, rel=0.01)


SMALL = {  # what makes a block: its bytes, how often it is made
    "[None] * 4": (88, 900_000),  # 56 bytes of the object, 32 of its items
    "bytes(1000)": (1033, 100_000),
    "(ctypes.c_char * 3000)()": (3000, 40_000),
    "realloc(malloc(1000), 5000)": (5000, 20_000),
    "calloc(50, 100)": (5000, 20_000),
    "aligned(256, 5120)": (5120, 20_000),
}
HEAD = """
import ctypes
libc = ctypes.CDLL(None)
malloc, calloc, realloc, aligned = libc.malloc, libc.calloc, libc.realloc, libc.aligned_alloc
for function in (malloc, calloc, realloc, aligned):
    function.restype = ctypes.c_void_p
malloc.argtypes, calloc.argtypes = [ctypes.c_size_t], [ctypes.c_size_t] * 2
realloc.argtypes, aligned.argtypes = [ctypes.c_void_p, ctypes.c_size_t], [ctypes.c_size_t] * 2
kept = []
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> dict[str, dict[str, int]]:
    """One program that makes small blocks in all these ways, each in a function of its own; rows by line."""
    parts = [
        f"def keep{number}():\n    for _ in range({calls}):\n        kept.append({made})\nkeep{number}()\n"
        for number, (made, (_, calls)) in enumerate(SMALL.items())
    ]
    folder = once(tmp_path_factory, "small-blocks", lambda folder: recorded(folder, HEAD + "".join(parts)))
    return by_line(regimeter.load(folder / "run.rgm"))


@pytest.mark.parametrize("made", SMALL)
def test_many_small_blocks_are_told_by_a_sample(made, small):
    each, calls = SMALL[made]
    number = list(SMALL).index(made)
    row = small[f"keep{number}:{HEAD.count(chr(10)) + 4 * number + 3}"]
    # Each of the blocks that were drawn stands for some half a megabyte: five standard errors, and the list's own.
    expected = each * calls
    assert abs(row["kept_bytes"] - expected) < 5 * (expected * 600_000) ** 0.5 + 10 * MB


def test_arrays_of_numpy_and_tensors_of_torch(record):
    package("torch")
    run = record("""
        import numpy, torch
        arrays, tensors = [], []
        for _ in range(10):
            arrays.append(numpy.ones(1_000_000))
            tensors.append(torch.ones(1_000_000))
        weight = torch.ones(1000, 1000, requires_grad=True)
        graphs = [(torch.ones(1000, 1000) @ weight).relu() for _ in range(5)]
    """)
    rows = by_line(run)
    assert rows["<module>:5"]["kept_bytes"] == pytest.approx(80 * MB, rel=0.05)
    assert rows["<module>:6"]["kept_bytes"] == pytest.approx(40 * MB, rel=0.05)
    graphs = rows.get("<listcomp>:8") or rows["<module>:8"]  # from Python 3.12 on it is no function of its own
    assert graphs["kept_bytes"] > 30 * MB


def test_threads_ask_each_for_themselves(record):
    run = record("""
        import threading
        kept = []
        def first():
            for _ in range(3000):
                kept.append(bytes(20_000))
        def second():
            for _ in range(3000):
                bytes(20_000)
        threads = [threading.Thread(target=target) for target in (first, second) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """)
    rows = by_line(run)
    assert rows["first:6"]["kept_bytes"] == pytest.approx(240 * MB, rel=0.25)
    assert rows["second:9"]["allocated_bytes"] == pytest.approx(240 * MB, rel=0.25)
    assert rows["second:9"]["kept_bytes"] == 0


def test_the_program_sees_its_own_environment(record, tmp_path):
    record(
        """
        import json, os, subprocess, sys
        names = ("LD_PRELOAD", "PYTHONMALLOC", "PYTHONPATH", "REGIMETER_RECORD_LD_PRELOAD")
        mine = {name: os.environ.get(name) for name in names}
        code = f"import json, os; print(json.dumps({{name: os.environ.get(name) for name in {names!r}}}))"
        child = subprocess.run([sys.executable, "-c", code], capture_output=True, env=dict(os.environ))
        ours = json.loads(child.stdout)
        json.dump([mine, ours], open("seen.json", "w"))
        """,
    )
    mine, child = json.loads((tmp_path / "seen.json").read_text())
    expected = {"LD_PRELOAD": os.environ.get("LD_PRELOAD"), "PYTHONMALLOC": os.environ.get("PYTHONMALLOC"),
                "PYTHONPATH": os.environ.get("PYTHONPATH"), "REGIMETER_RECORD_LD_PRELOAD": None}  # fmt: skip
    assert mine == child == expected


def test_forked_and_spawned_processes_tell_their_own(record, tmp_path):
    record("""
        import multiprocessing
        kept = []
        def work():
            import regimeter
            with regimeter.profile("work", device="cpu"):
                for _ in range(10):
                    kept.append(bytearray(4_000_000))
        if __name__ == "__main__":
            for kind in ("fork", "spawn"):
                one = multiprocessing.get_context(kind).Process(target=work)
                one.start()
                one.join()
                assert one.exitcode == 0
    """)
    found = [by_line(regimeter.load(file)) for file in sorted(tmp_path.glob("run.rgm.*"))]
    assert len(found) == 2
    assert [rows["work:8"]["kept_bytes"] > 30 * MB for rows in found] == [True, True]


def test_the_verdict_names_the_line_that_keeps(record):
    run = record("""
        import time
        kept = []
        def compute():
            return sum(value % 7 for value in range(200_000))
        def keep():
            kept.append([bytes(40_000) for _ in range(50)])
        for _ in range(100):
            keep()
            compute()
    """)
    found = run.verdict()
    (grown,) = (one for one in found.causes if one.cause == "memory_growth")
    assert "prog.py:7" in grown.place
    assert 0.8 < grown.place_share <= 1
    assert "record --memory" not in found.next


def test_every_door_tells_the_sample(record, command, tmp_path):
    record("kept = [bytearray(3_000_000) for _ in range(50)]")
    words = ["memory", "run.rgm", "-o", "page.html"]
    said = command(*words).stdout
    assert said.startswith("A sample: of every 524 kB asked for")
    assert "prog.py:1)" in said
    document = check(json.loads(command(*words, "--json").stdout))
    assert document["drawn_bytes"] == 524_288
    assert document["growth"][0]["kept_bytes"] == pytest.approx(150 * MB, rel=0.1)
    assert "A sample: of every 524 kB" in (tmp_path / "page.html").read_text()
    assert "What each allocation takes longer is not in it" in " ".join(command("show", "run.rgm").stdout.split())
    assert command("report", "run.rgm", "-o", "report.html").returncode == 0


def test_what_is_not_possible_is_said(command, tmp_path):
    (tmp_path / "prog.py").write_text("pass")
    for options in (["--stacks", "0"], ["--count", "instructions"]):
        done = command("record", "--memory", *options, "prog.py")
        assert done.returncode == 2
        assert "--memory is not possible" in done.stderr
    with pytest.warns(RuntimeWarning, match="allocations are not watched: .*record --memory"):
        profiler = GPUProfiler(stacks=True, allocations=True, enable_detailed_metrics=False)
    profiler.close()
    assert "record --memory" in profiler.run().environment["allocations"]["reason"]
    with pytest.raises(ValueError, match="once in so many bytes"):
        GPUProfiler(stacks=True, allocations=-1)
    assert _core.heap_reason()


def test_a_second_session_does_not_take_the_watch(record):
    run = record("""
        import regimeter
        other = regimeter.GPUProfiler(path="other.rgm", stacks=True, allocations=True)
        with regimeter.profile("first", device="cpu"):
            kept = [bytearray(3_000_000) for _ in range(20)]
        with other.profile("second", device="cpu"):
            more = [bytearray(3_000_000) for _ in range(20)]
        other.close()
        last = [bytearray(3_000_000) for _ in range(20)]
    """)
    lines = by_line(run)
    assert sum(row["kept_bytes"] for row in lines.values()) == pytest.approx(180 * MB, rel=0.05)


def test_variables_go_behind_those_that_are_there():
    made = preload.variables({"LD_PRELOAD": "libother.so"})
    assert made["LD_PRELOAD"] == f"libother.so:{preload.LIBRARY}"
    assert made["REGIMETER_RECORD_LD_PRELOAD"] == "libother.so"
    assert Path(made["LD_PRELOAD"].rpartition(":")[2]).exists()


@pytest.fixture
def recorded_behind(tmp_path):
    """Record a program that loads a library of its own first: the text of the library, and of the program."""

    def run(text: str, program: str):
        compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
        source, library = tmp_path / "own.c", tmp_path / "libown.so"
        source.write_text(text)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        (tmp_path / "prog.py").write_text(program)
        done = subprocess.run(
            [*TOOL, "record", "--memory", "-o", "run.rgm", "prog.py"], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "LD_PRELOAD": str(library)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == str(library)
        return done, regimeter.load(tmp_path / "run.rgm")

    return run


def test_a_program_keeps_the_allocator_that_it_loads_first(recorded_behind):
    done, run = recorded_behind(
        "#include <stddef.h>\nextern void *__libc_malloc(size_t);\n"
        "void *malloc(size_t n) { return __libc_malloc(n); }\n",
        "import os; print(os.environ['LD_PRELOAD'])",
    )
    assert "allocations are not watched: another library" in done.stderr
    assert "another library" in run.environment["allocations"]["reason"]
    assert len(run.result("allocations")) == 0


def test_what_is_found_as_malloc_may_lead_on_to_the_watch(recorded_behind):
    """As in a program that always lies at the same address, Debian's Python: there it is an entry of its own."""
    done, run = recorded_behind(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stddef.h>\nstatic void *(*next)(size_t);\n"
        'void *malloc(size_t n) {\n    if (!next) next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");\n'
        "    return next(n);\n}\n",
        "import os\nprint(os.environ['LD_PRELOAD'])\nkept = []\n"
        "for _ in range(20):\n    kept.append(bytearray(3_000_000))\n",
    )
    assert "not watched" not in done.stderr
    assert by_line(run)["<module>:5"]["kept_bytes"] == pytest.approx(60 * MB, rel=0.05)
