# SPDX-License-Identifier: Apache-2.0
"""Perfetto's protobuf, read back with the classes that the package `perfetto` generates from the definitions."""

from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from naive_stacks import Layout
from needed import package
from run_strategies import runs
from runs import KIND, build_run, names_of
from traces import load_trace

from regimeter import Run, _core

pb = package("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

TRACES = ["a100_alexnet_cuda_sync.json.gz", "h100_qwen_orphans.json.gz", "v100_2024_04_absolute_ns.json.gz",
          "mi300_vllm_decode_graph.json.gz"]  # fmt: skip
HERE = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Reader:
    """What a reader of the format keeps of one sequence: interned texts, tracks, slices."""

    def __init__(self, data: bytes) -> None:
        trace = pb.Trace.FromString(data)
        self.names: dict[int, str] = {}
        self.categories: dict[int, str] = {}
        self.keys: dict[int, str] = {}
        self.tracks: dict[int, Any] = {}
        self.slices: list[dict[str, Any]] = []
        self.instants: list[tuple[int, int, Any, str, str]] = []
        self.counters: list[tuple[int, int, float]] = []
        open_on: dict[int, list[dict[str, Any]]] = defaultdict(list)
        first = trace.packet[0]
        assert first.sequence_flags == pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id == first.trusted_packet_sequence_id != 0
            self.take_interned(packet.interned_data)
            if packet.HasField("track_descriptor"):
                assert packet.track_descriptor.uuid not in self.tracks
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                self.take_event(packet.timestamp, packet.track_event, open_on)
        assert not any(open_on.values())
        for track in self.tracks.values():
            assert not track.parent_uuid or track.parent_uuid in self.tracks

    def take_interned(self, data: Any) -> None:
        for into, entries in ((self.names, data.event_names), (self.categories, data.event_categories),
                              (self.keys, data.debug_annotation_names)):  # fmt: skip
            for entry in entries:
                assert entry.iid not in into
                into[entry.iid] = entry.name

    def take_event(self, time: int, event: Any, open_on: Any) -> None:
        assert event.track_uuid in self.tracks
        args = {self.keys[a.name_iid]: getattr(a, a.WhichOneof("value")) for a in event.debug_annotations}
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            made = {"start": time, "name": self.names[event.name_iid], "track": event.track_uuid, "args": args,
                    "kind": self.categories[event.category_iids[0]], "flows": list(event.flow_ids),
                    "ends": list(event.terminating_flow_ids)}  # fmt: skip
            if open_on[event.track_uuid]:
                assert time >= open_on[event.track_uuid][-1]["start"]
            open_on[event.track_uuid].append(made)
            self.slices.append(made)
        elif event.type == pb.TrackEvent.TYPE_SLICE_END:
            made = open_on[event.track_uuid].pop()
            made["duration"] = time - made["start"]
        elif event.type == pb.TrackEvent.TYPE_INSTANT:
            name = self.names.get(event.name_iid, event.name)
            kind = self.categories[event.category_iids[0]] if event.category_iids else event.categories[0]
            self.instants.append((time, event.track_uuid, args, name, kind))
        else:
            value = event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
            self.counters.append((time, event.track_uuid, value))


def read(run: Run, folder: Any) -> Reader:
    run.export(folder / "x.pftrace")
    return Reader((folder / "x.pftrace").read_bytes())


def check(run: Run, folder: Any) -> Reader:
    reader = read(run, folder)
    first = min([0, *run.spans.start_ns.tolist()])
    found = Counter((s["start"] + first, s["duration"], s["name"], s["kind"]) for s in reader.slices)
    found.update((t + first, 0, name, kind) for t, _, _, name, kind in reader.instants if kind != "memory")
    s = run.spans
    kinds = [_core.SPAN_KINDS[k] for k in s.kind.tolist()]
    assert found == Counter(zip(s.start_ns.tolist(), s.duration_ns.tolist(), names_of(run), kinds, strict=True))
    by_track = defaultdict(list)
    for time, track, _, name, kind in reader.instants:
        if kind != "memory":
            by_track[track].append((time + first, name))
    for slice_ in reader.slices:
        by_track[slice_["track"]].append((slice_["start"] + first, slice_["name"]))
    layout = Layout(run)
    expected = [[(layout.start[i], layout.names[i]) for i in rows] for rows in layout.tracks.values()]
    assert sorted(map(sorted, by_track.values())) == sorted(map(sorted, expected))
    return reader


@pytest.mark.parametrize("name", TRACES)
def test_real_traces_come_back(name, tmp_path):
    run = load_trace(name)
    reader = check(run, tmp_path)
    assert sum(s["duration"] for s in reader.slices) == int(run.spans.duration_ns.sum())
    correlations = Counter(c for c in run.spans.correlation.tolist() if c != -1)
    assert Counter(s["args"]["correlation"] for s in reader.slices if "correlation" in s["args"]) == correlations
    started = Counter(flow for s in reader.slices if s["kind"] in ("runtime", "driver") for flow in s["flows"])
    ended = {flow: s for s in reader.slices for flow in s["ends"]}
    assert set(started.values()) <= {1}
    assert started.keys() <= ended.keys()
    by_flow = {flow: s for s in reader.slices for flow in s["flows"]}
    for flow in started:
        assert by_flow[flow]["args"]["correlation"] == ended[flow]["args"]["correlation"]


@HERE
@given(run=runs())
def test_hostile_runs_come_back(run, tmp_path):
    check(run, tmp_path)
    first = (tmp_path / "x.pftrace").read_bytes()
    run.export(tmp_path / "x.pftrace")
    assert (tmp_path / "x.pftrace").read_bytes() == first


def test_tracks_counters_and_memory(tmp_path):
    lanes = [{"process": 10, "thread": 11, "device": -1, "name": "main", "process_name": "python", "label": "CPU"},
             {"process": 0, "thread": 7, "device": 0, "name": "stream 7", "process_name": "", "label": ""}]  # fmt: skip
    spans = [{"start_ns": -20, "duration_ns": 5, "name": "op", "kind": KIND["cpu_op"], "lane": 0},
             {"start_ns": -10, "duration_ns": 5, "name": "k", "kind": KIND["kernel"], "lane": 1},
             {"start_ns": -8, "duration_ns": 5, "name": "k", "kind": KIND["kernel"], "lane": 1}]  # fmt: skip
    run = build_run(
        spans, lanes,
        memory={"time_ns": [-30, 5], "device": [0, 0], "action": [1, 2], "bytes": [4096, 4096], "address": [2**47, 1],
                "allocated": [4096, 0], "lane": [0, 0]},
        counters={"time_ns": [0, 1, 2], "series": ["b", "a", "b"], "value": [1.5, float("nan"), 2.5],
                  "device": [-1, -1, -1]},
    )  # fmt: skip
    reader = read(run, tmp_path)
    tracks = list(reader.tracks.values())
    thread = next(t for t in tracks if t.HasField("thread"))
    assert (thread.thread.pid, thread.thread.tid, thread.thread.thread_name) == (10, 11, "main")
    process = next(t for t in tracks if t.HasField("process"))
    assert (process.process.pid, process.process.process_name, list(process.process.process_labels)) == (
        10, "python", ["CPU"])  # fmt: skip
    assert {t.name for t in tracks} >= {"stream 7", "stream 7 (overlapping 1)", "device 0"}
    # Times begin at the earliest one, which is that of the first memory event.
    assert [(s["start"], s["duration"]) for s in reader.slices] == [(10, 5), (20, 5), (22, 5)]
    assert [(t, reader.tracks[u].name, v) for t, u, v in reader.counters] == [
        (30, "b", 1.5), (32, "b", 2.5), (0, "memory", 4096), (35, "memory", 0)]  # fmt: skip
    assert [(t, a["bytes"], a["Addr"]) for t, _, a, *_ in reader.instants] == [(0, 4096, 2**47), (35, 4096, 1)]


def test_backward_flows(tmp_path):
    spans = [{"start_ns": i, "duration_ns": 1, "name": n, "kind": KIND["cpu_op"]} for i, n in enumerate("fb")]
    run = build_run(spans, [{"process": 1, "thread": 1}],
                flows={"id": [3, 3], "time_ns": [0, 1], "lane": [0, 0], "span": [0, 1], "kind": [1, 1],
                       "phase": [0, 2]})  # fmt: skip
    forward, backward = read(run, tmp_path).slices
    assert forward["flows"] == backward["ends"] != []
    assert forward["ends"] == backward["flows"] == []
