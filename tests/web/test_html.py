# SPDX-License-Identifier: Apache-2.0
"""The page as a document: one file, escaped data, a policy that fits, an atomic write. No browser needed."""

import base64
import gzip
import hashlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import report_data
from needed import package
from traces import load_trace

from regimeter.report import html as page
from regimeter.report import page_parts
from regimeter.report.trace_data import trace_data

AS_READ = str.maketrans(".:,[]", "<>&{}")
HOSTILE = "</script><img src=x onerror=alert(1)><!-- \u2028 & \ud800"


def embedded(text: str, element: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{element}">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1]) if found[1] else None


def test_data_comes_back_unchanged() -> None:
    data = report_data.report()
    assert embedded(page.render_html(data), "regimeter-data") == data
    assert embedded(page.render_html(data), "regimeter-demo") is None


def test_without_data_it_is_the_dashboard_with_demo_data() -> None:
    text = page.render_html(None)
    assert embedded(text, "regimeter-data") is None
    assert embedded(text, "regimeter-demo") == report_data.report()


def test_hostile_names_cannot_leave_their_element() -> None:
    data = report_data.report(steps=1)
    data["summary"][0]["operation"] = data["names"][0] = data["title"] = HOSTILE
    text = page.render_html(data)
    assert "<img src=x" not in text
    assert "\u2028" not in text.split("</style>")[1]
    assert text.count("<!--") == 0
    assert text.count("</script>") == 5
    assert embedded(text, "regimeter-data")["names"][0] == HOSTILE


def test_policy_names_exactly_the_inlined_style_and_script() -> None:
    text = page.render_html(report_data.report(steps=1))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "connect-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    style, loader = (re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("style", "script"))
    packed = re.findall(r'<script type="text/plain" id="regimeter-(?:style|app)">(.*?)</script>', text)
    more, app = (gzip.decompress(base64.b85decode(one.translate(AS_READ))).decode() for one in packed)

    def source(body: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() + "'"

    assert (len(style), len(loader)) == (1, 1)
    assert f"script-src {source(loader[0])} {source(app)};" in policy[1]
    assert f"style-src {source(style[0])} {source(more)};" in policy[1]


def carried(text: str) -> int:
    """Return how many bytes of a page are its scripts and styles, as they stand in it."""
    found = re.findall(r'<(script(?! type="application/json")[^>]*|style)>(.*?)</', text, re.DOTALL)
    return sum(len(body.encode()) for _, body in found)


@pytest.mark.parametrize("kind", ["recording", "trace"])
def test_a_report_carries_no_more_than_it_shows(kind: str) -> None:
    data = report_data.report() if kind == "recording" else trace_data(load_trace("h100_bert_small.json.gz"))
    size = carried(page.render_html(data))
    assert size < 110_000
    assert size < carried(page.render_html(None))
    parts = page_parts.parts_of(data)
    assert "js/views/timeline.js" in parts
    assert ("js/views/statistics.js" in parts) == (kind == "recording")
    assert ("js/views/regimes.js" in parts) == (kind == "trace")
    assert not {"js/adapter_profile.js", "js/adapter_comparison.js"} & set(parts)


def test_the_manifest_names_every_script_and_style_and_the_dashboard_carries_them() -> None:
    source = Path(__file__).resolve().parents[2] / "python/regimeter/web"
    names = {path.relative_to(source).as_posix() for path in [*source.glob("js/**/*.js"), *source.glob("css/*.css")]}
    assert set(page_parts.parts_of(None)) == names - {page_parts.LOADER}
    assert set(page_parts.texts()) == names, "the package is of an older source: make package"


def test_the_page_is_self_contained() -> None:
    text = page.render_html(None)
    assert not re.search(r"""(?:src|href)=["'](?!#)""", text)
    carried = text + page_parts.script(page_parts.parts_of(None))
    assert set(re.findall(r"https?://[^\"'\s)]+", carried)) == {"http://www.w3.org/2000/svg"}
    assert "{{" not in text.split("<script>")[0]


def test_columns_may_be_numpy_arrays() -> None:
    numpy = package("numpy")
    data = report_data.report(steps=2)
    plain = page.render_html(data)
    columns = data["timeline"]["columns"]
    columns["start_ns"] = numpy.array(columns["start_ns"], dtype=numpy.int64)
    data["summary"][0]["total_ns"] = numpy.int64(data["summary"][0]["total_ns"])
    assert page.render_html(data) == plain


def test_what_json_cannot_hold_becomes_unavailable() -> None:
    data = report_data.report(steps=1)
    data["summary"][0]["cv"] = float("nan")
    data["summary"][0]["max_ns"] = float("inf")
    row = embedded(page.render_html(data), "regimeter-data")["summary"][0]
    assert row["cv"] is None
    assert row["max_ns"] is None
    data["summary"][0]["cv"] = object()
    with pytest.raises(TypeError, match="object"):
        page.render_html(data)


def test_title_is_escaped_and_replaces_the_one_of_the_data() -> None:
    text = page.render_html(report_data.report(steps=1), title="a <b> & c")
    assert "<title>a &lt;b&gt; &amp; c - regimeter</title>" in text
    assert embedded(text, "regimeter-data")["title"] == "a <b> & c"
    assert "<title>regimeter</title>" in page.render_html(None)


def test_write_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "report.html"
    page.write_html(report_data.report(steps=1), target)
    first = target.read_bytes()
    assert first.decode() == page.render_html(report_data.report(steps=1))
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        page.write_html(report_data.report(steps=2), target)
    assert target.read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_write_follows_a_link_and_the_umask(tmp_path: Path) -> None:
    real, link = tmp_path / "real.html", tmp_path / "link.html"
    real.write_text("old")
    link.symlink_to(real)
    page.write_html(None, link)
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8").startswith("<!doctype html>")
    plain = tmp_path / "plain"
    plain.write_text("")
    assert stat.S_IMODE(real.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_missing_directory_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        page.write_html(None, tmp_path / "absent" / "report.html")
