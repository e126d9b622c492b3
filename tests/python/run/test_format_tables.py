# SPDX-License-Identifier: Apache-2.0
"""CSV, Parquet and Arrow files, read back with csv, pandas and pyarrow; and which name chooses which format."""

import csv
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from needed import package
from run_strategies import runs
from runs import build_run, names_of
from traces import load_trace

import regimeter
from regimeter import Run, _core
from regimeter.cli import export
from regimeter.run import formats

HERE = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
TRACE = "mi300_vllm_decode_graph.json.gz"


def cells(run: Run, name: str) -> dict[str, list[Any]]:
    """Columns of a table with texts for names."""
    strings, table = run.strings, run.table(name)
    return {
        c["name"]: [strings[v] for v in values] if c["type"] == "name" else values
        for c in _core.schema()["run"][name]["columns"]
        for values in [getattr(table, c["name"]).tolist()]
    }


def check_csv(run: Run, path: Any, table: str) -> None:
    run.export(path, table=table)
    with open(path, encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file, strict=True)
    expected = cells(run, table)
    assert head == list(expected)
    assert len(rows) == len(run.table(table))
    for i, (column, values) in enumerate(expected.items()):
        text = [row[i] for row in rows]
        if values and isinstance(values[0], float):
            assert np.array_equal([float(t) if t else np.nan for t in text], values, equal_nan=True), column
        else:
            assert text == list(map(str, values)), column


@HERE
@given(run=runs())
def test_csv_of_hostile_runs(run, tmp_path):
    check_csv(run, tmp_path / "x.csv", "spans")
    check_csv(run, tmp_path / "x.csv", "lanes")


@pytest.mark.parametrize("table", ["spans", "lanes", "launches", "memory", "frames", "operators", "anomalies"])
def test_csv_of_a_real_trace(table, tmp_path):
    check_csv(load_trace(TRACE), tmp_path / "x.csv", table)


def test_csv_is_quoted_as_rfc_4180_has_it(tmp_path):
    names = ["plain", "a,b", 'q"q', "l\nf", " s", "=1+1", ""]
    run = build_run([{"start_ns": i, "duration_ns": 1, "name": n} for i, n in enumerate(names)], [{"process": 1}])
    run.export(tmp_path / "x.csv")
    text = (tmp_path / "x.csv").read_bytes().decode()
    for cell in (",plain,", ',"a,b",', ',"q""q",', ',"l\nf",', '," s",', ",=1+1,", ",,"):
        assert cell in text


def test_csv_floats_come_back_exactly(tmp_path):
    values = [0.1, 1 / 3, 1e300, 5e-324, -0.0, float("inf"), float("nan"), 2**53 + 2.0, 1e22, 123456789.125]
    run = build_run([], [{"process": 1}], counters={"time_ns": list(range(len(values))), "value": values})
    run.export(tmp_path / "x.csv", table="counters")
    with open(tmp_path / "x.csv", newline="") as file:
        found = [row["value"] for row in csv.DictReader(file)]
    back = np.array([float(t) if t else np.nan for t in found])
    assert np.array_equal(back.view(np.int64)[:6], np.array(values).view(np.int64)[:6])
    assert np.array_equal(back, values, equal_nan=True)
    assert found[0] == "0.1"


def test_pandas_reads_csv(tmp_path):
    pandas = package("pandas")
    run = load_trace(TRACE)
    run.export(tmp_path / "x.csv")
    frame = pandas.read_csv(tmp_path / "x.csv", keep_default_na=False)
    assert int(frame.duration_ns.sum()) == int(run.spans.duration_ns.sum())
    assert frame.name.tolist() == names_of(run)
    assert np.array_equal(frame.start_ns, run.spans.start_ns)


@pytest.mark.parametrize("chosen", ["parquet", "arrow"])
def test_a_folder_of_columnar_files(chosen, tmp_path):
    arrow = package("pyarrow")
    from pyarrow import parquet

    run = load_trace(TRACE)
    run.export(tmp_path / "tables", chosen)
    files = sorted((tmp_path / "tables").iterdir())
    assert [f.name for f in files] == sorted(
        f"{name}.{chosen}" for name in _core.schema()["run"] if len(run.table(name)) or name in ("spans", "lanes")
    )
    for file in files:
        content = parquet.read_table(file) if chosen == "parquet" else arrow.ipc.open_file(file).read_all()
        expected = cells(run, file.stem)
        assert content.column_names == list(expected)
        for column, values in expected.items():
            found = content.column(column)
            kind = content.schema.field(column).type
            if values and isinstance(values[0], str):
                assert arrow.types.is_dictionary(kind), column
                assert found.to_pylist() == values
            else:
                assert np.array_equal(
                    found.to_numpy(), np.array(values, dtype=found.to_numpy().dtype), equal_nan=False
                ) or (np.isnan(found.to_numpy().astype(float)).any()), column


def test_pandas_reads_parquet(tmp_path):
    pandas = package("pandas")
    run = load_trace(TRACE)
    run.export(tmp_path / "spans.parquet")
    frame = pandas.read_parquet(tmp_path / "spans.parquet")
    assert int(frame.duration_ns.sum()) == int(run.spans.duration_ns.sum())
    assert frame.name.astype(str).tolist() == names_of(run)


def test_a_folder_of_csv_files(tmp_path):
    run = load_trace(TRACE)
    run.export(tmp_path / "tables", "csv")
    assert (tmp_path / "tables" / "spans.csv").is_file()
    assert (tmp_path / "tables" / "launches.csv").is_file()


def test_without_pyarrow_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    run = build_run([], [{"process": 1}])
    for path, chosen in ((tmp_path / "x.parquet", None), (tmp_path / "folder", "arrow")):
        with pytest.raises(regimeter.UnavailableError, match="pip install 'regimeter\\[arrow\\]'"):
            run.export(path, chosen)
    assert list(tmp_path.iterdir()) == []


# --- names and formats --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "chosen"),
    [("x.json", "json"), ("x.trace.json", "chrome"), ("x.pt.trace.json.gz", "chrome"), ("x.pftrace", "perfetto"),
     ("a.speedscope.json", "speedscope"), ("x.folded", "collapsed"), ("x.pb.gz", "pprof"), ("X.CSV", "csv"),
     ("x.parquet", "parquet"), ("x.feather", "arrow")],
)  # fmt: skip
def test_the_suffix_chooses_the_format(name, chosen):
    assert formats.choose(name, formats.SUFFIXES) == chosen


@pytest.mark.parametrize("name", ["x.txt", "json", "x.html", "x.rgm"])
def test_a_suffix_without_an_export_format_is_refused(name):
    with pytest.raises(ValueError, match=f"{name}: the suffix names no format"):
        formats.choose(name, formats.SUFFIXES)


def test_a_default_serves_a_suffix_that_says_nothing_only():
    assert formats.choose("out", {".json": "json"}, default="json") == "json"
    assert formats.choose("out.dat", {".json": "json"}, default="json") == "json"
    for name in ("out.HTML", "out.csv", "out.rgm"):
        with pytest.raises(ValueError, match=r"use \.json"):
            formats.choose(name, {".json": "json"}, default="json")


def test_only_a_page_gets_the_name_of_a_page():
    assert formats.choose("out.html", {}, chosen="html") == "html"
    with pytest.raises(ValueError, match="the suffix is that of a page, not of csv"):
        formats.choose("out.html", {}, chosen="csv")


def test_all_formats_are_offered():
    assert set(_core.EXPORT_FORMATS) < set(formats.FORMATS)
    assert set(formats.FORMATS) - set(_core.EXPORT_FORMATS) == {"json", "otlp", "parquet", "arrow", "pickle"}
    assert set(export.RUN_TABLES) == set(_core.schema()["run"])


# A snapshot of an allocator is made of its segments, which few runs have (test_memory_snapshot.py), and spans of
# OpenTelemetry have dates (test_format_otlp.py).
@pytest.mark.parametrize("chosen", [name for name in formats.FORMATS if name not in ("pickle", "otlp")])
def test_every_format_takes_an_empty_run_and_a_run_without_lanes(chosen, tmp_path):
    build_run([], []).export(tmp_path / "empty.x", chosen)
    build_run([{"start_ns": 5, "duration_ns": 1, "name": "a"}], []).export(tmp_path / "no-lanes.x", chosen)
    assert (tmp_path / "no-lanes.x").stat().st_size > 0


def test_refusals(tmp_path):
    run = build_run([], [])
    for arguments in ({"format": "xlsx"}, {"stacks": "gpu"}, {"table": "nothing"}, {"format": "chrome", "table": "x"}):
        with pytest.raises(ValueError):
            run.export(tmp_path / "x.csv", **arguments)
    with pytest.raises(ValueError, match="suffix names no format"):
        run.export(tmp_path / "x.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("chosen", _core.EXPORT_FORMATS)
def test_a_failing_output_leaves_the_old_file_and_its_own_exception(chosen, tmp_path, monkeypatch):
    run = load_trace("diff_small_base.json.gz")
    place = tmp_path / "x.out"
    place.write_text("old")

    def full(data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run._export(chosen, None, full)
    monkeypatch.setattr("regimeter.run.formats._binary_writer", _full_writer)
    with pytest.raises(OSError, match="No space left"):
        run.export(place, chosen)
    assert list(tmp_path.iterdir()) == [place]
    assert place.read_text() == "old"


def _full_writer(path: str, packed: bool) -> Any:
    raise OSError(28, "No space left on device")
