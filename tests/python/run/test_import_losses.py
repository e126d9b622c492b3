# SPDX-License-Identifier: Apache-2.0
"""Nothing is dropped silently: of events that are damaged, neighbours too, each is kept or counted as lost."""

import functools
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from event_text import codes, names
from import_checks import check_same, check_sound
from slow_import import ns_of, number, read_text
from traces import COMMITTED, fast_import

from regimeter import FormatError, Run

# --- by hand ------------------------------------------------------------------------------------------------


def op(name: str, ts: int, args: str = "") -> str:
    """Return an event as compact JSON."""
    more = f',"args":{{{args}}}' if args else ""
    return f'{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":1,"ts":{ts},"dur":1{more}}}'


LIST = '"Input type":["float","int"],"odd":["x","y"]'
FLIPPED = '"Input type":["float,"int"],"odd":["x","y"]'
FLIPPED_LATE = '"Input type":["float","int"],"odd":["x","y""]'
ROWS = {  # texts between the sound events "first" and "last", the names that are kept, and how many rows are lost
    "sound": ([op("a", 10, LIST), op("b", 20, LIST)], ["a", "b"], 0),
    "a quote too many in a list": ([op("a", 10, FLIPPED), op("b", 20, LIST)], ["b"], 1),
    "the same in two neighbours": ([op("a", 10, FLIPPED), op("b", 20, FLIPPED)], [], 2),
    "the same with one between": ([op("a", 10, FLIPPED), op("b", 20, LIST), op("c", 30, FLIPPED)], ["b"], 2),
    "in different lists of neighbours": ([op("a", 10, FLIPPED), op("b", 20, FLIPPED_LATE)], [], 2),
    "the other way round": ([op("a", 10, FLIPPED_LATE), op("b", 20, FLIPPED)], [], 2),
    "a comma missing in an event": (
        [op("a", 10).replace('"X",', '"X" '), op("b", 20), op("c", 30).replace('"c",', '"c"')],
        ["a", "b", "c"],
        0,
    ),
    "a comma missing behind a number": ([op("a", 10).replace("10,", "10 "), op("b", 20)], ["a", "b"], 0),
    "raw quotes in a name": ([op('f("x", "y")', 10), op("b", 20)], ['f("x", "y")', "b"], 0),
    "a name without its last quote": ([op("a", 10).replace('"a"', '"a'), op("b", 20)], ["b"], 1),
    "two of them": ([op("a", 10).replace('"a"', '"a'), op("b", 20).replace('"b"', '"b'), op("c", 30)], ["c"], 2),
    "a last text without its last quote": (
        [op("a", 10, '"odd":"x"').replace('x"', "x"), op("b", 20, '"odd":"x"').replace('x"', "x")],
        [],
        2,
    ),
    "a key without its last quote": ([op("a", 10).replace('"ts"', '"ts'), op("b", 20)], ["b"], 1),
    "a colon missing": ([op("a", 10).replace('"ts":', '"ts"'), op("b", 20).replace('"dur":', '"dur"')], [], 2),
    "a brace missing at the end": ([op("a", 10, LIST)[:-1], op("b", 20, LIST)[:-1], op("c", 30)], ["c"], 2),
    "both braces missing at the end": ([op("a", 10, LIST)[:-2], op("b", 20, LIST)], ["b"], 1),
    "a brace missing at the beginning": ([op("a", 10), op("b", 20)[1:], op("c", 30)], ["a", "c"], 1),
    "two of those": ([op("a", 10)[1:], op("b", 20)[1:], op("c", 30)], ["c"], 2),
    "a bracket too few": ([op("a", 10, LIST.replace('"int"]', '"int"')), op("b", 20, LIST)], ["b"], 1),
    "brackets too many, and closed by the next": (
        [op("a", 10, '"odd":[[[[1]'), op("b", 20, '"odd":[1]]]]')],
        [],
        2,
    ),
    "braces too many, and closed by the next": (
        [op("a", 10, '"odd":{{{"x":1}'), op("b", 20, '"odd":{"x":1}}}')],
        ["b"],
        2,  # the braces behind it are a row that is no event
    ),
    "cut in a list": ([op("a", 10, '"Input Dims":[[1,2],')[:-2], op("b", 20, LIST)], ["b"], 1),
    "no text between two events": ([op("a", 10)[:-1] + "," + op("b", 20)[1:]], ["b"], 1),
    "only a space between two events": ([op("a", 10, LIST)[:-1] + " " + op("b", 20, LIST)[1:]], ["b"], 1),
    "a bracket closes the list": ([op("a", 10) + "]", op("b", 20)], ["a", "b"], 0),
    "a bracket in place of the comma": ([op("a", 10) + "]" + op("b", 20)], ["a", "b"], 0),
    "a bracket in place of the brace": ([op("a", 10), "]" + op("b", 20)[1:], op("c", 30)], ["a", "c"], 1),
    "a bracket opens a list": ([op("a", 10), "[" + op("b", 20)], ["a", "b"], 1),
    "a quote between events": ([op("a", 10) + '"', op("b", 20)], ["a", "b"], 1),
    "a brace opens before an event": ([op("a", 10), "{" + op("b", 20)], ["a", "b"], 1),
    "events in a list": (["[" + op("a", 10) + "," + op("b", 20) + "]"], ["a", "b"], 1),
    "objects in a damaged event": (
        [op("a", 10, '"stack":[{"column":1,"file":"x"},{"column":2,"file":"y"}],"odd":["x,"y"]'), op("b", 20)],
        ["b"],
        1,
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows_of_damaged_texts_are_those_counted_by_hand(case: str) -> None:
    middle, kept, lost = ROWS[case]
    sound = [op(f"s{i}", 40 + i, LIST) for i in range(3)]  # so that the layout is known
    for layout, threads in itertools.product((",", ",\n", ",\n  "), (1, 2)):
        text = "[" + layout.join([*sound, op("first", 5, LIST), *middle, op("last", 90, LIST)]) + "]"
        run = fast_import(text.encode(), threads=threads)
        check_sound(run)
        assert names(run) == ["s0", "s1", "s2", "first", *kept, "last"]
        assert run.tables.anomalies.lost.sum() == lost, run.anomaly_list()
        if case != "sound":
            assert run.tables.anomalies.count.sum() >= 1
            with pytest.raises(FormatError) as refused:
                fast_import(text.encode(), strict=True)
            assert text.index(sound[2]) + len(sound[2]) < refused.value.offset <= len(text)


def test_events_behind_the_end_are_counted() -> None:
    text = "[" + op("a", 1) + "]"
    run = fast_import((text + "\n" + text).encode())
    check_sound(run)
    assert (names(run), run.tables.anomalies.lost.tolist(), codes(run)) == (["a"], [1], {"trailing_bytes"})
    run = fast_import(f'{{"traceEvents": [{op("a", 1)}], oops {{ {op("b", 2)}, {op("c", 3)}'.encode())
    check_sound(run)
    assert (names(run), run.tables.anomalies.lost.sum()) == (["a"], 2)


@pytest.mark.parametrize(
    ("text", "count", "merged"),
    [
        (op("a", 1).replace('"X"', '"X","ph":"X"'), 1, 0),
        (op("a", 1).replace('"cpu_op"', '"cpu_op","cat":"kernel"'), 1, 0),
        (op("a", 1, '"mine":1,"mine":2,"mine":[3]'), 2, 0),
        (op("a", 1, '"cbid":1,"cbid":2'), 1, 0),
        (op("a", 1, '"External id":1,"external id":2'), 1, 0),
        (op("a", 1, '"x":1').replace('"args"', '"args":{"y":1},"args"'), 1, 1),
        (op("a", 1, '"mine":1,"ph":2').replace("}}", '},"mine":1}'), 0, 0),
        (op("a", 1).replace('"dur"', '"ph":"X","name":"b","ts":7,"dur"'), 3, 1),
    ],
)
def test_keys_that_come_twice(text: str, count: int, merged: int) -> None:
    run = fast_import(f"[{text}]".encode())
    check_sound(run)
    assert sum(row["count"] for row in run.anomaly_list() if row["code"] == "duplicate_keys") == count
    assert run.tables.anomalies.lost.sum() == merged
    assert len(run.spans) == 1
    if count:
        with pytest.raises(FormatError, match="twice"):
            fast_import(f"[{text}]".encode(), strict=True)


def test_an_argument_beyond_the_limit_is_too_long() -> None:
    run = fast_import(("[" + op("a", 1, f'"mine":"{"x" * (2 << 20)}"') + "]").encode())
    assert (names(run), codes(run)) == (["a"], {"too_long"})


def test_strict_names_the_place_of_an_unknown_phase() -> None:
    text = "[" + op("a", 1) + "," + op("b", 2).replace('"X"', '"Z"') + "]"
    assert codes(fast_import(text.encode())) == {"unknown_phase"}
    with pytest.raises(FormatError, match="cannot be kept") as refused:
        fast_import(text.encode(), strict=True)
    assert refused.value.offset == 2 + len(op("a", 1))


# --- real traces --------------------------------------------------------------------------------------------

Damage = Callable[[random.Random, str], str]


def at_any(rng: random.Random, text: str, wanted: str) -> int:
    """Return the place of a random one of some characters, which the text has."""
    return rng.choice([i for i, c in enumerate(text) if c in wanted])


def quote_too_many(rng: random.Random, text: str) -> str:
    at = rng.randrange(1, len(text))
    return text[:at] + '"' + text[at:]


def quote_too_few(rng: random.Random, text: str) -> str:
    at = at_any(rng, text, '"')
    return text[:at] + text[at + 1 :]


def bracket_too_many(rng: random.Random, text: str) -> str:
    at = rng.randrange(1, len(text))
    return text[:at] + rng.choice("{}[]") + text[at:]


def bracket_too_few(rng: random.Random, text: str) -> str:
    at = at_any(rng, text, "{}[]")
    return text[:at] + text[at + 1 :]


def separator_too_few(rng: random.Random, text: str) -> str:
    at = at_any(rng, text, ",:")
    return text[:at] + text[at + 1 :]


def end_lost(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text) // 2, len(text))]


def beginning_lost(rng: random.Random, text: str) -> str:
    return text[1:]


def backslash(rng: random.Random, text: str) -> str:
    at = at_any(rng, text, '"')
    return text[:at] + "\\" + text[at:]


def junk(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(("\x00", "\n", "\\", '"', "{", "}", "[", "]", ",", ":", "inf")) + text[at + 1 :]


DAMAGES: list[Damage] = [
    quote_too_many, quote_too_few, bracket_too_many, bracket_too_few, separator_too_few, end_lost, beginning_lost,
    backslash, junk,
]  # fmt: skip
BASES = [
    "a100_event_sync.json.gz", "a100_triton.json.gz", "cpu_only_rank34.json.gz", "h100_2026_04_writer_mock.json",
    "mi250_rocm62.json.gz", "v100_2021_gpu_metrics.json",
]  # fmt: skip


@functools.cache
def pieces(name: str) -> tuple[str, list[str], str]:
    """Return the text before the events of a trace, of each event, and behind; found by counting braces."""
    text = read_text(COMMITTED / name).decode()
    key = text.find('"traceEvents"')
    at = text.index("[", max(key, 0)) + 1
    begin, events, depth, quoted, start = at, [], 0, False, 0
    while depth or text[at] != "]":
        c = text[at]
        if quoted and c == "\\":
            at += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted and c == "{":
            start = at if depth == 0 else start
            depth += 1
        elif not quoted and c == "}":
            depth -= 1
            if depth == 0:
                events.append(text[start : at + 1])
        at += 1
    return text[:begin], events, text[at:]


def written(event: dict[str, Any], text: str, style: int, rng: random.Random) -> str:
    """Return an event in the layout of a writer: Kineto's own, compact, with other keys first, with spaces."""
    if style == 0:
        return text
    keys = sorted(event) if style == 2 else list(event)
    if style == 3:
        keys = ["name", *(key for key in keys if key != "name")]
    parsed = json.loads(text, parse_float=str)
    values = {key: json.dumps(parsed[key], separators=(",", ":")) for key in keys}
    for key in ("ts", "dur"):
        if key in values:
            values[key] = values[key].strip('"')
    return "{" + ("," if style == 1 else ", ").join(f'"{key}":{values[key]}' for key in keys) + "}"


def row_of(event: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a span is told by."""
    args = event.get("args") or {}
    external = args.get("External id", args.get("external id"))
    duration = max(0, ns_of(event.get("dur", 0)))
    return event["name"], ns_of(event["ts"]), duration, number(args.get("correlation")), number(external)


def rows_of(run: Run) -> Counter[tuple[Any, ...]]:
    spans = run.spans
    columns = (spans.start_ns, spans.duration_ns, spans.correlation, spans.external_id)
    return Counter(zip(names(run), *(column.tolist() for column in columns), strict=True))


def check_losses(name: str, damages: list[Damage], seed: str, neighbours: bool) -> None:
    """Damage some events of a trace in several layouts; assert that every row is accounted for."""
    rng = random.Random(seed)
    head, texts, tail = pieces(name)
    style = rng.randrange(4)
    # The fraction is a text for the layouts and a number for the values.
    events = [json.loads(text, parse_float=Decimal) for text in texts]
    layouts = [written(event, text, style, rng) for event, text in zip(events, texts, strict=True)]
    first = rng.randrange(1, len(events) - 8)
    damaged = [first, first + 1] if neighbours else []
    damaged += rng.sample(range(len(events) - 1), rng.randrange(1, 4))
    for i in sorted(set(damaged)):
        layouts[i] = rng.choice(damages)(rng, layouts[i])
    text = head + rng.choice((",", ",\n", ",\n  ")).join(layouts) + tail
    run = fast_import(text.encode())
    check_sound(run)
    files = run.table("files")
    assert files.kept[0] + run.tables.anomalies.lost.sum() >= len(events), run.anomaly_list()
    near = {i + d for i in damaged for d in (-1, 0, 1)}
    expected = Counter(row_of(e) for i, e in enumerate(events) if e["ph"] == "X" and i not in near)
    missing = expected - rows_of(run)
    assert not missing, list(missing)[:3]
    check_same(run, fast_import(text.encode(), scan=1))


@pytest.mark.parametrize("name", BASES)
def test_every_event_is_kept_or_counted(name: str) -> None:
    for damage in DAMAGES:
        for turn in range(4):
            check_losses(name, [damage], f"{name} {damage.__name__} {turn}", neighbours=turn % 2 == 0)
    for turn in range(10):
        check_losses(name, DAMAGES, f"{name} {turn}", neighbours=True)
