# SPDX-License-Identifier: Apache-2.0
"""Every page of every kind on a phone and on a very wide screen: nothing that is seen moves while it loads, nothing
reaches beyond the window, no text is cut, and what is pressed is large enough for a finger."""

from collections.abc import Callable
from typing import Any

import pytest
import section_pages
from browsing import Browsing
from test_accessible import MADE

pytestmark = pytest.mark.web

GOOD = 0.01  # a tenth of what the Core Web Vitals call good (web.dev/cls)
# [score, what moved] of each shift so far.
SHIFTS = """() => new Promise((done) => {
    const named = ({ node }) => (node?.id || node?.className || node?.nodeName || "?");
    const found = ({ value, sources }) => [value, sources.map(named)];
    const observer = new PerformanceObserver((list) => done(list.getEntries().map(found)));
    observer.observe({ type: "layout-shift", buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done([]), 100)));
})"""
LEAST = 24  # pixels of a target: WCAG 2.2, 2.5.8
KINDS: dict[str, Callable[[], dict[str, Any]]] = MADE | {
    name: lambda name=name: section_pages.page_data(name)  # type: ignore[misc]
    for name in section_pages.PAGES
}
# What is too small, cut or out of the window; a label counts with its control, what scrolls by itself may be wider.
FAULTS = """([width, least]) => {
    const box = (node) => node.getBoundingClientRect();
    const shown = (node) => node.checkVisibility({ visibilityProperty: true });
    const seen = (node) => shown(node) && node.closest(".unseen, .skip") === null;
    const rolls = (node) => /auto|scroll/.test(getComputedStyle(node).overflowX);
    const scrolls = (node) => node !== null && (rolls(node) || scrolls(node.parentElement));
    const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
    const said = (what) => (node) => `${what}: ${node.outerHTML.slice(0, 160)}`;
    const wide = (node) => box(node).right > width + 1 && !scrolls(node.parentElement);
    const small = (node) => {
        const { width: across, height: up } = box(node.closest("label") ?? node);
        return across < least - 0.5 || up < least - 0.5;
    };
    const isText = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "";
    const holdsText = (node) => [...node.childNodes].some(isText);
    const cut = (node) => {
        const { overflowX, textOverflow } = getComputedStyle(node);
        const clips = /hidden|clip/.test(overflowX) && node.scrollWidth > node.clientWidth + 1;
        return clips && !(textOverflow === "ellipsis" && node.closest("[title]") !== null);
    };
    const beyond = (text) => {
        const [own, whole] = [box(text), box(text.ownerSVGElement)];
        return own.right > whole.right + 1.5 || own.left < whole.left - 1.5 || own.bottom > whole.bottom + 1.5;
    };
    const html = all("main *, header *").filter((node) => !(node instanceof SVGElement) && holdsText(node));
    const { scrollWidth } = document.documentElement;
    return [
        ...(scrollWidth > width ? [`the document is ${scrollWidth} wide`] : []),
        ...all("a, button, input, select, summary").filter(small).map(said("small")),
        ...all("main *, header *").filter(wide).map(said("out of the window")),
        ...html.filter(cut).map(said("cut")),
        ...all("svg text").filter(beyond).map(said("cut")),
    ];
}"""


@pytest.mark.parametrize("width", [360, 2560])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_moves_and_everything_is_there_and_can_be_pressed(browsing: Browsing, kind: str, width: int) -> None:
    browsing.page.set_viewport_size({"width": width, "height": 800})
    page = browsing.open(KINDS[kind](), at="")
    browsing.settle()
    shifts = page.evaluate(SHIFTS)
    assert sum(score for score, _ in shifts) < GOOD, (kind, shifts)
    links = page.locator("#nav a")
    for at in range(max(1, links.count() - 1)):  # the last page is all of them
        if links.count():
            links.nth(at).click()
        browsing.settle()
        assert page.evaluate(FAULTS, [width, LEAST]) == [], page.title()


def test_a_shift_and_a_fault_are_found(browsing: Browsing) -> None:
    browsing.page.set_viewport_size({"width": 360, "height": 800})
    page = browsing.open(MADE["recording"](), at="")
    browsing.settle()
    page.evaluate("document.querySelector('main').style.paddingTop = '200px'")
    browsing.settle()
    assert sum(score for score, _ in page.evaluate(SHIFTS)) > 10 * GOOD
    page.evaluate(
        """() => {
            const long = (text) => text.repeat(60);
            const html = `<button>i</button><p>${long("long")}</p><p id="cut" class="clip">${long("cut ")}</p>`;
            document.querySelector("main section").insertAdjacentHTML("beforeend", html);
            const [button, wide] = document.querySelectorAll("main section:first-child > :is(button, button + p)");
            Object.assign(button.style, { minHeight: "8px", padding: "0" });
            wide.style.whiteSpace = "pre";
        }"""
    )
    found = " ".join(page.evaluate(FAULTS, [360, LEAST]))
    assert "the document is" in found
    assert "small: <button" in found
    assert 'cut: <p id="cut"' in found
