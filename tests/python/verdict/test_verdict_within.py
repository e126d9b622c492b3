# SPDX-License-Identifier: Apache-2.0
"""Where within a line of the program its time goes: the function of a library that most samples are in."""

import multiprocessing
import os
import shutil
import subprocess
import sys
from pathlib import Path

from verdicts import leading, verdict
from warm import record

import regimeter
from regimeter.suggest.verdict import Verdict

FOUND = """import difflib
words = [chr(97 + at * at % 23) for at in range(500)]
def compare():
    for _ in range(40):
        difflib.SequenceMatcher(None, words, words[::-1], autojunk=False).ratio()
compare()
"""
# A library that calls itself and ends in many functions.
SPREAD = """import ast
text = "value = [(1 + number * 2, {'name': str(number)}) for number in range(9) if number % 2]\\n"
text = (text + "other = (one + two * three) - four.five(six, seven)\\n") * 400
tree = ast.parse(text)
def read():
    for _ in range(40):
        ast.unparse(tree)
read()
"""
INNER = """import json
rows = [{"id": number, "name": str(number)} for number in range(20_000)]
def write():
    for _ in range(20):
        json.dumps(rows, indent=1)
write()
"""
OWN = """def work():
    total = 0
    for value in range(20_000_000):
        total += value % 7
work()
"""
SLEEPS = """import sched, time
def later():
    plan = sched.scheduler(time.monotonic)
    for _ in range(3):
        plan.enter(0.4, 1, print)
        plan.run()
later()
"""
COPY = """from multiprocess import Manager, Pool
from queue import Empty
def work(count):
    return sum(value % 7 for value in range(count))
def ask():
    with Manager() as manager, Pool(2) as pool:
        words = manager.Queue()
        left = pool.map_async(work, [400_000] * 30, chunksize=1)
        while not left.ready():
            try:
                words.get(timeout=0.05)
            except Empty:
                pass
if __name__ == "__main__":
    ask()
"""


def of(folder: Path, program: str, policy: dict[str, float] | None = None) -> Verdict:
    """Record a program; its verdict."""
    found = regimeter.load(record(folder, program)).verdict(policy or {})
    assert found is not None
    return found


def test_the_function_that_has_most_of_a_line_is_named(tmp_path: Path) -> None:
    found = of(tmp_path, FOUND)
    first = found.causes[0]
    assert first.place.startswith("compare (program.py:")
    assert first.inner.startswith("SequenceMatcher.find_longest_match (difflib.py:"), found.why
    assert first.inner_share is not None
    assert 0.5 <= first.inner_share <= 1
    assert f" of that within {first.inner}" in found.why
    assert f"spends its time within {first.inner}" in found.next


def test_a_function_that_calls_many_is_named_where_none_of_these_has_most(tmp_path: Path) -> None:
    first = of(tmp_path, SPREAD).causes[0]
    assert first.place.startswith("read (program.py:")
    assert first.inner.partition("(")[2].startswith(("ast.py:", "_ast_unparse.py:"))
    assert first.inner_share is not None
    assert first.inner_share < 0.95  # ast.unparse has all of it


def test_functions_made_within_others_are_not_named(tmp_path: Path) -> None:
    first = of(tmp_path, INNER).causes[0]
    assert first.place.startswith("write (program.py:")
    assert first.inner.startswith(("JSONEncoder.encode (encoder.py:", "JSONEncoder.iterencode (encoder.py:"))


def test_a_line_that_does_the_work_itself_has_no_function_within(tmp_path: Path) -> None:
    found = of(tmp_path, OWN)
    assert (found.causes[0].inner, found.causes[0].inner_share) == ("", None)
    assert " of that " not in found.why


def test_how_much_a_function_must_have_can_be_set(tmp_path: Path) -> None:
    assert of(tmp_path, FOUND, {"verdict_inner_share": 2.0}).causes[0].inner == ""


def test_who_sleeps_in_a_library_is_told_where(tmp_path: Path) -> None:
    found = of(tmp_path, SLEEPS)
    leading(found, "sleep")
    assert found.next.startswith("scheduler.run (sched.py:"), found.next
    assert "called in later (program.py:" in found.next


def test_a_copy_of_multiprocessing_is_told_like_it(tmp_path: Path) -> None:
    """As pathos and datasets have one: it differs in what pickles and in its name."""
    packages = tmp_path / "lib/site-packages"
    shutil.copytree(Path(multiprocessing.__file__).parent, packages / "multiprocess")
    for file in (packages / "multiprocess").glob("*.py"):
        file.write_text(
            file.read_text()
            .replace("'multiprocessing.", "'multiprocess.")
            .replace("from multiprocessing", "from multiprocess")
            .replace("import multiprocessing", "import multiprocess")
        )
    (tmp_path / "program.py").write_text(COPY)
    run = tmp_path / "run.rgm"
    command = [sys.executable, "-m", "regimeter", "record", "--quiet", "-o", str(run), "program.py"]
    subprocess.run(command, check=True, timeout=300, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(packages)})
    found = verdict(regimeter.load([run, *tmp_path.glob("run.rgm.*")]))
    first = leading(found, "child")
    assert first.place.startswith("work"), found.why
