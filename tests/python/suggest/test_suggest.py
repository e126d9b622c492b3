# SPDX-License-Identifier: Apache-2.0
"""Suggestions as a whole: bounds that add up, order, real traces, the command."""

import json
import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from programs import TUNED, Program
from runs import build_run
from suggest_series import scopes
from traces import all_traces, fast_import, load_trace, trace_path, trace_text

from regimeter import ProfilerOptimizer, Run, _core
from regimeter.cli import main
from regimeter.suggest import Priority


def check_tables(run: Run) -> None:
    """What holds of every run: bounds that add up, evidence for each, a total order."""
    table, evidence = run._suggest({}, None)
    rows = range(len(table))
    assert sum(table.saved_high_ns.tolist()) <= (int(table.whole_ns[0]) if len(table) else 0)
    assert all(0 <= low <= high for low, high in zip(table.saved_low_ns, table.saved_high_ns, strict=True))
    assert {int(i) for i in evidence.suggestion} == set(rows)
    for i in rows:
        merged = int(table.merged_into[i])
        assert merged < 0 or (int(table.merged_into[merged]) < 0 and int(table.saved_high_ns[i]) == 0)
        assert table.bounded[i] or (table.saved_high_ns[i] == 0 and math.isnan(table.speedup_high[i]))
        assert table.path_ns[i] <= table.whole_ns[i]
    order = [(int(table.merged_into[i]) >= 0, not table.bounded[i]) for i in rows]
    assert order == sorted(order)
    again, _ = run._suggest({}, None)
    for column in table.columns:
        assert getattr(table, column).tobytes() == getattr(again, column).tobytes()


# --- bounds and order -----------------------------------------------------------------------------------------------

KERNELS = (
    TUNED,
    "vectorized_elementwise_kernel<double>",
    "nchwToNhwcKernel",
    "ncclDevKernel_AllReduce",
    "softmax_warp",
)
OPS = ("aten::item", "aten::to", "aten::contiguous", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "f")
ACTIONS = st.one_of(
    st.tuples(st.just("launch"), st.sampled_from(KERNELS), st.integers(1, 400)),
    st.tuples(st.just("copy"), st.sampled_from(("Pageable", "Pinned")), st.integers(1, 400)),
    st.tuples(st.just("op"), st.sampled_from(OPS), st.integers(1, 400)),
    st.tuples(st.just("nested"), st.sampled_from(OPS), st.integers(1, 400)),
    st.tuples(st.just("sync"), st.just("cudaStreamSynchronize"), st.integers(1, 9)),
    st.tuples(st.just("call"), st.sampled_from(("cudaMalloc", "cuModuleLoadData")), st.integers(1, 3000)),
)


def program_of(actions: list[tuple[str, str, int]]) -> Program:
    p = Program()
    for what, name, time in actions:
        if what == "launch":
            p.launch(name, time)
        elif what == "copy":
            p.copy(f"Memcpy HtoD ({name} -> Device)", time, 1000 * time)
        elif what == "op":
            p.op(name, time)
        elif what == "sync":
            p.sync(cost=time)
        elif what == "call":
            p.call(name, time)
        else:
            with p.op(name):
                p.launch(KERNELS[1], time)
    return p


@given(st.lists(ACTIONS, min_size=1, max_size=40))
@settings(max_examples=60)
def test_what_is_saved_never_adds_up_to_more_than_the_run(actions: list[tuple[str, str, int]]) -> None:
    check_tables(program_of(actions).run())


def content_of(run: Run) -> list[list[object]]:
    """Suggestions and their evidence; names as texts and spans by what they are, for ids and rows are the file's."""
    spans = run.spans

    def cell(column: str, value: Any) -> object:
        if column == "subject":
            return run.string(int(value))
        if column != "span" or value < 0:
            return value if value == value else None
        row = int(value)
        return run.string(int(spans.name[row])), int(spans.start_ns[row]), int(spans.duration_ns[row])

    return [
        [[cell(column, value) for value in getattr(table, column).tolist()] for column in table.columns]
        for table in run._suggest({}, None)
    ]


# Two calls that take the same time: which is the example of "host bound" must not hang on the file.
TWINS = [("call", "cudaMalloc", 100), ("launch", KERNELS[0], 5), ("call", "cuModuleLoadData", 100)]


@given(st.lists(ACTIONS, min_size=3, max_size=30), st.randoms(use_true_random=False))
@example([*TWINS, ("sync", "cudaStreamSynchronize", 1)], random.Random(3))
@settings(max_examples=25)
def test_the_order_of_events_in_the_file_does_not_matter(
    actions: list[tuple[str, str, int]], chance: random.Random
) -> None:
    p = program_of(actions)
    first = content_of(p.run())
    events = [*p.events]
    for _ in range(4):
        chance.shuffle(events)
        shuffled = fast_import(json.dumps({**p.head, "traceEvents": events}).encode())
        assert content_of(shuffled) == first


def test_overlapping_claims_are_counted_once() -> None:
    p = Program().kernels(1)
    p.sync()
    p.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 3000, "user_annotation")
    optimizer = ProfilerOptimizer(p.kernels(1).run())
    merged = {one.rule: one.merged_into for one in optimizer.get_merged_suggestions()}
    assert merged["data_loader"] == "loader_without_workers"
    assert merged["device_idle"] == "loader_without_workers"
    (loader,) = (one for one in optimizer.get_suggestions() if one.rule == "loader_without_workers")
    assert loader.saved_high_ms == pytest.approx(3.0, abs=0.01)  # the iterator took 3,000 us
    assert loader.priority is Priority.CRITICAL


def test_a_share_at_the_threshold_has_its_priority() -> None:
    run = load_trace("h100_bert_small.json.gz")
    policy = {"suggest_medium_weight": 0.0, "suggest_low_weight": 0.0, "suggest_critical_share": 0.0}
    told = ProfilerOptimizer(run, policy=policy).get_suggestions()
    uncertain = [one for one in told if one.confidence != "high" and one.saved_high_ms]
    assert uncertain
    assert {one.priority for one in uncertain} == {Priority.CRITICAL}


def test_the_roadmap_weighs_saving_against_effort() -> None:
    p = Program()
    for i in range(10):
        p.op("aten::work", 300)  # on the host: medium effort, medium confidence
        p.launch(f"k{i}", 300)
    p.sync()
    p.call("cudaMalloc", 1600)  # low effort, high confidence
    optimizer = ProfilerOptimizer(p.kernels(1).run())
    assert optimizer.get_roadmap()[0].rule == "allocator_calls"
    assert sorted(one.roadmap for one in optimizer.get_suggestions()) == list(
        range(1, len(optimizer.get_suggestions()) + 1)
    )


def test_thresholds_and_ceilings_are_checked_by_name() -> None:
    run = Program().kernels(2).run()
    with pytest.raises(ValueError, match="no threshold is called 'suggest_nothing'"):
        run.suggestions(policy={"suggest_nothing": 1})
    with pytest.raises(ValueError, match="no ceiling is called 'warp'"):
        run.suggestions(ceilings={"warp": 1.0})
    with pytest.raises(ValueError, match="must be above 0"):
        run.suggestions(ceilings={"launch": 0.0})
    with pytest.raises(ValueError, match="top_n"):
        run.suggestions(-1)


# --- real traces ----------------------------------------------------------------------------------------------------


def test_the_loader_of_owlv2() -> None:
    events = json.loads(trace_text("h100_owlv2_with_stack.json.gz"))["traceEvents"]
    spans = [e for e in events if e.get("ph") == "X" and "_SingleProcessDataLoaderIter" in e["name"]]
    taken = sum(e["dur"] for e in spans if e["cat"] == "user_annotation") / 1e3
    (one,) = (
        s for s in load_trace("h100_owlv2_with_stack.json.gz").suggestions() if s.rule == "loader_without_workers"
    )
    assert 0 < one.saved_high_ms <= taken * (1 + 1e-6)
    assert one.saved_high_ms > 0.9 * taken


def test_the_context_of_alexnet() -> None:
    events = json.loads(trace_text("a100_alexnet_cuda_sync.json.gz"))["traceEvents"]
    longest = max((e for e in events if e.get("cat") == "cuda_runtime"), key=lambda e: e["dur"])
    first = load_trace("a100_alexnet_cuda_sync.json.gz").suggestions()[0]
    assert first.operation == longest["name"]
    assert first.saved_high_ms >= longest["dur"] / 1e3 * (1 - 1e-6)


@pytest.mark.parametrize("name", all_traces())
def test_every_trace_has_suggestions_that_add_up(name: str) -> None:
    check_tables(load_trace(name))


def test_a_recording_of_our_own_has_suggestions() -> None:
    rules = {one.rule for one in scopes([100_000] * 120, device_ns=40_000).suggestions()}
    assert rules == {"small_gpu_scope"}  # which counts the time of the others
    # Counts alone are no premise.
    assert scopes([100_000] * 120).suggestions() == []
    assert build_run([], [{"process": 0}]).suggestions() == []


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command(tmp_path, capsys, refused: Callable[..., str]) -> None:
    trace = str(trace_path("h100_bert_small.json.gz"))
    assert main(["suggest", "-q", trace, "--top", "1"]) == 0
    out = capsys.readouterr().out
    assert "[1] repeated_sequence (batching, critical" in out
    assert f"1 more, which may save less or are not bounded: regimeter suggest {trace} --top 0" in out
    assert main(["suggest", "-q", trace, "--policy", "suggest_shown=1"]) == 0
    assert "\n1 more, which" in capsys.readouterr().out
    assert main(["suggest", "-q", trace, "--roadmap"]) == 0
    assert "Roadmap" in capsys.readouterr().out
    assert main(["suggest", "-q", trace, "--critical", "--policy", "suggest_critical_share=1"]) == 0
    assert capsys.readouterr().out == "No critical suggestion.\n"
    assert main(["suggest", "-q", trace, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["suggestions"][0]["rule"] == "repeated_sequence"
    assert main(["suggest", "-q", trace, "-o", str(tmp_path / "out.json")]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["version"] == 1
    refused(["suggest", "-q", trace, "--policy", "nothing=1"], "no threshold is called 'nothing'")


def test_control_characters_do_not_reach_the_terminal(capsys) -> None:
    p = Program().kernels(1)
    p.sync()
    p.op("evil\x1b[2J", 5000)
    ProfilerOptimizer(p.kernels(1).run()).print_suggestions(0)
    ProfilerOptimizer(p.run()).print_suggestions()
    assert "\x1b" not in capsys.readouterr().out


def test_rules_are_a_list_of_the_core() -> None:
    assert len(_core.SUGGESTION_RULES) == len(set(_core.SUGGESTION_RULES)) >= 40
    assert {name.lower() for name in _core.SUGGESTION_RULE_TYPES} == set(_core.SUGGESTION_TYPES)
