# SPDX-License-Identifier: Apache-2.0
"""The analyses as verbs of the command: exact values, JSON, text, thresholds, rules."""

import json
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from needed import package
from places import ROOT
from runs import build_run, named_kernel
from traces import trace_path

import regimeter
from regimeter.analysis.breakdown import device_keys
from regimeter.analysis.catalog import find_verbs
from regimeter.analysis.result import Result
from regimeter.analysis.verb import Column, Verb
from regimeter.cli import main

GEMM = "volta_sgemm_" + "very_long_" * 30 + "name"


def document(capsys):
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["a100_nccl_2024.json.gz", "dlrm8/rank-0.json.gz"])
def test_breakdown_prints_the_exact_values(name, capsys):
    """Those of every trace are looked at in test_breakdown.py."""
    expected = json.loads(trace_path("exact_gpu_time.json").read_text())[name]
    assert main(["breakdown", str(trace_path(name)), "--json"]) == 0
    found = document(capsys)["devices"]
    assert set(found) == set(expected)
    for device, values in expected.items():
        assert {key: found[device][key] for key in values} == values
        assert all(type(found[device][key]) is int for key in values)


def test_breakdown_as_text_adds_up(capsys):
    assert main(["breakdown", str(trace_path("a100_nccl_2024.json.gz"))]) == 0
    out = capsys.readouterr().out
    assert (
        "device 0: span 661 ms (first to last work); 2,679 kernels, 21 communication kernels, 960 copies, 114 sets"
        in out
    )
    identity = re.search(r"(\d+(?: \+ \d+){3}) = (\d+) ns", out)  # on a line of its own where it is narrow
    assert identity
    assert sum(map(int, identity[1].split(" + "))) == int(identity[2]) == 660551005


def test_breakdown_of_several_devices_is_a_table_with_their_values(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    folder = str(trace_path("dlrm8"))
    assert main(["breakdown", folder, "--json"]) == 0
    exact = document(capsys)["devices"]
    assert main(["breakdown", folder]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines if line[:1].isdigit() and "devices" not in line]
    assert [row[0] for row in rows] == [str(one["rank"]) for one in exact.values()]
    for row, values in zip(rows, exact.values(), strict=True):
        shares = [float(cell) for cell, unit in pairwise(row) if unit == "%"]
        parts = ("compute_ns", "exposed_comm_ns", "exposed_mem_ns", "idle_ns")
        assert shares == pytest.approx([100 * values[part] / values["span_ns"] for part in parts], abs=0.051)
    assert main(["show", folder]) == 0
    out = capsys.readouterr().out
    assert out.count("of span") == 0, "a paragraph a device is too long"
    assert "8 devices: span" in out


def test_showing_a_trace_says_where_its_time_went(capsys):
    assert main(["show", str(trace_path("a100_nccl_2024.json.gz"))]) == 0
    out = capsys.readouterr().out
    assert "device 0: span 661 ms (first to last work)" in out
    assert "window 729 ms (first to last event)" in out
    assert all(base in out for base in ("of span", "of device work", "of all self"))
    assert " share " not in out
    assert "kernels\n" in out
    assert "operators\n" in out


def test_a_rule_moves_kernels_to_communication(capsys, refused):
    path = str(trace_path("a100_alexnet_cuda_sync.json.gz"))
    main(["breakdown", path, "--json", "--rule", "sgemm=communication"])
    assert document(capsys)["devices"]["0"]["n_comm"] > 0
    refused(["breakdown", path, "--rule", "x=dance"], "unknown activity")


def test_an_unknown_threshold_is_one_line(refused):
    path = str(trace_path("a100_alexnet_cuda_sync.json.gz"))
    refused(["breakdown", path, "--set", "nonsense=1"], "nonsense")
    refused(["breakdown", path, "--set", "nonsense"], "NAME=VALUE")


@pytest.mark.parametrize("strict", [True, False])
def test_a_missing_file_is_one_line(strict, tmp_path, refused):
    refused(["breakdown", str(tmp_path / "no.json"), *(["--strict"] if strict else [])], "no.json")


def test_keys_of_devices():
    def row(rank, process, name=""):
        return {"rank": rank, "process": process, "process_name": name}

    assert device_keys([row(0, 0), row(1, 1)]) == ["0", "1"]
    assert device_keys([row(0, 0), row(1, 0)]) == ["0/0", "1/0"]
    assert device_keys([row(-1, 0), row(-1, -1, "GPU a")]) == ["0", "GPU a"]


# --- every verb -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", find_verbs().values(), ids=lambda verb: verb.name)
def test_every_verb_runs_on_real_traces(verb, capsys):
    path = str(trace_path("a100_alexnet_cuda_sync.json.gz"))
    words = [verb.name, path, path] if verb.other else [verb.name, path]
    for by in verb.by or [None]:
        grouped = [*words, *(["--by", by] if by else [])]
        assert main([*grouped, "--json"]) == 0
        found = document(capsys)
        assert found["format"] == f"regimeter.{verb.name}"
        assert found["version"] == 1
        assert found["file"] == path
        assert main(grouped) == 0
        assert capsys.readouterr().out.strip()


def test_every_verb_says_when_there_is_nothing(tmp_path, capsys):
    empty = tmp_path / "empty.json"
    empty.write_text('{"traceEvents": []}')
    for verb in find_verbs().values():
        words = [verb.name, str(empty), *([str(empty)] if verb.other else [])]
        assert main(words) == 0, verb.name
        assert capsys.readouterr().out.strip(), verb.name


# --- results --------------------------------------------------------------------------------------------------------


@pytest.fixture
def result():
    spans = [named_kernel(GEMM, 0, 5), named_kernel(GEMM, 10, 10, lane=1), named_kernel(GEMM, 30, 20, lane=2)]
    run = build_run(spans, {"process": [0, 1, -1], "device": [0, 1, 2], "process_name": ["", "", GEMM]})
    columns = (
        Column("process_name", "name"),
        Column("span_ns", "span", "ns", adds=True),
        Column("n_kernel", "kernels", "", True),
    )
    verb = Verb("breakdown", "breakdown", "", columns)
    return Result(verb, run.analyse("breakdown"), run, None, 1)


def test_rows_are_dictionaries_with_names_as_text(result):
    assert len(result) == 1
    assert result[0]["process_name"] == ""
    assert result[-1] == result[0] == next(iter(result))
    assert result[0:5] == [result[0]]
    with pytest.raises(IndexError):
        result[1]
    assert result.values("process_name", 0, 3) == ["", "", GEMM]


def test_what_is_left_out_is_summed(result):
    assert result.left_out == 2
    assert result.others() == {"span_ns": 30, "n_kernel": 2}
    assert result.text().splitlines()[-1].split() == ["30", "ns", "2", "(2", "more)"]
    result.limit = 2
    assert result.text().splitlines()[-1].split() == ["20", "ns", "1", "(1", "more)"]
    result.limit = 0
    assert result.text().splitlines()[-1].split() == ["(3", "more)", "35", "ns", "3"]


def test_long_names_are_cut_in_the_middle(result):
    result.limit = -1
    for width in (60, 100):
        lines = result.text(width).splitlines()
        assert max(map(len, lines)) <= width
        assert "…" in lines[-1]
        assert lines[-1].startswith("volta_sg")
    assert GEMM in result.text()


def test_kernels_that_do_not_fit_have_their_short_names():
    kernels = regimeter.load(trace_path("h100_bert_small.json.gz")).kernels()
    assert "void at::native::vectorized_elementwise_kernel" in kernels.text()
    narrow = kernels.text(120)
    assert "void " not in narrow
    assert "add<BFloat16>" in narrow


def test_a_table_goes_to_arrow_and_pandas(result):
    pyarrow = package("pyarrow")
    assert pyarrow.table(result)["span_ns"].to_pylist() == [5, 10, 20]
    pandas = package("pandas")
    result.limit = -1
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["process_name"].tolist() == ["", "", GEMM]


def test_result_checks_what_it_is_asked(result):
    with pytest.raises(ValueError, match="cannot be grouped"):
        result.run.result("breakdown", by="nonsense")
    with pytest.raises(ValueError, match="top"):
        result.run.result("breakdown", top=-1)
    with pytest.raises(KeyError):
        result.run.result("nonsense")


def test_methods_are_current():
    """The documents are looked at by `make lint`."""
    tool = ROOT / "tools" / "describe_verbs.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_analyses_are_methods_of_a_run():
    run = regimeter.load(trace_path("a100_alexnet_cuda_sync.json.gz"))
    assert run.breakdown()[0]["n_kernel"] == 79
    assert run.breakdown(top=0).left_out == 1
    assert run.breakdown(rules=[("sgemm", "communication")])[0]["n_comm"] > 0
    assert run.launches(top=1).table.table_name != run.tables.launches.table_name  # a table has another place


def test_a_narrow_terminal_loses_the_last_columns(result):
    result.limit = -1
    lines = result.text(25).splitlines()
    assert lines[-1] == "(no room for: kernels)"
    assert max(map(len, lines)) <= 25
    assert lines[0].split() == ["name", "span"]


def test_columns_without_a_known_value_are_left_out(result):
    assert "name" not in result.text().splitlines()[0]
    result.limit = -1
    assert "name" in result.text().splitlines()[0]
