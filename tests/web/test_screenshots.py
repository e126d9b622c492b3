# SPDX-License-Identifier: Apache-2.0
"""Pages look as they were last looked at: pictures of real files against those that are kept (make screenshots)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import screenshots
from browsing import go_to
from needed import need

pytestmark = pytest.mark.web

MOST = 0.02  # of the squares may differ: another version of the browser


@pytest.fixture(scope="module")
def half(context: Any) -> Iterator[Any]:
    made = context.browser.new_context(device_scale_factor=0.5)
    fonts = made.new_page().evaluate(screenshots.MEASURE)
    kept = (screenshots.FOLDER / screenshots.FONTS).read_text(encoding="utf-8").strip()
    need("fonts", fonts == kept, f"a line of text measures {fonts} here, {kept} there")
    yield made
    made.close()


@pytest.fixture(scope="module")
def blank(half: Any) -> Any:
    """Return a tab that compares pictures."""
    return half.new_page()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.mark.parametrize("name", sorted({shot.file for shot in screenshots.SHOTS}))
def test_a_page_looks_as_before(half: Any, blank: Any, folder: Path, tmp_path: Path, name: str) -> None:
    differs = []
    for shot, picture in screenshots.taken(half, folder, [one for one in screenshots.SHOTS if one.file == name]):
        share = screenshots.difference(blank, (screenshots.FOLDER / shot.name).read_bytes(), picture)
        if share > MOST:
            (tmp_path / shot.name).write_bytes(picture)
            differs.append(f"{share:.1%} of {shot.name} differs; now {tmp_path / shot.name}")
    assert differs == [], "as it should be: make screenshots"


def test_a_panel_that_is_gone_or_of_another_theme_is_seen(half: Any, blank: Any, folder: Path) -> None:
    pictures = dict(screenshots.taken(half, folder, [one for one in screenshots.SHOTS if one.width == 1280][:2]))
    light, dark = pictures.values()
    assert screenshots.difference(blank, light, light) == 0
    assert screenshots.difference(blank, light, dark) > 0.5
    tab = half.new_page()
    tab.set_viewport_size({"width": 1280, "height": 900})
    go_to(tab, f"{(folder / 'h100_bert_small.json.gz.html').as_uri()}#page=overview")
    tab.locator("#breakdown").evaluate("(one) => one.remove()")
    assert screenshots.difference(blank, light, tab.screenshot()) > MOST
    tab.close()


def test_all_pictures_are_used_and_small() -> None:
    kept = {path.name: path.stat().st_size for path in screenshots.FOLDER.glob("*.png")}
    assert set(kept) == {shot.name for shot in screenshots.SHOTS}
    assert sum(kept.values()) < 1_400_000
