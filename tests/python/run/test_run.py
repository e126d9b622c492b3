# SPDX-License-Identifier: Apache-2.0
"""Runs and their tables: what a column is, what one can be made of, files."""

import gc
import importlib.util
import json
import pickle
import random
import re
import resource
from array import array

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded_runs import TABLES, empty_run, hundred_scopes, together
from traces import trace_path

import regimeter
from regimeter import FormatError, GPUProfiler, Run, _core, load
from regimeter.system.files import atomic_writer

ARRAY_TYPES = {"int64": "q", "uint32": "I", "int32": "i", "int16": "h", "uint8": "B", "float64": "d"}


@pytest.fixture(scope="module")
def run():
    return hundred_scopes()


# --- schema ---------------------------------------------------------------------------------------------------


def test_the_schema_describes_every_table():
    schema = _core.schema()
    assert set(schema["run"]) == set(TABLES)
    by_themselves = {"summary", "entries", "comparison", "suggestions", "suggestion_evidence", "causes", "range_times"}
    assert by_themselves | {a["table"] for a in _core.analyses().values()} == set(schema["results"])
    for table in (*schema["run"].values(), *schema["results"].values()):
        names = [column["name"] for column in table["columns"]]
        assert len(names) == len(set(names))
        assert table["doc"]
        for column in table["columns"]:
            assert column["doc"].endswith(".")
            assert np.dtype(column["dtype"])


def test_tables_follow_the_schema(run):
    assert list(run.tables) == list(_core.schema()["run"])
    for name, described in _core.schema()["run"].items():
        table = getattr(run.tables, name)
        assert table.table_name == name
        assert table.columns == tuple(column["name"] for column in described["columns"])
        for column in described["columns"]:
            values = getattr(table, column["name"])
            assert values.dtype == column["dtype"]
            assert len(values) == len(table)
            assert table.column(column["name"]).unit == column["unit"]
            assert table.column(column["name"]).dtype == column["dtype"]
            assert column["name"] in dir(table)


def test_policy_and_options_are_described():
    assert all(row["source"] for row in _core.policy().values())
    assert all(row["doc"] for row in _core.options().values())


def test_unknown_tables_and_columns(run):
    with pytest.raises(KeyError, match="no_such"):
        run.table("no_such")
    with pytest.raises(KeyError):
        run.table(5)
    with pytest.raises(AttributeError, match="no table 'no_such'; it has spans, lanes"):
        run.tables.no_such  # noqa: B018
    with pytest.raises(KeyError, match="no_such"):
        run.spans.column("no_such")
    with pytest.raises(KeyError):
        run.spans.column(5)
    with pytest.raises(AttributeError, match="no_such"):
        run.spans.no_such  # noqa: B018
    with pytest.raises(AttributeError):
        run.spans.name = 5


# --- columns --------------------------------------------------------------------------------------------------


def test_columns_are_not_copied(run):
    for table in (run.spans, run.entries, run.summary, run.lanes):
        for name in table.columns:
            first, second = getattr(table, name), getattr(table, name)
            assert np.shares_memory(first, second)
            assert np.shares_memory(first, np.asarray(table.column(name)))
    assert np.shares_memory(run.spans.start_ns, run.table("spans").start_ns)
    assert np.shares_memory(run.entries.depth, run.entries.depth)


def test_columns_are_read_only(run):
    values = run.spans.start_ns
    assert not values.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        values.flags.writeable = True
    with pytest.raises((BufferError, TypeError, ValueError)):
        memoryview(run.spans.column("start_ns"))[0] = 0


def test_columns_as_buffers(run):
    view = memoryview(run.spans.column("duration_ns"))
    assert view.readonly
    assert (view.format, view.itemsize, view.shape, view.strides) == ("q", 8, (200,), (8,))
    assert view.tolist() == run.spans.duration_ns.tolist()
    assert memoryview(run.spans.column("kind")).format == "B"
    assert len(run.spans.column("kind")) == 200
    views = [memoryview(run.spans.column(name)) for name in run.spans.columns]
    assert all(len(view) == 200 for view in views)


def test_columns_outlive_their_run():
    run = hundred_scopes()  # that no fixture holds
    expected = run.spans.start_ns.tolist()
    values, own, share = run.spans.start_ns, run.entries.exclusive_ns, run.summary.share
    column, table = run.spans.column("start_ns"), run.spans
    del run
    gc.collect()
    assert values.tolist() == expected
    assert np.asarray(column).tolist() == expected
    assert table.start_ns.tolist() == expected
    assert own.sum() >= 0
    assert share.sum() == pytest.approx(1.0)
    assert table.run.string(0) == ""


def test_columns_with_nothing_but_defaults(run):
    assert (run.spans.correlation == -1).all()
    assert (run.spans.step == -1).all()
    assert len(run.tables.launches.occupancy) == 0


def test_an_empty_run_has_all_columns():
    run = empty_run()
    for name in TABLES:
        table = getattr(run.tables, name)
        assert len(table) == 0
        for column in table.columns:
            assert getattr(table, column).shape == (0,)
            assert len(memoryview(table.column(column))) == 0
    assert run.get_summary() == {}
    assert run.duration_ns == 0
    assert run.environment == {}
    assert run.cost is None


def test_strings(run):
    assert run.strings[0] == ""
    assert run.string(run.spans.name[1]) == "inner ü"
    assert len(set(run.strings)) == len(run.strings)
    for bad in (len(run.strings), 2**40):
        with pytest.raises((IndexError, OverflowError)):
            run.string(bad)
    with pytest.raises((TypeError, OverflowError)):
        run.string(-1)


def test_reading_columns_from_many_threads(run):
    expected = {name: getattr(run.spans, name).tolist() for name in run.spans.columns}

    def read():
        for _ in range(50):
            for name in run.spans.columns:
                assert getattr(run.spans, name).tolist() == expected[name]
            assert len(run.get_summary()) == 2

    together(*[read] * 8)


def exported(run, form, option=None):
    parts = []
    run._export(form, option, lambda part: parts.append(bytes(part)))
    return b"".join(parts)


def as_it_stands(run, folder):
    """Everything that is written of a run: the file, the exports, what a merge makes of it."""
    run.save(folder / "look.rgm")
    written = {"file": (folder / "look.rgm").read_bytes()}
    for form in _core.EXPORT_FORMATS:
        written[form] = exported(run, form, "spans" if form == "csv" else None)
    Run._merge([run], [0]).save(folder / "look.rgm")
    written["merged"] = (folder / "look.rgm").read_bytes()
    return written


@pytest.mark.parametrize("source", ["recording", "a100_event_sync.json.gz", "cpu_only_rank34.json.gz"])
def test_looking_at_every_column_changes_nothing(source, tmp_path, run):
    if source != "recording":
        run = load(trace_path(source))
    before = as_it_stands(run, tmp_path)
    for name in (*TABLES, "entries", "summary"):
        table = getattr(run, name) if name in ("entries", "summary") else run.table(name)
        for column in table.columns:
            assert len(getattr(table, column)) == len(table)
        assert len(np.asarray(table)) == len(table)
        if importlib.util.find_spec("pyarrow"):
            assert importlib.import_module("pyarrow").table(table).num_rows == len(table)
    after = as_it_stands(run, tmp_path)
    assert [name for name in before if before[name] != after[name]] == []


def test_looking_while_others_export(tmp_path):
    run = load(trace_path("a100_event_sync.json.gz"))
    expected = as_it_stands(run, tmp_path)["chrome"]
    fresh = [load(trace_path("a100_event_sync.json.gz")) for _ in range(8)]

    def look():
        for each in fresh:
            for name in TABLES:
                for column in getattr(each.tables, name).columns:
                    getattr(getattr(each.tables, name), column)

    def write():
        assert all(exported(each, "chrome") == expected for each in fresh)

    together(look, write, look, write)


def test_exports_and_analyses_know_the_same_launches():
    """A file whose column of launches says nothing, as one that was only looked at used to be saved."""
    trace = load(trace_path("a100_event_sync.json.gz"))
    known = trace.spans.launch
    assert (known >= 0).any()
    tables = {
        name: {column: array(ARRAY_TYPES[str(values.dtype)], values.tolist()) for column, values in columns.items()}
        for name, columns in {
            name: {
                column: getattr(getattr(trace.tables, name), column) for column in getattr(trace.tables, name).columns
            }
            for name in ("spans", "lanes")
        }.items()
    }
    arrows = []
    for launch in (known.tolist(), [-1] * len(known)):
        tables["spans"]["launch"] = array("i", launch)
        made = Run._build(trace.strings, tables, "{}", "export", trace.start_ns, trace.end_ns, -1, True)
        events = json.loads(exported(made, "chrome"))["traceEvents"]
        arrows.append(sum(event.get("ph") == "s" for event in events))
    assert arrows[1] == arrows[0] > 0


@pytest.mark.parametrize("method", ["summarise", "_causes"])
def test_numbers_whose_code_changes_the_dictionary(run, method):
    class Number:
        def __float__(self):
            given.clear()
            given.update({f"other {number}": number for number in range(1000)})
            return 1.0

    for name in list(_core.policy())[:8]:
        given = {name: Number(), **{other: 2.0 for other in _core.policy() if other != name}}
        assert getattr(run, method)(given) is not None


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (lambda given: _core.calibrate_figure(given, False), lambda one: [one, *[2.0] * 200]),
        (lambda given: _core.Race(20).round(given), lambda one: [one, *[2.0] * 19]),
        (lambda given: _core.classify(caches=given), lambda one: [one, 2.0, 3.0]),
        (lambda given: _core.classify(limits=given), lambda one: {"system": (one, 0.1), "file": (2.0, 0.1)}),
        (lambda given: _core.workload_inputs("conv2d", given), lambda one: {"height": one, "width": 3.0}),
    ],
)
def test_numbers_whose_code_clears_what_they_stand_in(call, given):
    class Number:
        def __float__(self):
            changed.clear()
            return 1.0

    changed = given(Number())
    assert call(changed) == call(given(1.0))
    assert not changed


def test_a_run_is_made_by_the_library_only(run):
    for kind in (_core.Run, _core.Table, _core.Column):
        with pytest.raises(TypeError):
            kind()
    with pytest.raises(TypeError):
        pickle.dumps(run.spans)


def test_facts_of_a_run(run):
    assert run.source == "live"
    assert run.complete
    assert run.start_ns <= run.spans.start_ns[0]
    assert run.end_ns >= (run.spans.start_ns + run.spans.duration_ns).max()
    assert run.duration_ns == run.end_ns - run.start_ns
    assert abs(run.start_unix_ns / 1e9 - __import__("time").time()) < 3600
    assert run.environment["clock"] == _core.clock_name()
    assert "no GPU driver" in run.device_reason or "not measured" in run.device_reason


def test_a_run_tells_in_one_line_what_it_is(run):
    text = repr(run)
    assert text.startswith(f"Run(source='live', spans={len(run.spans)}, lanes=")
    assert text.endswith(f"anomalies={run.tables.anomalies.count.sum()})")
    assert "\n" not in text
    path = trace_path("a100_triton.json.gz")
    facts = r"spans=\d+, lanes=\d+, duration='[^']+', anomalies=0"
    assert re.fullmatch(rf"Run\(source='trace .*a100_triton\.json\.gz', {facts}\)", repr(load(path)))


# --- building -------------------------------------------------------------------------------------------------

SPANS = {"start_ns": array("q", [0, 1]), "duration_ns": array("q", [5, 1]), "name": array("I", [1, 1])}


def build(spans=None, lanes=1, strings=("", "a"), **facts):
    tables = {"spans": {**SPANS, **(spans or {})}, "lanes": {"name": array("I", [0] * lanes)}}
    facts = {"start": 0, "end": 10, "unix": -1} | facts
    return Run._build(list(strings), tables, "{}", "export", facts["start"], facts["end"], facts["unix"], True)


@pytest.mark.parametrize(
    ("spans", "error", "text"),
    [
        ({"name": array("I", [1, 2])}, ValueError, "names string 2 of 2"),
        ({"lane": array("I", [0, 1])}, FormatError, "lane 1 of 1"),
        ({"parent": array("i", [-1, 2])}, FormatError, "parent 2"),
        ({"parent": array("i", [-2, 0])}, FormatError, "parent -2"),
        ({"duration_ns": array("q", [1, -1])}, FormatError, "negative duration"),
        ({"start_ns": array("q", [0, 2**63 - 1])}, FormatError, "range of times"),
        ({"duration_ns": array("q", [0, 2**63 - 1])}, FormatError, "range of times"),
        ({"kind": array("B", [1])}, ValueError, "another length"),
        ({"start_ns": array("b", [1, 2, 3])}, ValueError, "another length"),
        ({"no_such": array("q", [0, 1])}, KeyError, "no_such"),
        ({"kind": [0, 1]}, TypeError, "bytes-like"),
        ({5: array("q", [0, 1])}, KeyError, "5"),
    ],
)
def test_inconsistent_columns_are_refused(spans, error, text):
    with pytest.raises(error, match=text):
        build(spans)


def test_lone_surrogates_are_refused_when_building():
    with pytest.raises(UnicodeEncodeError):
        build(strings=["", "\ud800"])


def test_building_with_equal_strings_twice():
    run = build({"name": array("I", [1, 2])}, strings=["", "a", "a"])
    assert [entry.operation for entry in run.get_entries()] == ["a", "a"]
    assert len(run.get_summary()) == 1


# --- files ----------------------------------------------------------------------------------------------------

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def runs(draw):
    count = draw(st.integers(0, 30))
    strings = ["", *draw(st.lists(text, max_size=6))]
    lanes = draw(st.integers(1, 3))
    rows = st.lists(st.integers(0, 2**40), min_size=count, max_size=count)
    index = st.lists(st.integers(0, len(strings) - 1), min_size=count, max_size=count)
    tables = {
        "spans": {
            "start_ns": array("q", draw(rows)),
            "duration_ns": array("q", draw(rows)),
            "name": array("I", draw(index)),
            "lane": array("I", [number % lanes for number in range(count)]),
            "parent": array("i", [draw(st.integers(-1, number - 1)) for number in range(count)]),
            "flags": array("I", [draw(st.integers(0, 7)) for _ in range(count)]),
            "bytes": array("q", [draw(st.integers(-1, 2**60)) for _ in range(count)]),
        },
        "lanes": {"name": array("I", [0] * lanes), "thread": array("q", range(lanes))},
        "counters": {
            "time_ns": array("q", [1, 2]),
            "series": array("I", [0, len(strings) - 1]),
            "value": array("d", [draw(st.floats(allow_nan=False)), float("nan")]),
        },
        "launches": {"span": array("I", [0] * (count > 0)), "grid_x": array("i", [7] * (count > 0))},
    }
    environment = draw(st.dictionaries(text, text | st.integers(), max_size=3))
    return Run._build(strings, tables, json.dumps(environment), draw(st.sampled_from(["export", "live"])), 5, 2**50,
                      draw(st.sampled_from([-1, 10**18])), draw(st.booleans()))  # fmt: skip


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs())
def test_saved_and_loaded(tmp_path, run):
    run.save(tmp_path / "run.rgm")
    found = load(tmp_path / "run.rgm")
    for name in TABLES:
        for column in getattr(run.tables, name).columns:
            np.testing.assert_array_equal(
                getattr(getattr(found.tables, name), column), getattr(getattr(run.tables, name), column)
            )
    assert found.strings == run.strings
    assert found.environment == run.environment
    for fact in ("start_ns", "end_ns", "start_unix_ns", "complete"):
        assert getattr(found, fact) == getattr(run, fact)
    assert found.get_entries() == run.get_entries()


def test_names_are_made_once(run):
    assert isinstance(run.strings, tuple), "a list could be changed, and is then not what the run holds"
    assert run.strings is run.strings
    assert run.strings == tuple(run.string(number) for number in range(len(run.strings)))
    with pytest.raises(TypeError, match="a list or tuple is expected, not str"):
        Run._build("ab", {}, "{}", "export", 0, 0, -1, True)


def test_saving_is_atomic(tmp_path, run):
    path = tmp_path / "run.rgm"
    path.write_text("old")
    run.save(path)
    assert len(load(path).spans) == 200
    assert [file.name for file in tmp_path.iterdir()] == ["run.rgm"]
    with pytest.raises(OSError, match="absent"):
        run.save(tmp_path / "absent" / "run.rgm")
    with pytest.raises(TypeError):
        run.save(5)


def test_damage_of_a_saved_run_never_crashes(tmp_path, run):
    path = tmp_path / "run.rgm"
    run.save(path)
    data = path.read_bytes()
    choice = random.Random(2)
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(choice.randrange(1, 4)):
            changed[choice.randrange(8, len(data))] = choice.randrange(256)
        path.write_bytes(changed)
        for recover in (False, True):
            try:
                found = load(path, recover=recover)
            except FormatError:
                continue
            found.get_summary()


def test_load_takes_what_a_profiler_recorded(tmp_path):
    with GPUProfiler(path=tmp_path / "a.rgm") as profiler:
        with profiler.profile("a"):
            pass
    assert isinstance(regimeter.load(tmp_path / "a.rgm"), Run)
    assert isinstance(regimeter.load(str(tmp_path / "a.rgm"), recover=True), Run)


@pytest.mark.parametrize(
    "thresholds", [{1: 2}, {"no such": 1}, {"percentile_tail": -1}, {"percentile_tail": float("nan")}]
)
def test_bad_thresholds_are_refused(profiler, thresholds):
    with profiler.profile("a"):
        pass
    with pytest.raises(ValueError, match="threshold"):
        profiler.run().summarise(thresholds)


def test_a_file_that_gets_no_room_is_named(tmp_path, run):
    """The disk is full in the middle of it: the kernel says so of an open file, and not which."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="File too large") as told, atomic_writer(tmp_path / "page.html") as file:
            file.write("x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert told.value.filename == str(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
