# SPDX-License-Identifier: Apache-2.0
"""Damage that writers of traces are known for, one piece at a time: what is kept, what is lost, how it is named."""

import pytest
from event_text import codes, names
from import_checks import DAMAGE, args_of, between, check_neighbours, check_sound, event, is_json
from traces import fast_import

from regimeter import FormatError, _core

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
    "no duration": (event("middle", "10").replace('"dur": 1', '"id": 1'), {"missing_duration"}),
    "duration is null": (event("middle", "10").replace('"dur": 1', '"dur": null'), {"missing_duration"}),
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
    assert name_of(event(r"mid\ud83f\udfffdle", "10")) == "mid\U0001ffffdle"
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
