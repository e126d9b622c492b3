# SPDX-License-Identifier: Apache-2.0
"""A name leads anywhere (Ctrl-K), the first screen is copied, a node has callers and callees, lanes are pinned."""

import shlex
from typing import Any

import pytest
import report_data
from browsing import Browsing, be_ready, data_of, flame_graph, timeline

pytestmark = pytest.mark.web

TRACE = "h100_bert_small.json.gz"
NODE = "sgemm"


def finder(browsing: Browsing, typed: str, at: str = "") -> Any:
    page = browsing.open(data_of(TRACE), at=at)
    page.keyboard.press("Control+k")
    page.keyboard.type(typed)
    return page


def test_a_page_is_found_by_keys_alone(browsing: Browsing) -> None:
    page = finder(browsing, "idle and")
    assert page.get_by_role("option", selected=True).inner_text().split("\n")[0] == "Idle and launches"
    page.keyboard.press("Enter")
    browsing.until("location.hash === '#page=idle'")
    page.locator("dialog").wait_for(state="detached")
    page.go_back()
    browsing.until("location.hash === ''")


def test_a_table_and_the_longest_span_of_a_kernel_are_found(browsing: Browsing) -> None:
    page = finder(browsing, "queue series table")
    page.keyboard.press("Enter")
    page.locator("#analyses .tab[aria-selected=true]", has_text="Queue series").wait_for()
    page = finder(browsing, "kernel gemm")
    named = page.get_by_role("option").first
    wanted = named.get_attribute("title")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    browsing.until("location.hash.includes('sel=')")
    assert timeline(browsing, "t.scene.names[t.scene.line.name[t.scene.selected]]") == wanted
    longest = "Math.max(...[...t.scene.line.name.keys()].filter((i) => t.scene.line.name[i] === n).map((i) => d[i]))"
    same = f"((n, d) => d[t.scene.selected] === {longest})(t.scene.line.name[t.scene.selected], t.scene.line.duration)"
    assert timeline(browsing, same)


def test_an_operation_of_a_recording_is_chosen_and_any_letters_are_looked_for(browsing: Browsing) -> None:
    page = browsing.open(report_data.report(), at="")
    page.get_by_role("button", name="Go to").click()
    page.keyboard.type("forward operation")
    page.keyboard.press("Enter")
    browsing.until("regimeter.current.selected === 'forward'")
    page.keyboard.press("Control+k")
    page.keyboard.type("backw")
    page.get_by_role("option", name="in the timeline").click()
    browsing.until("document.querySelector('#timeline input[type=search]').value === 'backw'")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")


def test_the_first_screen_is_copied(browsing: Browsing) -> None:
    data = data_of(TRACE)
    page = browsing.open(data, at="")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    control = page.get_by_role("button", name="Copy summary")
    control.click()
    page.get_by_role("button", name="Copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith(f"**{data['limit']['sentence']}**\n")
    assert [one["title"] in text for one in data["limit"]["actions"]] == [True] * len(data["limit"]["actions"])
    command = shlex.split(text.strip().splitlines()[-1].removeprefix("Next: `").removesuffix("`"))
    table = next(one["table"] for one in data["limit"]["actions"] if one["table"])
    assert command[:2] == ["regimeter", table]
    assert command[2].endswith(TRACE)
    page.context.clear_permissions()


def test_where_the_clipboard_is_kept_the_text_is_shown(browsing: Browsing) -> None:
    page = browsing.open(data_of(TRACE), at="")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
    page.get_by_role("button", name="Copy summary").click()
    text = page.get_by_label("Summary as Markdown").input_value()
    assert data_of(TRACE)["limit"]["sentence"] in text
    assert page.evaluate("getSelection().toString()") == text


def test_callers_and_callees_of_a_node(browsing: Browsing) -> None:
    page = browsing.open(data_of("v100_ddp_large.json.gz"), at="#page=kernels")
    find = f"[...g.total.keys()].filter((row) => g.label(row).includes('{NODE}') && g.total[row] > 0)"
    name = flame_graph(browsing, f"(() => {{ const row = {find}[0]; g.zoom(row); return g.label(row); }})()")
    page.get_by_label("Callers and callees").check()
    browsing.settle()
    assert page.evaluate("location.hash").endswith("&form=sandwich")
    halves = "regimeter.current.handles.find((handle) => handle.sandwich).sandwich.halves"
    same = f"[...g.total.keys()].filter((row) => g.label(row) === {name!r}).reduce((sum, row) => sum + g.total[row], 0)"
    whole = flame_graph(browsing, same)
    assert page.evaluate(f"{halves}.map((half) => half.total[0])") == [whole, whole], "no place is inside another"
    callers = page.evaluate(f"(({{ flame, total }}) => [[...flame.parent], [...total]])({halves}[0])")
    first = [time for parent, time in zip(*callers, strict=True) if parent == 0]
    assert sum(first) == whole, "those who call it have all of it"
    painted = page.locator(".sandwich canvas").first.evaluate(
        "(c) => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    )
    assert painted > 4
    page.reload()
    be_ready(page)
    assert page.locator(".sandwich").is_visible()
    assert page.evaluate(f"{halves}[0].label(0)") == name
    page.evaluate(f"{halves}[0].zoom(1)")
    assert page.evaluate(f"{halves}[1].label(0)") != name
    page.get_by_role("button", name="Show all").last.click()
    assert page.locator(".sandwich").is_hidden()


def test_a_pinned_lane_stays_at_the_top(browsing: Browsing) -> None:
    page = browsing.open(data_of("v100_ddp_large.json.gz"), at="#page=trace")
    browsing.settle()
    lane = timeline(browsing, "t.scene.layout.lanes.at(-1).lane")
    span = timeline(browsing, f"t.scene.line.lane.indexOf({lane})")
    timeline(browsing, f"t.choose({span}, false)")
    page.locator("canvas.timeline").focus()
    page.keyboard.press("Shift+P")
    browsing.until(f"location.hash.includes('pin={lane}')")
    assert timeline(browsing, "t.scene.layout.lanes[0].lane") == lane
    timeline(browsing, "(t.scene.scroll = 0, t.scroll(40))")
    browsing.settle()
    top = timeline(browsing, "t.headingAt(30).lane")
    assert top == lane, "it does not scroll"
    page.reload()
    be_ready(page)
    browsing.settle()
    assert timeline(browsing, "[...t.pinned]") == [lane]
    box = page.locator("canvas.timeline").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 36)
    browsing.until("!location.hash.includes('pin=')")
    assert timeline(browsing, "t.scene.layout.fixed") == 0
    assert timeline(browsing, "t.folded.size") == 0
