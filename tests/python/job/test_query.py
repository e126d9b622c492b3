# SPDX-License-Identifier: Apache-2.0
"""SQL over runs and data sets: the figures of Arrow and of the analyses, and nothing but reading."""

import json
import sys
from pathlib import Path

import pytest
from job_traces import Job, write_job
from traces import load_trace, trace_path

import regimeter
from regimeter.cli import main
from regimeter.job.dataset import run_name, write_dataset

duckdb = pytest.importorskip("duckdb")
from regimeter.query import query  # noqa: E402

TRACE = "a100_simple_add.json.gz"


def test_names_and_codes_are_text() -> None:
    run = load_trace(TRACE)
    found = query(str(trace_path(TRACE)), "SELECT name, kind, duration_ns FROM spans ORDER BY row")
    expected = [
        (run.string(name), regimeter._core.SPAN_KINDS[kind], duration)
        for name, kind, duration in zip(
            run.spans.name.tolist(), run.spans.kind.tolist(), run.spans.duration_ns.tolist(), strict=True
        )
    ]
    assert found.rows == expected


def test_every_table_of_a_run_is_there() -> None:
    names = list(regimeter._core.schema()["run"])
    shown = {row[0] for row in query(str(trace_path(TRACE)), "SHOW TABLES").rows}
    assert set(names) | {"entries", "summary", "causes", "breakdown", "stragglers"} <= shown
    assert not shown & {"trace_diff", "comparison"}
    counts = ", ".join(f"(SELECT count(*) FROM {name})" for name in names)
    expected = tuple(len(load_trace(TRACE).table(name)) for name in names)
    assert query(str(trace_path(TRACE)), f"SELECT {counts}").rows == [expected]


def test_analyses_and_causes_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    run = load_trace(TRACE)
    assert main(["query", str(trace_path(TRACE)), "select idle_ns, compute_ns from breakdown", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["format"], found["version"]) == ("regimeter.query", 1)
    assert found["rows"] == [{key: row[key] for key in ("idle_ns", "compute_ns")} for row in run.breakdown()]
    causes = query(str(trace_path(TRACE)), "SELECT cause, share FROM causes").rows
    verdict = run.verdict()
    assert verdict is not None
    assert [row[0] for row in causes] == [one.cause for one in verdict.causes]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE spans",
        "INSERT INTO spans SELECT * FROM spans",
        "SELECT 1; SELECT 2",
        "COPY spans TO 'stolen.csv'",
        "ATTACH 'other.db'",
        "INSTALL httpfs",
        "SET enable_external_access=true",
        "PRAGMA version",
        "",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM frame",
        "SELECT nonsense FROM spans",
        "SELEC",
    ],
)
def test_what_is_no_reading_of_the_tables_is_one_sentence(
    sql: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = sys._getframe()  # a variable that DuckDB would find by its name, were it let
    assert frame is not None
    assert main(["query", str(trace_path(TRACE)), sql]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err.startswith("regimeter: ")
    assert list(tmp_path.iterdir()) == []


def test_columns_of_one_name_and_odd_values(capsys: pytest.CaptureFixture[str]) -> None:
    sql = (
        "SELECT 1 AS a, 2 AS a, 'NaN'::DOUBLE AS n, 12345678901234567890123::HUGEINT AS h, "
        "1.50::DECIMAL(4,2) AS d, [1,2] AS l"
    )
    assert main(["query", str(trace_path(TRACE)), sql, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row == {"a": 1, "a_2": 2, "n": None, "h": 12345678901234567890123, "d": 1.5, "l": [1, 2]}


# --- a data set of a job --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> regimeter.RankAnalysis:
    folder = tmp_path_factory.mktemp("job")
    list(write_job(folder, Job(replicas=4, stages=2, steps=3, trouble={1: (2, "host")})))
    return regimeter.analyze_ranks(folder, workers=1)


def test_a_data_set_is_partitioned_by_run_and_rank(job: regimeter.RankAnalysis, tmp_path: Path) -> None:
    written = write_dataset(job, str(tmp_path), "first")
    assert (tmp_path / "rank_times" / "run=first" / "rank=7" / "part.parquet").is_file()
    assert written["communication_calls"] == len(job.joined.calls["rank"])
    sql = (
        "SELECT rank, sum(exposed_ns)::BIGINT FROM communication_calls WHERE run = 'first' GROUP BY rank ORDER BY rank"
    )
    exposed = {row["rank"]: 0 for row in job.joined.whole}
    for rank, value in zip(job.joined.calls["rank"].tolist(), job.joined.calls["exposed_ns"].tolist(), strict=True):
        exposed[rank] += value
    assert dict(query(str(tmp_path), sql).rows) == exposed
    late = query(str(tmp_path), "SELECT last_rank, cause FROM collective_instances WHERE cause = 'host'").rows
    assert late == [(2, "host")]
    write_dataset(job, str(tmp_path), "second")
    write_dataset(job, str(tmp_path), "first")  # in the place of what was there
    runs = dict(query(str(tmp_path), "SELECT run, count(*) FROM stragglers GROUP BY run").rows)
    assert runs == {"first": 8, "second": 8}


def test_others_read_it(job: regimeter.RankAnalysis, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    write_dataset(job, str(tmp_path), "r")
    frame = polars.read_parquet(str(tmp_path / "rank_times" / "**" / "*.parquet"), hive_partitioning=True)
    whole = frame.filter(polars.col("step") == -1).sort("rank")
    assert whole["compute_ns"].to_list() == [row["compute_ns"] for row in job.joined.whole]
    place = tmp_path / "rank_times" / "**" / "*.parquet"
    counted = duckdb.sql(f"SELECT count(DISTINCT rank) FROM read_parquet('{place}', hive_partitioning=true)").fetchall()
    assert counted == [(8,)]


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = trace_path("dlrm8")
    assert main(["ranks", str(folder), "--workers", "1", "--dataset", str(tmp_path / "set"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["query", str(tmp_path / "set"), "SELECT rank, caused_ns FROM stragglers", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows == [{"rank": row["rank"], "caused_ns": row["caused_ns"]} for row in found["stragglers"]]


def test_names_of_runs() -> None:
    assert run_name("/data/job-1/rank-*.json.gz") == "job-1"
    assert run_name("s3://bucket/my run/") == "my_run"
    assert run_name(["/a/b/rank-0.json", "/a/b/rank-1.json"]) == "b"
