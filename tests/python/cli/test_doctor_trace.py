# SPDX-License-Identifier: Apache-2.0
"""`regimeter doctor TRACE`: what is in a trace, what is wrong with it."""

import gzip
import json

import pytest
from traces import trace_path

from regimeter import load
from regimeter.cli import main

# Rows by category as the collection's index states them.
KNOWN = {
    "a100_alexnet_cuda_sync.json.gz": {
        "runtime": 361, "cpu_op": 359, "kernel": 79, "sync": 41, "memcpy": 16, "memset": 3,
    },
    "mi250_rocm62.json.gz": {"cpu_op": 70, "runtime": 21, "kernel": 14, "memcpy": 2, "device_annotation": 2},
    "a100_memcpy_2023.json": {"cpu_op": 140, "runtime": 31, "annotation": 30, "memcpy": 20},
}  # fmt: skip


def doctor(path, capsys, code=0):
    assert main(["doctor", str(path), "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", KNOWN)
def test_a_sound_trace(name, capsys):
    found = doctor(trace_path(name), capsys)
    assert found["sound"]
    assert found["rows"]["read"] == found["rows"]["kept"] > 0
    assert found["rows"]["lost"] == found["rows"]["unexplained"] == 0
    assert {kind: found["kinds"][kind] for kind in KNOWN[name]} == KNOWN[name]
    assert found["files"][0]["format"] == "kineto"
    assert found["tables"]["spans"] == sum(found["kinds"].values())
    assert {"cbid", "context"} <= {key for row in found["not_kept"] for key in row["keys"]}


def test_as_text(capsys):
    assert main(["doctor", str(trace_path("diff_v100_test.json.gz"))]) == 0
    out = capsys.readouterr().out
    assert "614 orphan_kernels: " in out
    assert "105,167 rows read, 105,167 kept, rank 1" in out
    assert "no row left out" in out
    assert out.splitlines()[-1].startswith("Next: regimeter breakdown ")


def test_ranks_and_devices(capsys):
    found = doctor(trace_path("dlrm8"), capsys)
    assert found["ranks"] == list(range(8))
    assert found["devices"] == [f"{rank}/{rank}" for rank in range(8)]
    assert [row["rank"] for row in found["files"]] == list(range(8))
    main(["doctor", str(trace_path("dlrm8"))])
    assert "ranks: 0 to 7" in capsys.readouterr().out


def test_steps(capsys):
    path = trace_path("gp100_steps_2022.json.gz")
    names = [
        event["name"] for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if "name" in event
    ]
    expected = sorted({int(name.partition("#")[2]) for name in names if name.startswith("ProfilerStep#")})
    assert doctor(path, capsys)["steps"] == expected


def test_a_cut_trace_is_damaged(tmp_path, capsys):
    text = gzip.decompress(trace_path("mi250_rocm62.json.gz").read_bytes())
    path = tmp_path / "cut.json"
    path.write_bytes(text[: len(text) * 2 // 3])
    found = doctor(path, capsys, 1)
    assert not found["sound"]
    row = next(row for row in found["anomalies"] if row["code"] == "truncated")
    assert row["count"] >= 1
    assert row["first_offset"] <= len(text)
    assert found["rows"]["unexplained"] == 0
    assert main(["doctor", str(path)]) == 1
    assert "damaged or incomplete" in capsys.readouterr().out


def test_rows_that_are_left_out_are_named(tmp_path, capsys):
    path = tmp_path / "odd.json"
    rows = [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}, 5, {"ph": "X", "name": "b", "pid": 1}]
    path.write_text(json.dumps({"traceEvents": rows}))
    found = doctor(path, capsys, 1)
    assert found["rows"] == {"read": 3, "kept": 1, "lost": 2, "unexplained": 0}
    assert {row["code"] for row in found["anomalies"]} == {"bad_event", "missing_time"}
    assert len(load(path).spans) == 1


def test_nsys(capsys):
    found = doctor(trace_path("nsys_h100_2gpu_1s.sqlite"), capsys)
    assert found["devices"] == ["0", "1"]
    assert found["not_kept"] == []
    assert found["files"][0]["format"] == "nsys"


@pytest.mark.parametrize(
    "verb",
    ["breakdown", "kernels", "idle", "operators", "steps --json", "report -o r.html", "export -o e.trace.json",
     "flame -o f.svg", "flame -o f.folded", "hta -o h.html", "explain", "suggest", "query"],
)  # fmt: skip
def test_every_verb_says_that_a_trace_is_cut(verb, tmp_path, monkeypatch, capsys):
    """Quiet or not: what is told of half a trace is not told of the whole."""
    if verb == "query":
        pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    whole = gzip.decompress(trace_path("dlrm8/rank-3.json.gz").read_bytes())
    (tmp_path / "cut.json").write_bytes(whole[:400_000])
    name, *options = verb.split()
    sql = ["SELECT count(*) FROM spans"] if verb == "query" else []
    assert main([name, "cut.json", *sql, *options, "-q"]) == 0
    out, err = capsys.readouterr()
    assert err == "regimeter: cut.json: the text ends in the middle; what came after is missing\n"
    if "--json" in options:
        (row,) = (row for row in json.loads(out)["anomalies"] if row["code"] == "truncated")
        assert row["lost"] == 1


def test_a_duration_that_is_missing_is_counted(tmp_path, capsys):
    document = json.loads(gzip.decompress(trace_path("a100_simple_add.json.gz").read_bytes()))
    complete = [event for event in document["traceEvents"] if event["ph"] == "X"]
    for event in complete[:5]:
        del event["dur"]
    (tmp_path / "t.json").write_text(json.dumps(document))
    (row,) = (row for row in doctor(tmp_path / "t.json", capsys)["anomalies"] if row["code"] == "missing_duration")
    assert (row["count"], row["lost"]) == (5, 0)
    assert main(["kernels", "--strict", str(tmp_path / "t.json")]) == 2
    assert "without a duration" in capsys.readouterr().err
