# SPDX-License-Identifier: Apache-2.0
"""Collapsed stacks and pprof, read back and compared with stacks found by loops."""

import gzip
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from naive_stacks import naive_stacks
from needed import package
from run_strategies import runs
from runs import KIND, build_run, is_work
from traces import load_trace

from regimeter import Run

TRACES = ["a100_alexnet_cuda_sync.json.gz", "h100_qwen_orphans.json.gz", "diff_small_base.json.gz",
          "mi300_vllm_decode_graph.json.gz", "v100_2021_gpu_metrics.json"]  # fmt: skip
HERE = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def folded(path: Any) -> Counter[tuple[str, ...]]:
    """Lines of the format: frames, a space, a number."""
    found: Counter[tuple[str, ...]] = Counter()
    for line in path.read_bytes().decode("utf-8").split("\n")[:-1]:
        stack, value = line.rsplit(" ", 1)
        assert int(value) > 0
        found[tuple(stack.split(";"))] += int(value)
    return found


def as_frame(name: str) -> str:
    """What becomes of a name in collapsed stacks."""
    if not name:
        return "(no name)"
    return "".join(":" if c == ";" else " " if ord(c) < 0x20 or ord(c) == 0x7F else c for c in name)


def without_roots(stacks: Any) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for path, value in stacks.items():
        if value:
            found[tuple(as_frame(name) for name in path[1:])] += value
    return found


@pytest.fixture(scope="module")
def profile_class() -> Any:
    """The class of pprof's Profile, from the published proto3 definition (google/pprof, proto/profile.proto)."""
    descriptor_pb2 = package("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory

    messages = {
        "Profile": [("sample_type", 1, "ValueType*"), ("sample", 2, "Sample*"), ("mapping", 3, "Mapping*"),
                    ("location", 4, "Location*"), ("function", 5, "Function*"), ("string_table", 6, "string*"),
                    ("drop_frames", 7, "int64"), ("keep_frames", 8, "int64"), ("time_nanos", 9, "int64"),
                    ("duration_nanos", 10, "int64"), ("period_type", 11, "ValueType"), ("period", 12, "int64"),
                    ("comment", 13, "int64*"), ("default_sample_type", 14, "int64")],
        "ValueType": [("type", 1, "int64"), ("unit", 2, "int64")],
        "Sample": [("location_id", 1, "uint64*"), ("value", 2, "int64*"), ("label", 3, "Label*")],
        "Label": [("key", 1, "int64"), ("str", 2, "int64"), ("num", 3, "int64"), ("num_unit", 4, "int64")],
        "Mapping": [("id", 1, "uint64"), ("filename", 5, "int64")],
        "Location": [("id", 1, "uint64"), ("mapping_id", 2, "uint64"), ("address", 3, "uint64"), ("line", 4, "Line*"),
                     ("is_folded", 5, "bool")],
        "Line": [("function_id", 1, "uint64"), ("line", 2, "int64")],
        "Function": [("id", 1, "uint64"), ("name", 2, "int64"), ("system_name", 3, "int64"), ("filename", 4, "int64"),
                     ("start_line", 5, "int64")],
    }  # fmt: skip
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools.profiles", syntax="proto3")
    field = descriptor_pb2.FieldDescriptorProto
    plain = {"int64": field.TYPE_INT64, "uint64": field.TYPE_UINT64, "string": field.TYPE_STRING,
             "bool": field.TYPE_BOOL}  # fmt: skip
    for message, fields in messages.items():
        into = file.message_type.add(name=message)
        for name, number, kind in fields:
            label = field.LABEL_REPEATED if kind.endswith("*") else field.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            made = into.field.add(name=name, number=number, label=label, type=plain.get(kind, field.TYPE_MESSAGE))
            if kind not in plain:
                made.type_name = f".perftools.profiles.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.profiles.Profile"))


def check_pprof(run: Run, path: Any, profile_class: Any) -> None:
    run.export(path)
    profile = profile_class.FromString(gzip.decompress(path.read_bytes()))
    texts = profile.string_table
    assert texts[0] == ""
    assert [(texts[t.type], texts[t.unit]) for t in profile.sample_type] == [
        ("host", "nanoseconds"), ("device", "nanoseconds"), ("spans", "count")]  # fmt: skip
    names = {f.id: texts[f.name] for f in profile.function}
    frames = {location.id: names[location.line[0].function_id] for location in profile.location}
    assert 0 not in frames
    assert len(frames) == len(profile.location)
    found: tuple[Counter[Any], ...] = (Counter(), Counter(), Counter())
    for sample in profile.sample:
        path_of = tuple(frames[i] for i in reversed(sample.location_id))[1:]
        for counter, value in zip(found, sample.value, strict=True):
            counter[path_of] += value
    for counter, stacks in zip(found, naive_stacks(run), strict=True):
        expected: Counter[Any] = Counter()
        for key, value in stacks.items():
            expected[key[1:]] += value
        assert +counter == +expected


def check_collapsed(run: Run, folder: Any) -> None:
    host, device, _ = naive_stacks(run)
    for stacks, expected in (("host", host), ("device", device)):
        run.export(folder / "x.folded", stacks=stacks)
        found: Counter[tuple[str, ...]] = Counter()
        for path, value in folded(folder / "x.folded").items():
            found[path[1:]] += value
        assert found == without_roots(expected)


@pytest.mark.parametrize("name", TRACES)
def test_collapsed_stacks_of_real_traces(name, tmp_path):
    run = load_trace(name)
    check_collapsed(run, tmp_path)
    run.export(tmp_path / "device.folded", stacks="device")
    assert sum(folded(tmp_path / "device.folded").values()) == int(run.spans.duration_ns[is_work(run)].sum())


@pytest.mark.parametrize("name", TRACES)
def test_pprof_of_real_traces(name, tmp_path, profile_class):
    check_pprof(load_trace(name), tmp_path / "x.pb.gz", profile_class)


@HERE
@given(run=runs())
def test_collapsed_stacks_of_hostile_runs(run, tmp_path):
    check_collapsed(run, tmp_path)


@HERE
@given(run=runs())
def test_pprof_of_hostile_runs(run, tmp_path, profile_class):
    check_pprof(run, tmp_path / "x.pb.gz", profile_class)


def test_device_time_stands_below_its_launch(tmp_path):
    lanes = [{"process": 1, "thread": 1, "device": -1, "name": "main"}, {"process": 0, "thread": 7, "device": 0,
                                                                        "name": "stream 7"}]  # fmt: skip
    spans = [
        {"start_ns": 0, "duration_ns": 100, "name": "op", "kind": KIND["cpu_op"], "lane": 0, "correlation": -1},
        {"start_ns": 10, "duration_ns": 5, "name": "launch", "kind": KIND["runtime"], "lane": 0, "correlation": 4},
        {"start_ns": 20, "duration_ns": 7, "name": "k", "kind": KIND["kernel"], "lane": 1, "correlation": 4},
        {"start_ns": 30, "duration_ns": 3, "name": "lost", "kind": KIND["kernel"], "lane": 1, "correlation": 5},
    ]
    run = build_run(spans, lanes, parents=True)
    run.export(tmp_path / "host.folded")
    assert (tmp_path / "host.folded").read_text() == "process 1 main;op 95\nprocess 1 main;op;launch 5\n"
    run.export(tmp_path / "device.folded", stacks="device")
    assert (tmp_path / "device.folded").read_text() == ("process 1 main;op;launch;k 7\ndevice 0 stream 7;lost 3\n")


def test_spans_that_overlap_in_part_count_their_time_once(tmp_path):
    spans = [
        {"lane": 0, "start_ns": 0, "duration_ns": 100, "name": "f", "kind": KIND["cpu_op"]},
        {"lane": 0, "start_ns": 50, "duration_ns": 100, "name": "g", "kind": KIND["cpu_op"]},
        {"lane": 0, "start_ns": 60, "duration_ns": 10, "name": "h", "kind": KIND["cpu_op"]},
    ]
    build_run(spans, [{"process": 1, "name": "main"}], parents=True).export(tmp_path / "host.folded")
    assert (tmp_path / "host.folded").read_text() == "main;f 50\nmain;g 90\nmain;g;h 10\n"


@pytest.mark.parametrize(
    "name", ["h100_bert_small.json.gz", "h100_qwen_orphans.json.gz", "h100_owlv2_with_stack.json.gz"]
)
def test_host_time_is_that_of_the_flame_graph(name, tmp_path):
    load_trace(name).export(tmp_path / "host.folded")
    whole = load_trace(name).analyse("flame").self_host_ns.sum()
    assert sum(folded(tmp_path / "host.folded").values()) == whole


def test_a_very_deep_stack_keeps_its_time(tmp_path):
    depth = 5000
    spans = [
        {"lane": 0, "start_ns": i, "duration_ns": 2 * (depth - i), "name": f"f{i}", "kind": KIND["cpu_op"]}
        for i in range(depth)
    ]
    run = build_run(spans, [{"process": 1}], parents=True)
    run.export(tmp_path / "x.folded")
    found = folded(tmp_path / "x.folded")
    assert sum(found.values()) == 2 * depth
    assert max(map(len, found)) == 513
