# SPDX-License-Identifier: Apache-2.0
"""Pages look as they were last looked at: pictures of real files against those that are kept (make screenshots)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import screenshots
from needed import need

pytestmark = pytest.mark.web

MOST = 0.02  # of the squares may differ: another version of the browser


@pytest.fixture(scope="module")
def half(context: Any) -> Iterator[Any]:
    made = context.browser.new_context(device_scale_factor=0.5)
    tab = made.new_page()
    fonts = tab.evaluate(screenshots.MEASURE)
    tab.close()
    kept = (screenshots.FOLDER / screenshots.FONTS).read_text(encoding="utf-8").strip()
    need("fonts", fonts == kept, f"a line of text measures {fonts} here, {kept} there")
    yield made
    made.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.mark.parametrize("shot", screenshots.SHOTS, ids=lambda shot: shot.name)
def test_a_page_looks_as_before(half: Any, folder: Path, tmp_path: Path, shot: screenshots.Shot) -> None:
    [(_, picture)] = screenshots.taken(half, folder, [shot])
    (tmp_path / shot.name).write_bytes(picture)
    kept = (screenshots.FOLDER / shot.name).read_bytes()
    tab = half.new_page()
    share = screenshots.difference(tab, kept, picture)
    tab.close()
    assert share <= MOST, f"{share:.1%} of it differs; now {tmp_path / shot.name}. As it should be: make screenshots"


def test_a_panel_that_is_gone_or_of_another_theme_is_seen(half: Any, folder: Path) -> None:
    pictures = dict(screenshots.taken(half, folder, [one for one in screenshots.SHOTS if one.width == 1280][:2]))
    light, dark = pictures.values()
    tab = half.new_page()
    assert screenshots.difference(tab, light, light) == 0
    assert screenshots.difference(tab, light, dark) > 0.5
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.goto(f"{(folder / 'h100_bert_small.json.gz.html').as_uri()}#page=overview")
    tab.wait_for_selector("html[data-ready]")
    tab.locator("#breakdown").evaluate("(one) => one.remove()")
    gone = tab.screenshot()
    tab.goto("about:blank")
    assert screenshots.difference(tab, light, gone) > MOST
    tab.close()


def test_all_pictures_are_used_and_small() -> None:
    kept = {path.name: path.stat().st_size for path in screenshots.FOLDER.glob("*.png")}
    assert set(kept) == {shot.name for shot in screenshots.SHOTS}
    assert sum(kept.values()) < 600_000
