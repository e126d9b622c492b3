# SPDX-License-Identifier: Apache-2.0

"""export_json and back: a superset of the documented file, written whole or not at all."""

import copy
import gzip
import json
import os
import random
import resource
import stat
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regimeter import FormatError, _core, load

DOCUMENTED_ENTRY = [
    "operation", "duration_ms", "device", "backend", "gpu_time_ms", "cpu_time_ms", "transfer_time_ms", "overhead_ms",
    "memory_allocated_mb", "memory_peak_mb", "gpu_utilization", "metadata",
]  # fmt: skip
DOCUMENTED_SUMMARY = [
    "call_count", "total_time_ms", "avg_time_ms", "min_time_ms", "max_time_ms", "total_gpu_time_ms", "avg_memory_mb",
    "avg_gpu_utilization",
]  # fmt: skip

PLAIN = {
    "entries": [
        {
            "operation": "matrix_multiply", "duration_ms": 20.0, "device": "gpu", "backend": "pytorch",
            "gpu_time_ms": 16.0, "cpu_time_ms": 1.0, "transfer_time_ms": 2.5, "overhead_ms": 1.5,
            "memory_allocated_mb": -4.0, "memory_peak_mb": 8.5, "gpu_utilization": 78.5, "metadata": {"size": 1024},
        },
        {"operation": "matrix_multiply", "duration_ms": 30.0, "device": "gpu", "backend": "cupy"},
        {"operation": "search", "duration_ms": 100.25, "device": "cpu", "backend": "cpu", "metadata": {}},
    ],
    "summary": {"matrix_multiply": {"call_count": 2, "total_time_ms": 50.0}},
}  # fmt: skip


@pytest.fixture
def recorded(profiler):
    for number in range(20):
        with profiler.profile("outer", device="cpu", number=number, text='"ü\n'):
            with profiler.profile("inner"):
                pass
    with pytest.raises(ValueError, match="x"):
        with profiler.profile("failed"):
            raise ValueError("x")
    return profiler


def write(path, document):
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


# --- writing --------------------------------------------------------------------------------------------------


def test_the_file_is_a_superset_of_the_documented_one(tmp_path, recorded):
    recorded.export_json(tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    assert len(document["entries"]) == 41
    for entry in document["entries"]:
        assert entry.keys() >= set(DOCUMENTED_ENTRY) | {"start_time", "end_time", "memory_bandwidth_gb_s"}
    assert set(document["summary"]) == {"outer", "inner", "failed"}
    for row in document["summary"].values():
        assert row.keys() >= {*DOCUMENTED_SUMMARY, "std_dev_ms", "median_ms", "p95_ms", "p99_ms", "cv"}
    assert document["format"] == "regimeter.profile"
    assert document["version"] == 1
    assert document["units"]
    assert document["environment"]["pid"] == os.getpid()
    assert document["cost"]["scopes"] == 41
    assert document["unavailable"]["gpu"]["gpu_time_ms"]
    samples = document["launches"][0]["samples"]
    assert [len(samples[name]) for name in ("outer", "inner", "failed")] == [20, 20, 1]
    assert sum(samples["outer"]) == round(document["summary"]["outer"]["total_time_ms"] * 1e6)


def test_numbers_agree_with_the_objects(tmp_path, recorded):
    recorded.export_json(tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    own = recorded.run().spans.own_ns.tolist()
    for row, entry, own_ns in zip(document["entries"], recorded.get_entries(), own, strict=True):
        assert row.pop("own_ns") == own_ns
        exact = row.pop("start_ns"), row.pop("duration_ns")
        assert exact == (round(entry.start_time * 1e9), round(entry.duration_ms * 1e6))
        assert {name: getattr(entry, name) for name in row} == row
    for name, row in document["summary"].items():
        summary = recorded.get_summary()[name]
        assert {field: getattr(summary, field) for field in row} == row


def test_nothing_recorded(tmp_path, profiler):
    profiler.export_json(tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    assert (document["entries"], document["summary"]) == ([], {})
    assert len(load(tmp_path / "out.json").spans) == 0


def test_it_is_strict_json(tmp_path, profiler):
    def refuse(word):
        raise AssertionError(word)

    with profiler.profile("a", nan=float("nan"), inf=float("inf"), big=10**40, text="\ud800"):
        pass
    profiler.export_json(tmp_path / "out.json")
    json.loads((tmp_path / "out.json").read_bytes().decode("utf-8"), parse_constant=refuse)


def test_hostile_names(tmp_path, profiler):
    names = ['"', "\\", "\n", "\0", "</script>", "\u2028", "🚀", " ", "", "a" * 5000, "entries"]
    for name in names:
        with profiler.profile(name):
            pass
    profiler.export_json(tmp_path / "out.json")
    assert [entry.operation for entry in load(tmp_path / "out.json").get_entries()] == names


def limit_file_size(size):
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    def restore():
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)

    return restore


@pytest.mark.parametrize("method", ["export_json", "write_html"])
def test_a_failing_write_leaves_the_old_file(tmp_path, recorded, method):
    path = tmp_path / "out"
    path.write_text("old")
    restore = limit_file_size(2000)
    try:
        with pytest.raises(OSError, match="too large"):
            getattr(recorded, method)(path)
    finally:
        restore()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("method", ["export_json", "write_html"])
def test_places_that_cannot_be_written(tmp_path, recorded, method):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    for path in ("absent/out", "file/out", "folder"):
        with pytest.raises(OSError):
            getattr(recorded, method)(tmp_path / path)
    with pytest.raises(TypeError):
        getattr(recorded, method)(None)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder"]
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize("method", ["export_json", "write_html"])
def test_a_pipe_is_written_to_and_not_replaced(tmp_path, recorded, method):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received = []
    reader = threading.Thread(target=lambda: received.append(path.read_text()))
    reader.start()
    getattr(recorded, method)(path)
    reader.join()
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert "outer" in received[0]
    getattr(recorded, method)("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("method", ["export_json", "write_html"])
def test_a_link_is_followed(tmp_path, recorded, method):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    getattr(recorded, method)(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert "outer" in (tmp_path / "real").read_text()


def test_permissions_follow_the_mask(tmp_path, recorded):
    before = os.umask(0o027)
    try:
        recorded.export_json(tmp_path / "out.json")
        recorded.write_html(tmp_path / "out.html")
        recorded.run().save(tmp_path / "out.rgm")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()] == [0o640] * 3


# --- reading --------------------------------------------------------------------------------------------------


def comparable(entry):
    return {name: getattr(entry, name) for name in entry.__slots__ if name != "unavailable"}


def test_round_trip(tmp_path, recorded):
    recorded.close()
    recorded.export_json(tmp_path / "out.json")
    run, again = recorded.run(), load(tmp_path / "out.json")
    assert again.source == "export"
    assert [comparable(entry) for entry in again.get_entries()] == [comparable(entry) for entry in run.get_entries()]
    assert again.get_summary() == run.get_summary()
    assert again.cost["per_scope_ns"] == run.cost["per_scope_ns"]
    assert again.complete
    assert (again.start_ns, again.end_ns, again.start_unix_ns) == (run.start_ns, run.end_ns, run.start_unix_ns)
    again.export_json(tmp_path / "twice.json")
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("out.json", "twice.json"))
    assert first["entries"] == second["entries"]
    assert first["summary"] == second["summary"]


def test_the_plain_documented_form(tmp_path):
    run = load(write(tmp_path / "plain.json", PLAIN))
    first, second, third = run.get_entries()
    assert (first.operation, first.duration_ms, first.device, first.backend) == (
        "matrix_multiply",
        20.0,
        "gpu",
        "torch",
    )
    assert first.metadata == {"size": 1024}
    assert (second.backend, third.backend) == ("cupy", "cpu")
    assert third.device == "cpu"
    assert [entry.start_time for entry in (first, second, third)] == [0.0, 0.02, 0.05]
    row = run.get_summary()["matrix_multiply"]
    assert (row.call_count, row.total_time_ms, row.avg_time_ms) == (2, 50.0, 25.0)
    assert run.environment == {}
    assert run.cost is None


def test_values_of_foreign_files_survive(tmp_path):
    run = load(write(tmp_path / "plain.json", PLAIN))
    first, second, _ = run.get_entries()
    for name in DOCUMENTED_ENTRY[4:11]:
        assert getattr(first, name) == PLAIN["entries"][0][name], name
    assert second.gpu_time_ms is None
    assert second.unavailable["gpu_time_ms"]
    row = run.get_summary()["matrix_multiply"]
    assert (row.total_gpu_time_ms, row.avg_gpu_utilization, row.avg_memory_mb) == (16.0, 78.5, -4.0)
    assert row.peak_memory_mb == 8.5
    run.save(tmp_path / "saved.rgm")
    again = load(tmp_path / "saved.rgm")
    assert again.get_entries()[0].gpu_time_ms == 16.0
    run.export_json(tmp_path / "again.json")
    assert load(tmp_path / "again.json").get_entries()[0].gpu_utilization == 78.5


def test_gzip(tmp_path, recorded):
    recorded.export_json(tmp_path / "out.json")
    data = gzip.compress((tmp_path / "out.json").read_bytes())
    (tmp_path / "out.json.gz").write_bytes(data)
    assert load(tmp_path / "out.json.gz").get_entries() == load(tmp_path / "out.json").get_entries()
    choice = random.Random(1)
    for _ in range(100):
        changed = bytearray(data)
        changed[choice.randrange(3, len(data))] ^= 1 << choice.randrange(8)
        (tmp_path / "bad.gz").write_bytes(changed[: choice.randrange(10, len(data) + 1)])
        try:
            load(tmp_path / "bad.gz")
        except FormatError as error:
            assert "bad.gz" in str(error)


# Of so many levels; from Python 3.14 on there may be more, and where they end is told.
TOO_DEEP = "nested too deeply" if sys.version_info < (3, 14) else "not valid JSON at byte 10006"


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("", "an empty file"), ("   \n", "an empty file"), ("{", "not valid JSON at byte 1"),
        ('{"entries": [}', "not valid JSON at byte 13"), ('{"entries": []} x', "not valid JSON at byte 16"),
        ("5", 'a list "entries"'), ("{}", 'a list "entries"'), ({"entries": {}}, 'a list "entries"'),
        ({"entries": [5]}, "entry 0 is not an object"), ({"entries": [{}]}, "entry 0 has no 'operation'"),
        ({"entries": [{"operation": 5, "duration_ms": 1}]}, "entry 0: operation must be text, not int"),
        ({"entries": [{"operation": "a"}]}, "entry 0: duration_ms must be a number, not None"),
        ({"entries": [{"operation": "a", "duration_ms": "1"}]}, "entry 0: duration_ms must be a number, not '1'"),
        ({"entries": [{"operation": "a", "duration_ms": True}]}, "entry 0: duration_ms must be a number, not True"),
        ({"entries": [{"operation": "a", "duration_ms": 1}, {"operation": "b", "duration_ms": None}]}, "entry 1"),
        ({"entries": [{"operation": "a", "duration_ms": 1, "device": "tpu"}]}, "device 'tpu' is none of gpu, cpu"),
        ({"entries": [{"operation": "a", "duration_ms": 1, "memory_allocated_mb": 10**400}]}, "of 401 digits"),
        ({"entries": [{"operation": "a", "duration_ms": 1, "start_time": []}]}, "entry 0"),
        ({"entries": [{"operation": "a", "duration_ms": 1, "device": 5}]}, "device 5 is none of gpu, cpu"),
        ({"entries": [{"operation": "a", "duration_ms": 1, "parent": 5}]}, "parent"),
        ({"entries": [{"operation": "a", "duration_ms": 1, "parent": "x"}]}, "entry 0"),
        ({"entries": [], "version": 99}, "version 99"), ({"entries": [], "version": "new"}, "version 'new'"),
        ({"entries": [], "format": "other"}, "format 'other'"), ('{"a": ' + "[" * 10_000, TOO_DEEP),
        ('{"entries": [' + "9" * 10_000 + "]}", "digit"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_with_place_and_remedy(tmp_path, document, text):
    path = write(tmp_path / "bad.json", document)
    with pytest.raises(FormatError) as caught:
        load(path)
    assert text in str(caught.value)
    assert "bad.json" in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "times",
    ['"duration_ms": NaN', '"duration_ms": 1e999', '"duration_ms": 1e300', '"duration_ms": -1', '"duration_ms": -1e-5',
     '"duration_ms": 1' + 400 * "0", '"duration_ms": 1, "start_time": NaN', '"duration_ms": 1, "start_time": 1e300',
     '"duration_ms": 1, "start_time": 9e9', '"duration_ms": 1, "start_time": 5, "end_time": 4',
     '"start_time": 5, "end_time": 4', '"duration_ns": -5'],
)  # fmt: skip
def test_entries_whose_times_are_none_are_kept_and_counted(tmp_path, times):
    sound = '{"operation": "b", "duration_ms": 2}'
    run = load(write(tmp_path / "odd.json", f'{{"entries": [{sound}, {{"operation": "a", {times}}}, {sound}]}}'))
    found = {row["code"]: row["count"] for row in run.anomaly_list()}
    assert found.pop("no_start_times") == 2
    assert found == {"invalid_times": 1}
    odd = [entry for entry in run.get_entries() if entry.operation == "a"]
    assert [entry.duration_ms for entry in odd] == [0.0]
    repaired = run.spans.flags[run.entries.span] & _core.FLAG_REPAIRED != 0
    assert [run.get_entries()[at].operation for at in repaired.nonzero()[0]] == ["a"]
    assert run.get_summary()["b"].total_time_ms == 4.0


def test_a_byte_order_mark_is_accepted(tmp_path):
    plain = write(tmp_path / "plain.json", PLAIN)
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes())
    assert load(marked).get_entries() == load(plain).get_entries()
    marked.write_bytes(b'\xef\xbb\xbf{"entries": [}')
    with pytest.raises(FormatError, match="byte 16") as caught:
        load(marked)
    assert caught.value.offset == 16


def test_a_device_may_be_written_large_and_with_its_number(tmp_path):
    entry = {"operation": "a", "duration_ms": 1, "device": "CUDA:1"}
    assert load(write(tmp_path / "large.json", {"entries": [entry]})).get_entries()[0].device == "cuda"


def test_an_export_into_a_missing_folder_names_the_folder(tmp_path, recorded):
    for call in (recorded.export_json, recorded.write_html, lambda path: recorded.run().export(path, "csv")):
        with pytest.raises(FileNotFoundError) as caught:
            call(tmp_path / "no" / "x.csv")
        assert caught.value.filename == str(tmp_path / "no" / "x.csv")
        assert str(tmp_path / "no") in caught.value.strerror
    assert list(tmp_path.iterdir()) == []


def test_bytes_that_are_not_utf8(tmp_path):
    (tmp_path / "bad.json").write_bytes(b'{"entries": "\xff"}')
    with pytest.raises(FormatError, match="byte 13") as caught:
        load(tmp_path / "bad.json")
    assert caught.value.offset == 13


def test_halves_of_characters_are_replaced(tmp_path):
    document = (
        r'{"entries": [{"operation": "\ud800", "duration_ms": 1, "thread": "\udfff", "metadata": {"k\ud800": 1}}],'
    )
    document += r'"environment": {"host": "\ud800"}}'
    (entry,) = load(write(tmp_path / "a.json", document)).get_entries()
    assert entry.operation == "?"
    assert entry.metadata == {"k?": 1}


def test_values_that_json_should_not_hold_are_kept_as_text(tmp_path):
    document = '{"entries": [{"operation": "a", "duration_ms": 1, "gpu_time_ms": NaN, "metadata": {"x": [Infinity]}}]}'
    (entry,) = load(write(tmp_path / "a.json", document)).get_entries()
    assert entry.gpu_time_ms is None
    assert entry.metadata == {"x": ["Infinity"]}


def test_wrong_types_where_they_do_no_harm(tmp_path):
    entry = {
        "operation": "a", "duration_ms": 1, "device": "GPU:0", "backend": [], "metadata": "text", "gpu_time_ms": "fast",
        "thread": {"a": 1}, "failed": "yes", "cpu_time_ms": True, "metadata2": None,
    }  # fmt: skip
    document = {"entries": [entry], "summary": 5, "environment": [], "run": "x", "cost": 7, "anomalies": {}}
    (found,) = load(write(tmp_path / "a.json", document)).get_entries()
    assert (found.device, found.backend, found.failed) == ("gpu", "unknown", True)
    assert found.metadata == {"text": "text"}
    assert found.gpu_time_ms is None
    assert found.cpu_time_ms is None


def test_facts_of_the_wrong_kind(tmp_path):
    base = {"entries": [{"operation": "a", "duration_ms": 1}]}
    for facts in ({"start_ns": "x"}, {"end_ns": 2**80}, {"started_unix_ns": None}, {"complete": []}, {"start_ns": 1.5}):
        run = load(write(tmp_path / "a.json", base | {"run": facts}))
        assert len(run.spans) == 1
    for cost in ({}, {"per_scope_ns": "x"}, {"per_scope_ns": None}, {"per_scope_ns": 5, "service_cpu_ns": "x"}):
        run = load(write(tmp_path / "a.json", base | {"cost": cost}))
        try:
            run.cost  # noqa: B018
        except TypeError:
            pytest.fail(f"{cost} breaks the statement of cost")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(node, path=()):
    yield path
    if isinstance(node, dict):
        for key in node:
            yield from places(node[key], (*path, key))
    elif isinstance(node, list):
        for index, item in enumerate(node):
            yield from places(item, (*path, index))


BASE = copy.deepcopy(PLAIN) | {
    "format": "regimeter.profile",
    "version": 1,
    "environment": {"device": {"reason": "none"}, "skipped": {"a\0gpu": 1}, "command": ["a"]},
    "run": {"start_ns": 0, "end_ns": 10**9, "started_unix_ns": 1, "complete": True},
    "cost": {"per_scope_ns": 50.0, "service_cpu_ns": 0},
}
BASE["entries"][0] |= {"start_time": 0.0, "end_time": 0.02, "parent": None, "thread": "MainThread", "failed": False}
PLACES = [path for path in places(BASE) if path]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(PLACES), json_values), min_size=1, max_size=3))
def test_changed_files_raise_nothing_but_format_errors(tmp_path, changes):
    document = copy.deepcopy(BASE)
    for path, value in changes:
        node = document
        try:
            for key in path[:-1]:
                node = node[key]
            node[path[-1]] = value
        except (TypeError, KeyError, IndexError):
            continue
    file = tmp_path / "changed.json"
    file.write_bytes(json.dumps(document).encode("utf-8", "surrogatepass"))
    try:
        run = load(file)
    except FormatError as error:
        assert "changed.json" in str(error)
        return
    run.get_entries()
    run.get_summary()
    run.cost  # noqa: B018
    run.export_json(tmp_path / "out.json")
    load(tmp_path / "out.json")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_text_raises_nothing_but_format_errors(tmp_path, data):
    text = bytearray(json.dumps(BASE).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        action = data.draw(st.sampled_from(["change", "cut", "insert"]))
        if action == "change":
            text[at] = data.draw(st.integers(0, 255))
        elif action == "cut":
            del text[at : at + data.draw(st.integers(1, 20))]
        else:
            text[at:at] = data.draw(st.binary(max_size=4))
    file = tmp_path / "damaged.json"
    file.write_bytes(text)
    try:
        load(file).get_entries()
    except FormatError as error:
        assert "damaged.json" in str(error)
