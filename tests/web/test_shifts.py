# SPDX-License-Identifier: Apache-2.0
"""While a page loads nothing that is seen moves: the browser's own count of layout shifts."""

import pytest
from browsing import Browsing
from test_accessible import MADE
from test_widths import KINDS

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


@pytest.mark.parametrize("width", [360, 1366])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_moves_while_a_page_loads(browsing: Browsing, kind: str, width: int) -> None:
    browsing.page.set_viewport_size({"width": width, "height": 800})
    page = browsing.open(KINDS[kind](), at="")
    browsing.settle()
    shifts = page.evaluate(SHIFTS)
    assert sum(score for score, _ in shifts) < GOOD, (kind, shifts)


def test_a_shift_is_counted(browsing: Browsing) -> None:
    page = browsing.open(MADE["recording"](), at="")
    browsing.settle()
    page.evaluate("document.querySelector('main').style.paddingTop = '200px'")
    browsing.settle()
    assert sum(score for score, _ in page.evaluate(SHIFTS)) > 10 * GOOD
