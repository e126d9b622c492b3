# SPDX-License-Identifier: Apache-2.0
"""Damaged traces: whatever the bytes are, rows are accounted for, damage is named, and strict reading refuses it."""

import functools
import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from traces import fast_import

from regimeter import FormatError, Run, _core

SEEDS = ROOT / "tests" / "fuzz" / "seeds" / "fuzz_trace_import"
BASES = sorted(path.name for path in SEEDS.iterdir() if path.name != "broken_by_hand")
WORK = [_core.SPAN_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset", "accelerator")]
# What an anomaly may say of text that is not as JSON demands.
DAMAGE = {
    "truncated", "trailing_bytes", "invalid_json", "invalid_utf8", "control_characters", "number_range",
    "duplicate_keys", "missing_time", "unknown_phase", "bad_event", "too_deep", "too_long",
}  # fmt: skip


@functools.cache
def base(name: str) -> bytes:
    """Return the text of a small trace."""
    return Path(SEEDS / name).read_bytes()


@functools.cache
def middle(name: str) -> tuple[int, int]:
    """Return where the events of a small trace begin and end."""
    text = base(name)
    key = text.find(b'"traceEvents"')
    begin = text.index(b"{", text.index(b"[", max(key, 0)))
    tail = [m.start() for m in re.finditer(rb"\}\s*\]", text)]
    return begin, tail[-1] if key < 0 or name == "cpu_only_no_schema" else max(t for t in tail if t > begin)


def codes(run: Run) -> set[str]:
    """Return the anomalies of a run."""
    return {_core.ANOMALY_CODES[code] for code in run.table("anomalies").code}


def names(run: Run) -> list[str]:
    """Return the names of the spans, in the order of rows."""
    return [run.strings[name] for name in run.spans.name]


def check_sound(run: Run) -> None:
    """Assert what holds for every imported run."""
    files, anomalies, spans = run.table("files"), run.table("anomalies"), run.spans
    assert len(files) == 1
    assert files.events[0] == files.kept[0] + anomalies.lost.sum(), run.anomaly_list()
    assert (anomalies.count > 0).all()
    assert (anomalies.lost >= 0).all()
    rows = len(spans)
    if rows == 0:
        return
    start, end = spans.start_ns, spans.start_ns + spans.duration_ns
    assert (spans.duration_ns >= 0).all()
    assert (spans.lane < len(run.lanes)).all()
    assert (spans.name < len(run.strings)).all()
    assert (spans.kind < len(_core.SPAN_KINDS)).all()
    child = np.flatnonzero(spans.parent >= 0)
    parent = spans.parent[child]
    assert (parent < rows).all()
    assert (spans.lane[child] == spans.lane[parent]).all()
    assert (start[parent] <= start[child]).all()
    assert (end[parent] >= end[child]).all()
    for table in ("launches", "operators", "frames", "collectives", "syncs"):
        assert (run.table(table).span < rows).all()
    for table in ("flows", "memory", "counters"):
        column = run.table(table).span
        assert ((column >= -1) & (column < rows)).all()


def is_json(text: bytes) -> bool:
    """Return whether the text is JSON, NaN and Infinity included."""
    try:
        json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return True


def check_damaged(text: bytes, inside: bool = True) -> Run | None:
    """Import damaged text both ways; `inside`: the damage lies behind the first event, so there must be a run."""
    sound = is_json(text)
    run = None
    try:
        run = fast_import(text)
    except FormatError as error:
        assert not inside, error
        assert 0 <= error.offset <= len(text)
    else:
        check_sound(run)
        # Lenient reading steps over values that nobody asks for; damage inside them costs no row.
        assert sound or codes(run) & DAMAGE or run.tables.anomalies.lost.sum() == 0
    if not sound:
        with pytest.raises(FormatError) as refused:
            fast_import(text, strict=True)
        assert refused.value.offset is not None
        assert 0 <= refused.value.offset <= len(text)
    return run


# --- random damage ------------------------------------------------------------------------------------------


def flip(rng: random.Random, text: bytes, at: int) -> bytes:
    return text[:at] + bytes([text[at] ^ (1 << rng.randrange(8))]) + text[at + 1 :]


def cut(rng: random.Random, text: bytes, at: int) -> bytes:
    return text[:at]


def delete(rng: random.Random, text: bytes, at: int) -> bytes:
    return text[:at] + text[at + rng.choice((1, 1, 2, 10, 100)) :]


def repeat(rng: random.Random, text: bytes, at: int) -> bytes:
    length = rng.choice((1, 2, 30, 500))
    return text[: at + length] + text[at : at + length] + text[at + length :]


def splice(rng: random.Random, text: bytes, at: int) -> bytes:
    other = base(rng.choice(BASES))
    return text[:at] + other[rng.randrange(len(other)) :]


def overwrite(rng: random.Random, text: bytes, at: int) -> bytes:
    junk = rng.choice((b"\x00", b"\xff", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"NaN", b"1e999"))
    return text[:at] + junk + text[at + len(junk) :]


MUTATIONS: list[Callable[[random.Random, bytes, int], bytes]] = [flip, cut, delete, repeat, splice, overwrite]


@pytest.mark.parametrize("name", BASES)
def test_damage_at_random_places(name: str) -> None:
    text = base(name)
    begin, end = middle(name)
    whole = fast_import(text).table("files").kept[0]
    for mutate, turn in itertools.product(MUTATIONS, range(3)):
        seed = f"{name} {mutate.__name__} {turn}"
        rng = random.Random(seed)
        run = check_damaged(mutate(rng, text, rng.randrange(begin + 1, end)))
        assert run is not None, seed
        if mutate in (flip, overwrite):
            # One damaged byte costs the event that it is in and at most its neighbours.
            assert run.table("files").kept[0] >= whole - 3, seed


def test_damage_anywhere_and_often() -> None:
    for seed in range(20):
        rng = random.Random(seed)
        text = base(rng.choice(BASES))
        for _ in range(rng.randrange(2, 30)):
            text = rng.choice(MUTATIONS)(rng, text, rng.randrange(len(text))) or b"["
        check_damaged(text, inside=False)


@pytest.mark.parametrize("name", BASES)
def test_a_trace_cut_after_any_event_keeps_all_events_before(name: str) -> None:
    text = base(name)
    decoder, at, count = json.JSONDecoder(), middle(name)[0], 0
    source = text.decode()
    assert len(source) == len(text), "the loop below counts characters"
    while source[at] != "]":
        _, at = decoder.raw_decode(source, at)
        count += 1
        if count % 7 == 0:
            run = fast_import(text[:at])
            check_sound(run)
            assert run.table("files").events[0] == count
            assert "truncated" in codes(run)
        at = re.compile(r"[\s,]*").match(source, at).end()  # type: ignore[union-attr]


# --- damage that writers are known for ----------------------------------------------------------------------


def event(name: str = "op", ts: str = "1", more: str = "") -> str:
    """Return the text of an event that lasts 1 us."""
    return f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": {ts}, "dur": 1{more}}}'


def between(damaged: str | bytes) -> bytes:
    """Return a trace with something between two sound events."""
    middle_text = damaged if isinstance(damaged, bytes) else damaged.encode("utf-8", "surrogatepass")
    return b'{"traceEvents": [\n' + event("before", "1").encode() + b",\n" + middle_text + b",\n" + event(
        "after", "20"
    ).encode() + b'], "baseTimeNanoseconds": 0}'  # fmt: skip


def check_neighbours(run: Run) -> dict[str, int]:
    """Assert that the events around the damage are exact; return all spans' starts by name."""
    check_sound(run)
    found = dict(zip(names(run), run.spans.start_ns.tolist(), strict=True))
    assert found["before"] == 1_000
    assert found["after"] == 20_000
    assert (run.spans.duration_ns[[names(run).index("before"), names(run).index("after")]] == 1_000).all()
    return found


def args_of(text: str) -> str:
    return event("middle", "10", f', "args": {{{text}}}')


KEPT = {
    "bare inf": (args_of('"blocks per SM": inf'), {"invalid_json", "number_range"}),
    "bare inf in a value that is not kept": (args_of('"memory bandwidth (GB/s)": inf'), set()),
    "bare -inf": (args_of('"blocks per SM": -inf, "grid": [1, 1, 1]'), {"invalid_json", "number_range"}),
    "bare nan": (args_of('"blocks per SM": nan'), {"invalid_json", "number_range"}),
    "bare N/A": (args_of('"x": N/A, "correlation": 7'), {"invalid_json", "number_range"}),
    "windows path": (event(r"C:\Users\dev\x.py(3): f", "10"), {"invalid_json"}),
    "control character": (event("mid\x01dle", "10"), {"control_characters"}),
    "raw tab in a name": (event("mid\tdle", "10"), {"control_characters"}),
    "unquoted key": (event("middle", "10").replace('"tid"', 'tid"'), {"invalid_json"}),
    "comma too many in an event": (event("middle", "10", ","), {"invalid_json"}),
    "comma too many in args": (args_of('"correlation": 7,'), {"invalid_json"}),
    "two commas": ("," + event("middle", "10"), {"invalid_json"}),
    "invalid UTF-8": (event("mid@dle", "10").encode().replace(b"@", b"\xff"), {"invalid_utf8"}),
    "cut UTF-8": (event("mid@dle", "10").encode().replace(b"@", b"\xe2\x82"), {"invalid_utf8"}),
    "raw quotes": (event('_lib = Library("_inductor_test", "IMPL")', "10"), {"invalid_json"}),
    "raw quotes and newline": (event('_lib = Library("_ind", "IMPL")\n(1): <module>', "10"), {"invalid_json"}),
    "unpaired surrogate": (event(r"mid\ud800dle", "10"), set()),
    "duplicate key": (event("other", "10").replace('"name"', '"name": "first", "name"'), {"duplicate_keys"}),
    "duplicate duration": (event("middle", "10", ', "dur": 2'), {"duplicate_keys"}),
    "negative duration": (event("middle", "10", "").replace('"dur": 1', '"dur": -5'), {"negative_duration"}),
    "a duration of a year": (event("middle", "10").replace('"dur": 1', '"dur": 31536000000000'), {"absurd_duration"}),
    "correlation of 2**70": (args_of(f'"correlation": {2**70}'), {"number_range"}),
    "pid of 2**70": (event("middle", "10").replace('"pid": 1', f'"pid": {2**70}'), {"number_range"}),
    "deep value": (args_of('"deep": ' + "[" * 5000 + "]" * 5000), {"too_deep"}),
    "deep objects": (args_of('"deep": ' + '{"a":' * 5000 + "1" + "}" * 5000), {"too_deep"}),
    "deep list in a known field": (
        args_of('"Input Dims": ' + "[" * 5000 + "]" * 5000),
        {"too_deep"},
    ),
}
PLAIN = {
    "NaN": args_of('"blocks per SM": NaN'),
    "Infinity": args_of('"blocks per SM": -Infinity, "memory bandwidth (GB/s)": Infinity'),
    "escapes": event(r"a\u0041\n\"\\\/\ud83d\ude00", "10"),
    "arrays in args": args_of('"x": [[[[[[1, 2], [3]]]]], {"a": [null, true]}]'),
    "text pid": event("middle", "10").replace('"pid": 1', '"pid": "Spans"'),
    "no category": event("middle", "10").replace('"cat": "cpu_op", ', ""),
    "no pid, no tid": event("middle", "10").replace('"pid": 1, "tid": 1, ', ""),
    "empty name": event("", "10"),
    "no name": event("middle", "10").replace('"name": "middle", ', ""),
    "time as text": event("middle", '"10"'),
    "exponent": event("middle", "1e1"),
    "other order": '{"dur": 1, "ts": 10, "tid": 1, "pid": 1, "name": "middle", "cat": "cpu_op", "ph": "X"}',
    "null args": event("middle", "10", ', "args": null'),
    "empty args": args_of(""),
    "unknown keys": event("middle", "10", ', "tts": 5, "cname": "good", "sf": {"a": [1]}'),
    "id of 2**63 - 1": args_of(f'"correlation": {2**63 - 1}'),
}
LOST = {
    "no phase": (event("middle", "10").replace('"ph": "X", ', ""), {"bad_event", "unknown_phase"}),
    "unknown phase": (event("middle", "10").replace('"X"', '"Z"'), {"unknown_phase"}),
    "sample": (event("middle", "10").replace('"X"', '"P"'), {"unknown_phase"}),
    "no time": (event("middle", "10").replace('"ts": 10, ', ""), {"missing_time"}),
    "time is no number": (event("middle", "yesterday"), {"missing_time", "invalid_json"}),
    "time is null": (event("middle", "null"), {"missing_time"}),
    "time is NaN": (event("middle", "NaN"), {"missing_time", "number_range"}),
    "time of 1e300": (event("middle", "1e300"), {"missing_time", "number_range"}),
    "time beyond int64": (event("middle", str(2**63)), {"missing_time", "number_range"}),
    "a number": ("17", {"bad_event"}),
    "a text": ('"text, with {braces}"', {"bad_event"}),
    "null": ("null", {"bad_event"}),
    "an array": ('[{"a": 1}, {"b": 2}]', {"bad_event"}),
    "an array of events": ('[{"ph": "X"}]', {"missing_time"}),
    "an empty object": ("{}", {"bad_event", "unknown_phase", "missing_time"}),
    "no brace at the end": (event("middle", "10")[:-1], {"invalid_json"}),
    "words": ("hello there", {"invalid_json", "bad_event"}),
    "end without a begin": (event("middle", "10").replace('"X"', '"E"'), {"unmatched_end"}),
}


@pytest.mark.parametrize("case", KEPT)
def test_damaged_events_are_kept_and_named(case: str) -> None:
    text, expected = KEPT[case]
    run = fast_import(between(text))
    found = check_neighbours(run)
    assert len(found) == 3
    assert sorted(found.values()) == [1_000, 10_000, 20_000]
    assert run.table("anomalies").lost.sum() == 0
    if expected:
        assert codes(run) & expected, codes(run)
    if not is_json(between(text)):
        with pytest.raises(FormatError) as refused:
            fast_import(between(text), strict=True)
        assert len(b'{"traceEvents": [\n' + event("before").encode()) <= refused.value.offset <= len(between(text))


@pytest.mark.parametrize("case", PLAIN)
def test_unusual_but_sound_events_are_kept_without_a_word(case: str) -> None:
    for strict in (False, True):
        run = fast_import(between(PLAIN[case]), strict=strict)
        assert sorted(check_neighbours(run).values()) == [1_000, 10_000, 20_000]
        assert not codes(run) & DAMAGE, run.anomaly_list()


@pytest.mark.parametrize("case", LOST)
def test_what_is_lost_is_named(case: str) -> None:
    text, expected = LOST[case]
    run = fast_import(between(text))
    assert len(check_neighbours(run)) == 2
    assert run.table("anomalies").lost.sum() >= 1
    assert codes(run) & expected, codes(run)


@pytest.mark.parametrize("row", ["7", '{"ph":"X","name":"a","dur":5}', '{"ph":"X","name":"a","ts":1,"dur":-5}'])
def test_strict_refuses_what_cannot_be_kept_as_it_stands(row: str) -> None:
    sound = '{"ph":"X","name":"a","ts":1,"dur":5},'
    with pytest.raises(FormatError, match="cannot be kept") as refused:
        fast_import(f"[{sound}{row}]".encode(), strict=True)
    assert refused.value.offset == 1 + len(sound)


def test_repaired_texts() -> None:
    def name_of(text: str | bytes) -> str:
        return names(fast_import(between(text)))[1]

    assert (
        name_of(event('_lib = Library("_ind", "IMPL")\n(1): <module>', "10"))
        == '_lib = Library("_ind", "IMPL")\n(1): <module>'
    )
    assert name_of(event("mid\x01dle", "10")) == "mid\x01dle"
    assert name_of(event(r"C:\Users\dev.py", "10")) == r"C:\Users\dev.py"
    assert name_of(event(r"a\u0041\n\"\\\/\ud83d\ude00", "10")) == 'aA\n"\\/😀'
    assert name_of(event("mid@dle", "10").encode().replace(b"@", b"\xff")) == "mid\ufffddle"
    assert name_of(event(r"mid\ud800dle", "10")) == "mid\ufffddle"
    assert name_of(event("other", "10").replace('"name"', '"name": "first", "name"')) == "other"


def test_repaired_numbers() -> None:
    run = fast_import(between(args_of(f'"correlation": {2**70}, "External id": 5')))
    assert run.spans.correlation[1] == -1
    assert run.spans.external_id[1] == 5
    run = fast_import(between(event("middle", "10").replace('"dur": 1', '"dur": -5')))
    assert run.spans.duration_ns[1] == 0
    assert run.spans.flags[1] & _core.FLAG_REPAIRED
    run = fast_import(between(event("middle", "10", ', "dur": 2')))
    assert run.spans.duration_ns[1] == 2_000
    run = fast_import(between(args_of(f'"correlation": {2**63 - 1}')))
    assert run.spans.correlation[1] == 2**63 - 1


def test_a_missing_comma_between_events_costs_nothing() -> None:
    run = fast_import(between(event("middle", "10")).replace(b"},\n{", b"}\n{"))
    assert len(check_neighbours(run)) == 3
    assert "invalid_json" in codes(run)


@pytest.mark.parametrize(
    "tail", ["", "]", "],", '], "x', '], "x": [1, 2', '], "x": {"y"', '], "x": 1,', ",\n", ", {", ', {"ph": "X']
)
def test_documents_that_end_early(tail: str) -> None:
    text = ('{"traceEvents": [' + event("first", "1") + ", " + event("second", "2") + tail).encode()
    run = fast_import(text)
    check_sound(run)
    assert names(run) == ["first", "second"]
    assert codes(run) & {"truncated"}
    with pytest.raises(FormatError):
        fast_import(text, strict=True)


@pytest.mark.parametrize(
    "garbage", [b"garbage", b"}", b"]}", b"\x00\x00\x00", b'{"traceEvents": []}', b'"', b"\xff\xfe"]
)
def test_bytes_behind_the_end(garbage: bytes) -> None:
    text = ('{"traceEvents": [' + event() + "]}").encode()
    run = fast_import(text + garbage)
    check_sound(run)
    assert names(run) == ["op"]
    assert codes(run) == {"trailing_bytes"}
    with pytest.raises(FormatError) as refused:
        fast_import(text + garbage, strict=True)
    assert refused.value.offset == len(text)
    assert codes(fast_import(text + b" \r\n\t\n")) == set()


def test_marks_and_line_ends_of_other_systems() -> None:
    text = ('{"traceEvents": [\n' + event("a", "1") + ",\n" + event("b", "2") + "\n]}\n").encode()
    for variant in (b"\xef\xbb\xbf" + text, text.replace(b"\n", b"\r\n"), text.replace(b" ", b"\t \r\n")):
        for strict in (False, True):
            run = fast_import(variant, strict=strict)
            assert names(run) == ["a", "b"]
            assert codes(run) == set()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_wide_text_is_refused_with_a_reason(encoding: str) -> None:
    with pytest.raises(FormatError, match="UTF-8"):
        fast_import(('{"traceEvents": [' + event() + "]}").encode(encoding))


@pytest.mark.parametrize(
    "text",
    ["", " \n", "null", "5", '"x"', "{}", '{"a": 1}', '{"traceEvents": {}}', '{"traceEvents": null}', "hello", "{"],
)  # fmt: skip
def test_what_is_no_trace_is_refused(text: str) -> None:
    for strict in (False, True):
        with pytest.raises(FormatError) as refused:
            fast_import(text.encode(), strict=strict)
        assert 0 <= refused.value.offset <= len(text)


@pytest.mark.parametrize("text", ["[]", "[ ]", '{"traceEvents": []}', '{"traceEvents":[],"x":[]}'])
def test_a_trace_without_events_is_a_trace(text: str) -> None:
    run = fast_import(text.encode(), strict=True)
    check_sound(run)
    assert len(run.spans) == 0
    assert codes(run) == set()
    assert not run.analyse("breakdown").process.size


# --- hostile ------------------------------------------------------------------------------------------------


def test_depth_bombs_end() -> None:
    for bomb in ("[" * 300_000, '{"a":' * 100_000, '[{"a":' * 60_000):
        run = check_damaged(b'{"traceEvents": [' + event("before").encode() + b", " + bomb.encode())
        assert run is not None
        assert names(run)[0] == "before"
        check_damaged(bomb.encode(), inside=False)
        check_damaged(b'{"x": ' + bomb.encode(), inside=False)


def test_a_name_of_a_megabyte() -> None:
    run = fast_import(between(event("n" * 1_000_000, "10")))
    check_neighbours(run)
    (length,) = {len(name) for name in names(run)} - {len("before"), len("after")}
    assert length == 1_000_000 or (length < 1_000_000 and "too_long" in codes(run))


def test_a_hundred_thousand_keys() -> None:
    keys = ", ".join(f'"key {i}": {i}' for i in range(100_000))
    run = fast_import(between(args_of(keys)))
    assert check_neighbours(run)["middle"] == 10_000
    run = fast_import(between(event("middle", "10", ", " + keys)))
    assert check_neighbours(run)["middle"] == 10_000


def test_the_same_key_a_hundred_thousand_times() -> None:
    run = fast_import(between(args_of(", ".join(f'"correlation": {i}' for i in range(100_000)))))
    check_neighbours(run)
    assert run.spans.correlation[1] == 99_999
    assert "duplicate_keys" in codes(run)


def test_ten_thousand_broken_events_take_no_long_time() -> None:
    text = ('{"traceEvents": [' + event("ok") + ", " + '{"ph": "X", "name": "a' * 10_000).encode()
    run = check_damaged(text)
    assert run is not None
    assert names(run)[0] == "ok"
    quotes = ('{"traceEvents": [' + event("ok") + ", " + event('a"' * 50_000, "2") + "]}").encode()
    run = check_damaged(quotes)
    assert run is not None
    assert names(run)[0] == "ok"


def test_shapes_of_events_that_never_repeat() -> None:
    rng = random.Random(1)
    events = []
    for i in range(3000):
        keys = [f'"k{rng.randrange(10**9)}": {i}' for _ in range(rng.randrange(6))]
        members = ['"ph": "X"', f'"name": "e{i % 7}"', '"pid": 1', '"tid": 1', f'"ts": {i * 10}', '"dur": 3', *keys]
        rng.shuffle(members)
        events.append("{" + ", ".join(members) + "}")
    run = fast_import(("[" + ",".join(events) + "]").encode())
    check_sound(run)
    assert sorted(run.spans.start_ns.tolist()) == [i * 10_000 for i in range(3000)]
    assert names(run) == [f"e{i % 7}" for i in range(3000)]


def check_same(one: Run, two: Run) -> None:
    """Assert that two runs are the same."""
    assert one.anomaly_list() == two.anomaly_list()
    assert one.tables.anomalies.lost.tolist() == two.tables.anomalies.lost.tolist()
    assert one.tables.anomalies.first_offset.tolist() == two.tables.anomalies.first_offset.tolist()
    assert one.table("files").events.tolist() == two.table("files").events.tolist()
    assert names(one) == names(two)
    for column in ("start_ns", "duration_ns", "kind", "lane", "parent", "launch", "correlation", "step", "flags"):
        np.testing.assert_array_equal(getattr(one.spans, column), getattr(two.spans, column))


@pytest.mark.parametrize("turn", range(4))
def test_two_threads_read_a_long_damaged_trace_as_one_does(turn: int) -> None:
    rng = random.Random(turn)
    name = rng.choice(BASES)
    text, (begin, end) = base(name), middle(name)
    events = text[begin:end] + b"},\n"
    pieces, size = [text[:begin]], 0
    while size < 9 << 20:
        piece = events
        if rng.random() < 0.03 * (turn % 4):
            piece = rng.choice(MUTATIONS)(rng, events, rng.randrange(len(events)))
        pieces.append(piece)
        size += len(piece)
    long = b"".join([*pieces, text[begin:]])
    one, two = fast_import(long, threads=1), fast_import(long, threads=2)
    check_sound(one)
    check_same(one, two)
    if turn % 4:
        for threads in (1, 2):
            with pytest.raises(FormatError) as refused:
                fast_import(long, strict=True, threads=threads)
            if threads == 1:
                first = refused.value.offset
        assert refused.value.offset == first


@pytest.mark.parametrize("name", BASES)
def test_both_numbers_of_threads_give_the_same_run(name: str) -> None:
    for text in (base(name), base(name)[: len(base(name)) * 3 // 4], base(name).replace(b'"dur"', b'"du"', 3)):
        check_same(fast_import(text, threads=1), fast_import(text, threads=2))
