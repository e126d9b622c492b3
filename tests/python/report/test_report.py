# SPDX-License-Identifier: Apache-2.0
"""Text and page of a run: what they say, and that names cannot steer them."""

import base64
import contextlib
import gzip
import io
import json
import re

import pytest
from needed import package
from page_columns import unpacked

from regimeter import load
from regimeter.cli import main
from regimeter.report.html import render_html
from regimeter.report.pack import Names
from regimeter.report.trace_data import trace_data
from regimeter.report.trace_timeline import timeline_of
from regimeter.run import summary_text
from regimeter.system import text

HOSTILE = [
    "</script><script>alert(1)</script>",
    "\x1b[31mred\x1b[0m",
    "a\nb",
    "\u202eleft",
    "<b>&amp;\"'",
    "\0",
    "x" * 500,
]


@pytest.fixture
def recorded(make_profiler):
    profiler = make_profiler(memory_interval_ms=0)
    for number in range(10):
        with profiler.profile("outer", number=number):
            with profiler.profile("inner", device="cpu"):
                pass
    return profiler


def printed(call, *args):
    out = io.StringIO()
    call(*args, file=out)
    return out.getvalue()


# --- text -----------------------------------------------------------------------------------------------------


def test_print_summary(recorded, capsys):
    recorded.print_summary()
    out = capsys.readouterr().out
    for word in ("outer", "inner", "10", "exclusive", "median", "p95", "std dev"):
        assert word in out
    assert re.search(r"Cost of profiling: 20 scopes at \d+ ns", out)
    assert re.search(r"Device time: unavailable: .{10}", out)


def test_print_summary_of_nothing(make_profiler, capsys):
    profiler = make_profiler()
    profiler.print_summary()
    profiler.print_bottlenecks()
    assert capsys.readouterr().out.count("No scope has been recorded.") == 2


def test_print_summary_shows_the_first(recorded, capsys):
    recorded.print_summary(top_n=1)
    out = capsys.readouterr().out
    assert "(1 of 2)" in out
    assert ("outer" in out) != ("inner" in out.replace("inner loop", ""))


def test_print_bottlenecks(recorded, capsys):
    recorded.print_bottlenecks()
    out = capsys.readouterr().out
    assert out.startswith("Bottlenecks\n[1] ")
    assert "[2] " in out
    assert "10 calls on" in out
    recorded.print_bottlenecks(top_n=1)
    assert "[2] " not in capsys.readouterr().out


def test_anomalies_are_in_the_summary(make_profiler, capsys):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.5, seed=1)
    for _ in range(100):
        with profiler.profile("a"):
            pass
    profiler.print_summary()
    assert re.search(r"Note: \d+ sampled_out: ", capsys.readouterr().out)


def test_names_cannot_steer_the_terminal(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False)
    for name in HOSTILE:
        with profiler.profile(name):
            pass
    run = profiler.run()
    out = printed(summary_text.print_summary, run) + printed(summary_text.print_bottlenecks, run, 10)
    assert all(character.isprintable() or character == "\n" for character in out)
    assert "\N{REPLACEMENT CHARACTER}[31mred" in out
    lines = printed(summary_text.print_summary, run).splitlines()
    assert len({len(line) for line in lines[2:3]}) == 1
    assert max(map(len, lines[:12])) < 250


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (None, "n/a"), (0.0, "0 ns"), (1e-6, "1 ns"), (0.000999, "999 ns"), (0.001, "1.00 µs"), (0.0123, "12.3 µs"),
        (0.123, "123 µs"), (1.0, "1.00 ms"), (12.345, "12.3 ms"), (999.0, "999 ms"), (99.97, "100 ms"),
        (1000.0, "1.00 s"), (12345.0, "12.3 s"), (123456.0, "123 s"),
    ],
)  # fmt: skip
def test_durations(ms, shown):
    assert text.duration(ms) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "n/a"), (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (-2.5e6, "-2.5 MB"), (3e9, "3 GB")]
)
def test_amounts(value, shown):
    assert text.amount(value) == shown


def test_percentages():
    assert text.percent(None) == "n/a"
    assert text.percent(0.1234) == "12.3 %"
    assert text.percent(0.1234, 0) == "12 %"


def test_names_are_cut_in_the_middle():
    assert text.shorten("a" * 44) == "a" * 44
    cut = text.shorten("start" + "x" * 100 + "end")
    assert len(cut) == 44
    assert cut.startswith("start")
    assert cut.endswith("end")


def test_a_terminal_gets_the_same_rows(recorded):
    package("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    summary_text.print_summary(recorded.run(), file=out)
    assert "outer" in out.getvalue()
    assert "Cost of profiling" in out.getvalue()


# --- data of the page -----------------------------------------------------------------------------------------


def names_of(found):
    return json.loads(gzip.decompress(base64.b64decode(found["names"]["data"])))


def test_the_page_has_the_run_s_data(recorded):
    run = recorded.run()
    found = trace_data(run, title="A title", file="run.rgm")
    assert json.loads(json.dumps(found)) == found
    assert found["title"] == "A title"
    assert found["run"]["span_count"] == 20
    assert [row["operation"] for row in found["summary"]] == list(run.get_summary())
    assert found["summary"][0]["total_ns"] == pytest.approx(run.get_bottlenecks(1)[0].total_time_ms * 1e6)
    assert len(found["bottlenecks"]) == 2
    timeline, names = found["timeline"], names_of(found)
    assert timeline["count"] == timeline["spans"] == timeline["drawn"] == 20
    assert timeline["aggregated"] == timeline["blocks"]["count"] == 0
    columns = {name: unpacked(column, 20) for name, column in timeline["columns"].items()}
    assert columns["start_ns"] == (run.spans.start_ns - run.start_ns).tolist()
    assert columns["duration_ns"] == run.spans.duration_ns.tolist()
    assert [names[n] for n in columns["name"]] == ["outer", "inner"] * 10
    assert columns["depth"] == columns["plain_depth"] == [0, 1] * 10
    assert found["unavailable"]["gpu_ns"]
    assert found["cost"]["scopes"] == 20
    assert [row["name"] for row in found["memory"]["unavailable"]] == ["host resident set", "device allocated"]


def test_an_empty_run_has_a_page(make_profiler):
    found = trace_data(make_profiler().run())
    assert found["summary"] == []
    assert found["timeline"]["count"] == found["timeline"]["spans"] == 0
    assert "<html" in render_html(found)


def test_memory_of_the_page(make_profiler, fake_cuda):
    profiler = make_profiler(track_memory=True, memory_interval_ms=1)
    with profiler.profile("a"):
        fake_cuda.use(5_000_000)
        while profiler.stats()["samples"] < 3:
            pass
    series = {row["name"]: row for row in trace_data(profiler.run())["memory"]["series"]}
    values = {name: unpacked(row["value"], row["count"]) for name, row in series.items()}
    assert values["device allocated"][-1] == 5_000_000
    assert all(value > 0 for value in values["host resident set"])
    for row in series.values():
        times = unpacked(row["time_ns"], row["count"])
        assert times == sorted(times)
        assert row["unit"] == "bytes"


def test_memory_of_a_file_without_samples_is_that_of_its_calls(tmp_path):
    """Such a page said that the memory sampler was off."""
    calls = [
        ("a", 10, {"memory_allocated_mb": 5.0, "memory_peak_mb": 9.0}),
        ("b", 4, {}),
        ("a", 10, {"memory_peak_mb": 11.0}),
    ]
    for laid in (True, False):
        entries = [
            {"operation": name, "duration_ms": ms, "device": "gpu", "backend": "pytorch", "metadata": {}, **memory}
            | ({} if laid else {"start_time": at * 0.02, "end_time": at * 0.02 + ms / 1e3})
            for at, (name, ms, memory) in enumerate(calls)
        ]
        (tmp_path / "stated.json").write_text(json.dumps({"entries": entries, "summary": {}}))
        memory = trace_data(load(tmp_path / "stated.json"))["memory"]
        assert memory["laid"] is laid
        assert memory["unavailable"] == []
        first, second = memory["series"]
        assert (first["name"], unpacked(first["value"], 1)) == ("memory allocated per call", [5_000_000])
        assert (second["name"], unpacked(second["value"], 2)) == ("memory peak per call", [9_000_000, 11_000_000])
        assert unpacked(second["time_ns"], 2) == pytest.approx([10e6, 24e6 if laid else 50e6], abs=1000)


def test_a_page_of_hostile_names(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False)
    for name in HOSTILE:
        with profiler.profile(name, **{name or "k": name}):
            pass
    page = render_html(trace_data(profiler.run(), title="</title><script>alert(2)</script>"))
    assert "<script>alert" not in page
    assert "default-src 'none'" in page
    page.encode("utf-8")


@pytest.mark.parametrize("most", [None, 20_000])
def test_every_span_of_a_large_run_is_in_the_page(make_profiler, most):
    profiler = make_profiler(enable_detailed_metrics=False)
    with profiler.profile("around"):
        for _ in range(60_000):
            with profiler.profile("a"):
                pass
    run = profiler.run()
    timeline = timeline_of(run, Names(run), most=most)
    count, blocks = timeline["count"], timeline["blocks"]
    assert timeline["drawn"] + timeline["aggregated"] == timeline["spans"] == len(run.spans) == 60_001
    assert (timeline["aggregated"] > 0) == (most is not None)
    rows, stand_for = unpacked(blocks["row"], blocks["count"]), unpacked(blocks["spans"], blocks["count"])
    assert sum(stand_for) == timeline["aggregated"]
    assert count == timeline["drawn"] + blocks["count"]
    assert len(set(rows)) == len(rows)
    single = set(range(count)) - set(rows)
    duration = unpacked(timeline["columns"]["duration_ns"], count)
    in_sum = sum(duration[row] for row in single) + sum(unpacked(blocks["sum_ns"], blocks["count"]))
    assert in_sum == int(run.spans.duration_ns.sum())
    packed = sum(len(column.get("data", "")) for column in timeline["columns"].values())
    assert packed < 9 * timeline["spans"]


def test_the_page_of_a_file_equals_that_of_the_run(recorded, tmp_path):
    recorded.close()
    run = recorded.run()
    run.save(tmp_path / "run.rgm")
    first, second = trace_data(run), trace_data(load(tmp_path / "run.rgm"))
    for changing in ("created",):
        first.pop(changing), second.pop(changing)
    first["run"].pop("source"), second["run"].pop("source")
    assert first == second


def test_write_html(recorded, tmp_path):
    recorded.write_html(tmp_path / "report.html", title="My title")
    page = (tmp_path / "report.html").read_text()
    assert "<title>My title" in page
    assert "outer" in page
    assert not re.search(r'(src|href)="https?://', page)


# --- how far it is --------------------------------------------------------------------------------------------


def check_stages(told):
    names, parts = zip(*told, strict=True)
    assert len(set(names)) == len(names)
    assert parts == tuple(number / len(parts) for number in range(len(parts)))


def test_a_report_tells_its_stages(recorded, tmp_path):
    told = []
    recorded.write_html(tmp_path / "recording.html", progress=lambda *stage: told.append(stage))
    check_stages(told)
    assert "suggestions" in dict(told)


@pytest.mark.parametrize("kind", ["recording", "trace"])
def test_the_command_shows_the_stages(kind, recorded, tmp_path, monkeypatch):
    told = []

    @contextlib.contextmanager
    def bar(what, *, quiet=False):
        assert "page.html" in what
        yield lambda *stage: told.append(stage)

    monkeypatch.setattr("regimeter.cli.report.bar", bar)
    file = tmp_path / ("run.rgm" if kind == "recording" else "run.trace.json")
    recorded.close()
    if kind == "recording":
        recorded.run().save(file)
    else:
        recorded.run().export(file)
    assert main(["report", str(file), "-o", str(tmp_path / "page.html")]) == 0
    check_stages(told)
    assert "idle table" in dict(told)
