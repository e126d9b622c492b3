# SPDX-License-Identifier: Apache-2.0
"""The programs of benchmarks/suggestions: both sides of each can be recorded, and what they show is a rule.

That a fault is found first, and no more after its repair, hangs on how long things take on a machine:
`python -m benchmarks.suggestions.run` says that. Runs in which it does not are those of suggest_cases.py.
"""

import json
import subprocess
import sys

import pytest
from needed import ROOT, benchmarks, package

from regimeter import _core

package("torch")
benchmarks()
ASK = """
import json
from benchmarks.suggestions import program, run
for name in run.names():
    module = program.load(name)
    work = program.prepare(module, 0.02)
    sides = {side: program.told(module, side, work) for side in ("before", "after") if hasattr(module, side)}
    said = {side: [one.rule for one in found] for side, (found, _) in sides.items()}
    print(json.dumps([name, module.RULE, said, sides["before"][1]]), flush=True)
"""


@pytest.fixture(scope="module")
def recorded() -> list[tuple[str, str | None, dict[str, list[str]], float]]:
    """What is suggested for each side of each program, as short as it can be: in a process, which torch is told to
    use one thread in."""
    ended = subprocess.run([sys.executable, "-c", ASK], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return [tuple(json.loads(line)) for line in ended.stdout.splitlines() if line.startswith("[")]


def test_both_sides_can_be_recorded(recorded) -> None:
    for name, rule, said, whole in recorded:
        assert set(said) == ({"before", "after"} if rule else {"before"}), name
        assert whole > 0 or not said["before"], name
        assert {one for side in said.values() for one in side} <= set(_core.SUGGESTION_RULES), name


def test_at_least_twelve_rules_are_validated(recorded) -> None:
    rules = {rule for _, rule, _, _ in recorded} - {None}
    assert rules <= set(_core.SUGGESTION_RULES)
    assert len(rules) >= 12
