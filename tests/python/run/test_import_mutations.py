# SPDX-License-Identifier: Apache-2.0
"""Damaged traces: whatever the bytes are, rows are accounted for, damage is named, and strict reading refuses it."""

import functools
import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from event_text import codes, names
from import_checks import DAMAGE, args_of, between, check_neighbours, check_same, check_sound, event, is_json
from places import ROOT
from traces import fast_import

from regimeter import FormatError, Run

SEEDS = ROOT / "tests" / "fuzz" / "seeds" / "fuzz_trace_import"
BASES = sorted(path.name for path in SEEDS.iterdir() if path.name != "broken_by_hand")


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
