# SPDX-License-Identifier: Apache-2.0
"""The programs of benchmarks/suggestions, in short: each fault is found first in a real recording.

Times are not looked at, but which rule comes first hangs on them: a neighbour on the machine may hide a fault that
takes milliseconds, so a program is recorded up to three times.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from needed import package

package("torch")
ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "benchmarks/suggestions/run.py").exists():
    pytest.skip("the benchmarks are not here", allow_module_level=True)
PROGRAMS = sorted(
    file.stem
    for file in (ROOT / "benchmarks/suggestions").glob("*.py")
    if file.stem not in {"__init__", "program", "record", "run"}
)
# A repair that leaves some of it: the loader is waited for still, scopes vary as long as they are short, and what
# Python computes once is a good part of so few steps.
STILL = {"data_loader", "loader_without_workers", "variable_scope", "cacheable_scope", "python_overhead"}
# Outliers are told by standard deviations, to which a busy machine adds; suggest_cases.py has this rule.
HIDDEN_BY_LOAD = {"step_outliers"}
SHORT = "0.3"
ASK = """
import json, sys
from benchmarks.suggestions import program
module = program.load(sys.argv[1])
work = program.prepare(module, float(sys.argv[2]))
program.told(module, "before", work)
sides = {side: program.told(module, side, work)[0] for side in ("before", "after") if hasattr(module, side)}
for _ in range(2):
    if not module.RULE or [one.rule for one in sides["before"][:1]] == [module.RULE]:
        break
    sides["before"] = program.told(module, "before", work)[0]
said = {side: [[one.rule, one.priority.value, one.merged_into] for one in told] for side, told in sides.items()}
print(json.dumps({"rule": module.RULE, "said": said}))
"""


def ask(name: str) -> dict[str, object]:
    """Return what is suggested for both sides of a program, in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-c", ASK, name, SHORT], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, object] = json.loads(ended.stdout.strip().splitlines()[-1])
    return found


@pytest.mark.parametrize("name", sorted({*PROGRAMS} - {"tuned"} - HIDDEN_BY_LOAD))
def test_the_fault_is_found_first_and_not_after_its_repair(name: str) -> None:
    found = ask(name)
    before, after = found["said"]["before"], found["said"]["after"]
    rules = [rule for rule, _, merged in before if merged is None]
    assert rules[0] == found["rule"], before
    repaired = [rule for rule, priority, merged in after if merged is None and priority in ("critical", "high")]
    assert found["rule"] not in repaired or name in STILL, after


def test_a_tuned_program_hears_nothing_critical() -> None:
    assert [row for row in ask("tuned")["said"]["before"] if row[1] == "critical"] == []


def test_at_least_twelve_rules_are_validated() -> None:
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.suggestions import program

        rules = {program.load(name).RULE for name in PROGRAMS}
    finally:
        sys.path.remove(str(ROOT))
    assert len(rules - {None}) >= 12
