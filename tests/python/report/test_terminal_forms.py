# SPDX-License-Identifier: Apache-2.0
"""What verbs print in a terminal: as wide as it is, in its encoding, and what the pictures of text say."""

import contextlib
import fcntl
import json
import pty
import re
import struct
import sys
import termios
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from traces import trace_path

import regimeter
from regimeter.cli import main
from regimeter.report.comparison_forest import CELLS, forest, lifted
from regimeter.report.flame_text import flame_lines
from regimeter.report.timeline_text import HEIGHTS, timeline_lines
from regimeter.suite.flame import FlameGraphGenerator
from regimeter.system.text import COMMAND, TextTable, cells, fit, shorten

RUN, OTHER, BERT = "RUN", "OTHER", "h100_bert_small.json.gz"
# Other verbs on traces: test_fitting.py.
VERBS = [
    ["show", RUN], ["flame", RUN], ["flame", RUN, "--full"], ["flame", BERT], ["timeline", RUN], ["timeline", BERT],
    ["regime", RUN], ["kernels", BERT], ["suggest", BERT, "--roadmap"], ["hta", BERT], ["lines", RUN],
    ["compare", RUN, OTHER], ["doctor", RUN],
]  # fmt: skip
STYLE = re.compile(r"\x1b\[[0-9;]*m")
NAMES = ("训练步骤", "forward", "e\u0301tape \U0001f680", "a name of very many words " * 4)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Record twice what has scopes with wide, combining and long names."""
    folder = tmp_path_factory.mktemp("terminal")
    files = {}
    for name in (RUN, OTHER):
        profiler = regimeter.GPUProfiler()
        with profiler:
            for _ in range(4):
                with profiler.profile(NAMES[0], device="cpu"):
                    for inner in NAMES[1:]:
                        with profiler.profile(inner, device="cpu"):
                            sum(range(20_000))
        files[name] = str(folder / f"{name.lower()}.rgm")
        profiler.run().save(files[name])
    return files


@pytest.fixture
def printed(monkeypatch):
    """Return what the command writes to a terminal of that width, and its status."""

    def run(words, width, encoding):
        terminal, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        for name in ("COLUMNS", "LINES"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        with ThreadPoolExecutor(1) as pool:  # which reads meanwhile: a terminal holds little
            found = pool.submit(read_all, terminal)
            with open(other, "w", encoding=encoding) as stream, monkeypatch.context() as here:
                here.setattr(sys, "stdout", stream)
                here.setattr(sys, "__stdout__", stream)  # whose size is asked for
                code = main([*words])
            return code, found.result()

    return run


def read_all(terminal):
    """Read a terminal until nobody writes to it any more."""
    found = b""
    with open(terminal, "rb", buffering=0) as reader, contextlib.suppress(OSError):
        while part := reader.read(65536):
            found += part
    return found


def paths_of(words, recordings):
    """Return the words with the files that they stand for."""
    known = {**recordings, BERT: str(trace_path(BERT))}
    return [known.get(word, word) for word in words]


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_no_line_is_wider_than_the_terminal(words, recordings, printed):
    for width, encoding in ((60, "utf-8"), (80, "utf-8"), (80, "ascii"), (200, "utf-8")):
        code, found = printed(paths_of(words, recordings), width, encoding)
        text = found.decode(encoding)  # mojibake would not be decoded
        assert code in (0, 1), text  # 1: a comparison that tells of a regression
        plain = STYLE.sub("", text)
        assert "\x1b" not in plain, "a sequence that was cut"
        assert "\ufffd" not in plain
        lines = plain.replace("\r\n", "\n").split("\n")
        wide = [line for line in lines if cells(line) > width and not COMMAND.match(line)]
        # One word alone may be longer than the terminal is wide, such as the name of a file.
        assert [line for line in wide if len(line.split()) > 1] == [], width
        assert any(lines)


def test_what_is_no_terminal_gets_whole_lines_without_styles(recordings, command, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    found = command("show", recordings[RUN]).stdout
    assert "\x1b" not in found
    assert any(len(line) > 80 for line in found.splitlines())
    lines = command("show", recordings[RUN], env={"COLUMNS": "60"}).stdout.splitlines()
    table = lines[lines.index(next(line for line in lines if line.startswith("operation "))) :]
    assert max(cells(line) for line in table[: table.index("")]) <= 60


def test_the_tree_has_the_heaviest_nodes_and_says_what_is_left():
    data = FlameGraphGenerator().from_run(regimeter.load(str(trace_path(BERT))))
    lines = flame_lines(data, 80)
    assert len(lines) == 2 + 8 + 1  # a sentence, a blank, the rows, what is left
    assert "of device time to itself" in lines[0]
    shares = [float(found.group(1)) for line in lines[2:10] if (found := re.search(r"([0-9.]+) %", line))]
    assert len(shares) == 8
    assert max(shares) <= 100
    whole = flame_lines(data, 80, None)
    assert len(whole) > len(lines)
    assert "--full" in lines[-1]
    assert "--full" not in whole[-1]
    assert flame_lines({"name": "all", "value": 0.0, "children": []}, 80) == ["Nothing took time here."]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_bars_of_a_lane_add_up_to_its_active_time(width):
    run = regimeter.load(str(trace_path(BERT)))  # its steps lie on the stream, too, and are no work
    lines = timeline_lines(run, width, None)
    row = next(line for line in lines if line.startswith("device 0"))
    share = float(re.search(r"([0-9.]+) %$", row).group(1))
    busy = run.result("breakdown")[0]["busy_ns"]
    spans = run.spans
    window = int((spans.start_ns + spans.duration_ns).max()) - int(spans.start_ns.min())
    assert share == pytest.approx(100 * busy / window, abs=0.06)
    drawn = row[: row.rindex("%")].rstrip(" 0123456789.")
    heights = [HEIGHTS.index(c) for c in drawn if c in HEIGHTS[1:]]
    assert heights, "the device worked"
    assert all(cells(line) <= width for line in lines)


def test_a_roofline_is_drawn_where_work_is_known(capsys):
    assert main(["regime", str(trace_path(BERT))]) == 0
    text = capsys.readouterr().out
    picture = text[text.index("roofline: kernels") :]
    assert "op/byte" in picture
    assert {"1", "2"} <= set(re.findall(r"^([0-9])  ", picture, re.MULTILINE))
    assert re.search(r"2  .* 38\.4 % of the memory roof", picture)
    assert main(["regime", str(trace_path("exact_gpu_time.json").parent / "v100_ddp_large.json.gz")]) == 0
    assert "45 kernels in all: UNKNOWN" in capsys.readouterr().out


def test_intervals_are_drawn_over_one_axis(recordings):
    found = regimeter.compare_profiling_runs(recordings[RUN], recordings[OTHER])
    heading, drawn = forest(found.comparisons)
    assert heading.startswith("-")
    assert heading.endswith(" %")
    assert {len(one) for one in drawn if one} == {CELLS}
    for row, one in zip(found.comparisons, drawn, strict=True):
        low, high = row.ci_percent
        left = one[: CELLS // 2]  # where the estimate is the least, its point stands in the place of the end
        assert (low < 0 < high) == any(mark in left for mark in "├<●") or not low < 0 < high
        assert one.count("●") + one.count("<") + one.count(">") >= 1


def test_what_several_rows_say_is_said_once():
    own, common = lifted(["differs by +1.0 %; x", "y; x", "x"], ["+1.0 %", "+2.0 %", "+3.0 %"])
    assert own == ["", "y", ""]
    assert common == ["All 3 rows: x"]
    assert lifted(["x", "x", "y"]) == (["x", "x", "y"], [])


def test_a_frame_of_python_keeps_its_file_and_line() -> None:
    frame = "  transformers/models/bert/modeling_bert.py(1306): forward"
    assert shorten(frame, 80) == frame
    assert shorten(frame, 40) == "  …/modeling_bert.py(1306): forward"
    assert cells(shorten(frame, 20)) == 20
    assert shorten("aten::add/of a (thing)", 12) == "aten::a…ing)"


def test_a_long_list_shows_eight_rows_and_how_to_see_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(trace_path("v100_ddp_large.json.gz"))
    for verb, more in (("kernels", "others"), ("operators", "more")):
        assert main([verb, path]) == 0
        text = capsys.readouterr().out
        rows = text.split("-\n", 1)[1].split("\n\n")[0].splitlines()
        assert len([row for row in rows if not row.startswith("(")]) == 8
        assert re.search(rf"^\(\d+ {more}\)", text, re.MULTILINE)
        assert "--top 0 shows all" in text
        assert main([verb, path, "--top", "0"]) == 0
        whole = capsys.readouterr().out
        assert whole.count("\n") > 40
        assert "--top 0" not in whole
        assert main([verb, path, "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["rows"]) > 40


@pytest.mark.parametrize("verb", ["sequences", "sequence-kernels"])
def test_all_sequences_are_shown_where_all_are_asked_for(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(trace_path("v100_ddp_large.json.gz"))
    counts = []
    for words in (["--top", "2"], [], ["--top", "0"]):
        assert main([verb, path, "--json", *words]) == 0
        counts.append(len(json.loads(capsys.readouterr().out)["rows"]))
    assert counts == sorted(set(counts))
    assert main([verb, path, "--top", "0", "-q"]) == 0
    assert capsys.readouterr().out.count("\n") > counts[-1]


def test_columns_go_in_a_fixed_order_and_the_name_stays():
    table = TextTable("t", ("operation", "calls", "share", "min", "max", "std dev"), [("n" * 60, *("12345678",) * 5)])
    kept = [fit(table, width).header for width in (200, 60, 50, 40, 24)]
    assert kept[0] == list(table.header)
    for wide, narrow in pairwise(kept):
        assert set(narrow) <= set(wide)
    assert kept[-1] == ["operation", "calls"]
    assert "std dev" not in kept[2]
