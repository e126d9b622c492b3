# SPDX-License-Identifier: Apache-2.0
"""What becomes of each kind of event: spans, instants, memory, counters, begins and ends."""

import pytest
from event_text import codes, kinds, names, times, trace, x

from regimeter import _core


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("cpu_op", "cpu_op"), ("Operator", "cpu_op"), ("user_annotation", "annotation"),
        ("gpu_user_annotation", "device_annotation"), ("kernel", "kernel"), ("Kernel", "kernel"),
        ("gpu_memcpy", "memcpy"), ("gpu_memset", "memset"), ("cuda_runtime", "runtime"), ("Runtime", "runtime"),
        ("cuda_driver", "driver"), ("cuda_sync", "sync"), ("cuda_event", "event"), ("python_function", "python"),
        ("overhead", "overhead"), ("cuda_profiler_range", "counter_range"), ("mtia_runtime", "runtime"),
        ("mtia_ccp_events", "accelerator"), ("mtia_insight", "accelerator"), ("hpu_op", "cpu_op"),
        ("xpu_runtime", "runtime"), ("xpu_driver", "driver"), ("xpu_sync", "sync"), ("privateuse1_runtime", "runtime"),
        ("privateuse1_driver", "driver"), ("glow_runtime", "runtime"), ("Trace", "window"),
        ("collective_comm", "other"), ("something new", "other"),
    ],
)  # fmt: skip
def test_categories(category: str, kind: str) -> None:
    run = trace(x("a", "1.000", "2.000", category))
    assert kinds(run) == [kind]
    assert run.strings[run.spans.category[0]] == (category if kind == "other" else "")


def test_instants_and_the_end_of_the_window() -> None:
    run = trace(
        x("a", "1.000", "2.000"),
        '{"name": "Iteration Start: x", "ph": "i", "s": "g", "pid": "Traces", "tid": "Trace x", "ts": 0.500}',
        '{"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 9.001}',
        '{"name": "mark", "ph": "I", "pid": 1, "tid": 1, "ts": 1.500}',
        '{"name": "old", "ph": "R", "pid": 1, "tid": 1, "ts": 1.600}',
    )
    assert kinds(run) == ["cpu_op", "instant", "instant", "instant", "instant"]
    assert times(run)[2] == (9001, 0)
    assert run.spans.parent.tolist() == [-1, -1, -1, 0, 0]
    assert run.end_ns == 9001


def test_memory_events() -> None:
    def memory(size: int, kind: int, device: int, address: int) -> str:
        return (
            f'{{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 2.000, '
            f'"args": '
            f'{{"Total Reserved": 2097152, "Total Allocated": 1024, "Bytes": {size}, "Addr": {address}, '
            f'"Device Id": {device}, "Device Type": {kind}, "Ev Idx": 3}}}}'
        )

    run = trace(x("a", "1.000", "2.000"), memory(512, 1, 2, 140244373438464), memory(-512, 0, -1, 2**63 - 1))
    table = run.memory
    assert [_core.MEMORY_ACTIONS[action] for action in table.action] == ["alloc", "free"]
    assert table.bytes.tolist() == [512, 512]
    assert table.device.tolist() == [2, -1]
    assert table.address.tolist() == [140244373438464, 2**63 - 1]
    assert table.allocated.tolist() == [1024, 1024]
    assert table.reserved.tolist() == [2097152, 2097152]
    assert table.span.tolist() == [0, 0]


def test_counters() -> None:
    run = trace(
        '{"ph": "C", "cat": "hardware_counters", "name": "sm__cycles_active.avg", "pid": "GPU 3 Counters", "tid": "t", '
        '"ts": 1.001, "args": {"": 12.5}}',
        '{"ph": "C", "name": "Queue Length", "pid": 0, "ts": 2.000, "args": {"Stream 7": 3, "Stream 8": 4}}',
    )
    table = run.tables.counters
    rows = sorted(
        (run.strings[series], time, value, device)
        for series, time, value, device in zip(
            table.series.tolist(), table.time_ns.tolist(), table.value.tolist(), table.device.tolist(), strict=True
        )
    )
    assert rows == [
        ("Queue Length/Stream 7", 2000, 3.0, -1),
        ("Queue Length/Stream 8", 2000, 4.0, -1),
        ("sm__cycles_active.avg", 1001, 12.5, 3),
    ]


def test_counters_of_profiled_ranges() -> None:
    args = ', "args": {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 2048, "x": "text"}'
    run = trace(x("range", "1", "2", "cuda_profiler_range", args))
    assert [run.strings[series] for series in run.tables.counters.series] == [
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
    ]
    assert run.tables.counters.value.tolist() == [2048.0]
    assert run.tables.counters.span.tolist() == [0]


def test_begins_and_ends() -> None:
    run = trace(
        '{"ph": "B", "name": "outer", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 1}',
        '{"ph": "B", "name": "inner", "pid": 1, "tid": 1, "ts": 2.5}',
        '{"ph": "B", "name": "elsewhere", "pid": 1, "tid": 2, "ts": 2}',
        '{"ph": "E", "pid": 1, "tid": 1, "ts": 3}',
        '{"ph": "E", "pid": 1, "tid": 1, "ts": 10}',
        '{"ph": "E", "pid": 1, "tid": 1, "ts": 11}',
    )
    assert names(run) == ["outer", "inner", "elsewhere"]
    assert times(run) == [(1000, 9000), (2500, 500), (2000, 8000)]
    assert run.spans.parent.tolist() == [-1, 0, -1]
    assert [bool(flags & _core.FLAG_OPEN) for flags in run.spans.flags] == [False, False, True]
    assert {"unmatched_begin", "unmatched_end"} <= codes(run)
    assert (run.table("files").events[0], run.table("files").kept[0]) == (6, 5)


def test_asynchronous_spans_are_paired_by_id() -> None:
    def half(phase: str, ident: str, ts: int, tid: int) -> str:
        return f'{{"ph": "{phase}", "name": "request", "cat": "c", "id": {ident}, "pid": 1, "tid": {tid}, "ts": {ts}}}'

    run = trace(half("b", '"0x1f"', 1, 1), half("b", "32", 2, 1), half("e", "31", 5, 2), half("e", "32", 4, 1))
    assert times(run) == [(1000, 4000), (2000, 2000)]
    assert not codes(run) & {"unmatched_begin", "unmatched_end"}
    assert run.lanes.slot[run.spans.lane].tolist() == [1, 1]
