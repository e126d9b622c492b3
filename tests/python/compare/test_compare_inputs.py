# SPDX-License-Identifier: Apache-2.0
"""Comparing what should not be, or can hardly be, compared: each input has an answer."""

import csv
import io
import json
import math
import re
import stat
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import warm
from markdown_it import MarkdownIt

import regimeter
from regimeter import ChangeType, ProfilerComparison, compare_samples
from regimeter.cli import main
from regimeter.compare.sources import side_of

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a|b`c`|d\n| e |",
    "\x1b[31mred\x1b[0m\x07\r\n::error::forged",
    "]]>&<!-- \u2028 \x00\x08\ufffe",
    "@everyone [click](http://evil.example) ![x](http://evil.example/x.png) #1",
    '=HYPERLINK("http://evil.example")',
    "\ud800 half",
    "",
    "x" * 5000,
)


def entries(operations, count=30, factor=1.0, seed=1):
    """A profile of the documented form; 2 % of noise, the same for the same seed."""
    rng = np.random.default_rng(seed)
    rows = [
        {"operation": name, "duration_ms": float(factor * 2.0 * np.exp(rng.normal(0, 0.02)))}
        for name in operations
        for _ in range(count)
    ]
    return {"entries": rows}


def timed(operations):
    """A profile of these times in ms by operation."""
    return {"entries": [{"operation": name, "duration_ms": ms} for name, times in operations.items() for ms in times]}


def write(path, document):
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return str(path)


def command(capsys, *words):
    code = main(["compare", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def pair(tmp_path):
    """Two files; the current side is 50 % slower in one of two operations."""
    current = entries(["a"], factor=1.5, seed=2)["entries"] + entries(["b"], seed=3)["entries"]
    return write(tmp_path / "base.json", entries(["a", "b"])), write(tmp_path / "now.json", {"entries": current})


# --- versions, files ------------------------------------------------------------------------------------------


def test_a_later_version_of_the_format_is_refused(tmp_path, capsys, pair):
    newer = entries(["a"]) | {"format": "regimeter.profile", "version": 99}
    code, out, error = command(capsys, pair[0], write(tmp_path / "newer.json", newer))
    assert (code, out) == (2, "")
    assert "version 99" in error
    with pytest.raises(regimeter.FormatError, match="current: version 99"):
        ProfilerComparison(entries(["a"]), newer)
    with pytest.raises(regimeter.FormatError, match=r"format 'regimeter\.comparison'"):
        ProfilerComparison(entries(["a"]), {"format": "regimeter.comparison", "entries": []})


@pytest.mark.parametrize("content", ["", "{", '{"entries": 7}', "text", "\x00\x01\x02"])
def test_unreadable_files_are_usage(tmp_path, capsys, pair, content):
    bad = write(tmp_path / "bad.json", content)
    for words in ((bad, pair[1]), (pair[0], bad)):
        code, out, error = command(capsys, *words)
        assert (code, out) == (2, "")
        assert error.startswith("regimeter: ")
        assert error.count("\n") == 1
        assert "bad.json" in error


def test_a_trace_that_is_cut_before_its_first_event_is_no_pass(tmp_path, capsys, pair):
    code, out, _ = command(capsys, pair[0], write(tmp_path / "cut.json", '[{"ph": "X", "na'))
    assert code == 4
    assert "NOTHING COMPARED" in out


def test_a_directory_an_absent_and_a_closed_file(tmp_path, capsys, pair):
    (tmp_path / "folder").mkdir()
    closed = tmp_path / "closed.json"
    write(closed, entries(["a"]))
    closed.chmod(0)
    cases = [str(tmp_path / "folder"), str(tmp_path / "absent.json")]
    try:
        closed.open().close()
    except PermissionError:
        cases.append(str(closed))
    for path in cases:
        code, out, error = command(capsys, pair[0], path)
        assert (code, out) == (2, "")
        assert path in error
        assert error.count("\n") == 1
    closed.chmod(stat.S_IRUSR | stat.S_IWUSR)


def test_a_truncated_recording_is_refused_until_it_is_recovered(tmp_path, make_profiler, capsys):
    profiler = make_profiler(path=tmp_path / "whole.rgm")
    for _ in range(5000):
        with profiler.profile("op"):
            pass
    profiler.close()
    whole = (tmp_path / "whole.rgm").read_bytes()
    (tmp_path / "cut.rgm").write_bytes(whole[: len(whole) * 2 // 3])
    names = [str(tmp_path / name) for name in ("whole.rgm", "cut.rgm", "saved.rgm")]
    code, _, error = command(capsys, names[0], names[1])
    assert code == 2
    assert "regimeter recover" in error
    main(["recover", names[1], "-o", names[2]])
    comparison = regimeter.compare_profiling_runs(names[0], names[2])
    assert any(text.startswith("current: ") for text in comparison.warnings)
    assert comparison.comparisons[0].current_calls < comparison.comparisons[0].baseline_calls


# --- exit codes -----------------------------------------------------------------------------------------------


def test_exit_codes(tmp_path, capsys, pair):
    base, now = pair
    assert command(capsys, base, base)[0] == 0
    assert command(capsys, base, now)[0] == 1
    assert command(capsys, now, base)[0] == 0, "faster is no failure"
    assert command(capsys, now, base, "--fail-on", "any")[0] == 1
    assert command(capsys, base, now, "--fail-on", "never")[0] == 0
    assert command(capsys, base, now, "--threshold", "90%")[0] == 0
    assert command(capsys, base, str(tmp_path / "absent"))[0] == 2
    assert command(capsys, str(tmp_path / "absent"), now)[0] == 2
    assert command(capsys, str(tmp_path / "absent"), now, "--require-baseline")[0] == 5
    few = write(tmp_path / "few.json", entries(["a", "b"], count=3, seed=9))
    assert command(capsys, base, few)[0] == 0
    assert command(capsys, base, few, "--strict")[0] == 3


@pytest.mark.parametrize(
    "words",
    [
        ("--threshold", "-1"), ("--threshold", "five"), ("--threshold", "nan"), ("--alpha", "0"), ("--alpha", "1.5"),
        ("--metric", "colour"), ("--top", "-1"), ("--sort", "size"), ("--format", "pdf"), ("--min-share", "-1"),
    ],
)  # fmt: skip
def test_wrong_options_are_usage(capsys, pair, words):
    code, out, error = command(capsys, *pair, *words)
    assert (code, out) == (2, "")
    assert error.startswith("regimeter: ")


def test_names_of_the_history_need_it(capsys, pair, monkeypatch):
    monkeypatch.setitem(sys.modules, "regimeter.history", None)
    for name in ("last", "db:main", "db:tag:v1.2", "0123abcd"):
        code, out, error = command(capsys, name, pair[1])
        assert (code, out) == (2, "")
        assert "pip install 'regimeter[history]'" in error


def test_an_input_is_never_overwritten(capsys, pair):
    code, _, error = command(capsys, *pair, "-o", pair[0])
    assert code == 2
    assert "never overwritten" in error
    assert json.loads(Path(pair[0]).read_text())["entries"]


# --- a process is one sample ----------------------------------------------------------------------------------


@pytest.fixture
def recorded(tmp_path):
    """Three recordings of one operation."""
    for number in range(3):
        with regimeter.GPUProfiler(path=tmp_path / f"r{number}.rgm") as profiler:
            for _ in range(3):
                with profiler.profile("step", device="cpu"):
                    pass
    return [tmp_path / f"r{number}.rgm" for number in range(3)]


def test_what_is_given_twice_or_is_a_copy_counts_once_and_is_named(recorded, tmp_path):
    first, second, _ = recorded
    copy, exported, link = tmp_path / "copy.rgm", tmp_path / "r0.json", tmp_path / "link.rgm"
    copy.write_bytes(first.read_bytes())
    link.symlink_to(first)
    run = regimeter.load(first)
    run.export(exported, "json")
    for others in ([first], [copy], [exported], [link], [run], [regimeter.load(first)], [copy, exported, first]):
        side = side_of([first, second, *others], "baseline")
        assert len(side.metrics["time"].launches["step"]) == 2
        assert len(side.warnings) == len(others)
        assert all("it counts once" in warning for warning in side.warnings)
    assert f"copy.rgm is the same process as {first}" in side.warnings[0]
    comparison = ProfilerComparison([first] * 3, recorded)
    assert comparison.comparisons[0].baseline_launches == 1
    assert f"baseline: {first} is given more than once: it counts once" in comparison.warnings


def test_pairs_that_share_a_process_are_one(recorded):
    first, second, third = recorded
    comparison = ProfilerComparison([first, first, third], [second, third, second], paired=True)
    assert comparison.comparisons[0].current_launches == 1
    assert sum("it counts once" in warning for warning in comparison.warnings) == 2


def test_a_file_that_says_nothing_of_its_process_counts_once_too(tmp_path):
    path, equal = (write(tmp_path / name, entries(["a"])) for name in ("a.json", "b.json"))
    assert len(side_of([path, path, equal], "baseline").metrics["time"].launches["a"]) == 2


def test_a_run_of_several_files_has_each_recording_once(tmp_path):
    first, copy = tmp_path / "r.rgm", tmp_path / "copy.rgm"
    program = "import regimeter\nwith regimeter.GPUProfiler().profile('step', device='cpu'): pass"
    assert main(["record", "-q", "-o", str(first), "--", sys.executable, "-c", program]) == 0
    copy.write_bytes(first.read_bytes())
    run = regimeter.load([first, copy])
    assert len(run.entries) == len(regimeter.load(first).entries)
    assert "copy.rgm: the same recording as r.rgm" in run.anomaly_list()[0]["detail"]


# --- samples --------------------------------------------------------------------------------------------------


def test_nothing_compared_is_no_pass(tmp_path, capsys):
    empty, one, other = {"entries": []}, entries(["a"]), entries(["b"])
    for before, after, why in (
        (empty, empty, "neither side"),
        (empty, one, "the baseline has no operation"),
        (one, empty, "the current side has no operation"),
        (one, other, "no operation is on both sides"),
    ):
        comparison = ProfilerComparison(before, after)
        assert why in comparison.nothing_compared
        assert "NOTHING COMPARED" in comparison.to_text()
        words = write(tmp_path / "b.json", before), write(tmp_path / "n.json", after)
        assert command(capsys, *words)[0] == 4
        assert command(capsys, *words, "--fail-on", "never")[0] == 0
    assert ProfilerComparison(one, one).nothing_compared == ""


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0.0, -1.0])
def test_impossible_times_make_a_row_invalid(bad):
    good = [1.0, 1.01, 0.99, 1.02]
    for before, after in (([*good, bad], good), (good, [bad, *good])):
        comparison = compare_samples({"op": [before], "fine": [good]}, {"op": [after], "fine": [good]})
        row, fine = comparison.comparisons
        assert (row.change_type, row.reason) == (ChangeType.INVALID, "not_positive")
        assert not row.is_significant
        assert fine.change_type is ChangeType.NO_CHANGE
        assert comparison.exit_code == 0
        assert comparison.get_exit_code(strict=True) == 3
        assert comparison.get_summary().invalid_count == 1
        json.loads(comparison.to_json())
        assert "NaN" not in comparison.to_json()


@pytest.mark.parametrize("bad", [math.nan, 0.0, -5.0, 1e300])
def test_the_total_with_an_operation_that_has_no_time_is_nobodys(bad):
    """Counted as nothing it would be nine tenths faster, or ten times slower the other way round."""
    whole = timed({"m": [98.0, 99.0, 100.0], "a": [10.0, 10.1, 10.2]})
    without = timed({"m": [bad] * 3, "a": [10.0, 10.1, 10.2]})
    for before, after in ((whole, without), (without, whole)):
        comparison = ProfilerComparison(before, after)
        assert comparison.wholes == []
        assert {row.operation: row.change_type for row in comparison.comparisons}["m"] is ChangeType.INVALID
        assert (comparison.exit_code, comparison.outcome) == (0, "undecided")
        assert comparison.get_exit_code(strict=True) == 3


def test_what_one_side_alone_has_tells_nothing_of_the_rest():
    same = {"a": [10.0, 10.1, 10.2, 10.0, 10.1]}
    for before, after in ((same, same | {"x": [1.0] * 3}), (same | {"x": [1.0] * 3}, same)):
        comparison = ProfilerComparison(timed(before), timed(after))
        assert (comparison.outcome, comparison.exit_code) == ("undecided", 0)


def test_all_invalid_is_no_pass():
    comparison = compare_samples({"op": [[0.0]]}, {"op": [[1.0]]})
    assert comparison.nothing_compared == "no operation has usable samples on both sides"


def test_one_sample_a_side_proves_little():
    for factor, expected in ((1.0, ChangeType.NO_CHANGE), (1.12, ChangeType.NO_CHANGE), (1.5, ChangeType.REGRESSION)):
        (row,) = compare_samples({"op": [[1e-3]]}, {"op": [[factor * 1e-3]]}).comparisons
        assert row.change_type is expected
        assert row.high_percent - row.low_percent > 20
        assert row.conclusive == (expected is ChangeType.REGRESSION)


def test_equal_samples_are_equal():
    (row,) = compare_samples({"op": [[1e-3] * 50]}, {"op": [[1e-3] * 50]}).comparisons
    assert (row.change_type, row.change_percent, row.reason) == (ChangeType.NO_CHANGE, 0.0, "equal")
    (row,) = compare_samples({"op": [[1e-3] * 5] * 6}, {"op": [[1e-3] * 5] * 6}, paired=True).comparisons
    assert (row.change_type, row.change_percent) == (ChangeType.NO_CHANGE, 0.0)


def test_a_name_twice_on_two_devices_stays_two_rows(tmp_path):
    rows = [
        {"operation": "op", "duration_ms": 1.0 + i / 1000, "device": device}
        for device in ("cpu", "gpu")
        for i in range(10)
    ]
    path = write(tmp_path / "two.json", {"entries": rows})
    comparison = regimeter.compare_profiling_runs(path, path)
    assert sorted(row.operation for row in comparison.comparisons) == ["op [cpu]", "op [gpu]"]


def test_programs_of_different_names_are_compared_as_wholes(tmp_path):
    """Two versions of a program in two files, which record no scope of their own; loaded again from JSON, too."""
    runs = []
    for name in ("old.py", "new.py"):
        folder = tmp_path / name.removesuffix(".py")
        folder.mkdir()
        runs.append(warm.record(folder, "import gc\nfor _ in range(3):\n    gc.collect()\n", name=name))
        regimeter.load(runs[-1]).export(tmp_path / f"{name}.json", "json")
    before, after = runs
    for one, other in (
        (before, after),
        (before, tmp_path / "new.py.json"),
        ([before, before], [after, tmp_path / "new.py.json"]),
        ([before, after], before),
    ):
        rows = regimeter.compare_profiling_runs(one, other).comparisons
        [whole] = [row for row in rows if not row.operation.startswith("gc ")]
        assert whole.operation == "program"
        assert whole.change_type.name not in ("NEW_OPERATION", "REMOVED_OPERATION")
    names = {row.operation for row in regimeter.compare_profiling_runs(before, before).comparisons}
    assert "old.py" in names, "of one program its name stays"


def test_launches_without_samples_count_for_nothing():
    (row,) = compare_samples({"op": [[], []]}, {"op": [[1.0]]}).comparisons
    assert (row.change_type, row.reason) == (ChangeType.INVALID, "no_samples")


def test_very_many_operations():
    rng = np.random.default_rng(4)
    count = 4000
    sides = [{f"op{i}": [values] for i, values in enumerate(np.exp(rng.normal(-7, 0.02, (count, 4))))} for _ in "ab"]
    comparison = compare_samples(*sides)
    assert len(comparison.comparisons) == count
    assert len(comparison.to_markdown()) <= 65_536
    assert comparison.to_text(5).count("\n") < 60
    assert len(comparison.to_html()) < 5_700_000  # hundreds of bytes a row, the rest is of every page
    assert comparison.to_csv().count("\n") == count + 1


@pytest.mark.parametrize(
    "given", [7, "text", {"op": 3}, {"op": [["a"]]}, {"op": [[[1.0]]]}, {"entries": "x"}, {"entries": [{}]}, []]
)
def test_other_inputs_are_refused(given):
    with pytest.raises((TypeError, ValueError, OSError)):
        ProfilerComparison(given, entries(["a"]))


def test_everything_slower_is_no_pass():
    """The shift that all rows share is taken out of unpaired rows, so none of them need be slower than the others."""
    rng = np.random.default_rng(11)

    def side(factor):
        return {f"op{i}": (factor * np.exp(rng.normal(0, 0.004, (6, 20)))).tolist() for i in range(30)}

    base = side(1.0)
    for factor, failed in ((1.3, True), (1.02, False), (0.7, False)):
        comparison = compare_samples(base, side(factor))
        assert comparison.facts["common_removed"]
        assert comparison.common_failure == failed
        assert comparison.exit_code == int(failed)
        assert comparison.to_text().startswith("PERF FAILED" if failed else "PERF PASSED")
        assert ("slower as a whole" in comparison.to_markdown()) == failed
        assert ('failures="1"' in comparison.to_junit()) == failed


# --- hostile names --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile():
    noise = np.random.default_rng(8).normal(0, 0.01, (2, len(HOSTILE), 3, 10))
    sides = [
        {name: (factor * np.exp(noise[side, i])).tolist() for i, name in enumerate(HOSTILE)}
        for side, factor in enumerate((1.0, 1.3))
    ]
    return compare_samples(*sides, paired=True, policy={"least_pairs": 3.0})


def test_all_of_the_hostile_regress(hostile):
    assert hostile.get_summary().regressions_count == len(HOSTILE)


def test_junit_is_well_formed_whatever_the_names(hostile):
    root = ElementTree.fromstring(hostile.to_junit().encode("utf-8"))
    cases = list(root.iter("testcase"))
    assert len(cases) == len(HOSTILE)
    failures = [case.find("failure") for case in cases]
    assert all(failure is not None and "\n" not in failure.get("message") for failure in failures)
    names = {case.get("name") for case in cases}
    assert HOSTILE[0] in names
    assert HOSTILE[1] in names
    assert not any(re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", name) for name in names)
    suite = root.find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == (str(len(HOSTILE)),) * 2 + ("0",)


def test_markdown_holds_a_table_and_nothing_else(hostile):
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(hostile.to_markdown())
    rows = [token for token in tokens if token.type == "tr_open"]
    assert len(rows) == len(HOSTILE) + 1
    cells = [token for token in tokens if token.type in ("td_open", "th_open")]
    assert len(cells) == 10 * len(rows)
    inline = [child for token in tokens for child in token.children or ()]
    assert not [child for child in inline if child.type in ("link_open", "image")]
    html = {child.content for child in inline if child.type == "html_inline"}
    assert html <= {"<code>", "</code>"}
    blocks = {token.content.strip() for token in tokens if token.type == "html_block"}
    assert all(re.fullmatch(r"(</?(details|summary)>|[\w ():,.])*", block) for block in blocks), blocks
    assert not re.search(r"https?:|www\.", hostile.to_markdown()), "what GitHub would make a link of"
    assert "@everyone" not in hostile.to_markdown()


def test_the_terminal_is_not_steered(hostile, capsys):
    hostile.print_summary(20)
    hostile.print_regressions(20)
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\x07" not in printed
    assert "\r" not in printed
    assert not any(line.startswith("::") for line in printed.splitlines())


def test_annotations_are_one_line_each_and_ten_at_most(hostile):
    from regimeter.report.comparison_github import ANNOTATIONS, annotations

    lines = annotations(hostile)
    assert len(lines) == ANNOTATIONS == 10
    for line in lines:
        assert line.startswith("::error title=")
        assert not re.search("[\x00-\x1f]", line)
        head = line.split("::")[1]
        assert "," not in head
        assert ":" not in head


def test_no_cell_is_a_formula(hostile):
    rows = list(csv.DictReader(io.StringIO(hostile.to_csv())))
    assert len(rows) == len(HOSTILE)
    assert not [row["operation"] for row in rows if row["operation"].startswith(("=", "+", "-", "@"))]


def test_html_keeps_names_inside_its_data(hostile):
    text = hostile.to_html()
    assert "<img src=x" not in text
    plain = compare_samples({"a": [[1.0, 1.1]]}, {"a": [[1.0, 1.1]]}).to_html()
    assert text.count("</script>") == plain.count("</script>") > 0
    assert "<!--" not in text


def test_json_of_hostile_names_is_json(hostile):
    names = [row["operation"] for row in json.loads(hostile.to_json())["comparisons"]]
    assert names[:3] == list(HOSTILE[:3])


def test_every_format_is_written(tmp_path, capsys, pair):
    for style in ("text", "json", "junit", "markdown", "github", "html", "csv"):
        out = tmp_path / f"out.{style}"
        code, printed, _ = command(capsys, *pair, "--format", style, "-o", str(out))
        assert code == 1
        assert out.stat().st_size > 200
        assert printed == "" or style == "github"
