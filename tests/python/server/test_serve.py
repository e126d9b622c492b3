# SPDX-License-Identifier: Apache-2.0
"""`regimeter serve`: its answers are those of the commands, through a server in a process of its own."""

import contextlib
import json
import shutil
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_machine import calibration
from needed import package
from page_data import sections_of
from serving import SPANS_A_COUNT, Server, record, serving
from traces import trace_path

from regimeter import load
from regimeter.analysis.catalog import find_verbs
from regimeter.calibration.choice import device_names
from regimeter.cli import main
from regimeter.suite.compile_report import CompileReport

COUNT = 500
TRACE = "h100_bert_small.json.gz"
ALONE = ("ranks",)  # a command that reads the files one by one and tells more than the rows of a loaded run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served")
    record(made, "base", COUNT)
    record(made, "new", COUNT)
    shutil.copy(trace_path(TRACE), made / TRACE)
    shutil.copy(trace_path("a100_triton.json.gz"), made / "quiet.json.gz")
    (made / "notes.txt").write_text("no run\n")
    (made / "list.json").write_text('[{"name": "no event"}]')
    (made / "setup.cfg").write_text("[metadata]\nname = no_list\n")
    (made / "long.json").write_text('{"rows": [' + "1, " * 40_000 + "1]}")
    (made / "empty.json").write_text("")
    (made / "verdict.json").write_text('{"format": "regimeter.comparison", "version": 1}')
    sqlite3.connect(made / "other.db").executescript("CREATE TABLE runs (id INTEGER)")
    (made / "broken.json").write_text('{"traceEvents": [1, 2]}')
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(str(folder)) as running:
        yield running


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    """Return what a command prints with --json."""
    main([*map(str, words), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_the_list_has_what_is_a_run(server: Server) -> None:
    runs = {run["name"]: run for run in server.ask("/api/runs").json()["runs"]}
    assert set(runs) == {"base.rgm", "new.rgm", TRACE, "quiet.json.gz", "broken.json"}
    assert runs["base.rgm"]["kind"] == "recording"
    assert runs[TRACE]["kind"] == "trace"
    assert not any(run["uploaded"] for run in runs.values())


def test_what_is_no_run_is_left_out_with_the_reason(server: Server) -> None:
    told = {row["name"]: row["reason"] for row in server.ask("/api/runs").json()["left_out"]}
    assert told == {
        "notes.txt": "no recording, trace or profile",
        "list.json": "no event of a trace in its first 64 kB",
        "setup.cfg": "no recording, trace or profile",
        "long.json": "no event of a trace in its first 64 kB",
        "empty.json": "an empty file",
        "verdict.json": "a document of regimeter.comparison, which holds no run",
        "other.db": "a SQLite file, but no export of Nsight Systems",
    }
    page = server.home()
    assert "7 other files left out" in page["limit"]["why"]
    [shown] = [one for one in page["sections"] if one["id"] == "left-out"]
    assert dict(zip(*(column["values"] for column in shown["columns"]), strict=True)) == told


def test_answers_are_those_of_the_commands(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)  # so that the name of the file is the same
    for name in ("flame", "kernels", "hta"):
        answer = server.ask(f"/api/profiler/{name}?run={TRACE}").json()
        assert answer == printed(capsys, name, TRACE), name
    timeline = server.ask(f"/api/profiler/timeline?run={TRACE}").json()
    figures = printed(capsys, "timeline", TRACE)
    assert (figures.pop("format"), timeline["format"]) == ("regimeter.suite.timeline", "regimeter.timeline")
    assert {name: timeline[name] for name in figures} == figures
    shown = printed(capsys, "show", TRACE)["verdict"]
    assert shown["cause"]
    assert server.ask(f"/api/runs/{server.id_of(TRACE)}/verdict").json() == shown


def test_every_analysis_is_that_of_its_command(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    run = server.id_of(TRACE)
    for name, verb in find_verbs().items():
        if verb.text_option:
            continue
        words = (name, TRACE, TRACE) if verb.other else (name, TRACE)
        query = f"?baseline={TRACE}" if verb.other else ""
        answer = server.ask(f"/api/runs/{run}/analyses/{name}{query}")
        assert answer.status == 200, answer.body
        told = printed(capsys, *words)
        if name in ALONE:
            assert answer.json()["rows"] == told["rows"], name
        else:
            assert answer.json() == told, name
    by_type = server.ask(f"/api/runs/{run}/analyses/kernels?by=type&top=2").json()
    assert by_type == printed(capsys, "kernels", TRACE, "--by", "type", "--top", "2")
    assert server.ask(f"/api/runs/{run}/analyses/kernels?by=colour").status == 422
    assert server.ask(f"/api/runs/{run}/analyses/idle?set=no_such=1").status == 422
    assert "kernels" in server.ask(f"/api/runs/{run}/analyses/nothing").problem
    alone = server.ask(f"/api/runs/{run}/analyses/diff")
    assert (alone.status, alone.problem) == (422, "diff compares two runs: say with which by baseline=")


def test_a_comparison_is_that_of_its_command(
    server: Server, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    main(["compare", "base.rgm", "new.rgm", "--format", "json", "--sort", "impact"])
    told = json.loads(capsys.readouterr().out)
    answer = server.ask("/api/compare?baseline=base.rgm&current=new.rgm").json()
    assert answer == told
    page = server.ask(f"/compare?baseline={server.id_of('base.rgm')}&current={server.id_of('new.rgm')}")
    assert page.status == 200
    assert b"base.rgm compared with new.rgm" in page.body
    assert "cannot be" not in server.ask("/api/compare?baseline=base.rgm&current=broken.json").problem


def test_the_timeline_gives_every_span(server: Server, folder: Path) -> None:
    run = load(folder / "base.rgm")
    assert len(run.spans) == COUNT * SPANS_A_COUNT
    duration = int(run.spans.duration_ns.sum())
    for width in (1, 10, 1_000, 16_000):
        found = server.ask(f"/api/profiler/timeline?run=base.rgm&width={width}").json()
        columns = found["columns"]
        assert found["drawn"] + found["aggregated"] == found["spans"] == len(run.spans)
        assert sum(columns["count"]) == found["spans"]
        assert sum(columns["sum_ns"]) == duration
        assert columns["count"].count(1) == found["drawn"]
        wide = [time for time, count in zip(columns["duration_ns"], columns["count"], strict=True) if count == 1]
        assert int((run.spans.duration_ns >= found["pixel_ns"]).sum()) <= len(wide)
    assert found["drawn"] > 0


def test_a_window_of_the_timeline_holds_what_reaches_into_it(server: Server, folder: Path) -> None:
    run = load(folder / TRACE)
    start = run.spans.start_ns - run.start_ns
    end = start + run.spans.duration_ns
    first, last = int(np.quantile(start, 0.3)), int(np.quantile(start, 0.6))
    inside = (start <= last) & (end >= first)
    found = server.ask(f"/api/profiler/timeline?run={TRACE}&start_ns={first}&end_ns={last}&width=200").json()
    assert found["spans"] == int(inside.sum()) == found["drawn"] + found["aggregated"]
    assert sum(found["columns"]["sum_ns"]) == int(run.spans.duration_ns[inside].sum())
    names = {run.string(name) for name in run.spans.name[inside].tolist()}
    assert set(found["names"]) <= names
    assert len(found["columns"]["lane"]) < inside.sum()
    single = [place for place, count in enumerate(found["columns"]["count"]) if count == 1]
    for place in single[:: max(1, len(single) // 50)]:
        row = found["columns"]["span"][place]
        assert start[row] == found["columns"]["start_ns"][place]
        assert run.string(int(run.spans.name[row])) == found["names"][found["columns"]["name"][place]]


def test_what_does_not_apply_says_why(server: Server) -> None:
    assert server.ask("/api/profiler/kernels?run=base.rgm").json()["unavailable"] == "no device work is in the trace"
    assert "regimeter compile" in server.ask("/api/profiler/compile?run=base.rgm").json()["unavailable"]
    assert "profile_memory" in server.ask("/api/profiler/memory?run=quiet.json.gz").json()["unavailable"]
    hta = server.ask("/api/profiler/hta?run=base.rgm").json()
    assert hta["gpu_idle_time_pct"] is None
    assert hta["unavailable"]["gpu_idle_time_pct"]


def test_what_is_wrong_is_one_sentence(server: Server, folder: Path) -> None:
    assert "name one of the 5 runs" in server.ask("/api/profiler/flame").problem
    assert "no run" in server.ask("/api/profiler/flame?run=other").problem
    broken = server.ask("/api/profiler/flame?run=broken.json")
    assert broken.status == 422
    assert broken.problem.startswith("broken.json: ")
    assert str(folder) not in broken.problem
    assert "width" in server.ask("/api/profiler/timeline?run=base.rgm&width=0").problem
    assert server.ask("/nowhere").status == 404
    assert server.ask("/nowhere").problem
    assert server.ask("/api/profiler/flame", "POST", b"").status == 405


def test_the_first_page_of_a_folder_lists_its_runs(server: Server) -> None:
    page = server.ask("/")
    assert page.status == 200
    rows = {row["name"]: row for row in sections_of(page.body.decode())["runs"]["rows"]}
    assert {"base.rgm", "new.rgm", TRACE} <= set(rows)
    assert "notes.txt" not in rows
    assert rows["base.rgm"]["id"] == server.id_of("base.rgm")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy


def test_the_page_of_a_run_is_that_of_report(
    server: Server, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    page = server.ask(f"/runs/{server.id_of(TRACE)}")
    assert main(["report", TRACE, "-o", str(tmp_path / "r.html"), "--title", TRACE, "-q"]) == 0
    written = (tmp_path / "r.html").read_text()
    link = '<a class="home" href="/runs">All runs</a>\n'
    assert page.body.decode().count(link) == 1
    assert without_time(page.body.decode().replace(link, "")) == without_time(written)
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'sha256-")


def without_time(text: str) -> str:
    """Return a page without the moment at which it was made."""
    head, mark, rest = text.partition('"created":"')
    assert mark
    return head + rest.partition('"')[2]


def test_an_answer_that_the_client_has_is_not_sent_again(server: Server) -> None:
    path = "/api/profiler/flame?run=base.rgm"
    first = server.ask(path)
    again = server.ask(path, If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert "content-security-policy" not in again.headers  # it would take the place of the page's own
    other = server.ask(f"{path}&metric=host")
    assert other.headers["etag"] != first.headers["etag"]
    assert server.ask("/api/profiler/flame?run=new.rgm").headers["etag"] != first.headers["etag"]
    packed = server.ask(path, packed=True)
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.body == first.body
    assert int(packed.headers["content-length"]) < len(first.body)
    assert "content-encoding" not in first.headers


def test_one_file_needs_no_name_and_its_page_is_the_first(folder: Path) -> None:
    with serving(str(folder / "base.rgm")) as one:
        assert b"dataset.ready" in one.ask("/").body
        assert b"base.rgm" in one.ask("/").body
        found = one.ask("/api/profiler/timeline").json()
        assert found["spans"] == COUNT * SPANS_A_COUNT
        assert one.ask("/openapi.json").json()["info"]["title"] == "regimeter"
        assert [run["name"] for run in one.ask("/api/runs").json()["runs"]] == ["base.rgm"]


def test_ceilings_are_those_of_runs_of_their_device(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (device,) = device_names(load(TRACE))
    of_device, of_another = tmp_path / "this.json", tmp_path / "another.json"
    of_device.write_text(json.dumps(replace(calibration(), name=device).to_dict()))
    of_another.write_text(json.dumps(replace(calibration(), name="another device").to_dict()))
    told = []
    for file in (of_device, of_another):
        with serving(str(folder), "--ceilings", str(file), "--memory", "500MB") as one:
            told.append(one.ask(f"/api/runs/{one.id_of(TRACE)}/analyses/kernel-regimes").json())
            page = one.ask(f"/runs/{one.id_of(TRACE)}").body.decode()
            assert (f"calibration of {device}" in page) == (file == of_device)
    assert told[0] == printed(capsys, "kernel-regimes", TRACE, "--ceilings", of_device)
    assert told[1] == printed(capsys, "kernel-regimes", TRACE) != told[0]


def test_a_changed_file_is_read_again(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    shutil.copy(folder / "base.rgm", path)
    with serving(str(path)) as one:
        before = one.ask("/api/profiler/timeline")
        path.unlink()
        assert "no run" in one.ask("/api/profiler/timeline").problem
        shutil.copy(trace_path(TRACE), path)
        after = one.ask("/api/profiler/timeline")
        assert after.headers["etag"] != before.headers["etag"]
        assert after.json()["spans"] == len(load(path).spans)


def test_reports_of_the_suite_are_served(tmp_path: Path) -> None:
    package("torch")
    from regimeter.suite import MemoryProfiler

    memory = MemoryProfiler(0)
    with memory.track("all"):
        pass
    memory.export(tmp_path / "memory.json")
    with serving(str(tmp_path)) as one:
        assert [run["kind"] for run in one.ask("/api/runs").json()["runs"]] == ["memory report"]
        assert one.ask("/api/profiler/memory").json() == json.loads((tmp_path / "memory.json").read_text())
        assert "holds no spans" in one.ask("/api/profiler/timeline").problem
        assert b"memory" in one.ask(f"/runs/{one.id_of('memory.json')}").body


def test_memory_that_a_file_states_of_its_calls_is_served(tmp_path: Path) -> None:
    """The answer was that the memory sampler was off; the page had the series."""
    entry = {"operation": "a", "duration_ms": 10, "device": "gpu", "memory_peak_mb": 9.0}
    (tmp_path / "stated.json").write_text(json.dumps({"entries": [entry], "summary": {}}))
    with serving(str(tmp_path)) as one:
        found = one.ask("/api/profiler/memory").json()
    assert found["laid"] is True
    assert [(row["name"], row["value"]) for row in found["series"]] == [("memory peak per call", [9_000_000])]


def test_what_was_said_of_the_memory_of_a_file_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", str(trace_path(TRACE)), "-o", str(tmp_path / "said.json")]) == 0
    with serving(str(tmp_path)) as one:
        [left] = one.ask("/api/runs").json()["left_out"]
    assert left["reason"] == "what `regimeter memory FILE` said of another file; serve that file itself"


def test_the_list_says_what_is_in_reports_and_which_are_damaged(tmp_path: Path) -> None:
    report = CompileReport(
        subject="f", backend="inductor", mode="default", speedup=2.0, speedup_low=1.9, speedup_high=2.1
    )
    report.export(tmp_path / "whole.json")
    damaged = {"format": "regimeter.suite.compile", "version": 1, "subject": "f"}
    (tmp_path / "damaged.json").write_text(json.dumps(damaged))
    with serving(str(tmp_path)) as one:
        told: dict[str, str | None] = {}
        end = time.monotonic() + 60
        while time.monotonic() < end and None in (told.get("whole.json"), told.get("damaged.json")):
            told = {run["name"]: run["limit"] for run in one.ask("/api/runs").json()["runs"]}
            time.sleep(0.1)
        assert told["whole.json"] == "A compiled call is 2.00 times as fast as an eager one (1.90 to 2.10)."
        assert told["damaged.json"] is not None
        assert "no whole compile report" in told["damaged.json"]
        assert one.ask(f"/runs/{one.id_of('damaged.json')}").status == 422


def test_ranks_of_a_job_are_one_run(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    for number in (0, 1):
        shutil.copy(trace_path(f"dlrm8/rank-{number}.json.gz"), job)
    with serving(str(tmp_path)) as one:
        runs = {run["name"]: run["kind"] for run in one.ask("/api/runs").json()["runs"]}
        assert runs["job/"] == "ranks of a job"
        whole = one.ask("/api/profiler/timeline?run=job/").json()["spans"]
        parts = [one.ask(f"/api/profiler/timeline?run=job/rank-{n}.json.gz").json()["spans"] for n in (0, 1)]
        assert whole == sum(parts)


def test_what_it_is_told_wrong_is_one_line(tmp_path: Path, refused: Callable[..., str]) -> None:
    refused(["serve", str(tmp_path / "nothing")], "nothing: No such file")
    refused(["serve", "--port", "99999"], "0 to 65535")
    refused(["serve", "--memory", "much"], "500MB, 8G or 2GiB")
    (tmp_path / "wrong.json").write_text('{"ceilings": 1}')
    refused(["serve", str(tmp_path), "--ceilings", str(tmp_path / "wrong.json")], "regimeter calibrate --json > FILE")
    (tmp_path / "wrong.json").unlink()
    with serving(str(tmp_path)) as one:
        refused(["serve", str(tmp_path), "--port", str(one.port)], "--port")


def test_without_the_extra_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refused: Callable[..., str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("regimeter.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    refused(["serve", str(tmp_path)], "pip install 'regimeter[web]'", code=1)


def test_people_get_pages_where_something_is_wrong(server: Server) -> None:
    answer = server.ask("/runs/other", Accept="text/html")
    assert answer.status == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert b"<p>there is no run of that id or name" in answer.body
    assert server.ask("/api/runs/other", Accept="text/html").problem
    assert b"<h1>The request is malformed</h1>" in server.ask("/", Host="evil.example", Accept="text/html").body


def test_a_signal_that_comes_before_the_server_takes_signals_ends_it(tmp_path: Path, run_python: Any) -> None:
    """Whatever code it meets, which may swallow exceptions or, as an import does, make others of them."""
    done = run_python(f"""
        import contextlib, os, signal, sys
        from regimeter.cli import main
        from regimeter.server import process
        made = process.make_app
        def make_app(service):
            with contextlib.suppress(BaseException):
                os.kill(os.getpid(), signal.SIGTERM)
            return made(service)
        process.make_app = make_app
        sys.exit(main(["serve", "-q", "--port", "0", {str(tmp_path)!r}]))
    """)
    assert done.stdout.startswith("http://127.0.0.1:")
    assert done.stderr == ""


def test_who_connects_while_the_server_ends_does_not_hold_it_up(folder: Path) -> None:
    """Without a word from uvicorn, which `serving` would find: it asks the connections of one moment to end."""
    held: list[socket.socket] = []

    def connect(port: int) -> None:
        with contextlib.suppress(OSError):
            while True:
                held.append(socket.create_connection(("127.0.0.1", port), timeout=1))
                time.sleep(0.001)

    for _ in range(3):
        held.clear()
        with serving(str(folder / "base.rgm")) as server:
            clients = [threading.Thread(target=connect, args=(server.port,)) for _ in range(2)]
            for client in clients:
                client.start()
            while len(held) < 100:
                time.sleep(0.01)
        for client in clients:
            client.join()
