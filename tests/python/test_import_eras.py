# SPDX-License-Identifier: Apache-2.0
"""Every era and dialect of the trace format, with values typed by hand."""

import json
import math
from typing import Any

import pytest
from traces import fast_import

from regimeter import Run, _core

MARCH_2024, APRIL_2024 = 1711000000000000, 1712195493000000


def x(name: str, ts: str, dur: str, cat: str = "cpu_op", more: str = "", pid: str = "1", tid: str = "1") -> str:
    """Return the text of a complete event as Kineto prints it."""
    return (
        f'  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid},\n'
        f'    "ts": {ts}, "dur": {dur}{more}\n  }}'
    )


def trace(*events: str, head: str = '"schemaVersion": 1,', tail: str = "") -> Run:
    """Import an object with these events."""
    return fast_import(f'\n{{\n  {head}\n  "traceEvents": [\n{",".join(events)}\n  ]{tail}\n}}'.encode())


def times(run: Run) -> list[tuple[int, int]]:
    return list(zip(run.spans.start_ns.tolist(), run.spans.duration_ns.tolist(), strict=True))


def kinds(run: Run) -> list[str]:
    return [_core.SPAN_KINDS[kind] for kind in run.spans.kind]


def names(run: Run) -> list[str]:
    return [run.strings[name] for name in run.spans.name]


def codes(run: Run) -> set[str]:
    return {_core.ANOMALY_CODES[code] for code in run.table("anomalies").code}


def metadata(run: Run, row: int) -> Any:
    return json.loads(run.strings[run.spans.metadata[row]] or "{}")


# --- time ---------------------------------------------------------------------------------------------------


def test_integer_microseconds_of_the_epoch() -> None:
    run = trace(x("a", "1661200000000001", "7"), x("b", "1661200000000003", "0"))
    assert times(run) == [(1661200000000001000, 7000), (1661200000000003000, 0)]
    assert run.table("files").base_ns[0] == 0
    assert run.start_unix_ns == 1661200000000001000


def test_padded_nanoseconds_of_the_epoch_need_more_digits_than_a_double_has() -> None:
    # 19 significant digits: neighbouring doubles are 250 ns apart here.
    run = trace(
        x("a", "1712195493880123.001", "0.999"),
        x("b", "1712195493880123.002", "10.010"),
        tail=',\n  "displayTimeUnit": "ns"',
    )
    assert times(run) == [(1712195493880123001, 999), (1712195493880123002, 10010)]


@pytest.mark.parametrize("place", ["head", "tail"])
def test_a_base_before_or_after_the_events(place: str) -> None:
    base = '"displayTimeUnit": "ms", "baseTimeNanoseconds": 1751410836000000000'
    event = x("a", "1419247332972.313", "4426.114")
    run = trace(event, head=base + ",") if place == "head" else trace(event, tail=", " + base)
    assert times(run) == [(1419247332972313, 4426114)]
    assert run.table("files").base_ns[0] == 1751410836000000000
    assert run.start_unix_ns == 1751410836000000000 + 1419247332972313


def test_relative_times_without_a_base_have_no_date() -> None:
    run = trace(x("a", "1419247332972.313", "1.000"))
    assert times(run) == [(1419247332972313, 1000)]
    assert run.table("files").base_ns[0] == 0
    assert run.start_unix_ns is None


def test_trailing_zeros_that_a_tool_dropped_are_decimals() -> None:
    run = trace(
        x("a", "1419247332972.3", "0.5"),
        x("b", "1419247332973.05", "22.51"),
        x("c", "1419247332974", "12"),
        x("d", "1419247332975.0", "1.25"),
        tail=', "baseTimeNanoseconds": 1751410836000000000',
    )
    assert times(run) == [
        (1419247332972300, 500),
        (1419247332973050, 22510),
        (1419247332974000, 12000),
        (1419247332975000, 1250),
    ]


# "{us}.{ns % 1000}" without padding was written for a fortnight: .5 are 5 ns, .12 are 12 ns, .120 are 120 ns.
UNPADDED = [
    (x("a", f"{MARCH_2024 + 1}.5", "3.7"), (MARCH_2024 * 1000 + 1005, 3007)),
    (x("b", f"{MARCH_2024 + 1}.12", "1.99"), (MARCH_2024 * 1000 + 1012, 1099)),
    (x("c", f"{MARCH_2024 + 1}.120", "1.800"), (MARCH_2024 * 1000 + 1120, 1800)),
    (x("d", f"{MARCH_2024 + 9}.0", "0.50"), (MARCH_2024 * 1000 + 9000, 50)),
    (x("e", f"{MARCH_2024 + 10}.999", "0.1"), (MARCH_2024 * 1000 + 10999, 1)),
]


def test_unpadded_nanoseconds_of_march_2024() -> None:
    run = trace(*(text for text, _ in UNPADDED), tail=',\n  "displayTimeUnit": "ns"')
    assert times(run) == [expected for _, expected in UNPADDED]


def test_unpadded_nanoseconds_nest_and_bind() -> None:
    flow = f'{{"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": {MARCH_2024}.6, "cat": "ac2g", "name": "ac2g"}}'
    run = trace(
        x("outer", f"{MARCH_2024}.5", "2.90"),
        x("inner", f"{MARCH_2024}.11", "1.7"),
        x("later", f"{MARCH_2024 + 2}.96", "0.100"),
        flow,
    )
    assert times(run)[:2] == [(MARCH_2024 * 1000 + 5, 2090), (MARCH_2024 * 1000 + 11, 1007)]
    assert run.spans.parent.tolist() == [-1, 0, -1]
    assert run.table("flows").time_ns.tolist() == [MARCH_2024 * 1000 + 6]
    assert run.table("flows").span.tolist() == [0]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (f"{MARCH_2024 + 20}.05", "a leading zero: decimals that lost zeros at their end"),
        (f"{MARCH_2024 + 20}.039", "a leading zero: padded"),
        (f"{MARCH_2024 + 20}.1234", "more digits than nanoseconds have"),
    ],
)
def test_one_fraction_can_prove_that_fractions_are_decimals(changed: str, why: str) -> None:
    assert times(trace(*(text for text, _ in UNPADDED), x("f", changed, "1")))[0] == (MARCH_2024 * 1000 + 1500, 3700), (
        why
    )


def test_fractions_of_other_times_are_decimals() -> None:
    for start in (1661200000000001, 1419247332972, 1751410836000000):
        assert times(trace(x("a", f"{start}.5", "3.7")))[0] == (start * 1000 + 500, 3700)
    base = ', "baseTimeNanoseconds": 1711964646000000000'
    assert times(trace(x("a", f"{MARCH_2024}.5", "3.7"), tail=base))[0] == (MARCH_2024 * 1000 + 500, 3700)


def test_quarters_of_microseconds_went_through_doubles() -> None:
    run = trace(*(x("a", f"{APRIL_2024}.{part}", "1") for part in ("25", "5", "75", "0")))
    assert [start % 1000 for start, _ in times(run)] == [250, 500, 750, 0]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0", 0),
        ("-0", 0),
        ("-1.5", -1500),
        ("0.001", 1),
        ("0.0009", 0),
        ("1e3", 1000000),
        ("1.5E+2", 150000),
        ("12345678901.123456789", 12345678901123),
        ("4611686018427386.999", 4611686018427386999),
        ('"17.25"', 17250),
    ],
)
def test_forms_of_numbers(text: str, ns: int) -> None:
    assert times(trace(x("a", text, "1")))[0] == (ns, 1000)


def test_a_unit_for_display_changes_no_time() -> None:
    for unit in ("ms", "ns"):
        assert times(trace(x("a", "5.250", "1.000"), head=f'"displayTimeUnit": "{unit}",')) == [(5250, 1000)]


# --- 2020 and 2021 ------------------------------------------------------------------------------------------


def test_the_bare_array_of_early_2021() -> None:
    text = """[

  {
    "ph": "X", "cat": "Operator",
    "name": "aten::conv2d", "pid": 67844, "tid": "4093687616",
    "ts": 1606910596297023, "dur": 130,
    "args": {
       "Input dims": [[1, 3], []], "Input type": ["float"], "Input names": [],
       "Output dims": [], "Output type": [], "Output names": [],
       "Device": 0, "External id": 2, "Extra arguments": [],
       "Trace name": "PyTorch Profiler", "Trace iteration": 0
    }
  },
  {
    "ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 67844, "tid": "4093687616",
    "ts": 1606910596297030, "dur": 20,
    "args": {"cbid": 211, "correlation": 334, "external id": 2, "external ts": 1606910596297023}
  },
  {
    "ph": "s", "id": 334, "pid": 67844, "tid": 4093687616, "ts": 1606910596297030,
    "cat": "async", "name": "launch"
  },
  {
    "ph": "X", "cat": "Kernel", "name": "gemm", "pid": 0, "tid": "stream 7",
    "ts": 1606910596297060, "dur": 40,
    "args": {"queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 334, "external id": 2,
      "registers per thread": 32, "shared memory": 16, "blocks per SM": 0.8, "warps per SM": 6.4,
      "grid": [64, 1, 1], "block": [256, 2, 1], "theoretical occupancy %": 40}
  },
  {
    "ph": "f", "id": 334, "pid": 0, "tid": 7, "ts": 1606910596297060, "cat": "async", "name": "launch", "bp": "e"
  },
  {
    "ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7",
    "ts": 1606910596297110, "dur": 2,
    "args": {"device": 0, "context": 1, "stream": 7, "correlation": 335, "bytes": 4096,
      "memory bandwidth (GB/s)": 2.048}
  },
  {
    "ph": "X", "cat": "Memset", "name": "Memset (Device)", "pid": 0, "tid": "stream 7",
    "ts": 1606910596297112, "dur": 1,
    "args": {"device": 0, "stream": 7, "correlation": 336, "bytes": 8}
  },
  {
    "ph": "X", "cat": "Trace", "ts": 1606910596295763, "dur": 1292265,
    "pid": "Traces", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}
  },
  {
    "name": "[memory]", "ph": "i", "s": "t", "pid": 67844, "tid": 4093687616, "ts": 1606910596297025,
    "args": {"Device Type": 1, "Device Id": 0, "Bytes": 512}
  },
  {
    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",
    "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": 1606910596288053
  }
]
"""
    run = fast_import(text.encode())
    assert kinds(run) == ["cpu_op", "runtime", "kernel", "memcpy", "memset", "window", "instant"]
    spans = run.spans
    assert spans.start_ns[:3].tolist() == [1606910596297023000, 1606910596297030000, 1606910596297060000]
    assert spans.parent.tolist() == [-1, 0, -1, -1, -1, -1, -1]
    assert spans.external_id.tolist() == [2, 2, 2, -1, -1, -1, -1]
    assert spans.correlation[:5].tolist() == [-1, 334, 334, 335, 336]
    assert spans.launch.tolist() == [-1, -1, 1, -1, -1, -1, -1]
    assert spans.bytes[3:5].tolist() == [4096, 8]
    launches = run.launches
    assert (launches.span.tolist(), launches.grid_x.tolist(), launches.block_y.tolist()) == ([2], [64], [2])
    assert (launches.registers[0], launches.shared_bytes[0], launches.occupancy[0]) == (32, 16, 0.4)
    assert (launches.blocks_per_sm[0], launches.warps_per_sm[0]) == (0.8, 6.4)
    flows = run.table("flows")
    assert flows.id.tolist() == [334, 334]
    assert [_core.FLOW_KINDS[kind] for kind in flows.kind] == ["launch", "launch"]
    assert flows.span.tolist() == [1, 2]
    memory = run.memory
    assert (memory.device[0], memory.bytes[0], memory.address[0], memory.allocated[0]) == (0, 512, 0, -1)
    assert memory.span[0] == 0
    lanes = run.lanes
    kernel, host = spans.lane[2], spans.lane[0]
    assert (lanes.process[kernel], lanes.thread[kernel], lanes.device[kernel]) == (0, 7, 0)
    assert (lanes.process[host], lanes.thread[host], lanes.device[host]) == (67844, 4093687616, -1)
    assert (run.table("files").events[0], run.table("files").kept[0]) == (10, 10)
    assert run.strings[run.table("files").format[0]] == "chrome"


def test_the_exporter_without_kineto() -> None:
    text = """[{"name": "aten::mul", "ph": "X", "ts": 10.5, "dur": 20.25, "tid": 1, "pid": "CPU functions", "args": {}},
      {"name": "aten::mul", "ph": "s", "ts": 10.5, "tid": 1, "pid": "CPU functions", "id": 0,
       "cat": "cpu_to_cuda", "args": {}},
      {"name": "mul_kernel", "ph": "f", "ts": 40, "tid": 0, "pid": "CUDA functions", "id": 0,
       "cat": "cpu_to_cuda", "args": {}},
      {"name": "mul_kernel", "ph": "X", "ts": 40, "dur": 5, "tid": 0, "pid": "CUDA functions", "args": {}}]"""
    run = fast_import(text.encode())
    assert times(run) == [(10500, 20250), (40000, 5000)]
    assert kinds(run) == ["other", "other"]
    assert [run.strings[name] for name in run.lanes.process_name] == ["CPU functions", "CUDA functions"]
    assert [_core.FLOW_KINDS[kind] for kind in run.table("flows").kind] == ["launch", "launch"]
    assert run.table("flows").span.tolist() == [0, 1]


# --- kinds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("cpu_op", "cpu_op"),
        ("Operator", "cpu_op"),
        ("user_annotation", "annotation"),
        ("gpu_user_annotation", "device_annotation"),
        ("kernel", "kernel"),
        ("Kernel", "kernel"),
        ("gpu_memcpy", "memcpy"),
        ("gpu_memset", "memset"),
        ("cuda_runtime", "runtime"),
        ("Runtime", "runtime"),
        ("cuda_driver", "driver"),
        ("cuda_sync", "sync"),
        ("cuda_event", "event"),
        ("python_function", "python"),
        ("overhead", "overhead"),
        ("cuda_profiler_range", "counter_range"),
        ("mtia_runtime", "runtime"),
        ("mtia_ccp_events", "accelerator"),
        ("mtia_insight", "accelerator"),
        ("hpu_op", "cpu_op"),
        ("xpu_runtime", "runtime"),
        ("xpu_driver", "driver"),
        ("xpu_sync", "sync"),
        ("privateuse1_runtime", "runtime"),
        ("privateuse1_driver", "driver"),
        ("glow_runtime", "runtime"),
        ("Trace", "window"),
        ("collective_comm", "other"),
        ("something new", "other"),
    ],
)
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
    table = run.counters
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
    assert [run.strings[series] for series in run.counters.series] == [
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
    ]
    assert run.counters.value.tolist() == [2048.0]
    assert run.counters.span.tolist() == [0]


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


# --- arguments ----------------------------------------------------------------------------------------------


def test_arguments_of_an_operator() -> None:
    args = (
        ', "args": {"External id": 7, "Record function id": 0, "Sequence number": 12, "Fwd thread id": 1, '
        '"Concrete Inputs": ["", "[1, 2]"], "Input type": ["float", "ScalarList"], "Input Strides": [[4, 1], []], '
        '"Input Dims": [[2, 4], []], "Call stack": "a.py(1): f;b.py(2): g", "Module Hierarchy": "Net.conv", '
        '"Backend": "x", "kernel_backend": "triton", "num_warps": 4, "Ev Idx": 9}'
    )
    run = trace(x("aten::mm", "1", "2", "cpu_op", args))
    table = run.table("operators")
    assert (table.sequence[0], table.forward_thread[0], run.spans.external_id[0]) == (12, 1, 7)
    assert run.strings[table.shapes[0]] == "[[2,4],[]]"
    assert run.strings[table.types[0]] == '["float","ScalarList"]'
    assert run.strings[table.strides[0]] == "[[4,1],[]]"
    assert run.strings[table.values[0]] == '["","[1, 2]"]'
    assert run.strings[table.stack[0]] == "a.py(1): f;b.py(2): g"
    assert run.strings[table.module[0]] == "Net.conv"
    assert metadata(run, 0) == {"Backend": "x", "kernel_backend": "triton", "num_warps": 4}


def test_arguments_of_a_collective() -> None:
    args = (
        ', "args": {"External id": 1, "dtype": "BFloat16", "In msg nelems": 1048576, "Out msg nelems": 8388608, '
        '"Group size": 8, "Collective name": "_allgather_base", "Process Group Name": "0", '
        '"Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, ...]", "Rank": 3, '
        '"In split size": "[]", "Out split size": "[1, 2]", "Src Rank": 4, "Dst Rank": 5, "Global rank start": 0, '
        '"Global rank stride": 1, "Seq": 77, "Comms Id": 9223372036854775807}'
    )
    run = trace(x("record_param_comms", "1", "2", "cpu_op", args), x("nccl", "3", "4", "kernel", args, "0", "20"))
    table = run.table("collectives")
    assert table.span.tolist() == [0, 1]
    assert (table.in_elements[0], table.out_elements[0], table.group_size[0], table.rank[0]) == (1048576, 8388608, 8, 3)
    assert (table.source_rank[0], table.destination_rank[0], table.sequence[0]) == (4, 5, 77)
    assert table.communicator[0] == 9223372036854775807
    for column, text in {
        "collective": "_allgather_base",
        "element_type": "BFloat16",
        "group_name": "0",
        "group_description": "default_pg",
        "group_ranks": "[0, 1, 2, ...]",
        "in_split": "[]",
        "out_split": "[1, 2]",
    }.items():
        assert run.strings[getattr(table, column)[1]] == text


def test_arguments_of_synchronisation() -> None:
    args = (
        ', "args": {"cuda_sync_kind": "Stream Wait Event", "stream": 7, "correlation": 99, "wait_on_stream": 20, '
        '"wait_on_cuda_event_record_corr_id": 98, "wait_on_cuda_event_id": 5}'
    )
    context = ', "args": {"cuda_sync_kind": "Context Sync", "stream": -1, "correlation": 100}'
    run = trace(
        x("Stream Wait Event", "1.000", "0.001", "cuda_sync", args, "0", "1000007"),
        x("Context Sync", "2.000", "5.000", "cuda_sync", context, "0", "4294967295"),
        x("Context Sync", "9.000", "5.000", "cuda_sync", context, "0", "-1"),
    )
    table = run.table("syncs")
    assert (table.stream[0], table.waits_on_stream[0], table.event[0], table.record_correlation[0]) == (7, 20, 5, 98)
    assert [run.strings[sync] for sync in table.sync] == ["Stream Wait Event", "Context Sync", "Context Sync"]
    assert table.stream.tolist() == [7, -1, -1]
    assert run.spans.correlation.tolist() == [99, 100, 100]


def test_python_functions() -> None:
    def function(name: str, ts: str, dur: str, ident: int, parent: str, module: str = "") -> str:
        args = f', "args": {{"Python id": {ident}, "Python parent id": {parent}{module}, "Ev Idx": 1}}'
        return x(name, ts, dur, "python_function", args)

    run = trace(
        function("train.py(3): main", "1.000", "10.000", 1, "null"),
        function("nn.Module: Linear_0", "2.000", "3.000", 2, "1", ', "Python module id": 0'),
    )
    frames = run.table("frames")
    assert frames.id.tolist() == [1, 2]
    assert frames.parent_id.tolist() == [-1, 1]
    assert frames.module_id.tolist() == [-1, 0]
    assert run.spans.parent.tolist() == [-1, 0]
    assert names(run) == ["train.py(3): main", "nn.Module: Linear_0"]


def test_kernels_of_2026() -> None:
    args = (
        ', "args": {"queued": 0, "device": 1, "context": 1, "stream": 7, "correlation": 5, "graph id": 3, '
        '"graph node id": 12884901890, "priority": 0, "occupancy": {"activeBlocksPerMultiprocessor": 2, '
        '"limitingFactors": '
        '["registers"]}, "registers per thread": 255, "shared memory": 232448, "blocks per SM": 1.5, '
        '"warps per SM": 12, '
        '"grid": [132, 1, 1], "block": [384, 1, 1], "est. achieved occupancy %": 19}'
    )
    run = trace(x("k", "1.000", "2.000", "kernel", args, "1", "7"))
    launches = run.launches
    assert (launches.graph[0], launches.graph_node[0], launches.estimated_occupancy[0]) == (3, 12884901890, 0.19)
    assert math.isnan(launches.occupancy[0])
    assert metadata(run, 0)["occupancy"] == {"activeBlocksPerMultiprocessor": 2, "limitingFactors": ["registers"]}
    assert run.lanes.device[run.spans.lane[0]] == 1


def test_a_graph_launches_many_kernels() -> None:
    def kernel(ts: str) -> str:
        return x("k", ts, "1.000", "kernel", ', "args": {"device": 0, "stream": 7, "correlation": 5}', "0", "7")

    run = trace(
        x("cudaGraphLaunch", "1.000", "2.000", "cuda_runtime", ', "args": {"correlation": 5}'),
        kernel("4.000"),
        kernel("6.000"),
        kernel("8.000"),
    )
    assert run.spans.launch.tolist() == [-1, 0, 0, 0]
    assert codes(run) == set()


def test_a_correlation_that_is_used_again_means_the_call_before() -> None:
    def call(ts: str) -> str:
        return x("cudaLaunchKernel", ts, "1.000", "cuda_runtime", ', "args": {"correlation": 5}')

    def kernel(ts: str) -> str:
        return x("k", ts, "1.000", "kernel", ', "args": {"device": 0, "stream": 7, "correlation": 5}', "0", "7")

    run = trace(kernel("2.500"), call("1.000"), kernel("9.000"), call("8.000"))
    assert run.spans.launch.tolist() == [1, -1, 3, -1]
    assert "reused_correlations" in codes(run)


def test_work_that_starts_before_its_launch_and_work_without_one() -> None:
    args = ', "args": {"device": 0, "stream": 7, "correlation": 5}'
    run = trace(
        x("k", "1.000", "1.000", "kernel", args, "0", "7"),
        x("cudaLaunchKernel", "1.500", "1.000", "cuda_runtime", ', "args": {"correlation": 5}'),
        x("orphan", "4.000", "1.000", "kernel", args.replace("5", "6"), "0", "7"),
        x("none", "6.000", "1.000", "gpu_memset", ', "args": {"device": 0, "stream": 7}', "0", "7"),
    )
    assert run.spans.launch.tolist() == [1, -1, -1, -1]
    assert {"clock_step", "orphan_kernels"} <= codes(run)
    assert [bool(flags & _core.FLAG_ORPHAN) for flags in run.spans.flags] == [False, False, True, True]


def test_devices_of_other_makers() -> None:
    run = trace(
        x(
            "hipLaunchKernel",
            "1.000",
            "2.000",
            "cuda_runtime",
            ', "args": {"correlation": 3, "cid": 211, "kernel": "k"}',
        ),
        x(
            "k",
            "4.000",
            "2.000",
            "kernel",
            ', "args": {"device": 2, "stream": 0, "correlation": 3, "kind": "Dispatch"}',
            "2",
            "0",
        ),
        x("pe_exe", "4.000", "2.000", "mtia_ccp_events", ', "args": {"stream": 4, "column": 1}', "17", "4"),
        head='"schemaVersion": 1, "deviceProperties": [{"id": 2, "name": "AMD Instinct MI300X", "warpSize": 64}],',
    )
    assert kinds(run) == ["runtime", "kernel", "accelerator"]
    assert run.lanes.device[run.spans.lane].tolist() == [-1, 2, 17]
    assert metadata(run, 1) == {"kind": "Dispatch"}
    assert run.environment["trace"]["deviceProperties"][0]["warpSize"] == 64


def test_what_a_command_processor_does_beside_computing() -> None:
    """MTIA has waits, marks and copies in the category of its programs."""
    names = ("event_wait", "event_record", "dma_request", "pe_exe", "event_waiting")
    args = (', "args": {"stream": 4, "wait_on_stream": 3}', "", ', "args": {"size": 1024}', "", "")
    run = trace(
        *(x(name, f"{at}.000", "1.000", "mtia_ccp_events", arg, "17", "4")
          for at, (name, arg) in enumerate(zip(names, args, strict=True)))
    )  # fmt: skip
    assert kinds(run) == ["sync", "event", "memcpy", "accelerator", "accelerator"]
    assert run.spans.bytes[2] == 1024
    assert (run.syncs.span.tolist(), run.syncs.stream.tolist()) == ([0], [4])


# --- around the events --------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["head", "tail"])
def test_the_rank_before_or_after_the_events(place: str) -> None:
    info = (
        '"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, '
        '"pg_config": [{"ranks": "[0, 1, ...]", "rank": 9}]}'
    )
    event = x("a", "1", "2")
    run = trace(event, head=info + ",") if place == "head" else trace(event, tail=", " + info)
    assert run.lanes.rank.tolist() == [3]
    assert run.table("files").rank[0] == 3


def test_a_job_that_does_not_say_its_rank() -> None:
    info = '"distributedInfo": {"backend": "nccl", "world_size": 8, "pg_config": [{"rank": 9}]},'
    run = trace(x("a", "1", "2"), head=info)
    assert run.table("files").rank[0] == -1


def test_names_of_lanes_come_from_metadata_events_anywhere() -> None:
    def mark(kind: str, pid: str, tid: str, key: str, value: str) -> str:
        return f'{{"name": "{kind}", "ph": "M", "ts": 1, "pid": {pid}, "tid": {tid}, "args": {{"{key}": {value}}}}}'

    run = trace(
        mark("process_name", "7", "0", "name", '"python3"'),
        x("a", "1", "2", pid="7", tid="8"),
        mark("process_labels", "7", "0", "labels", '"CPU"'),
        x("k", "1", "2", "kernel", pid="0", tid="7"),
        mark("process_labels", "0", "0", "labels", '"GPU 0"'),
        mark("thread_name", "0", "7", "name", '"stream 7 "'),
        mark("thread_name", "7", "8", "name", '"thread 8 (python3)"'),
        mark("thread_sort_index", "7", "8", "sort_index", "8"),
        mark("process_sort_index", "0", "0", "sort_index", "5000000"),
    )
    host, device = run.spans.lane.tolist()
    text = run.strings
    lanes = run.lanes
    assert (text[lanes.process_name[host]], text[lanes.label[host]]) == ("python3", "CPU")
    assert text[lanes.name[host]] == "thread 8 (python3)"
    assert (text[lanes.label[device]], text[lanes.name[device]].strip()) == ("GPU 0", "stream 7")
    assert run.table("files").kept[0] == 9


def test_lines_of_the_log_and_other_keys_are_kept_in_the_environment() -> None:
    tail = ', "INFO": ["INFO:2024 a", "INFO: b"], "traceName": "/x/y.json", "with_stack": 1, "cupti_version": 22'
    found = trace(x("a", "1", "2"), tail=tail).environment["trace"]
    assert found["INFO"] == ["INFO:2024 a", "INFO: b"]
    assert (found["traceName"], found["with_stack"], found["cupti_version"]) == ("/x/y.json", 1, 22)
    assert "traceEvents" not in found


def test_processes_and_threads_of_every_form() -> None:
    forms = ["7", '"7"', '"stream 7"', '"thread 7 (python)"', '"Spans"', '""', "-1", "4294967295", "1000007"]
    run = trace(*(x(f"n{i}", str(i), "1", tid=form) for i, form in enumerate(forms)))
    threads = run.lanes.thread[run.spans.lane].tolist()
    assert threads == [7, 7, 7, 7, -1, -1, -1, 4294967295, 1000007]
    assert len({run.spans.lane[i] for i in range(4)}) == 1
    assert run.strings[run.lanes.name[run.spans.lane[4]]] == "Spans"


def test_steps() -> None:
    kernel = ', "args": {"device": 0, "stream": 7, "correlation": 5}'
    run = trace(
        x("ProfilerStep#9", "10", "10", "user_annotation"),
        x("ProfilerStep#10", "20", "10", "user_annotation"),
        x("before", "9", "5"),
        x("in 9", "10", "30"),
        x("in 10", "20", "1"),
        x("after", "30", "1"),
        x("cudaLaunchKernel", "15", "1", "cuda_runtime", ', "args": {"correlation": 5}'),
        x("k", "25", "1", "kernel", kernel, "0", "7"),
        x("k", "26", "1", "kernel", kernel.replace("5", "6"), "0", "7"),
        x("ProfilerStep#9", "25", "1", "gpu_user_annotation", "", "0", "7"),
    )
    assert run.spans.step.tolist() == [9, 10, -1, 9, 10, -1, 9, 9, -1, -1]
