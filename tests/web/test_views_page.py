# SPDX-License-Identifier: Apache-2.0
"""Roofline and critical path of a page in a browser: what is drawn is what the analyses say, nothing overlaps."""

import re
from typing import Any

import pytest
from browsing import Browsing, data_of, timeline
from traces import load_trace

from regimeter.report.trace_data import timeline_data

pytestmark = pytest.mark.web

# Pairs of texts of the picture whose boxes overlap.
OVERPRINTED = """() => {
  const texts = [...document.querySelectorAll("svg.roofline text")];
  const boxes = texts.map((one) => [one.textContent, one.getBoundingClientRect()]);
  const before = (a, b) => a.right <= b.left + 1 || a.bottom <= b.top + 3;
  const over = (a, b) => !before(a, b) && !before(b, a);
  return boxes.flatMap(([text, a], i) => boxes.slice(i + 1).filter(([, b]) => over(a, b)).map(([two]) => [text, two]));
}"""


@pytest.mark.parametrize("width", [1366, 390])
def test_the_roofline_has_a_circle_for_each_known_kernel_and_overprints_nothing(browsing: Browsing, width: int) -> None:
    run = load_trace("h100_owlv2_with_stack.json.gz")
    data = data_of("h100_owlv2_with_stack.json.gz")
    browsing.page.set_viewport_size({"width": width, "height": 900})
    page = browsing.open(data)
    known = data["roofline"]["points"]["count"]
    circles = page.locator("#roofline .chart > svg > circle")
    assert circles.count() == known == 33
    assert page.locator("#roofline svg .roof").count() == len(data["roofline"]["roofs"])
    assert page.locator("#roofline svg .band").count() == len(data["roofline"]["roofs"])
    assert page.evaluate(OVERPRINTED) == []
    titles = page.locator("#roofline svg text.title").all_text_contents()
    assert titles == ["Arithmetic intensity, operations per byte (log)", "Reached, operations/s (log)"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "no sideways scrolling"
    assert "no measurement" in page.locator("#roofline").inner_text()
    page.locator("#roofline .chart > svg").press("ArrowRight")
    longest = next(row for row in run.kernel_regimes() if row["source"] != "none")
    said = page.locator("#roofline .readout").inner_text()
    assert said.startswith(f"1 {longest['name']}: ")
    assert page.locator("#roofline tbody tr").first.inner_text().split()[0] == "1"


def test_without_ceilings_the_roofline_says_what_to_run(browsing: Browsing) -> None:
    page = browsing.open(data_of("mi300_bert_small.json.gz"))
    assert page.locator("#roofline svg .roof").count() == 0
    assert page.locator("#roofline .chart > svg > circle").count() == 8
    assert "regimeter report RUN --ceilings FILE" in page.locator("#roofline").inner_text()
    page.locator("#roofline .chart > svg > circle").first.click()
    assert page.evaluate("regimeter.current.selected") == "attn_fwd"


def test_kernels_without_known_work_leave_a_sentence(browsing: Browsing) -> None:
    page = browsing.open(data_of("a100_event_sync.json.gz"))
    assert page.locator("#roofline svg").count() == 0
    assert "The work of 0 of 4 kernels is known" in page.locator("#roofline").inner_text()


def test_the_critical_path_is_drawn_and_told_and_can_be_switched_off(browsing: Browsing) -> None:
    run = load_trace("diff_a100_control.json.gz")
    page = browsing.open(timeline_data(run))
    path: Any = run.analyse("critical_path")
    ties: Any = run.analyse("critical_ties")
    assert timeline(browsing, "t.scene.path.along.duration_ns.reduce((a, b) => a + b, 0)") == path.duration_ns.sum()
    assert timeline(browsing, "t.scene.path.ties.duration_ns.reduce((a, b) => a + b, 0)") == ties.duration_ns.sum()
    box = page.get_by_role("checkbox", name=re.compile(f"Critical path and {ties.tie.max() + 1} near ties"))
    assert box.is_checked()
    browsing.settle()
    canvas = page.locator("canvas.timeline")
    on = canvas.evaluate("(c) => c.toDataURL()")
    box.uncheck()
    browsing.settle()
    assert canvas.evaluate("(c) => c.toDataURL()") != on
    box.check()
    browsing.settle()
    assert canvas.evaluate("(c) => c.toDataURL()") == on
    # The middle of the longest piece, below the name of its lane.
    place = timeline(
        browsing,
        """(() => {
          const { along } = t.scene.path;
          const i = along.duration_ns.indexOf(along.duration_ns.reduce((a, b) => Math.max(a, b), 0));
          const lane = t.scene.layout.lanes.find((one) => one.lane === along.lane[i]);
          const x = (along.start_ns[i] + along.duration_ns[i] / 2 - t.scene.view.start) * t.scale;
          const bottom = lane.y - t.scene.scroll + regimeter.timelineLayout.HEADING;
          return { x, y: regimeter.timelineCanvas.RULER + bottom - 2 };
        })()""",
    )
    page.locator("canvas.timeline").hover(position=place)
    assert "Critical path on this lane for" in page.locator(".tooltip").inner_text()


def test_what_is_typed_while_a_table_is_made_is_not_for_the_one_that_goes(browsing: Browsing) -> None:
    page = browsing.open(data_of("h100_owlv2_with_stack.json.gz"))
    inert = page.evaluate("""async () => {
        const second = document.querySelector("[role=tabpanel] .tools button + button");
        const body = second.closest("[role=tabpanel]").lastElementChild;
        const before = body.inert;
        second.click();
        const meanwhile = body.inert;
        while (body.inert) await new Promise(requestAnimationFrame);
        return [before, meanwhile, body.querySelectorAll("table").length];
    }""")
    assert inert == [False, True, 1]
