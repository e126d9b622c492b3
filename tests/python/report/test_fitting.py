# SPDX-License-Identifier: Apache-2.0
"""The text of every everyday verb fits 60, 80 and 200 columns, and is ASCII where the terminal is."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from traces import trace_path

import regimeter
from regimeter.analysis.catalog import find_verbs
from regimeter.cli import main
from regimeter.system.fitting import broken, encodable
from regimeter.system.text import cells

TRACE, JOB = "h100_bert_small.json.gz", "dlrm8"
OTHER = {"diff": ("diff_small_base.json.gz", "diff_small_test.json.gz"), "ranks": (JOB,), "stragglers": (JOB,)}
OTHER |= {"compare": ("diff_small_base.json.gz", "diff_small_test.json.gz"), "collective-instances": (JOB,)}
PROSE = ("show", "regime", "suggest", "explain", "doctor", "compare")
VERBS = [*PROSE, *(name for name in find_verbs() if name not in PROSE)]


class Terminal(io.TextIOWrapper):
    """Standard output that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def said(words: list[str], monkeypatch: pytest.MonkeyPatch, width: int, encoding: str = "utf-8") -> str:
    """Return what a command prints to a terminal of that width, without colours."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(raw, encoding=encoding))
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(words) in (0, 1)
    sys.stdout.flush()
    text = re.sub(r"\x1b\[[0-9;]*m", "", raw.getvalue().decode(encoding))
    assert text.strip(), words
    assert "\x1b" not in text, "a sequence that was cut"
    assert "\ufffd" not in text
    return text


def words_of(verb: str) -> list[str]:
    return [verb, *(str(trace_path(name)) for name in OTHER.get(verb, (TRACE,)))]


def too_wide(text: str, width: int) -> list[str]:
    """Return the lines that are wider, but for a word that has no room on a line of its own, and commands to copy."""
    lines = [line for line in text.splitlines() if cells(line) > width]
    return [line for line in lines if len(line.split()) > 1 and "regimeter " not in line]


@pytest.mark.parametrize("verb", VERBS)
def test_the_text_fits_the_terminal_and_is_ascii_where_it_is(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for width, encoding in ((60, "utf-8"), (80, "ascii"), (200, "utf-8")):
        text = said(words_of(verb), monkeypatch, width, encoding)
        assert too_wide(text, width) == []
        assert encoding == "utf-8" or not re.search(r"\\[xu]", text)


def test_lines_of_a_pipe_stay_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(words_of("explain")) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) > 200


def test_a_document_is_never_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    document = said([*words_of("kernels"), "--json"], monkeypatch, 60)
    assert max(map(len, document.splitlines())) > 60
    assert json.loads(document)


def test_wide_names_stand_below_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with regimeter.GPUProfiler(path=tmp_path / "run.rgm") as profiler:
        for name in ("plain", "\u6d4b\u8bd5\u64cd\u4f5c", "e\u0301te\u0301"):
            with profiler.profile(name, device="cpu"):
                np.ones(8).sum()
    rows = said(["scopes", str(tmp_path / "run.rgm")], monkeypatch, 80).splitlines()
    ends = {cells(line) for line in rows if "plain" in line or "\u6d4b" in line or "e\u0301" in line}
    assert len(ends) == 1, rows


def test_a_line_goes_on_below_its_text() -> None:
    assert broken("name        one two three four five six", 24) == ["name        one two", "     three four five six"]
    assert broken("it took 12.5 ms of 40 ms", 11) == ["it took", "  12.5 ms", "  of 40 ms"]
    assert broken("\u6d4b\u8bd5 \u6d4b\u8bd5 \u6d4b\u8bd5", 9) == ["\u6d4b\u8bd5 \u6d4b\u8bd5", "  \u6d4b\u8bd5"]


@given(st.text(st.sampled_from("ab \u6d4b%12m"), max_size=200), st.integers(12, 80))
def test_nothing_of_a_line_is_lost(line: str, width: int) -> None:
    pieces = broken(line, width)
    assert "".join("".join(pieces).split()) == "".join(line.split())
    assert all(cells(piece) <= width or len(piece.split()) <= 3 for piece in pieces)


def test_what_an_encoding_lacks_is_written_otherwise() -> None:
    assert encodable("3 µs ≥ 2 × 1…", "ascii") == "3 us >= 2 x 1..."
    assert encodable("3 µs ≥ 2", "latin-1") == "3 µs >= 2"
    assert encodable("3 µs ≥ 2", "utf-8") == "3 µs ≥ 2"
    assert encodable("\u6d4b", "ascii") == "\u6d4b", "the stream escapes what has no other form"


def test_what_methods_print_is_ascii_where_the_output_is(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    comparison = regimeter.compare_samples({"\u6d4b": [[1.0, 1.1]]}, {"\u6d4b": [[1.3, 1.1]]})
    assert "→" in comparison.to_text() or "×" in comparison.to_text()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    comparison.print_summary()
    sys.stdout.flush()
    text = " ".join(raw.getvalue().decode("ascii").split())
    assert "q <= 0.05" in text
    assert "->" in text
    assert set(re.findall(r"\\[xu][0-9a-f]+", text)) == {r"\u6d4b"}, "a name has no other form"
