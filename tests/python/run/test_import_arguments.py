# SPDX-License-Identifier: Apache-2.0
"""Arguments of events: the columns they go to. Which call launched what, and in which step: core/model/test_links.c."""

import json
import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from event_text import codes, kinds, metadata, names, trace, x
from traces import trace_path

from regimeter import _core, load


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


def test_an_argument_without_a_value_is_none_wherever_it_stands(tmp_path: Path) -> None:
    """Also where the events before had a number there, from which the reader has learned what comes next."""
    values = ["1", "2", "3", "null", "4", "null"]
    events = [x("op", str(10 * i), "5", "cpu_op", f', "args": {{"own": {v}, "b": 1}}') for i, v in enumerate(values)]
    expected = [{"b": 1} if value == "null" else {"own": int(value), "b": 1} for value in values]
    file = tmp_path / "null.json"
    file.write_text(f'{{"traceEvents": [{", ".join(events)}]}}')
    for strict in (False, True):
        run = load(file, strict=strict)
        assert [metadata(run, row) for row in range(len(values))] == expected


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
    launches = run.tables.launches
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
    assert (run.tables.syncs.span.tolist(), run.tables.syncs.stream.tolist()) == ([0], [4])


def test_every_column_of_a_trace_is_filled() -> None:
    """Two readings are the same in every column: none holds what memory happened to hold."""
    path = trace_path("h100_bert_small.json.gz")
    first, second = load(path), load(path)
    for name, described in _core.schema()["run"].items():
        for column in (one["name"] for one in described["columns"]):
            values = [getattr(run.table(name), column) for run in (first, second)]
            assert np.array_equal(*values, equal_nan=values[0].dtype.kind == "f"), (name, column)
    assert len(first.tables.launches)
    assert not first.tables.launches.cluster_y.any()


# Numbers as the program's own locale has them: a comma, and an Arabic sign of two bytes.
@pytest.mark.parametrize("name", ["de_DE", "ps_AF"])
def test_numbers_have_points_in_every_locale(
    run_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, name: str
) -> None:
    made = tmp_path / f"{name}.UTF-8"
    if not shutil.which("localedef") or subprocess.call(["localedef", "-i", name, "-f", "UTF-8", made]):
        pytest.skip("no localedef that makes a locale with another sign than the point")
    figures = '"blocks per SM": 0.1, "est. achieved occupancy %": 12.5'
    (tmp_path / "trace.json").write_text(
        '{"traceEvents": ['
        + x("op", "1", "2", more=f', "args": {{{figures}}}')
        + ","
        + x("kernel", "2.5", "2", "kernel", f', "args": {{"device": 0, "stream": 7, {figures}}}', "0", "7")
        + ', {"ph": "C", "name": "W", "pid": 0, "ts": 2, "args": {"power": 312.5}}]}'
    )
    program = f"""
        import json, locale
        from regimeter import load

        locale.setlocale(locale.LC_ALL, "{name}.UTF-8")
        assert locale.localeconv()["decimal_point"] != "."
        run = load("trace.json")
        launches = run.table("launches")
        print(run.table("counters").value.tolist())
        print(launches.blocks_per_sm.tolist(), launches.estimated_occupancy.tolist())
        print(run.string(int(run.spans.metadata[0])))
        run.export("copy.trace.json")
        print(load("copy.trace.json").table("counters").value.tolist())
    """
    told = run_python(program, env={"LOCPATH": str(tmp_path)}).stdout.splitlines()
    assert told[0] == told[3] == "[312.5]"
    assert told[1] == "[0.1] [0.125]"
    assert json.loads(told[2]) == {"blocks per SM": 0.1, "est. achieved occupancy %": 12.5}
