# SPDX-License-Identifier: Apache-2.0
"""A page carries the styles of what it shows: with all the others beside them it looks the same."""

from typing import Any

import pytest
from browsing import Browsing
from test_accessible import MADE

from regimeter.report import page_parts

pytestmark = pytest.mark.web

LOOK = """() => {
  const styles = ["display", "padding", "fontSize", "fontWeight", "color", "gridTemplateColumns"];
  const look = (node) => styles.map((name) => getComputedStyle(node)[name]).join();
  return [...document.querySelectorAll("main *, header *")]
    .filter((node) => node.checkVisibility())
    .map((node) => `${node.tagName} ${node.getAttribute("class")}: ${look(node)}`);
}"""


def looks(browsing: Browsing, data: dict[str, Any]) -> list[list[str]]:
    """Return how everything looks on the first page and on the last, which has all."""
    page = browsing.open(data, at="")
    found, links = [], page.locator("#nav a")
    assert links.last.inner_text() == "All on one page"
    for link in (links.first, links.last):
        link.click()
        browsing.settle()
        found.append(page.evaluate(LOOK))
    return found


@pytest.mark.parametrize("kind", MADE)
def test_what_is_shown_has_its_style(browsing: Browsing, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    data = MADE[kind]()
    alone = looks(browsing, data)
    assert sum(map(len, alone)) > 500
    style = page_parts.style
    monkeypatch.setattr(page_parts, "style", lambda parts: style(page_parts.parts_of(None)))
    assert alone == looks(browsing, data)
