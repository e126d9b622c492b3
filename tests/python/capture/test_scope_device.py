# SPDX-License-Identifier: Apache-2.0
"""Host, launch, device and idle time of scopes, against a slow way to count them."""

import itertools
import random

import pytest
from runs import (
    HOST,
    LANES,
    OTHER_DEVICE,
    OTHER_HOST,
    OTHER_STREAM,
    STREAM,
    build_run,
    kernel,
    launch,
    run_of,
    span,
)
from traces import trace_path

from regimeter import _core, load

ALL = ("launches", "launch_ns", "work", "kernels", "busy_ns", "idle_ns", "graph_work", "graph_ns", "captured")


def scope(name, start, duration, lane=HOST, kind="scope"):
    return span(kind, name, lane, start, duration)


def by_scope(run, graphs="launch"):
    return run.result("scopes", by="scope", choices={"graphs": graphs}).rows()


# --- the slow way ---------------------------------------------------------------------------------------------


def covered(pieces):
    """Nanoseconds in which at least one piece lies, and those between first and last in which none does."""
    if not pieces:
        return 0, 0
    times = sorted({time for piece in pieces for time in piece})
    busy = sum(
        to - since
        for since, to in itertools.pairwise(times)
        if any(start <= since and to <= end for start, end in pieces)
    )
    return busy, times[-1] - times[0] - busy


def naive(run, graphs="launch"):
    """Return, by row of each scope, what must come out."""
    spans, lanes = run.spans, run.lanes
    kind = [_core.SPAN_KINDS[k] for k in spans.kind.tolist()]
    start = spans.start_ns.tolist()
    end = (spans.start_ns + spans.duration_ns).tolist()
    parent, lane, correlation = spans.parent.tolist(), spans.lane.tolist(), spans.correlation.tolist()
    device = lanes.device.tolist()
    work = [i for i, k in enumerate(kind) if k in ("kernel", "memcpy", "memset", "accelerator")]
    calls = {correlation[i]: i for i, k in enumerate(kind) if k in ("runtime", "driver") and correlation[i] >= 0}
    launches = run.tables.launches
    of_graph = {s for s, node in zip(launches.span.tolist(), launches.graph_node.tolist(), strict=True) if node > 0}
    capture = dict(zip(launches.span.tolist(), launches.capture.tolist(), strict=True)) if graphs == "capture" else {}

    def is_scope(row):
        return kind[row] == "scope" or (kind[row] == "annotation" and device[lane[row]] < 0)

    def in_scope(row):
        while row >= 0 and not is_scope(row):
            row = parent[row]
        return row >= 0

    captured = {w for w in work if in_scope(capture.get(w, -1))}
    found = {}
    for i in range(len(kind)):
        if not is_scope(i):
            continue

        def inside(row, top=i):
            while row >= 0 and row != top:
                row = parent[row]
            return row == top

        launched = [w for w in work if correlation[w] in calls and inside(calls[correlation[w]])]
        mine = [w for w in work if (inside(capture[w]) if w in captured else w in launched)]
        launching = {calls[correlation[w]] for w in launched}
        sums = [0, 0, 0]
        for number, rows, place in ((0, mine, lambda w: device[lane[w]]), (2, launching, lambda c: lane[c])):
            for at in {place(r) for r in rows}:
                busy, idle = covered([(start[r], end[r]) for r in rows if place(r) == at])
                sums[number] += busy
                if number == 0:
                    sums[1] += idle
        found[i] = {
            "launches": len(launching),
            "launch_ns": sums[2],
            "work": len(mine),
            "kernels": sum(kind[w] == "kernel" for w in mine),
            "busy_ns": sums[0],
            "idle_ns": None if any(w in captured and w not in launched for w in mine) else sums[1],
            "graph_work": sum(w in of_graph for w in mine),
            "graph_ns": sum(
                covered([(start[w], end[w]) for w in mine if w in of_graph and device[lane[w]] == at])[0]
                for at in {device[lane[w]] for w in mine}
            ),
            "captured": sum(w in captured for w in mine),
        }
    return found


def made_up(seed):
    """Return a run of scopes, calls and device work without rhyme or reason, on two threads and two devices."""
    rng = random.Random(seed)
    spans, correlation = [], 0

    def fill(lane, start, end, depth):
        nonlocal correlation
        at = start
        while at < end - 20:
            at += rng.randrange(1, 12)
            length = rng.randrange(1, max(2, (end - at) // 2 + 1))
            if at + length > end:
                return
            if depth < 4 and rng.random() < 0.5:
                name = rng.choice(["step", "forward", "backward"])
                spans.append(scope(name, at, length, lane, rng.choice(["scope", "scope", "annotation"])))
                fill(lane, at, at + length, depth + 1)
            else:
                correlation += 1
                short = min(length, 9)
                spans.append(launch("cudaLaunchKernel", at, short, correlation, lane))
                for _ in range(rng.randrange(0, 3)):
                    where = rng.choice([STREAM, OTHER_STREAM, OTHER_DEVICE])
                    what = rng.choice(["kernel", "kernel", "memcpy"])
                    spans.append(
                        kernel(at + rng.randrange(0, 300), rng.randrange(1, 40), correlation, where, kind=what)
                    )
            at += length

    fill(HOST, 0, 700, 0)
    fill(OTHER_HOST, 0, 500, 0)
    calls = [row for row, made in enumerate(spans) if made["kind"] == "runtime"]
    nodes = []
    for row, made in enumerate(spans):
        if made["kind"] in ("kernel", "memcpy") and rng.random() < 0.5:
            capture = rng.choice([*calls, -1]) if rng.random() < 0.8 else -1
            nodes.append({"span": row, "graph_node": rng.choice([-1, 7]), "graph": -1, "capture": capture})
            if nodes[-1]["graph_node"] < 0:
                nodes[-1]["capture"] = -1  # no node, no capture
    return build_run(spans, LANES, parents=True, launches=nodes)


@pytest.mark.parametrize("graphs", ["launch", "capture"])
@pytest.mark.parametrize("seed", range(40))
def test_against_the_slow_way(seed, graphs):
    run = made_up(seed)
    expected = naive(run, graphs)
    rows = by_scope(run, graphs)
    assert {row["span"] for row in rows} == set(expected)
    if not any(k in (4, 5) for k in run.spans.kind.tolist()):
        return
    for row in rows:
        assert {name: row[name] for name in ALL} == expected[row["span"]], row


def test_operations_are_sums_without_calls_inside_another_call():
    for seed in range(10):
        run = made_up(seed)
        names, parent = run.spans.name.tolist(), run.spans.parent.tolist()
        scopes = by_scope(run)
        is_scope = {row["span"] for row in scopes}

        def outermost(row, names=names, parent=parent, is_scope=is_scope):
            above = parent[row]
            while above >= 0:
                if above in is_scope and names[above] == names[row]:
                    return False
                above = parent[above]
            return True

        for operation in run.result("scopes").rows():
            calls = [row for row in scopes if row["operation"] == operation["operation"]]
            top = [row for row in calls if outermost(row["span"])]
            assert operation["calls"] == len(calls)
            for name in ("host_ns", *ALL):
                assert operation[name] == sum(row[name] for row in top), name


def test_a_choice_that_does_not_exist():
    run = run_of([scope("alone", 0, 10)])
    with pytest.raises(ValueError, match=r"graphs=launch\|capture"):
        run.result("scopes", choices={"graphs": "both"})
    with pytest.raises(ValueError, match="valid are: none"):
        run.result("kernels", choices={"graphs": "launch"})


# --- by hand --------------------------------------------------------------------------------------------------


def test_idle_lies_between_the_first_and_the_last_work():
    run = run_of([
        scope("outer", 0, 100),
        scope("inner", 10, 30),
        launch("cudaLaunchKernel", 12, 5, 1),
        launch("cudaLaunchKernel", 20, 5, 2),
        launch("cudaLaunchKernel", 50, 5, 3),
        kernel(60, 10, 1),
        kernel(65, 10, 2, OTHER_STREAM),
        kernel(95, 40, 3),
    ])  # fmt: skip
    outer, inner = by_scope(run)
    assert (outer["operation"], outer["busy_ns"], outer["idle_ns"], outer["launch_ns"]) == ("outer", 55, 20, 15)
    assert (inner["operation"], inner["busy_ns"], inner["idle_ns"], inner["launch_ns"]) == ("inner", 15, 0, 10)
    assert (outer["source"], inner["source"]) == ("kernels", "kernels")


def test_without_device_work_nothing_is_claimed():
    (row,) = by_scope(run_of([scope("alone", 0, 10)]))
    assert row["source"] == "none"
    assert (row["work"], row["kernels"], row["launches"]) == (-1, -1, -1)
    assert all(row[name] is None for name in ("busy_ns", "idle_ns", "launch_ns", "device_ns", "queue_ns", "graph_ns"))


def test_a_scope_without_work_beside_one_with_work():
    rows = by_scope(run_of([
        scope("idle", 0, 10),
        scope("busy", 20, 10),
        launch("cudaLaunchKernel", 22, 5, 1),
        kernel(30, 10, 1),
    ]))  # fmt: skip
    assert [(row["source"], row["work"], row["busy_ns"]) for row in rows] == [("none", 0, 0), ("kernels", 1, 10)]


def test_a_real_trace():
    run = load(trace_path("h100_bert_small.json.gz"))
    expected = naive(run)
    rows = by_scope(run)
    assert len(rows) == len(expected) > 0
    for row in rows:
        assert {name: row[name] for name in ALL} == expected[row["span"]]
