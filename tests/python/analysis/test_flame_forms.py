# SPDX-License-Identifier: Apache-2.0
"""`regimeter flame -o`: the picture (SVG), stacks (folded, speedscope), data; what each says of a real trace."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT
from programs import Program
from traces import load_trace, trace_path

from regimeter import FlameGraphGenerator
from regimeter.cli import main
from regimeter.report.flame_svg import FILLS, WIDTH, flame_svg

TRACE = "h100_bert_small.json.gz"
SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> list[tuple[str, float, float, int]]:
    """Return what each box says, its left edge, width and top."""
    boxes = ElementTree.fromstring(text).findall(f"{SVG}g")
    made = []
    for box in boxes:
        title, rect = box.find(f"{SVG}title"), box.find(f"{SVG}rect")
        assert title is not None
        assert rect is not None
        made.append((str(title.text), *(float(rect.get(name, "")) for name in ("x", "width")), int(rect.get("y", ""))))
    return made


def wide_enough(node: dict[str, Any], least: float) -> int:
    if node["value"] < least:
        return 0
    return 1 + sum(wide_enough(child, least) for child in node["children"])


def test_the_picture_has_every_node_that_is_wide_enough_inside_its_caller(tmp_path: Path) -> None:
    assert main(["flame", str(trace_path(TRACE)), "-o", str(tmp_path / "f.svg"), "-q", "--metric", "host"]) == 0
    root = FlameGraphGenerator(metric="host").from_run(load_trace(TRACE))
    text = (tmp_path / "f.svg").read_text()
    boxes = drawn(text)
    assert len(boxes) == wide_enough(root, root["value"] / WIDTH * 0.5)
    assert boxes[0][1] == 0.0
    assert boxes[0][2] == pytest.approx(WIDTH, abs=1)
    assert boxes[0][0].startswith("all: ")
    by_line: dict[int, list[tuple[float, float]]] = {}
    for _, left, wide, top in boxes:
        assert -0.1 <= left <= left + wide <= WIDTH + 0.6
        by_line.setdefault(top, []).append((left, wide))
    for line in by_line.values():
        line.sort()
        assert all(b[0] >= a[0] + a[1] - 0.2 for a, b in pairwise(line)), "boxes do not overlap"
    assert "<script" not in text


def test_the_colours_are_those_of_the_page() -> None:
    tokens = (ROOT / "python/regimeter/web/css/tokens.css").read_text()
    values = dict(re.findall(r"--([\w-]+): (.+?);", tokens))

    def light(name: str) -> str:
        value = values[name]
        if named := re.fullmatch(r"var\(--([\w-]+)\)", value):
            return light(named[1])
        return str(re.match(r"light-dark\((#\w+),", value)[1])  # type: ignore[index]

    assert {kind: light(f"kind-{kind}") for kind in FILLS} == FILLS


@settings(max_examples=40)
@given(st.recursive(st.text(max_size=8), lambda inner: st.lists(inner, max_size=3), max_leaves=20))
def test_any_name_makes_a_picture_that_can_be_read(shape: Any) -> None:
    def node(one: Any) -> dict[str, Any]:
        children = [node(child) for child in one] if isinstance(one, list) else []
        name = one if isinstance(one, str) else "<&'\">"
        return {"name": name, "value": 1.0 + sum(child["value"] for child in children), "children": children}

    assert len(drawn(flame_svg(node(shape)))) > 0
    assert drawn(flame_svg({"name": "all", "value": 0.0, "children": []})) == []


def test_speedscope_and_folded_are_of_the_same_stacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(trace_path(TRACE))
    assert main(["flame", trace, "-o", str(tmp_path / "f.speedscope.json"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == (tmp_path / "f.speedscope.json").stat().st_size
    document = json.loads((tmp_path / "f.speedscope.json").read_text())
    assert document["$schema"].endswith("file-format-schema.json")
    opened = Counter(
        document["shared"]["frames"][event["frame"]]["name"]
        for profile in document["profiles"]
        for event in profile["events"]
        if event["type"] == "O"
    )
    run = load_trace(TRACE)
    names = {run.string(name) for name in run.spans.name.tolist()}
    assert set(opened) <= names
    load_trace(TRACE).export(tmp_path / "same.speedscope.json")
    assert json.loads((tmp_path / "same.speedscope.json").read_text())["profiles"] == document["profiles"]
    assert main(["flame", trace, "-o", str(tmp_path / "f.folded"), "-q"]) == 0
    frames = {
        frame
        for line in (tmp_path / "f.folded").read_text().splitlines()
        for frame in line.rsplit(" ", 1)[0].split(";")
    }
    assert "aten::addmm" in frames & set(opened)


def test_recursion_as_one_takes_rows_and_no_time(tmp_path: Path) -> None:
    program = Program()
    with program.op("outer"), program.op("again"), program.op("again"), program.op("again"):
        program.launch("kernel", 50)
    trace = str(tmp_path / "trace.json")
    Path(trace).write_text(json.dumps({**program.head, "traceEvents": program.events}))
    for name, more in (("plain.json", []), ("one.json", ["--collapse-recursion"])):
        assert main(["flame", trace, "-o", str(tmp_path / name), "-q", *more]) == 0
    plain, one = (json.loads((tmp_path / name).read_text()) for name in ("plain.json", "one.json"))

    def again(node: dict[str, Any]) -> int:
        same = [child for child in node["children"] if child["name"] == node["name"] and child["kind"] == node["kind"]]
        return len(same) + sum(again(child) for child in node["children"])

    assert (plain["device_us"], plain["host_us"]) == (one["device_us"], one["host_us"])
    assert (again(one), again(plain)) == (0, 2)


def test_a_suffix_that_is_none_of_these_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flame", str(trace_path(TRACE)), "-o", str(tmp_path / "f.png")]) != 0
    assert ".svg" in capsys.readouterr().err
    with pytest.raises(ValueError, match="'html', 'svg' or 'json'"):
        FlameGraphGenerator().export({"name": "all", "value": 0.0}, tmp_path / "x", format="png")
