# SPDX-License-Identifier: Apache-2.0
"""Instructions in place of times: what a program is run under, what is recorded of it, and what is decided from it."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import needed
import pytest
from shared import once

from regimeter import ChangeType, UnavailableError, _core, compare_profiling_runs, load
from regimeter.cli import main
from regimeter.compare.decide import Options, decide
from regimeter.compare.rows import counted_row
from regimeter.compare.side import Samples, Side
from regimeter.run.environment import Environment
from regimeter.system import callgrind, preload

PROGRAM = """
import asyncio, gc, itertools, sys
from regimeter import GPUProfiler

assert not gc.isenabled()
profiler = GPUProfiler()
steps = round(2000 * float(sys.argv[1]))

def loop(steps):
    total = 0  # nothing is allocated: what one operation leaves in the heap moves the others by up to 1 %
    for _ in itertools.repeat(None, steps):
        total = (total + 3) & 127
    return total

@profiler.profile_function("function", device="cpu")
def function():
    loop(500)

async def task():
    async with profiler.profile("task", device="cpu"):
        loop(500)

again = profiler.profile("again", device="cpu")
for _ in range(6):
    with profiler.profile("outer", device="cpu"):
        with profiler.profile("loop", device="cpu"):
            loop(steps)
        for _ in range(3):
            with profiler.profile("empty", device="cpu"):
                pass
    function()
    asyncio.run(task())
    with again, again:
        loop(500)
"""


def samples(name, values):
    made = Samples()
    for value in values:
        made.add(name, [value])
    return made


def side(label, **operations):
    made = Side(label)
    for name, values in operations.items():
        made.metric("instructions").extend(samples(name, values))
    return made


def row_of(before, after):
    found = decide(side("baseline", work=before), side("current", work=after)).comparisons
    assert [row.metric for row in found] == ["instructions"]
    return found[0]


# --- deciding -------------------------------------------------------------------------------------------------


def test_equal_counts_are_equal():
    row = row_of([100_000, 100_100], [100_000, 100_100])
    assert (row.change_type, row.reason, row.change_percent) == (ChangeType.NO_CHANGE, "equal", 0.0)
    assert (row.tier, row.pairs, row.conclusive, row.q) == ("exact", 2, True, None)


def test_layouts_are_compared_one_by_one():
    before = [100_000, 104_000, 97_000, 99_000, 101_000]
    row = row_of(before, [value * 1.01 for value in before])
    assert row.change_type is ChangeType.REGRESSION
    assert row.change_percent == pytest.approx(1.0)
    assert row.low_percent == pytest.approx(1.0)
    assert row_of([value * 1.01 for value in before], before).change_type is ChangeType.IMPROVEMENT


def test_what_repeats_within_the_tolerance_is_no_change():
    row = row_of([100_000] * 5, [100_100, 99_900, 100_000, 100_050, 100_010])
    assert (row.change_type, row.reason, row.conclusive) == (ChangeType.NO_CHANGE, "below_threshold", True)


def test_one_layout_that_stands_apart_decides_nothing():
    made = decide(
        side("baseline", work=[100_000] * 5),
        side("current", work=[105_000, *[100_000] * 4]),
        Options(strict=True, metrics=("instructions",)),
    )
    row = made.comparisons[0]
    assert (row.change_type, row.reason, row.conclusive) == (ChangeType.NO_CHANGE, "layouts", False)
    assert row.change_percent == 0.0
    assert made.exit_code == 3
    assert decide(made.baseline, made.current).exit_code == 0


def test_with_eight_layouts_one_may_stand_apart():
    row = row_of([100_000] * 8, [99_000, *[101_000] * 7])
    assert row.change_type is ChangeType.REGRESSION
    assert row.low_percent == pytest.approx(1.0)
    assert row_of([100_000] * 7, [99_000, *[101_000] * 6]).reason == "layouts"


def test_new_operations_and_counts_of_nothing_need_no_ratio():
    assert row_of([0, 0], [0, 0]).reason == "equal"
    new = counted_row("work", "instructions", "", Samples(), samples("work", [5]), 0.003)
    assert new.change_type is ChangeType.NEW_OPERATION


def test_the_tolerance_is_a_policy():
    made = decide(
        side("baseline", work=[100_000]), side("current", work=[101_000]), Options(policy={"count_tolerance": 0.02})
    )
    assert made.comparisons[0].change_type is ChangeType.NO_CHANGE


# --- what a program runs in -----------------------------------------------------------------------------------


def size(environment):
    return sum(len(name) + len(value) + 2 for name, value in environment.items())


def test_a_layout_is_another_hash_seed_and_another_size_of_the_environment():
    first, second = (callgrind.environment({"HOME": "/home/me"}, layout) for layout in (1, 2))
    assert (first["PYTHONHASHSEED"], second["PYTHONHASHSEED"]) == ("1", "2")
    assert size(second) - size(first) == callgrind.STEP
    other = callgrind.environment({"HOME": "/home/somebody", "PYTHONPATH": "/a/tree/of/another/commit"}, 1)
    assert size(other) % callgrind.PAGE == size(first) % callgrind.PAGE


def test_without_valgrind_there_is_one_refusal_with_its_remedy(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    callgrind.version.cache_clear()
    with pytest.raises(UnavailableError, match="apt-get install valgrind"):
        callgrind.version()
    script = tmp_path / "program.py"
    script.write_text("")
    words = ["--base", str(script), "--current", str(script)]
    assert main(["ab", "--count", "instructions", *words]) != 0
    assert main(["record", "--count", "instructions", "-o", str(tmp_path / "run.rgm"), str(script)]) != 0
    assert capsys.readouterr().err.count("there is no valgrind: install it") == 2
    assert sorted(os.listdir(tmp_path)) == ["program.py"]


def test_outside_callgrind_nothing_is_counted(tmp_path):
    with pytest.raises(UnavailableError, match="does not run under Valgrind's Callgrind"):
        _core.count_open(str(tmp_path / "log"))
    assert _core.count_calls(lambda: 7, 3) == (None, 7)


# --- counting -------------------------------------------------------------------------------------------------


def record_both(folder):
    """Record a program, and it with 1 % more work in one operation."""
    script = folder / "program.py"
    script.write_text(PROGRAM)
    for name, factor in (("first", "1"), ("more", "1.01")):
        words = ["record", "--quiet", "--count", "instructions", "--layout", "3", "-o", str(folder / f"{name}.rgm")]
        command = [sys.executable, "-m", "regimeter", *words, str(script), factor]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "sitecustomize" not in done.stderr


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    callgrind.version.cache_clear()
    needed.need("valgrind", shutil.which("valgrind"))
    folder = once(tmp_path_factory, "counts", record_both)
    return {name: str(folder / f"{name}.rgm") for name in ("first", "more")}


def counts_of(file):
    run = load(file)
    found = {}
    for span, value in sorted(zip(run.tables.counters.span.tolist(), run.tables.counters.value.tolist(), strict=True)):
        found.setdefault(run.strings[run.spans.name[span]], []).append(int(value))
    return found


@pytest.mark.slow
def test_each_scope_has_the_instructions_of_its_thread_inside_it(counted):
    run, found = load(counted["first"]), counts_of(counted["first"])
    assert {name: len(values) for name, values in found.items()} == {
        "outer": 6, "loop": 6, "empty": 18, "function": 6, "task": 6, "again": 12
    }  # fmt: skip
    assert set(run.tables.counters.series.tolist()) == {run.strings.index("instructions")}
    assert all(0 < value < 1000 for value in found["empty"])
    for outer, loop in zip(found["outer"][2:], found["loop"][2:], strict=True):
        # What the profiler does at the scopes within is not the program's: thousands each, were it counted.
        assert loop < outer < loop + 12_000
    steady = found["loop"][-1]
    assert steady > 2000 * 20  # of the interpreter, some tens a step
    assert found["function"][-1] == pytest.approx(steady / 4, rel=0.2)
    assert found["task"][-1] == pytest.approx(steady / 4, rel=0.2)
    assert found["again"][-1] == pytest.approx(steady / 4, rel=0.2)
    told = run.environment["count"]
    assert (told["metric"], told["layout"], told["hash_seed"], told["collector"]) == ("instructions", "3", "3", "off")
    assert told["tool"].startswith("callgrind 3.")
    assert told["steady_heap"] is preload.STEADY.exists()


def test_counts_on_another_heap_are_another_quantity():
    told = {"metric": "instructions", "tool": "callgrind 3.19.0", "reason": ""}
    steady, own = (Environment.of({"count": told | {"steady_heap": value}}) for value in (True, False))
    assert steady.measured == f"{own.measured}, steady heap"
    other = callgrind.environment({"LD_PRELOAD": "libother.so"}, 1)
    assert (other["LD_PRELOAD"], other["PYTHONMALLOC"]) == ("libother.so", "pymalloc")


def test_counts_repeat_within_a_thousandth_and_one_percent_is_found(counted):
    more = compare_profiling_runs(counted["first"], counted["more"])
    assert {row.operation for row in more.get_regressions()} == {"loop", "outer"}
    assert not more.get_improvements()
    same = [row for row in more.comparisons if row.operation not in ("loop", "outer")]
    assert {row.operation for row in same} == {"empty", "function", "task", "again"}
    assert all(abs(row.change_percent) < 0.1 for row in same)
    assert more.exit_code == 1
    assert not more.wholes


def test_counts_are_not_compared_with_times(counted, tmp_path):
    timed = tmp_path / "timed.rgm"
    script = os.path.join(os.path.dirname(counted["first"]), "program.py")
    code = f"import gc, runpy, sys; gc.disable(); sys.argv = ['x', '1']; runpy.run_path({script!r})"
    words = ["record", "--quiet", "-o", str(timed), "-c", code]
    subprocess.run([sys.executable, "-m", "regimeter", *words], capture_output=True, check=True)
    made = compare_profiling_runs(str(timed), counted["first"])
    assert made.exit_code == 4
    assert "what was measured: baseline times, current instructions by callgrind" in made.nothing_compared


def test_the_reports_say_what_was_counted(counted, tmp_path):
    made = compare_profiling_runs(counted["first"], counted["more"])
    assert "instructions" in made.render("text")
    assert "1 layout" in made.render("text")
    assert "instructions" in made.render("html")
    made.export_comparison(tmp_path / "kept.json")
    kept = type(made).load(tmp_path / "kept.json")
    assert [replace(row) for row in kept.comparisons] == made.comparisons
