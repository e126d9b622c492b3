# SPDX-License-Identifier: Apache-2.0
"""What the descriptions of these analyses name exists in the core."""

import pytest
from runs import kernel, launch, run_of

from regimeter import _core
from regimeter.analysis.verb import Verb
from regimeter.analysis.waiting import VERBS


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_name_exists(verb: Verb) -> None:
    table = _core.analyses()[verb.analysis]["table"]
    known = {column["name"]: column["unit"] for column in _core.schema()["results"][table]["columns"]}
    assert {column.name for column in verb.columns} <= set(known)
    assert {column.name for column in verb.columns if column.unit in ("ns", "at")} == {
        column.name for column in verb.columns if known[column.name] == "ns"
    }
    for column in verb.columns:
        if column.unit.startswith("code:"):
            assert isinstance(getattr(_core, column.unit.removeprefix("code:")), tuple)
    assert set(verb.options.values()) <= set(_core.policy())


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_grouping_gives_rows(verb: Verb) -> None:
    run = run_of([launch("l", 0, 5, 1), kernel(10, 5, 1), kernel(20, 5), launch("cudaMemcpy", 30, 5, 2),
                  kernel(32, 2, 2, name="Memcpy HtoD (Pinned -> Device)", kind="memcpy") | {"bytes": 9}])  # fmt: skip
    for number in verb.by.values() or (0,):
        assert len(run.analyse(verb.analysis, group_by=number)) > 0
