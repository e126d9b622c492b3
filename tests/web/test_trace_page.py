# SPDX-License-Identifier: Apache-2.0
"""The report of imported traces in a real browser: figures, tables, timeline, flame graph, hostile names."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import Browsing, be_ready, data_of, flame_graph, go_to, timeline
from runs import KIND
from traces import load_trace, trace_path

from regimeter import ProfilerOptimizer, Run, _core, load
from regimeter.analysis.verb import Column, Verb
from regimeter.report import panels
from regimeter.report.trace_data import FLAME, timeline_data, trace_data
from regimeter.suite.flame import FlameGraphGenerator
from regimeter.suite.timeline_data import TimelineGenerator

pytestmark = pytest.mark.web

HOSTILE = "</script><img src=x onerror=alert(1)>\u202egpj.exe'\"&\u2028`${1}"
PARTS = ("compute_ns", "exposed_comm_ns", "exposed_mem_ns", "idle_ns")
VERBS = {
    "nodes": Verb(
        "nodes",
        "flame",
        "rows of the merged call tree",
        (
            Column("name", "name"),
            Column("role", "role", "code:FLAME_ROLES"),
            Column("parent", "parent"),
            Column("count", "spans"),
            Column("total_host_ns", "host", "ns"),
            Column("self_device_ns", "device", "ns"),
        ),
        by={"thread": 0, "program": 1},
    ),
    "devices": Verb(
        "devices", "breakdown", "shares", (Column("device", "device"), Column("idle_share", "idle", "share"))
    ),
    "absent": Verb("absent", "no_such_analysis", "not in this build", (Column("x", "x"),)),
}


@pytest.fixture
def with_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer panels whatever analyses this build has."""
    monkeypatch.setattr(panels, "find_verbs", lambda: VERBS)
    monkeypatch.setattr(panels, "ELSEWHERE", ())


Standing = Callable[[str], Browsing]


def open_trace(browsing: Browsing, name: str) -> Any:
    return browsing.open(data_of(name))


def numbers(text: str) -> list[int]:
    return [int(word.replace(",", "")) for word in text.replace("ns", "").split() if word not in "+="]


@pytest.mark.parametrize("name", ["h100_bert_small.json.gz", "v100_ddp_large.json.gz", "h100_qwen_orphans.json.gz"])
def test_the_figures_are_the_exact_ones(standing: Standing, name: str) -> None:
    page = standing(name).page
    exact = json.loads(trace_path("exact_gpu_time.json").read_text())[name]
    (expected,) = exact.values()
    *parts, span = numbers(page.locator("#breakdown .exact").inner_text())
    assert span == expected["span_ns"] == sum(parts)
    assert parts[0] == expected["compute_ns"]
    assert parts[1] == expected["comm_ns"] - expected["comm_overlapped_by_compute_ns"]
    assert parts[3] == expected["idle_ns"]
    assert not page.locator("#breakdown .overlaps").is_visible()
    page.locator("#breakdown summary", has_text="All figures").click()
    titles = page.locator("#breakdown .overlaps dd[title]").evaluate_all("(all) => all.map((one) => one.title)")
    shown = [numbers(title)[0] for title in titles]
    for key in ("busy_ns", "comm_ns", "comm_overlapped_by_compute_ns", "mem_ns", "sum_dur_ns"):
        assert expected[key] in shown
    counts = page.locator("#breakdown .overlaps div").all_inner_texts()
    assert f"Compute kernels\n{expected['n_kernel']:,}" in counts
    assert f"Copies\n{expected['n_memcpy']:,}" in counts


def test_the_roadmap_says_what_to_try_and_why(standing: Standing) -> None:
    run = load_trace("h100_bert_small.json.gz")
    page = standing("h100_bert_small.json.gz").page
    wanted = ProfilerOptimizer(run).get_suggestions()
    items = page.locator("#roadmap .roadmap-item")
    assert items.locator(".roadmap-title").all_inner_texts() == [one.description for one in wanted]
    items.first.locator("summary").click()
    shown = items.first.inner_text()
    assert wanted[0].refuted_by in shown
    assert wanted[0].implementation_hint in shown
    fill = items.first.locator(".roadmap-fill").evaluate("(one) => parseFloat(one.style.width)")
    assert fill == pytest.approx(100 * (1 - 1 / wanted[0].speedup_high))
    assert page.locator(".roadmap-more").count() == 0


def test_five_suggestions_are_shown_and_the_rest_is_folded(browsing: Browsing) -> None:
    data = dict(data_of("h100_bert_small.json.gz"))
    one = data["suggestions"][0]
    data["suggestions"] = [one | {"description": f"number {i}", "folded": i >= 5} for i in range(8)]
    page = browsing.open(data)
    folded = page.locator("#roadmap .roadmap-more")
    assert page.locator("#roadmap .roadmap-item:visible").count() == 5
    assert folded.locator("summary").first.inner_text() == "3 more, which may save less or are not bounded"
    folded.locator("summary").first.click()
    assert page.locator("#roadmap .roadmap-item:visible").count() == 8
    assert folded.locator(".place").all_inner_texts() == ["6", "7", "8"]


def test_what_a_table_says_together_stands_above_it(standing: Standing) -> None:
    run = load_trace("h100_bert_small.json.gz")
    page = standing("h100_bert_small.json.gz").page
    for name in ("critical-path", "idle"):
        title = name.replace("-", " ").capitalize()
        page.get_by_role("tab", name=title, exact=True).click()
        panel = page.get_by_role("tabpanel", name=title, exact=True)
        panel.locator(".result-table").wait_for()
        assert panel.locator(".panel-table p:not(.help)").all_inner_texts() == run.result(name).headline()
        headings = panel.locator(".result-table th[scope=col]").all_inner_texts()
        assert "what is known" not in headings  # there is nothing of that in this trace
        assert not {"share", "on the path"} & set(headings)


def test_each_device_can_be_chosen(browsing: Browsing) -> None:
    data = dict(data_of("h100_bert_small.json.gz"))
    first = data["breakdown"][0]
    data["breakdown"] = [first, {**first, "rank": 3, "compute_ns": 1, "span_ns": 1, **dict.fromkeys(PARTS[1:], 0)}]
    page = browsing.open(data)
    assert page.locator(".breakdown-line").count() == 2
    page.locator(".breakdown-line").nth(1).click()
    assert page.locator("#breakdown h3").inner_text() == "rank 3 · GPU 0"
    assert numbers(page.locator("#breakdown .exact").inner_text()) == [1, 0, 0, 0, 1]
    assert page.locator(".breakdown-line").nth(1).get_attribute("aria-pressed") == "true"


def test_a_search_tells_its_matches_by_kind(standing: Standing) -> None:
    run = load_trace("v100_ddp_large.json.gz")
    page = standing("v100_ddp_large.json.gz").page
    page.locator("#timeline input[type=search]").fill("AllReduce")
    found = np.flatnonzero(np.char.find(np.char.lower(np.array(run.strings)), "allreduce") >= 0)
    hits = np.isin(run.spans.name, found)
    kernels = hits & (run.spans.kind == _core.SPAN_KINDS.index("kernel"))
    said = page.locator("#timeline [role=status]").first.inner_text()
    assert said.startswith(f"{hits.sum():,} matches: ")
    assert f"{kernels.sum():,} kernels {run.spans.duration_ns[kernels].sum() / 1e6:.0f} ms" in said


def test_of_ranks_the_longest_wait_comes_first_and_the_last_comer_is_named(browsing: Browsing) -> None:
    run = load([str(path) for path in sorted(trace_path("dlrm8").iterdir())])
    page = browsing.open(trace_data(run), at="#page=ranks")
    rows = {row["rank"]: row for row in run.breakdown()}
    names = page.locator(".breakdown-name").all_inner_texts()
    ranks = [int(name.split()[1]) for name in names]
    assert ranks == sorted(rows, key=lambda rank: -rows[rank]["exposed_comm_ns"])
    widths = page.locator("#breakdown .breakdown-bar").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect().width)"
    )
    spans = [rows[rank]["span_ns"] for rank in ranks]
    assert [width / max(widths) for width in widths] == pytest.approx([span / max(spans) for span in spans], abs=0.005)
    late = next(iter(run.stragglers()))
    assert (
        f"Rank {late['rank']} came last in {late['last']} of {late['collectives']} collectives"
        in page.locator("#breakdown").inner_text()
    )
    assert page.locator(".breakdown-line[aria-pressed=true]").inner_text().startswith(f"rank {late['rank']} ")


def test_what_was_lost_stands_at_the_top(browsing: Browsing) -> None:
    data = dict(data_of("h100_bert_small.json.gz"))
    data["anomalies"] = [
        {"code": "bad_event", "count": 1234, "lost": 1234, "first_ns": None, "first_offset": 99, "detail": "left out"},
        {"code": "clock_step", "count": 2, "lost": 0, "first_ns": 5000, "first_offset": None, "detail": "no loss"},
    ]
    page = browsing.open(data)
    assert page.locator(".notice").all_inner_texts() == [
        "1,234 rows of the input are not in this report (bad_event): left out."
    ]
    text = page.locator("#anomalies").inner_text()
    assert "1,234 rows lost" in text
    assert "first at byte 99" in text
    assert "first at 5.00 µs" in text


def test_facts_of_a_large_trace_and_all_of_its_spans(standing: Standing) -> None:
    page = standing("v100_ddp_large.json.gz").page
    heading = page.locator("#heading").inner_text()
    for text in ("2 × Tesla V100-SXM2-32GB", "nccl rank 1 of 2", "steps 2 to 6"):
        assert text in heading
    assert "123," in page.locator("#facts").inner_text()
    drawn = data_of("v100_ddp_large.json.gz")["timeline"]
    assert drawn["count"] == drawn["spans"]


def test_every_panel_opens(browsing: Browsing, with_panels: None) -> None:
    run = load_trace("h100_bert_small.json.gz")
    page = browsing.open(trace_data(run))
    tabs = page.get_by_role("tab")
    assert tabs.all_inner_texts() == ["Nodes", "Devices"]
    table = run.analyse("flame")
    rows = page.locator("#analyses .result-table tbody tr")
    rows.first.wait_for()
    assert rows.count() == 25
    page.get_by_role("button", name="host", exact=True).click()
    shown = page.locator("#analyses .result-table tbody tr td:nth-child(5)").evaluate_all(
        "(all) => all.map((one) => one.title)"
    )
    assert [numbers(text)[0] for text in shown] == sorted(table.total_host_ns.tolist(), reverse=True)[:25]
    page.get_by_label("Search Nodes").fill("aten:: addmm")
    wanted = [
        run.string(name) for name in table.name.tolist() if "aten::" in run.string(name) and "addmm" in run.string(name)
    ]
    assert f"{len(wanted)} of {len(table):,} rows" in page.locator("#analyses").inner_text()
    page.get_by_role("button", name="Program").click()
    analyses = page.locator("#analyses")
    analyses.get_by_text(f"{len(run.analyse('flame', group_by=1)):,} rows", exact=True).wait_for()
    tabs.nth(1).click()
    analyses.get_by_text("1 row", exact=True).wait_for()
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    share = run.analyse("breakdown").idle_share[0]
    assert f"{share * 100:.1f}" in page.locator("#analyses .result-table").inner_text()
    page.keyboard.press("ArrowLeft")
    assert tabs.nth(0).get_attribute("aria-selected") == "true"


def test_a_tree_is_indented_by_depth(standing: Standing) -> None:
    run = load_trace("h100_bert_small.json.gz")
    page = standing("h100_bert_small.json.gz").page
    page.get_by_role("tab", name="Tree", exact=True).click()
    rows = page.locator("#analyses .result-table tbody tr th")
    rows.first.wait_for()
    indents = """(all) => all.map((one) => parseFloat(getComputedStyle(one).paddingLeft)
        / parseFloat(getComputedStyle(document.documentElement).fontSize))"""
    depths = run.analyse("operator_tree").depth[:25].tolist()
    assert len(set(depths)) > 3
    found = rows.evaluate_all(indents)
    base = found[depths.index(1)] - 1
    assert found == pytest.approx([base + depth if depth else found[0] for depth in depths])
    assert found[depths.index(0)] < found[depths.index(1)]
    page.locator("#analyses").get_by_role("button", name="duration", exact=True).click()
    assert len(set(rows.evaluate_all(indents))) == 1, "sorted by a figure it is no tree"


def test_without_analyses_there_is_no_panel(browsing: Browsing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "find_verbs", dict)
    page = browsing.open(trace_data(load_trace("h100_bert_small.json.gz")))
    assert page.locator("#analyses").count() == 0
    assert page.locator(".bottleneck, #statistics").count() == 0, "views of recordings stay away"


def test_a_name_in_a_table_is_found_in_the_timeline(browsing: Browsing, with_panels: None) -> None:
    page = browsing.open(trace_data(load_trace("h100_bert_small.json.gz")))
    page.get_by_label("Search Nodes").fill("aten::addmm")
    page.locator("#analyses .result-table button.operation").first.click()
    assert timeline(browsing, "t.scene.bright.reduce((a, b) => a + b, 0)") == 1
    page.get_by_role("button", name="Next match").click()
    assert "aten::addmm" in page.locator(".span-name").inner_text()


def test_the_timeline_finds_a_kernel_and_its_launch(standing: Standing) -> None:
    run = load_trace("h100_bert_small.json.gz")
    browsing = standing("h100_bert_small.json.gz")
    page = browsing.page
    search = page.get_by_label("Find spans by name")
    search.fill("gemm")
    search.press("Enter")
    kernels = [i for i in range(len(run.spans)) if run.spans.kind[i] == KIND["kernel"]]
    first = min((i for i in kernels if "gemm" in run.string(run.spans.name[i])), key=lambda i: run.spans.start_ns[i])
    details = page.locator(".span-details")
    assert page.locator(".span-name").inner_text() == run.string(run.spans.name[first])
    text = details.inner_text().replace("\n", " ")
    assert f"correlation {run.spans.correlation[first]}" in text
    launch = run.tables.launches.span.tolist().index(first)
    grid = " × ".join(str(getattr(run.tables.launches, f"grid_{axis}")[launch]) for axis in "xyz")
    assert f"grid {grid}" in text
    details.get_by_role("button").first.click()
    assert "Launches" in details.inner_text()
    assert timeline(browsing, "t.scene.arrows.length") == 1
    page.locator("canvas.timeline").press("Enter")
    assert page.locator(".span-name").inner_text() == run.string(run.spans.name[first])


def test_python_functions_are_shown_on_demand(browsing: Browsing) -> None:
    page = open_trace(browsing, "h100_bert_small.json.gz")
    before = timeline(browsing, "t.scene.layout.height")
    page.get_by_label("Python functions").check()
    assert timeline(browsing, "t.scene.layout.height") > before
    whole = timeline(browsing, "t.scene.layout.height")
    y = timeline(browsing, "t.scene.layout.lanes[0].y") + 35
    page.locator("canvas.timeline").click(position={"x": 30, "y": y})
    assert timeline(browsing, "t.scene.layout.lanes[0].folded") is True
    assert timeline(browsing, "t.scene.layout.height") <= whole


def test_the_flame_graph_zooms_and_switches(standing: Standing) -> None:
    page = standing("h100_bert_small.json.gz").page
    flame = page.locator("#flame")
    readout = flame.locator(".readout")
    assert "device time 309 µs" in readout.inner_text(), "the sum of durations of all device work"
    page.get_by_role("button", name="Host time").click()
    assert page.get_by_role("button", name="Host time").get_attribute("aria-pressed") == "true"
    canvas = page.locator("canvas.flame")
    canvas.press("ArrowDown")
    assert readout.inner_text().startswith("thread ")
    canvas.press("Home")
    assert readout.inner_text().startswith("all: ")
    canvas.click(position={"x": 40, "y": 28})
    assert not readout.inner_text().startswith("all: ")
    flame.locator(".links").get_by_role("button", name="all").click()
    assert readout.inner_text().startswith("all: ")
    flame.get_by_label("Highlight names in the flame graph").fill("aten::")


LEFT_HEAVY = """(() => {
  const { flame, left, total } = g;
  const last = new Map();
  const order = [...total.keys()].slice(1).sort((a, b) => flame.parent[a] - flame.parent[b] || left[a] - left[b]);
  return order.every((row) => {
    const before = last.get(flame.parent[row]) ?? Infinity;
    last.set(flame.parent[row], total[row]);
    return total[row] <= before || flame.grouped[row] > 0;
  });
})()"""


def test_the_flame_graph_is_left_heavy_in_each_form(browsing: Browsing) -> None:
    page = open_trace(browsing, "h100_owlv2_with_stack.json.gz")
    for picture in ("Device time", "Host time"):
        page.get_by_role("button", name=picture).click()
        assert flame_graph(browsing, LEFT_HEAVY), picture
    browsing.settle()
    top = flame_graph(browsing, "g.boxes.find((box) => box.row === 0).top")
    page.get_by_label("Flames").check()
    browsing.settle()
    assert top == 0
    assert flame_graph(browsing, "g.boxes.find((box) => box.row === 0).top") == flame_graph(
        browsing, "Math.max(...g.boxes.map((box) => box.top))"
    )
    page.locator("canvas.flame").press("ArrowUp")  # to the longest callee, which is above now
    assert flame_graph(browsing, "g.flame.parent[g.focus]") == 0


def test_recursion_is_shown_as_one_node_on_demand(browsing: Browsing, standing: Standing) -> None:
    assert not standing("h100_bert_small.json.gz").page.get_by_label("Recursion as one").is_visible(), "there is none"
    page = open_trace(browsing, "cpu_only_no_schema.json.gz")
    whole, rows = flame_graph(browsing, "[g.total[0], g.total.length]")
    page.get_by_label("Recursion as one").check()
    assert flame_graph(browsing, "g.total[0]") == whole
    assert flame_graph(browsing, "g.total.length") < 0.99 * rows


def test_siblings_stand_in_the_order_in_which_they_began(browsing: Browsing) -> None:
    page = open_trace(browsing, "h100_bert_small.json.gz")
    table = load_trace("h100_bert_small.json.gz").analyse("flame", thresholds=FLAME)
    drawn = np.flatnonzero((table.total_device_ns > 0) & (table.grouped == 0))  # small ones as one stand last

    def siblings_begin_in_order() -> bool:
        left = np.array(flame_graph(browsing, "[...g.left]"))
        order = drawn[np.lexsort((left[drawn], table.parent[drawn]))]
        together = table.parent[order[1:]] == table.parent[order[:-1]]
        return bool((np.diff(table.first_ns[order])[together] >= 0).all())

    assert not siblings_begin_in_order(), "the widest stand left"
    page.get_by_label("Time order").check()
    assert siblings_begin_in_order()
    assert "siblings=time" in page.url
    page.reload()
    be_ready(page)
    assert page.get_by_label("Time order").is_checked()
    assert siblings_begin_in_order()


def test_a_flame_graph_alone(browsing: Browsing, tmp_path: Path) -> None:
    generator = FlameGraphGenerator()
    generator.export(generator.from_run(load_trace("h100_bert_small.json.gz")), tmp_path / "flame.html")
    go_to(browsing.page, (tmp_path / "flame.html").as_uri())
    ids = browsing.page.locator("main > section").evaluate_all("(all) => all.map((one) => one.id)")
    assert ids == ["limit", "flame", "anomalies"], "two spans of this trace overlap"
    assert browsing.page.locator(".notice").count() == 0, "no banner over a full flame graph"
    assert browsing.page.locator("h1").inner_text() == "Flame graph of h100_bert_small.json.gz"
    assert "device time 309 µs" in browsing.page.locator("#flame .readout").inner_text()
    bare = {"name": "all", "value": 5.0, "children": [{"name": HOSTILE, "value": 2.0, "children": []}]}
    generator.export(bare, tmp_path / "bare.html")
    go_to(browsing.page, (tmp_path / "bare.html").as_uri())
    browsing.page.locator("canvas.flame").press("ArrowDown")
    assert browsing.page.locator("#flame .readout").inner_text().startswith("</script>")


def test_a_timeline_alone(browsing: Browsing) -> None:
    run = load_trace("h100_bert_small.json.gz")
    page = browsing.open(timeline_data(run))
    ids = page.locator("main > section").evaluate_all("(all) => all.map((one) => one.id)")
    assert ids == ["limit", "timeline", "breakdown", "anomalies"]
    marks = (run.spans.duration_ns == 0) & (run.lanes.thread[run.spans.lane] < 0)
    last = int((run.spans.start_ns + run.spans.duration_ns)[~marks].max()) - run.start_ns
    assert timeline(browsing, "t.scene.view.end") == last, "the axis ends with the trace, not with a mark after it"
    shown = timeline(browsing, "t.scene.layout.lanes.map(({ lane }) => t.scene.lanes[lane].name)")
    assert "no thread" not in shown


def test_the_page_of_a_timeline_shows_its_figures(browsing: Browsing, tmp_path: Path) -> None:
    generator = TimelineGenerator()
    generator.generate_html_viewer(generator.from_run(load_trace("h100_bert_small.json.gz")), tmp_path / "t.html")
    go_to(browsing.page, (tmp_path / "t.html").as_uri())
    said = browsing.page.locator("#heading").inner_text()
    assert "total 4.87 ms, host active 4.87 ms, device active 309 µs, both at once 309 µs" in said


def test_hostile_names_are_text(browsing: Browsing, with_panels: None) -> None:
    columns = {
        "start_ns": np.array([0, 10, 30], dtype="int64"),
        "duration_ns": np.array([50, 10, 10], dtype="int64"),
        "name": np.array([1, 1, 1], dtype="uint32"),
        "kind": np.array([KIND["cpu_op"], KIND["runtime"], KIND["kernel"]], dtype="uint8"),
        "lane": np.array([0, 0, 1], dtype="uint32"),
        "parent": np.array([-1, 0, -1], dtype="int32"),
        "correlation": np.array([-1, 7, 7], dtype="int64"),
    }
    lanes = {key: np.array([1, 1], dtype="uint32") for key in ("name", "process_name", "label")}
    lanes["device"] = np.array([-1, 0], dtype="int16")
    operators = {"span": np.array([0], dtype="uint32"), "shapes": np.array([1], dtype="uint32")}
    environment = json.dumps({"deviceProperties": [{"name": HOSTILE}], HOSTILE: HOSTILE})
    tables = {"spans": columns, "lanes": lanes, "operators": operators}
    run: Run = Run._build(["", HOSTILE], tables, environment, "kineto", 0, 50, -1, True)
    page = browsing.open(trace_data(run, title=HOSTILE))
    assert page.locator("h1").inner_text().startswith("</script>")
    page.locator("#analyses .result-table button.operation").first.click()
    page.get_by_role("button", name="Next match").click()
    assert "</script>" in page.locator(".span-details").inner_text()
    page.locator("canvas.flame").press("ArrowDown")
    assert page.locator("img").count() == 0


def test_a_run_without_device_work_says_so(browsing: Browsing) -> None:
    columns = {"start_ns": np.zeros(1, dtype="int64"), "duration_ns": np.full(1, 5, dtype="int64")}
    columns["kind"] = np.array([_core.SPAN_KINDS.index("cpu_op")], dtype="uint8")
    lanes = {"device": np.full(1, -1, dtype="int16")}
    run: Run = Run._build([""], {"spans": columns, "lanes": lanes}, "{}", "kineto", 0, 5, -1, True)
    data = trace_data(run)
    page = browsing.open(data)
    said = page.locator("#breakdown" if data["limit"] is None else "#limit").inner_text()
    assert "no device work" in said or "No GPU work" in said
    assert page.locator("#flame").count() == 1


def test_work_has_the_same_colour_in_flame_graph_and_timeline(browsing: Browsing) -> None:
    open_trace(browsing, "a100_nccl_2024.json.gz")
    classes = "regimeter.spanKinds.CLASSES.map(({ key }) => key)"
    kernels = "g.flame.kinds[g.flame.kind[row]] === 'kernel' && g.flame.roles[g.flame.role[row]] === 'span'"
    at = f"[...g.flame.kind.keys()].filter((row) => {kernels})"
    pairs = flame_graph(browsing, f"{at}.map((row) => [g.label(row), {classes}[g.colorOf(row)]])")
    shown = {colour for name, colour in pairs if name.startswith("nccl")}
    assert shown == {"communication"}
    assert "compute" in {colour for _, colour in pairs}


def test_names_of_kernels_are_short_with_the_full_one_on_hover(browsing: Browsing) -> None:
    page = browsing.open(data_of("h100_bert_small.json.gz"), at="#page=kernels")
    cell = page.locator("#analyses tbody th button", has_text="add<").first
    assert " - " in cell.inner_text()
    full = cell.get_attribute("title")
    assert full is not None
    assert "at::native::" in full
    cell.click()
    assert page.evaluate("regimeter.current.selected") == full
