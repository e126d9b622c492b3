# SPDX-License-Identifier: Apache-2.0
"""Nsight Systems exports: totals against SQL over the same file, other schemas, damage."""

import contextlib
import gzip
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from traces import trace_path

from regimeter import FormatError, _core, load
from regimeter.analysis.catalog import find_verbs
from regimeter.cli import main

WORK = ("KERNEL", "MEMCPY", "MEMSET")


# Seven milliseconds of the same recording (tools/cut_nsys.py), and all of it.
@pytest.fixture(scope="module", params=["nsys_h100_2gpu_cut.sqlite", "nsys_h100_2gpu_1s.sqlite"])
def path(request):
    return trace_path(request.param)


@pytest.fixture(scope="module")
def run(path):
    return load(path)


@pytest.fixture(scope="module")
def sql(path):
    link = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    yield lambda query: link.execute(query).fetchall()
    link.close()


def of_kind(run, *kinds):
    return np.isin(run.spans.kind, [_core.SPAN_KINDS.index(kind) for kind in kinds])


@pytest.mark.parametrize(
    ("table", "kinds"),
    [("KERNEL", ["kernel"]), ("MEMCPY", ["memcpy"]), ("MEMSET", ["memset"]), ("RUNTIME", ["runtime", "driver"]),
     ("SYNCHRONIZATION", ["sync"]), ("OVERHEAD", ["overhead"])],
)  # fmt: skip
def test_counts_and_times(run, sql, table, kinds):
    rows = of_kind(run, *kinds)
    count, total, first = sql(f'SELECT count(*), sum("end" - start), min(start) FROM CUPTI_ACTIVITY_KIND_{table}')[0]
    assert rows.sum() == count
    assert run.spans.duration_ns[rows].sum() == total
    assert run.spans.start_ns[rows].min() == first


def union(device):
    """Return the busy time of a device, by SQL."""
    parts = [f'SELECT start, "end" AS stop, deviceId FROM CUPTI_ACTIVITY_KIND_{table}' for table in WORK]
    return f"""
        WITH work AS (SELECT start, stop FROM ({" UNION ALL ".join(parts)}) WHERE deviceId = {device}),
        seen AS (SELECT start, stop, max(stop) OVER (
            ORDER BY start, stop ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM work)
        SELECT sum(max(0, stop - max(start, coalesce(before, start)))), max(stop) - min(start) FROM seen
    """


@pytest.mark.parametrize("device", [0, 1])
def test_breakdown(path, sql, device, capsys):
    assert main(["breakdown", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["devices"][str(device)]
    busy, span = sql(union(device))[0]
    assert (found["busy_ns"], found["span_ns"], found["idle_ns"]) == (busy, span, span - busy)
    counts = [sql(f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{t} WHERE deviceId = {device}")[0][0] for t in WORK]
    assert [found["n_kernel"] + found["n_comm"], found["n_memcpy"], found["n_memset"]] == counts


def test_names(run, sql):
    expected = dict(
        sql(
            "SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName GROUP BY value"
        )
    )
    ids, counts = np.unique(run.spans.name[of_kind(run, "kernel")], return_counts=True)
    assert {run.string(i): count for i, count in zip(ids, counts.tolist(), strict=True)} == expected
    calls = {run.string(i) for i in np.unique(run.spans.name[of_kind(run, "runtime")])}
    assert {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync"} <= calls
    assert not any("_v" in name for name in calls)
    copies = {run.string(i) for i in np.unique(run.spans.name[of_kind(run, "memcpy")])}
    assert copies == {
        "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)",
        "Memcpy DtoD (Device -> Device)",
    }  # fmt: skip


def test_bytes_and_launch_configurations(run, sql):
    assert (
        run.spans.bytes[of_kind(run, "memcpy")].sum() == sql("SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY")[0][0]
    )
    blocks = run.tables.launches.grid_x.astype(np.int64) * run.tables.launches.grid_y * run.tables.launches.grid_z
    assert blocks.sum() == sql("SELECT sum(gridX * gridY * gridZ) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0][0]
    assert of_kind(run, "kernel")[run.tables.launches.span].all()
    registers = sql("SELECT sum(registersPerThread) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0][0]
    assert run.tables.launches.registers.sum() == registers


def test_launches_are_found_by_correlation(run, sql):
    parts = [f"SELECT correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_{table}" for table in WORK]
    orphans = sql(f"""
        SELECT count(*) FROM ({" UNION ALL ".join(parts)}) AS work WHERE NOT EXISTS (
            SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME AS call WHERE call.correlationId = work.correlationId
            AND call.globalTid & ~0xFFFFFF = work.globalPid)
    """)[0][0]
    is_work = of_kind(run, "kernel", "memcpy", "memset")
    assert (run.spans.flags[is_work] & _core.FLAG_ORPHAN != 0).sum() == orphans


def test_ranges_of_torch_are_operators(run, sql):
    expected = dict(
        sql("SELECT substr(text, 1, instr(text, ', op_id') - 1) AS name, count(*) FROM NVTX_EVENTS GROUP BY name")
    )
    ids, counts = np.unique(run.spans.name[of_kind(run, "cpu_op")], return_counts=True)
    found = {run.string(i).partition(", seq = ")[0]: 0 for i in ids}
    for i, count in zip(ids, counts.tolist(), strict=True):
        found[run.string(i)] += count
    assert found == {name.partition(", seq = ")[0]: count for name, count in expected.items()}
    assert len(run.tables.operators) == sum(expected.values())


def test_parents_enclose_their_children(run):
    spans = run.spans
    children = np.flatnonzero(spans.parent >= 0)
    parents = spans.parent[children]
    assert len(children) > len(spans) // 3
    assert (spans.lane[children] == spans.lane[parents]).all()
    assert (spans.start_ns[parents] <= spans.start_ns[children]).all()
    ends = spans.start_ns + spans.duration_ns
    assert (ends[parents] >= ends[children]).all()


def test_lanes_and_files(run, sql):
    devices = run.lanes.device >= 0
    streams = sql("SELECT DISTINCT deviceId, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL")
    assert set(streams) <= set(zip(run.lanes.device[devices].tolist(), run.lanes.thread[devices].tolist(), strict=True))
    assert {run.string(i) for i in run.tables.files.format} == {"nsys"}
    assert run.tables.files.events.tolist() == run.tables.files.kept.tolist() == [len(run.spans)]
    assert run.tables.files.base_ns[0] == sql("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")[0][0]


@pytest.mark.parametrize("verb", [verb for verb in find_verbs().values() if not verb.other], ids=lambda verb: verb.name)
def test_every_analysis_works_on_it(run, verb):
    for by in verb.by or [None]:
        result = run.result(verb.name, by=by)
        assert list(result)[:1] or result.text() == verb.empty


def test_from_bytes_and_compressed(path, run):
    data = path.read_bytes()
    assert len(load(data).spans) == len(load(gzip.compress(data, 1)).spans) == len(run.spans) > 1000


def test_the_file_is_not_touched(path):
    before = path.stat().st_mtime_ns, sorted(entry.name for entry in path.parent.iterdir())
    load(path)
    assert (path.stat().st_mtime_ns, sorted(entry.name for entry in path.parent.iterdir())) == before


# --- other schemas --------------------------------------------------------------------------------------------------

OLD = """
    CREATE TABLE StringIds (id INTEGER, value TEXT);
    INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (3, 'step');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT,
        globalPid INT, shortName INT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, streamId INT, correlationId INT,
        globalPid INT, graphId INT);
    CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INT, cudaId INT, pid INT);
    INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (4, 0, 10), (5, 0, 11);
    CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT);
    CREATE TABLE GPU_METRICS (timestamp INT, typeId INT, metricId INT, value INT);
    CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INT, metricId INT, metricName TEXT);
    INSERT INTO TARGET_INFO_GPU_METRICS VALUES (1, 7, 'SM Active');
    INSERT INTO GPU_METRICS VALUES (5, 1, 7, 80), (6, 1, 7, 90);
    CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INT, globalPid INT, deviceId INT, address INT, bytes INT,
        memoryOperationType INT);
"""


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.sqlite"
    first, second = 10 << 24, 11 << 24
    with sqlite3.connect(path) as link:
        link.executescript(OLD)
        for process in (first, second):
            link.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 0, 7, 1, ?, 1)", (process,))
            link.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, ?, 1, 2)", (process + 3,))
        link.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (200, 300, 0, 7, 2, ?, 9)", (first,))
        link.execute("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, ?, 0, 64, 512, 0)", (second,))
        rows = [(10, 400, 59, None, first + 3, 3), (20, None, 59, "open", first + 3, None),
                (30, None, 34, "mark", first + 3, None), (0, 1, 75, "domain", first + 3, None),
                (40, 70, 59, "aten::mm, seq = 12, op_id = 3", first + 3, None)]  # fmt: skip
        link.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)", rows)
    link.close()
    return path


def test_an_older_schema_with_two_processes(old):
    run = load(old)
    table = run.analyse("breakdown")
    assert dict(zip(table.process.tolist(), table.busy_ns.tolist(), strict=True)) == {4: 150, 5: 50}
    names = [run.string(i) for i in run.spans.name]
    assert sorted(names) == sorted(
        ["gemm", "gemm", "CUDA graph 9", "cudaLaunchKernel", "cudaLaunchKernel", "step", "open", "mark", "aten::mm"]
    )
    by_name = {name: row for row, name in enumerate(names)}
    assert run.spans.flags[by_name["open"]] & _core.FLAG_OPEN
    assert run.spans.duration_ns[by_name["mark"]] == 0
    assert _core.SPAN_KINDS[run.spans.kind[by_name["mark"]]] == "instant"
    assert (run.tables.operators.span.tolist(), run.tables.operators.sequence.tolist()) == ([by_name["aten::mm"]], [12])
    kernels = of_kind(run, "kernel")
    assert len(set(run.spans.correlation[kernels].tolist())) == 3
    assert run.tables.launches.graph.tolist() == [-1, -1, 9]
    assert run.tables.counters.value.tolist() == [80, 90]
    assert {run.string(i) for i in run.tables.counters.series} == {"SM Active"}
    assert (run.memory.device.tolist(), run.memory.bytes.tolist()) == ([5], [512])


def test_other_sqlite_files_are_refused(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as link:
        link.execute("CREATE TABLE a (b INT)")
    link.close()
    with pytest.raises(FormatError, match="not an export of Nsight Systems"):
        load(path)
    data = bytearray(path.read_bytes())
    for cut in (17, 100, 1000, len(data) - 1):
        with pytest.raises(FormatError):
            load(bytes(data[:cut]))


@pytest.mark.parametrize("seed", range(20))
def test_damaged_exports_raise_nothing_but_format_errors(old, seed):
    random = np.random.default_rng(seed)
    data = bytearray(old.read_bytes())
    for at in random.integers(100, len(data), 40):
        data[at] = random.integers(256)
    with contextlib.suppress(FormatError):
        load(bytes(data))


@pytest.mark.parametrize("value", ["x'00ff'", "'text'", "NULL", "1.5"])
def test_keys_of_another_type_are_left_out(path, run, tmp_path, value):
    """SQLite keeps any value in any column."""
    names = {"META_DATA_EXPORT": "name", "TARGET_INFO_SYSTEM_ENV": "name", "ThreadNames": "globalTid",
             "PROCESSES": "globalPid", "TARGET_INFO_SESSION_START_TIME": "utcEpochNs",
             "TARGET_INFO_CUDA_DEVICE": "gpuId", "TARGET_INFO_GPU": "id"}  # fmt: skip
    copy = Path(shutil.copy(path, tmp_path / "odd.sqlite"))
    with sqlite3.connect(copy) as link:
        there = {row[0] for row in link.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in names.keys() & there:
            link.execute(f"UPDATE OR IGNORE {table} SET {names[table]} = {value} WHERE rowid = 1")
    link.close()
    assert len(load(copy).spans) == len(run.spans)


def test_an_empty_export(tmp_path):
    path = tmp_path / "empty.sqlite"
    with sqlite3.connect(path) as link:
        link.execute("CREATE TABLE StringIds (id INT, value TEXT)")
    link.close()
    assert len(load(path).spans) == 0
    assert main(["breakdown", str(path)]) == 0


# --- hostile files and files with holes ---------------------------------------------------------------------------


def changed(path, *statements):
    with sqlite3.connect(path) as link:
        for statement in statements:
            link.execute(statement)
    link.close()
    return path


def anomalies(run):
    return {row["code"]: row["count"] for row in run.anomaly_list()}


ENDLESS = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT r.* FROM x, r"


@pytest.mark.parametrize("table", ["CUPTI_ACTIVITY_KIND_KERNEL", "StringIds", "NVTX_EVENTS"])
def test_a_view_in_place_of_a_table_is_refused(old, table):
    changed(old, f"ALTER TABLE {table} RENAME TO r", f"CREATE VIEW {table} AS {ENDLESS}")
    with pytest.raises(FormatError, match=f"{table} is a view"):
        load(old)
    assert main(["doctor", str(old)]) == 2


def test_a_virtual_table_is_none(old):
    columns = "timestamp, typeId, metricId, value"
    changed(old, "DROP TABLE GPU_METRICS", f"CREATE VIRTUAL TABLE GPU_METRICS USING fts5({columns})")
    with pytest.raises(FormatError, match="GPU_METRICS is a view or a virtual table"):
        load(old)


def test_reading_has_a_limit(old, monkeypatch):
    monkeypatch.setattr("regimeter.run.nsys_tables.STEPS_OF_ALL", 0)
    monkeypatch.setattr("regimeter.run.nsys_tables.STEPS_PER_BYTE", 0)
    monkeypatch.setattr("regimeter.run.nsys_tables.STEPS_AT_ONCE", 10)
    with pytest.raises(FormatError, match="more steps than a file of its size can need"):
        load(old)


@pytest.mark.parametrize(
    ("statements", "code", "text"),
    [
        (["DROP TABLE StringIds", "CREATE TABLE META_DATA_EXPORT (name, value)"], "missing_names", "StringIds lacks"),
        (["DELETE FROM StringIds WHERE id = 1"], "missing_names", "StringIds lacks"),
        (["ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN streamId"], "missing_columns", "KERNEL has no streamId"),
        (["UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = x'ff00', deviceId = 'zz'"], "bad_values", "KERNEL holds text"),
        (["UPDATE NVTX_EVENTS SET start = 'soon' WHERE start = 10"], "bad_values", "NVTX_EVENTS holds text"),
        (["UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = start - 5"], "negative_duration", "before they start"),
        (["INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL"], "duplicate_rows",
         "KERNEL holds rows twice"),
    ],
)  # fmt: skip
def test_holes_are_named(old, statements, code, text, capsys):
    assert code not in anomalies(load(old))
    changed(old, *statements)
    run = load(old)
    assert anomalies(run)[code] >= 1
    main(["doctor", str(old)])
    assert text in capsys.readouterr().out


def test_rows_that_stand_twice_are_kept_once(old, capsys):
    kernels = of_kind(load(old), "kernel").sum()
    changed(old, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL")
    run = load(old)
    assert of_kind(run, "kernel").sum() == kernels
    assert main(["doctor", str(old)]) == 1
    assert "2 rows left out, all named below" in capsys.readouterr().out


def test_a_whole_export_has_no_hole(run):
    assert not anomalies(run).keys() & {"missing_names", "missing_columns", "bad_values", "duplicate_rows",
                                        "negative_duration"}  # fmt: skip
