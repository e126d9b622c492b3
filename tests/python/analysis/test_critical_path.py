# SPDX-License-Identifier: Apache-2.0
"""The critical path: against a simulator that knows it, and on real traces."""

import json
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from runs import build_run, span
from simulated_trace import CALL, LATENCY, RETURN, Simulation, simulate, typed
from traces import FOLDER, all_traces, load_trace, trace_path, trace_text

from regimeter import Run, _core, load
from regimeter.report.trace_data import trace_data

NSYS = sorted({"nsys_h100_2gpu_cut.sqlite", *(path.name for path in FOLDER.glob("*.sqlite"))})
KINDS = _core.PATH_KINDS
KERNELS = {"kernel_compute": "gemm", "kernel_communication": "ncclDevKernel_AllReduce", "kernel_memory": "Memcpy DtoD"}


def segments(run: Run, **options: Any) -> list[tuple[int, int, str]]:
    """Return the path as (start, duration, kind)."""
    table = run.analyse("critical_path", **options)
    return [(int(s), int(d), KINDS[k]) for s, d, k in zip(table.start_ns, table.duration_ns, table.kind, strict=True)]


def totals(run: Run, **options: Any) -> dict[str, int]:
    """Return the time of each kind."""
    table = run.analyse("critical_path_shares", **options)
    return {KINDS[k]: int(t) for k, t in zip(table.kind, table.total_ns, strict=True)}


# --- programs whose path is obvious -------------------------------------------------------------------------


def test_a_host_that_waits_for_its_kernels_is_bound_by_them() -> None:
    program = [("launch", 0, 100_000, "gemm", "kernel_compute")] * 5 + [("synchronise", None)]
    found = totals(simulate(program).trace())
    assert found == {"launch_latency": LATENCY, "kernel_compute": 500_000, "host_sync": RETURN}


def test_a_slow_host_is_bound_by_itself() -> None:
    program = [("operator", 100_000), ("launch", 0, 5_000, "gemm", "kernel_compute")] * 3 + [("synchronise", None)]
    found = totals(simulate(program).trace())
    assert found["host_operator"] == 300_000
    assert found["kernel_compute"] == 5_000
    assert found["launch_latency"] == LATENCY


def test_a_stream_that_waits_for_another_hands_the_path_over() -> None:
    program = [
        ("launch", 0, 100_000, "gemm", "kernel_compute"),
        ("depend", 1, 0),
        ("launch", 1, 50_000, "ncclDevKernel_AllReduce", "kernel_communication"),
        ("synchronise", None),
    ]
    found = totals(simulate(program).trace())
    assert found["kernel_compute"] == 100_000
    assert found["kernel_communication"] == 50_000


def test_without_rows_of_synchronisation_the_dependency_is_inferred_and_marked() -> None:
    program = [
        ("launch", 0, 100_000, "gemm", "kernel_compute"),
        ("depend", 1, 0),
        ("launch", 1, 50_000, "ncclDevKernel_AllReduce", "kernel_communication"),
        ("synchronise", 1),
    ]
    simulation = simulate(program)
    simulation.syncs = []
    run = simulation.trace()
    assert segments(run) == simulation.path()
    table = run.analyse("critical_path")
    marked = {run.strings[table.name[i]] for i in np.flatnonzero(table.inferred)}
    # The wait itself took no time, so only the return from the call shows the mark.
    assert marked == {"cudaStreamSynchronize"}


def test_the_bound_without_a_kind_is_a_path_of_its_own() -> None:
    # Two streams run side by side: without the longer kernel the shorter one is the path.
    program = [
        ("launch", 0, 100_000, "gemm", "kernel_compute"),
        ("launch", 1, 90_000, "ncclDevKernel_AllReduce", "kernel_communication"),
        ("synchronise", None),
    ]
    table = simulate(program).trace().analyse("critical_path_shares")
    row = list(table.kind).index(KINDS.index("kernel_compute"))
    assert table.total_ns[row] == 100_000
    # The time to return from a call belongs to the work that it awaited in fact.
    assert table.bound_ns[row] == CALL + LATENCY + 90_000
    assert table.path_ns[row] == LATENCY + 100_000 + RETURN


def test_the_names_on_the_path_come_by_time() -> None:
    program = [("launch", 0, 100, "gemm", "kernel_compute"), ("launch", 0, 900, "conv", "kernel_compute")] * 2
    run = simulate([*program, ("synchronise", None)]).trace()
    table = run.analyse("critical_path_top")
    rows = [(run.strings[n], int(t), int(c)) for n, t, c in zip(table.name, table.total_ns, table.count, strict=True)]
    assert rows[0][1] >= rows[1][1] >= rows[-1][1]
    assert sum(t for _, t, _ in rows) == totals(run).popitem()[1] + sum(list(totals(run).values())[:-1])


def test_frames_that_were_open_when_recording_began_have_no_beginning() -> None:
    """Another thread's wait() was recorded before the main thread's frames; it did not begin them."""
    run = load_trace("h100_bert_small.json.gz")
    table = run.analyse("critical_path")
    names = [run.string(name) for name in table.name.tolist()]
    assert (KINDS[table.kind[0]], names[0]) == ("outside", "")
    assert names[1] == "<string>(1): <module>"
    assert not any(name.startswith(("threading.py", "tqdm/_monitor.py")) for name in names)


# --- what is no blame ---------------------------------------------------------------------------------------


def trace_of(rows: list[tuple[str, str, int, int, int, int]]) -> Run:
    """Return a run of (kind, name, lane, start, end, correlation) in us; lane 0 is a thread, 1 to 3 are streams."""
    spans = [
        span(kind, name, lane, 1000 * start, 1000 * (end - start), correlation=correlation)
        for kind, name, lane, start, end, correlation in sorted(rows, key=lambda row: (row[3], -row[4]))
    ]
    return build_run(spans, {"thread": [100, 7, 8, 9], "device": [-1, 0, 0, 0]})


def named(run: Run) -> list[tuple[str, str, int, bool]]:
    """Return the path as (kind, name, us, whether it was inferred)."""
    rows = run.critical_path_segments()
    return [(r["kind"], r["name"], r["duration_ns"] // 1000, bool(r["inferred"])) for r in rows]


def test_a_host_beside_a_busy_device_is_nearly_tied_with_it() -> None:
    # Nothing awaits the device, and the host ends last: the path runs through the host alone.
    busy = [("kernel", f"gemm_{i}", 1, 10 + 996 * i // 10, 10 + 996 * (i + 1) // 10, i + 1) for i in range(10)]
    launches = [("runtime", "cudaLaunchKernel", 0, i, i + 1, i + 1) for i in range(10)]
    run = trace_of([("annotation", "train", 0, 0, 1010, -1), *launches, *busy])
    rows = {row["time_in"]: row for row in run.critical_path()}
    assert rows["host_other"]["path_share"] > 0.98
    assert rows["host_other"]["saving_ns"] <= 14_000  # the device alone takes 996 us
    assert rows["host_other"]["bound_ns"] >= 996_000
    assert rows["host_other"]["follows"] == "tied"
    text = run.critical_path().text()
    assert "other host code" in text
    assert "_" not in text  # codes are for documents
    assert "nearly tied: the host's chain alone takes 1.01 ms (100.0 % of the path)" in text
    assert "the device's alone 996 µs (98.6 % of the path)" in text
    assert "share " not in text
    document = run.critical_path().to_document("x")
    assert "\n".join(document["headline"]) in text
    assert document["shares"]["path_share"].endswith("where the path runs, not what could be saved.")
    panel = next(p for p in trace_data(run)["panels"] if p["name"] == "critical-path")
    assert panel["tables"][0]["headline"] == document["headline"]


@pytest.mark.parametrize(
    ("rows", "follows"),
    [
        ([("cpu_op", "op", 0, 0, 900, -1), ("runtime", "cudaLaunchKernel", 0, 900, 905, 1)], "host"),
        ([("runtime", "cudaLaunchKernel", 0, 0, 5, 1)], "device"),
        ([("cpu_op", "op", 0, 0, 100, -1), ("runtime", "cudaLaunchKernel", 0, 100, 105, 1)], "in_turn"),
    ],
)
def test_the_chains_say_what_the_length_follows(rows: list[tuple[str, str, int, int, int, int]], follows: str) -> None:
    launch = rows[-1][3]
    length = 10 if follows == "host" else 200
    run = trace_of([*rows, ("kernel", "gemm", 1, launch + 5, launch + 5 + length, 1)])
    assert {row["follows"] for row in run.critical_path()} == {follows}


def test_rows_come_by_what_doing_without_them_saves() -> None:
    rows = list(load_trace("a100_event_sync.json.gz").critical_path())
    savings = [row["saving_ns"] for row in rows]
    assert savings == sorted(savings, reverse=True)
    assert all(row["saving_ns"] == row["path_ns"] - row["bound_ns"] for row in rows)
    assert all(row["time_in"] == row["kind"] for row in rows)


# --- waits behind other streams -----------------------------------------------------------------------------

FIRST = [("runtime", "cudaLaunchKernel", 0, 0, 5, 1), ("runtime", "cudaLaunchKernel", 0, 6, 9, 2)]
COLLECTIVE = ("kernel", "ncclDevKernel_AllReduce", 2, 15, 1015, 1)


def test_work_that_begins_as_another_stream_ends_depends_on_it() -> None:
    run = trace_of([*FIRST, COLLECTIVE, ("kernel", "gemm", 1, 1018, 1100, 2)])
    assert named(run) == [
        ("launch_latency", "ncclDevKernel_AllReduce", 15, False),
        ("kernel_communication", "ncclDevKernel_AllReduce", 1000, False),
        ("dependency_wait", "gemm", 3, True),
        ("kernel_compute", "gemm", 82, False),
    ]


def test_a_wait_beside_work_that_fills_the_device_is_the_time_of_that_work() -> None:
    # The copy is launched first and its stream is free; it begins shortly before the kernel of the other stream ends.
    before = ("memcpy", "Memcpy DtoD", 1, 10, 60, 3)
    launches = [*FIRST, ("runtime", "cudaMemcpyAsync", 0, -4, -2, 3)]
    run = trace_of([*launches, before, ("kernel", "permute", 2, 15, 515, 1), ("kernel", "gemm", 1, 510, 600, 2)])
    assert named(run)[-2:] == [("kernel_compute", "permute", 450, True), ("kernel_compute", "gemm", 90, False)]
    assert run.critical_path_segments()[-2]["lane"] == 2  # the stream of what the device was busy with
    assert "kernel_gap" not in {kind for kind, *_ in named(run)}


def test_an_idle_device_is_no_launch_latency_and_what_is_known_is_said() -> None:
    def path(*rows: tuple[str, str, int, int, int, int]) -> list[tuple[str, str]]:
        warm = [("runtime", "cudaLaunchKernel", 0, 0, 5, 1), ("kernel", "gemm", 1, 10, 20, 1)]
        table = trace_of([*warm, *rows]).critical_path_segments()
        return [(row["kind"], row["reason"]) for row in table if row["duration_ns"] > 1_000_000]

    late = ("runtime", "cudaLaunchKernel", 0, 30, 35, 2)
    assert path(late, ("kernel", "gemm", 1, 3000, 3010, 2)) == [("start_delay", "nothing_recorded")]
    assert path(late, ("kernel", "conv", 1, 3000, 3010, 2)) == [("start_delay", "first_use_in_recording")]
    call = ("runtime", "cudaLaunchKernel", 0, 30, 2900, 2)
    assert path(call, ("kernel", "conv", 1, 3000, 3010, 2)) == [("start_delay", "launch_call_still_running")]
    graph = ("runtime", "cudaGraphLaunch", 0, 30, 35, 2)
    assert path(graph, ("kernel", "gemm", 1, 3000, 3010, 2)) == [("start_delay", "graph_launch")]
    assert path(late, ("kernel", "gemm", 1, 900, 910, 2)) == []  # within what launching may take
    first = trace_of([late, ("kernel", "gemm", 1, 3000, 3010, 2)])
    assert first.critical_path_segments()[0]["reason"] == "first_work_in_recording"
    assert "For 2.97 ms of it launched work had not begun" in first.critical_path().text()


def test_work_launched_before_the_recording_is_what_a_call_waited_for() -> None:
    # Half of the kernels of this trace have no launch, and one call waits 14 ms for them.
    run = load_trace("h100_qwen_orphans.json.gz")
    found = totals(run)
    assert found["kernel_compute"] / sum(found.values()) > 0.85
    assert found["host_sync"] < 100_000


def others_busy(run: Run, lane: int, start: int, end: int) -> bool:
    """Tell whether work of another stream of a lane's device ran between two times."""
    spans, lanes = run.spans, run.lanes
    kinds = [_core.SPAN_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset", "accelerator")]
    same = (lanes.device == lanes.device[lane]) & (lanes.rank == lanes.rank[lane])
    same &= (lanes.process == lanes.process[lane]) & (np.arange(len(lanes)) != lane)
    ends = spans.start_ns + spans.duration_ns
    return bool((np.isin(spans.kind, kinds) & same[spans.lane] & (spans.start_ns < end) & (ends > start)).any())


# --- random programs ----------------------------------------------------------------------------------------

durations = st.integers(1_000, 400_000)
streams = st.integers(0, 2)
launches = st.builds(
    lambda s, ns, kind: ("launch", s, ns, KERNELS[kind], kind), streams, durations, st.sampled_from(sorted(KERNELS))
)
simple = st.one_of(
    st.tuples(st.just("operator"), durations),
    st.tuples(st.just("pause"), durations),
    launches,
    launches,
    st.tuples(st.just("depend"), streams, streams).filter(lambda s: s[1] != s[2]),
    st.tuples(st.just("synchronise"), st.one_of(st.none(), streams)),
)
side_steps = st.lists(simple, max_size=6).map(lambda steps: [("operator", 2_501), *steps, ("operator", 3_307)])
backward = st.tuples(st.just("backward"), side_steps, durations, durations)
programs = st.lists(st.one_of(simple, simple, simple, backward), max_size=25).map(
    lambda p: [("operator", 5_003), *p, ("operator", 7_001)]
)


def ties(simulation: Simulation) -> bool:
    """Tell whether two different things ended at one time, so that more than one path is right."""
    times = [node.time for node in simulation.nodes if node.before is not None and node.time > node.before.time]
    return len(set(times)) < len(times)


@given(programs)
@settings(max_examples=400)
def test_the_path_is_the_one_that_the_simulator_knows(program: list[tuple[Any, ...]]) -> None:
    simulation = simulate(program)
    assume(not ties(simulation))
    assert segments(simulation.trace()) == simulation.path()


def handed_over(one: int, other: int, first: int, awaited: int, last: int) -> list[tuple[Any, ...]]:
    """Return the steps of work that waits for another stream while its own is free."""
    return [
        ("launch", one, first, "gemm", "kernel_compute"),
        ("launch", other, awaited, "ncclDevKernel_AllReduce", "kernel_communication"),
        ("depend", one, other),
        ("launch", one, last, "gemm", "kernel_compute"),
        ("synchronise", one),
    ]


waiting = st.lists(st.builds(handed_over, streams, streams, durations, durations, durations), min_size=1, max_size=5)


@given(waiting.map(lambda parts: [("operator", 5_003), *chain.from_iterable(parts), ("operator", 7_001)]))
@example([("operator", 5_003), *handed_over(0, 1, 1000, 9609, 1000), *handed_over(0, 1, 4812, 13610, 1000)])
@settings(max_examples=100)
def test_no_long_gap_of_any_program_lies_beside_a_busy_stream(program: list[tuple[Any, ...]]) -> None:
    """What is long is asked of the gap after what work is known to have waited for. Whether that is the launch or the
    work before it is decided anew when waits for other streams are known, so a gap may be longer by a launch's latency.
    """
    simulation = simulate(program)
    simulation.syncs = []  # nothing is left to say that a stream waited for another, as in most traces
    simulation.spans = [one for one in simulation.spans if one["name"] != "cudaStreamWaitEvent"]
    run = simulation.trace()
    rows = list(run.critical_path_segments(thresholds={"critical_behind_ns": 10_000}))
    assert sum(row["duration_ns"] for row in rows) == simulation.total()
    for row in rows:
        if row["kind"] in ("kernel_gap", "launch_latency") and row["duration_ns"] > 10_000 + LATENCY:
            assert not others_busy(run, row["lane"], row["start_ns"], row["start_ns"] + row["duration_ns"]), row


plain = st.lists(
    st.one_of(launches, st.tuples(st.just("operator"), durations), st.just(("synchronise", None))), max_size=20
).map(lambda p: [("operator", 5_003), *p, ("operator", 7_001)])


@given(plain)
@settings(max_examples=150)
def test_waits_for_the_whole_device_need_no_rows_of_synchronisation(program: list[tuple[Any, ...]]) -> None:
    simulation = simulate(program)
    assume(not ties(simulation))
    simulation.syncs = []
    assert segments(simulation.trace()) == simulation.path()


@given(programs)
@settings(max_examples=150)
def test_a_run_without_a_kind_is_never_shorter_than_the_bound(program: list[tuple[Any, ...]]) -> None:
    simulation = simulate(program)
    assume(not ties(simulation))
    table = simulation.trace().analyse("critical_path_shares")
    for kind, total, bound, length in zip(table.kind, table.total_ns, table.bound_ns, table.path_ns, strict=True):
        assert length == simulation.total()
        assert length - total <= bound <= length
        assert bound <= simulate(program, frozenset({KINDS[kind]})).total(), KINDS[kind]


# --- real traces --------------------------------------------------------------------------------------------


TRACES = sorted({*all_traces(), *NSYS, "v100_ddp_large.json.gz"})  # the last skips where the collection is absent


@pytest.mark.parametrize("name", TRACES)
def test_no_gap_or_latency_lasts_while_another_stream_was_busy(name: str) -> None:
    run = load(trace_path(name)) if name in NSYS else load_trace(name)
    shown = [row for row in run.critical_path_segments() if row["kind"] in ("kernel_gap", "launch_latency")]
    for row in shown:
        if row["duration_ns"] > 100_000:
            assert not others_busy(run, row["lane"], row["start_ns"], row["start_ns"] + row["duration_ns"]), row
    assert all(row["duration_ns"] <= 1_000_000 for row in shown if row["kind"] == "launch_latency")


@pytest.mark.parametrize("name", TRACES)
def test_the_segments_tile_the_window(name: str) -> None:
    run = load(trace_path(name)) if name in NSYS else load_trace(name)
    path, shares = run.analyse("critical_path"), run.analyse("critical_path_shares")
    host = [_core.SPAN_KINDS.index(k) for k in ("scope", "cpu_op", "python", "annotation", "runtime", "driver")]
    work = [_core.SPAN_KINDS.index(k) for k in ("kernel", "memcpy", "memset", "accelerator")]
    kept = np.isin(run.spans.kind, host + work)
    first = run.spans.start_ns[kept].min()
    last = (run.spans.start_ns + run.spans.duration_ns)[kept].max()
    assert (path.duration_ns > 0).all()
    assert path.start_ns[0] == first
    assert (path.start_ns[1:] == path.start_ns[:-1] + path.duration_ns[:-1]).all()
    assert path.duration_ns.sum() == last - first == shares.path_ns[0]
    assert shares.total_ns.sum() == last - first
    assert (shares.bound_ns >= shares.path_ns - shares.total_ns).all()
    assert (shares.bound_ns <= shares.path_ns).all()
    top = run.analyse("critical_path_top")
    assert top.total_ns.sum() == last - first


def test_a_busy_device_with_a_long_queue_is_what_the_run_hangs_on() -> None:
    # The other tool calls this trace 100 % bound by the host, because it has no rows of cuda_sync: the device
    # is busy for 92 % of the time and up to 1013 launches wait in its queue.
    found = totals(load_trace("diff_v100_test.json.gz"))
    device = sum(ns for kind, ns in found.items() if kind.startswith("kernel"))
    assert device / sum(found.values()) > 0.9


def test_a_window_is_a_step_by_number_or_name() -> None:
    events = json.loads(trace_text("diff_v100_test.json.gz"))["traceEvents"]
    name, wanted = next((e["name"], e) for e in events if e.get("ph") == "X" and e["name"].startswith("ProfilerStep"))
    for step in (name, name.partition("#")[2]):
        found = segments(load_trace("diff_v100_test.json.gz"), text=step)
        assert found[0][0] == wanted["ts"] * 1000
        assert found[-1][0] + found[-1][1] >= (wanted["ts"] + wanted["dur"]) * 1000


def test_an_unknown_window_is_an_error() -> None:
    with pytest.raises(ValueError, match="no step or host span is called 'nothing'"):
        simulate([("operator", 5)]).trace().analyse("critical_path", text="nothing")


def test_a_run_without_spans_has_no_path() -> None:
    run = build_run([], [])
    assert len(run.analyse("critical_path")) == len(run.analyse("critical_path_shares")) == 0


def test_a_hostile_run_neither_fails_nor_takes_long() -> None:
    count = 200_000
    spans = {
        "start_ns": [0] * count,
        "duration_ns": [i % 3 for i in range(count)],
        "name": [i % 2 for i in range(count)],
        "kind": [(1, 2, 4, 9)[i % 4] for i in range(count)],
        "lane": [i % 7 for i in range(count)],
        "correlation": [i // 8 for i in range(count)],
    }
    lanes = {"thread": list(range(7)), "device": [-1] * 5 + [0, 1]}
    run = Run._build(["", "cudaDeviceSynchronize"], typed({"spans": spans, "lanes": lanes}), "{}", "x", 0, 0, -1, True)
    assert run.analyse("critical_path").duration_ns.sum() == 2


# --- the other tool -----------------------------------------------------------------------------------------


def device_shares(name: str, trace: str) -> tuple[float, float]:
    """Return the percentage of the path that is device work and gaps: by the other tool, and here."""
    text = trace_path(f"hta_reference/{name}/critical_path_summary.csv").read_text()
    theirs = {row.split(",")[0]: float(row.split(",")[1]) for row in text.splitlines()[1:]}
    ours = totals(load_trace(trace))
    gpu = sum(value for kind, value in theirs.items() if kind.startswith("gpu") and "launch" not in kind)
    return gpu, 100 * sum(ns for kind, ns in ours.items() if kind.startswith("kernel")) / sum(ours.values())


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("v100_ddp_large", 0.1),  # bound by the host alone, in both
        ("a100_nccl_2024", 0.1),
        ("a100_event_sync", 0.5),  # with rows of cuda_sync; the window there is one annotation
        ("v100_2024_04_absolute_ns", 2.0),  # the window there is one step
        ("h100_owlv2_with_stack", 4.0),  # there without the Python functions, of which it knows nothing
    ],
)
def test_where_the_other_tool_sees_what_blocks_the_shares_agree(name: str, points: float) -> None:
    theirs, ours = device_shares(name, f"{name}.json.gz")
    assert abs(theirs - ours) < points


def test_where_the_other_tool_sees_no_synchronisation_the_host_was_blocked_by_the_device() -> None:
    # Both traces have no rows of cuda_sync; without them the other tool lets no call wait.
    theirs, ours = device_shares("diff_v100_test", "diff_v100_test.json.gz")
    assert theirs == 0
    assert ours > 90
    theirs, ours = device_shares("dlrm8", "dlrm8/rank-0.json.gz")
    assert theirs < 0.1
    assert ours > 20
    # Wherever the path goes from the device back to the host, the host was in a call that waits, and had been.
    run = load_trace("dlrm8/rank-0.json.gz")
    table = run.analyse("critical_path")
    kernel = np.array([KINDS[kind].startswith("kernel") for kind in table.kind])
    back = np.flatnonzero(kernel[:-1] & (table.kind[1:] == KINDS.index("host_sync"))) + 1
    assert len(back) > 5
    calls = table.span[back]
    assert {run.strings[name] for name in run.spans.name[calls]} <= {"cudaMemcpyAsync", "cudaStreamSynchronize"}
    assert (run.spans.start_ns[calls] < table.start_ns[back]).all()
    assert run.spans.duration_ns[calls].max() > 1_000_000  # and one of them waited for a millisecond
