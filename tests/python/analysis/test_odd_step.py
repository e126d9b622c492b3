# SPDX-License-Identifier: Apache-2.0
"""The step that divides unlike the others is named, where there is one, by a plain look at its rows."""

import pytest
from traces import load_trace, trace_path

from regimeter.cli import main
from regimeter.report.odd_step import odd_step

V100 = "v100_ddp_large.json.gz"


def test_the_step_that_communicates_longer_is_named() -> None:
    rows = list(load_trace(V100).steps())
    # By hand: step 6 has 119 ms of exposed communication, the other four between 59.5 and 59.7 ms.
    exposed = {row["step"]: row["exposed_comm_ns"] / 1e6 for row in rows}
    assert exposed == pytest.approx({2: 59.6, 3: 59.5, 4: 59.6, 5: 59.6, 6: 119}, rel=0.005)
    assert odd_step(load_trace(V100)) == "Step 6: exposed communication 119 ms, 59.6 ms in the others."


@pytest.mark.parametrize("name", ["diff_a100_control.json.gz", "v100_2024_04_absolute_ns.json.gz"])
def test_steps_that_only_vary_are_not_odd(name: str) -> None:
    run = load_trace(name)
    assert len(run.steps()) >= 4
    assert odd_step(run) == ""


def test_few_steps_are_no_crowd() -> None:
    assert odd_step(load_trace("h100_bert_small.json.gz")) == ""


def test_showing_the_trace_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "-q", str(trace_path(V100))]) == 0
    assert "Odd:   Step 6: exposed communication 119 ms, 59.6 ms in the others." in capsys.readouterr().out
