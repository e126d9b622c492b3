# SPDX-License-Identifier: Apache-2.0
"""Every verb but `record`, on good and on bad input."""

import csv
import gzip
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from needed import package

import regimeter
from regimeter import GPUProfiler, _core
from regimeter.cli import main, report

BAD = ["missing", "directory", "text", "empty", "binary", "json"]


@pytest.fixture
def run_file(tmp_path):
    """Two operations, one of them nested and once failed, with metadata."""
    file = tmp_path / "run.rgm"
    with GPUProfiler(path=file, enable_detailed_metrics=False) as profiler:
        for number in range(3):
            with profiler.profile("step", device="cpu", number=number):
                try:
                    with profiler.profile("inner", device="cpu"):
                        if number == 2:
                            raise KeyError(number)
                except KeyError:
                    pass
    return file


@pytest.fixture
def bad_file(tmp_path, request):
    path = tmp_path / "bad.rgm"
    content = {"text": b"hello\n", "empty": b"", "binary": bytes(range(256)), "json": b'{"a": 1}'}
    if request.param == "directory":
        path.mkdir()
    elif request.param != "missing":
        path.write_bytes(content[request.param])
    return path


@pytest.fixture
def cut_file(run_file, tmp_path):
    """The recording without its last bytes."""
    path = tmp_path / "cut.rgm"
    path.write_bytes(run_file.read_bytes()[:-10])
    return path


def test_help_does_not_wait_for_numpy_nor_a_list_of_the_verbs_for_any_of_them(run_python):
    verbs = ("show", "report", "export", "regime", "suggest", "explain", "flame", "timeline", "hta", "idle", "history")
    program = f"""if True:
        import sys
        from regimeter.cli import main
        from regimeter.cli.overview import overview
        from regimeter.cli.verbs import EXTENDED, OWN
        assert "run a program and keep what its profilers record" in overview()
        of_verbs = {{f"regimeter.cli.{{name}}" for name in (*OWN, *EXTENDED)}}
        assert not {{"numpy", "regimeter._core", *of_verbs}} & set(sys.modules)
        for verb in {verbs!r}:
            main([verb, "--help"])
            assert "numpy" not in sys.modules, verb
        """
    assert "usage: regimeter show" in run_python(program).stdout


def document(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


# What each verb writes; another suffix would be refused before anything is read.
SUFFIXES = {"report": ".html", "recover": ".rgm", "export": ".json"}


def out_of(verb: str, folder: Path) -> Path:
    return folder / f"out{SUFFIXES.get(verb, '.json')}"


def words_for(verb: str, file: Path, out: Path) -> list[str]:
    return [verb, str(file), *(["-o", str(out)] if verb in SUFFIXES else [])]


@pytest.mark.parametrize("bad_file", BAD, indirect=True)
@pytest.mark.parametrize("verb", ["show", "report", "recover", "export", "doctor"])
def test_bad_input_is_one_line_and_code_2(verb, bad_file, tmp_path, refused):
    out = out_of(verb, tmp_path)
    refused(words_for(verb, bad_file, out), str(bad_file))
    assert not out.exists()


@pytest.mark.parametrize("verb", ["show", "report", "export"])
def test_a_cut_file_points_to_recover(verb, cut_file, tmp_path, refused):
    refused(words_for(verb, cut_file, out_of(verb, tmp_path)), "regimeter recover", "byte")


@pytest.mark.parametrize("verb", ["report", "recover", "export"])
def test_output_that_cannot_be_written(verb, run_file, tmp_path, refused):
    for place in (tmp_path / "no" / "out.json", tmp_path):
        refused([verb, str(run_file), "-o", str(place), *(["--format", "csv"] if verb == "export" else [])], str(place))


@pytest.mark.parametrize("verb", ["report", "recover", "export"])
def test_the_input_is_never_overwritten(verb, run_file, tmp_path, refused):
    before = run_file.read_bytes()
    link = tmp_path / f"link{SUFFIXES[verb]}"
    link.symlink_to(run_file)
    for name in (run_file, link, f"{tmp_path}/./run.rgm"):
        said = "suffix" if verb == "report" and str(name).endswith(".rgm") else "never overwritten"
        refused([verb, str(run_file), "-o", str(name), *(["--format", "csv"] if verb == "export" else [])], said)
    assert run_file.read_bytes() == before


@pytest.mark.parametrize("verb", ["suggest", "flame", "timeline", "hta", "export", "ranks", "memory", "compare"])
def test_no_file_of_a_folder_or_pattern_is_overwritten(verb, run_file, tmp_path, refused):
    ranks, link = tmp_path / "ranks", tmp_path / "link.json"
    ranks.mkdir()
    for number in range(2):
        regimeter.load(run_file).export(ranks / f"rank-{number}.json", "chrome")
    link.symlink_to(ranks / "rank-1.json")
    before = (ranks / "rank-1.json").read_bytes()
    for source in (ranks, ranks / "rank-*.json", ranks / "rank-1.json"):
        for out in (ranks / "rank-1.json", link):
            refused([verb, *[str(source)] * (2 if verb == "compare" else 1), "-o", str(out)], "never overwritten")
    assert (ranks / "rank-1.json").read_bytes() == before


# --- show -------------------------------------------------------------------------------------------------------


def test_show(run_file, capsys):
    assert main(["show", str(run_file)]) == 0
    out = capsys.readouterr().out
    assert f"{run_file}: 6 scopes, 2 operations, 1 lane" in out
    assert "Cost of profiling: 6 scopes" in out
    assert "[1] " in out
    assert "1 calls ended with an exception" in out or "1 call ended with an exception" in out
    assert out.splitlines()[-1] == f"Next: regimeter report {run_file} -o report.html"


def test_show_top(run_file, capsys):
    main(["show", str(run_file), "--top", "1", "-q"])
    out = capsys.readouterr().out
    assert "1 of 2" in out
    assert "[2]" not in out
    assert main(["show", str(run_file), "--top", "0"]) == 0


def test_show_as_json(run_file, capsys):
    main(["show", str(run_file), "--json"])
    shown = document(capsys)
    assert shown["format"] == "regimeter.show"
    assert {row["operation"]: row["call_count"] for row in shown["summary"]} == {"step": 3, "inner": 3}
    assert {row["operation"]: row["failed_count"] for row in shown["summary"]} == {"step": 0, "inner": 1}
    assert shown["run"]["span_count"] == 6
    assert shown["cost"]["scopes"] == 6
    assert "the machine" in shown["witness"]["sentence"]
    assert set(shown["bottlenecks"]) == {"step", "inner"}
    main(["show", str(run_file), "--json", "--top", "1"])
    assert len(document(capsys)["summary"]) == 1


def test_show_without_scopes(tmp_path, capsys):
    file = tmp_path / "empty.rgm"
    GPUProfiler(path=file).close()
    assert main(["show", str(file)]) == 0
    assert "No scope has been recorded" in capsys.readouterr().out


def test_names_cannot_steer_the_terminal(tmp_path, capsys):
    file = tmp_path / "run.rgm"
    with GPUProfiler(path=file) as profiler:
        with profiler.profile("\x1b[31mred\n", device="cpu"):
            pass
    main(["show", str(file)])
    assert "\x1b" not in capsys.readouterr().out


# --- report -------------------------------------------------------------------------------------------------------


def test_report(run_file, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["report", str(run_file), "-o", str(out), "--title", "A <title>"]) == 0
    text = out.read_text()
    assert "A &lt;title&gt;" in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert capsys.readouterr().out.splitlines()[-1] == f"Next: open {out} in a browser"
    main(["report", str(run_file), "-o", str(out), "--json"])
    assert document(capsys) == {"file": str(out), "bytes": out.stat().st_size, "scopes": 6}


def test_a_page_that_cannot_draw_each_span_names_the_server():
    most = int(_core.policy()["timeline_max_spans"]["default"])
    assert report._served(["run.rgm"], most) == ""
    assert report._served(["run.rgm"], most + 1) == (
        "; of 1,000,001 spans it draws the 1,000,000 longest one by one, regimeter serve run.rgm draws all"
    )


def test_the_dashboard_without_a_run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 0
    page = (tmp_path / "profiler_visualization.html").read_text(encoding="utf-8")
    assert 'id="regimeter-demo">{' in page, "it carries the demo data"
    assert "profiler_visualization.html" in capsys.readouterr().out
    assert main(["report", "-o", "page.html", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == "page.html"
    assert main(["report", "-o", str(tmp_path / "no" / "page.html")]) == 2


# --- recover ------------------------------------------------------------------------------------------------------


def test_recover(cut_file, tmp_path, capsys):
    before, out = cut_file.read_bytes(), tmp_path / "whole.rgm"
    assert main(["recover", str(cut_file), "-o", str(out)]) == 0
    text = capsys.readouterr().out
    assert "6 scopes" in text
    assert "1 unfinished: " in text
    assert text.splitlines()[-1] == f"Next: regimeter show {out}"
    assert len(regimeter.load(out).spans) == 6
    assert cut_file.read_bytes() == before


def test_recover_as_json(cut_file, tmp_path, capsys):
    main(["recover", str(cut_file), "-o", str(tmp_path / "whole.rgm"), "--json"])
    found = document(capsys)
    assert (found["scopes"], found["complete"]) == (6, False)
    assert "unfinished" in {row["code"] for row in found["missing"]}


def test_recover_of_a_sound_file_says_so(run_file, tmp_path, capsys):
    assert main(["recover", str(run_file), "-o", str(tmp_path / "again.rgm")]) == 0
    assert "nothing is missing" in capsys.readouterr().out


# --- export -------------------------------------------------------------------------------------------------------


def test_export_json_is_read_back(run_file, tmp_path, capsys):
    out = tmp_path / "run.json"
    assert main(["export", str(run_file), "-o", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"Next: regimeter show {out}"
    assert main(["show", str(out), "--json"]) == 0
    assert document(capsys)["run"]["source"] == "export"
    (tmp_path / "run.json.gz").write_bytes(gzip.compress(out.read_bytes()))
    assert main(["show", str(tmp_path / "run.json.gz")]) == 0


@pytest.mark.parametrize("table", ["spans", "lanes", "memory", "anomalies", "summary", "entries", "launches"])
def test_export_csv(table, run_file, tmp_path, capsys):
    out = tmp_path / "table.csv"
    assert main(["export", str(run_file), "-o", str(out), "--table", table, "--json"]) == 0
    loaded = regimeter.load(run_file)
    expected = getattr(loaded, table) if table in ("summary", "entries") else loaded.table(table)
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    assert document(capsys)["rows"] == len(rows) == len(expected)
    if table == "spans":
        assert [int(row["start_ns"]) for row in rows] == expected.start_ns.tolist()
        assert [row["name"] for row in rows] == ["step", "inner"] * 3
        assert json.loads(rows[0]["metadata"]) == {"number": 0}


def test_export_of_many_rows(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("regimeter.cli.export.ROWS_AT_ONCE", 7)
    file, out = tmp_path / "run.rgm", tmp_path / "spans.csv"
    with GPUProfiler(path=file, enable_detailed_metrics=False) as profiler:
        for _ in range(50):
            with profiler.profile("step", device="cpu"):
                pass
    assert main(["export", str(file), "-o", str(out)]) == 0
    with open(out, newline="") as text:
        starts = [int(row["start_ns"]) for row in csv.DictReader(text)]
    assert np.array_equal(starts, regimeter.load(file).spans.start_ns)


@pytest.mark.parametrize(("suffix", "reader"), [("parquet", "read_parquet"), ("arrow", "read_ipc")])
def test_export_columnar(suffix, reader, run_file, tmp_path, capsys):
    package("pyarrow")
    polars = package("polars")
    out = tmp_path / f"spans.{suffix}"
    assert main(["export", str(run_file), "-o", str(out)]) == 0
    frame = getattr(polars, reader)(out)
    assert frame["name"].cast(polars.String).to_list() == ["step", "inner"] * 3
    assert frame["duration_ns"].to_list() == regimeter.load(run_file).spans.duration_ns.tolist()
    assert sorted(os.listdir(tmp_path)) == sorted(["run.rgm", out.name])


def test_export_json_of_one_table(run_file, tmp_path):
    out = tmp_path / "lanes.json"
    main(["export", str(run_file), "-o", str(out), "--table", "lanes"])
    written = json.loads(out.read_text())
    assert (written["format"], written["rows"]) == ("regimeter.table", 1)
    assert written["columns"]["name"] == ["MainThread"]


def test_export_without_pyarrow_says_how_to_get_it(run_file, tmp_path, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(["export", str(run_file), "-o", str(tmp_path / "x.parquet")], "pip install 'regimeter[arrow]'", code=1)
    assert not (tmp_path / "x.parquet").exists()


def test_export_to_an_unknown_suffix(run_file, tmp_path, refused):
    refused(
        ["export", str(run_file), "-o", str(tmp_path / "x.xlsx")],
        "--format chrome|perfetto|speedscope|collapsed|otlp|pprof|json|csv|parquet|arrow|pickle|speedscope-sampled",
    )
    assert main(["export", str(run_file), "-o", str(tmp_path / "x.txt"), "--format", "csv"]) == 0


def test_a_failed_export_leaves_the_old_file(run_file, tmp_path, refused, monkeypatch):
    out = tmp_path / "x.csv"
    out.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("regimeter.run.formats._binary_writer", full)
    refused(["export", str(run_file), "-o", str(out)], "make room")
    assert out.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["run.rgm", "x.csv"]


@pytest.mark.parametrize(
    ("name", "chosen"),
    [("x.trace.json.gz", "chrome"), ("x.pftrace", "perfetto"), ("x.speedscope.json", "speedscope"),
     ("x.folded", "collapsed"), ("x.pb.gz", "pprof")],
)  # fmt: skip
def test_export_for_other_tools(name, chosen, run_file, tmp_path, capsys, refused):
    out = tmp_path / name
    assert main(["export", str(run_file), "-o", str(out), "--json"]) == 0
    facts = document(capsys)
    assert (facts["format"], facts["table"], facts["bytes"]) == (chosen, None, out.stat().st_size)
    assert main(["export", str(run_file), "-o", str(out)]) == 0
    assert "Next: " in capsys.readouterr().out
    refused(["export", str(run_file), "-o", str(out), "--table", "spans"], "holds the whole run")


def test_export_of_all_tables_to_a_folder(run_file, tmp_path, capsys):
    assert main(["export", str(run_file), "-o", str(tmp_path / "tables"), "--format", "csv", "--json"]) == 0
    assert document(capsys)["table"] is None
    assert (tmp_path / "tables" / "spans.csv").is_file()
    assert (tmp_path / "tables" / "lanes.csv").is_file()


# --- doctor -------------------------------------------------------------------------------------------------------


def test_doctor_of_the_machine(capsys):
    assert main(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in document(capsys)["checks"]}
    assert {"python", "clock", "cores", "host memory", "numpy", "device time", "torch", "rich"} <= set(checks)
    for check in checks.values():
        assert check["state"] in ("ok", "limited", "missing")
        assert check["detail"]
        assert check["remedy"] or check["state"] == "ok"
    assert main(["doctor"]) == 0
    assert "device time" in capsys.readouterr().out


def test_doctor_without_torch(capsys, monkeypatch):
    monkeypatch.setattr("regimeter.cli.doctor.find_spec", lambda name: None)
    main(["doctor", "--json"])
    torch = next(check for check in document(capsys)["checks"] if check["name"] == "torch")
    assert torch["state"] == "missing"
    assert "pip install" in torch["remedy"]


def test_doctor_of_a_sound_recording(run_file, capsys):
    assert main(["doctor", str(run_file)]) == 0
    assert "sound; 6 scopes" in capsys.readouterr().out


def test_doctor_of_a_cut_recording(cut_file, capsys):
    assert main(["doctor", str(cut_file)]) == 1
    out = capsys.readouterr().out
    assert "damaged; 6 scopes" in out
    assert "1 unfinished: " in out
    assert f"Next: regimeter recover {cut_file} -o recovered.rgm" in out
    assert main(["doctor", str(cut_file), "--json"]) == 1
    found = document(capsys)
    assert not found["sound"]
    assert found["scopes"] == 6
    assert all(row["count"] > 0 and row["detail"] for row in found["anomalies"])


def test_doctor_of_an_unfinished_recording(tmp_path, make_profiler, capsys):
    profiler = make_profiler(path=tmp_path / "live.rgm", enable_detailed_metrics=False)
    with profiler.profile("step", device="cpu"):
        pass
    profiler.flush()
    copy = tmp_path / "copy.rgm"
    shutil.copy(tmp_path / "live.rgm", copy)
    assert main(["doctor", str(copy)]) == 1
    assert "unfinished; 1 scope" in capsys.readouterr().out


# --- selftest -------------------------------------------------------------------------------------------------------


def test_selftest_overhead(capsys, monkeypatch):
    monkeypatch.setattr("regimeter.cli.selftest.BURSTS", 2)
    assert main(["selftest", "overhead", "--json"]) == 0
    rows = {row["what"]: row for row in document(capsys)["rows"]}
    assert {"contextlib.nullcontext", "scope", "scope, disabled", "scope, nested 10 deep", "empty loop"} <= set(rows)
    assert rows["contextlib.nullcontext"]["ratio"] == 1.0
    assert all(isinstance(row["ns"], float) for row in rows.values())
    assert main(["selftest", "overhead"]) == 0
    assert "of nullcontext" in capsys.readouterr().out


# --- the suffix of -o ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [["suggest", "RUN", "-o", "OUT.html"], ["recover", "RUN", "-o", "OUT.json"], ["report", "RUN", "-o", "OUT.json"],
     ["hta", "RUN", "-o", "OUT.csv"], ["hta", "RUN", "--json", "-o", "OUT.csv"], ["flame", "RUN", "-o", "OUT.rgm"],
     ["timeline", "RUN", "-o", "OUT.csv"], ["export", "RUN", "-o", "OUT.html", "--format", "csv"],
     ["compare", "RUN", "RUN", "-o", "OUT.html", "--format", "text"], ["compare", "RUN", "RUN", "-o", "OUT.rgm"],
     ["record", "--html", "OUT.json", "x.py"]],
)  # fmt: skip
def test_a_suffix_of_another_format_is_refused(words, run_file, tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text("")
    before = sorted(os.listdir(tmp_path))
    refused([word.replace("RUN", str(run_file)) for word in words], "the suffix")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    "words",
    [["record", "--html", "x.py", "y.py"], ["record", "--html", "x.py", "x.py"], ["report", "RUN", "-o", "x.py"],
     ["suggest", "RUN", "-o", "x.py"], ["recover", "RUN", "-o", "x.py"], ["hta", "RUN", "-o", "Makefile"]],
)  # fmt: skip
def test_a_file_of_another_kind_is_not_written_over(words, run_file, tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("x.py", "y.py", "Makefile"):
        (tmp_path / name).write_text(name)
    before = sorted(os.listdir(tmp_path))
    refused(
        [word.replace("RUN", str(run_file)) for word in words],
        "exists and is not a file of this kind; name one that ends in .",
    )
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "x.py").read_text() == "x.py"
    assert (tmp_path / "Makefile").read_text() == "Makefile"


@pytest.mark.parametrize(
    ("verb", "start"),
    [("report", b"<!doctype html>"), ("suggest", b"{"), ("recover", b"\x89RGM"), ("hta", b"<!doctype html>")],
)
def test_what_was_written_under_a_name_without_a_suffix_is_written_anew(verb, start, run_file, tmp_path):
    out = tmp_path / "out"
    for _ in range(2):
        assert main([verb, str(run_file), "-o", str(out)]) == 0
        assert out.read_bytes().startswith(start)
        out.write_bytes(out.read_bytes()[: len(start)])
    out.write_bytes(b"")  # as mktemp makes it
    assert main([verb, str(run_file), "-o", str(out)]) == 0


def test_suggestions_in_a_file_are_json_under_a_name_that_no_browser_runs(run_file, tmp_path):
    optimizer = regimeter.ProfilerOptimizer(str(run_file))
    with pytest.raises(ValueError, match=r"page.html: the suffix names no format that can be written here; use \.json"):
        optimizer.export_suggestions(tmp_path / "page.html")
    optimizer.export_suggestions(tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text())["format"] == "regimeter.suggestions"


@pytest.mark.parametrize(("suffix", "start"), [("html", "<!doctype html>"), ("json", "{"), ("md", "#"), ("txt", "")])
def test_the_suffix_chooses_the_report_of_a_comparison(suffix, start, run_file, tmp_path):
    out = tmp_path / f"out.{suffix}"
    main(["compare", str(run_file), str(run_file), "-o", str(out)])
    assert out.read_text().startswith(start)
