# SPDX-License-Identifier: Apache-2.0
"""Every era and dialect of the trace format, with values typed by hand."""

import pytest
from event_text import kinds, times, trace, x
from traces import fast_import

from regimeter import _core

MARCH_2024, APRIL_2024 = 1711000000000000, 1712195493000000

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
        ("0", 0), ("-0", 0), ("-1.5", -1500), ("0.001", 1), ("0.0009", 0), ("1e3", 1000000), ("1.5E+2", 150000),
        ("12345678901.123456789", 12345678901123), ("4611686018427386.999", 4611686018427386999), ('"17.25"', 17250),
    ],
)  # fmt: skip
def test_forms_of_numbers(text: str, ns: int) -> None:
    assert times(trace(x("a", text, "1")))[0] == (ns, 1000)


def test_a_unit_for_display_changes_no_time() -> None:
    for unit in ("ms", "ns"):
        assert times(trace(x("a", "5.250", "1.000"), head=f'"displayTimeUnit": "{unit}",')) == [(5250, 1000)]


# --- 2020 and 2021 ------------------------------------------------------------------------------------------


EARLY_2021 = """[

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


def test_the_bare_array_of_early_2021() -> None:
    run = fast_import(EARLY_2021.encode())
    assert kinds(run) == ["cpu_op", "runtime", "kernel", "memcpy", "memset", "window", "instant"]
    spans = run.spans
    assert spans.start_ns[:3].tolist() == [1606910596297023000, 1606910596297030000, 1606910596297060000]
    assert spans.parent.tolist() == [-1, 0, -1, -1, -1, -1, -1]
    assert spans.external_id.tolist() == [2, 2, 2, -1, -1, -1, -1]
    assert spans.correlation[:5].tolist() == [-1, 334, 334, 335, 336]
    assert spans.launch.tolist() == [-1, -1, 1, -1, -1, -1, -1]
    assert spans.bytes[3:5].tolist() == [4096, 8]
    launches = run.tables.launches
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
