# SPDX-License-Identifier: Apache-2.0
"""The page as a document: one file, escaped data, a policy that fits, an atomic write. No browser needed."""

import base64
import gzip
import hashlib
import json
import os
import re
import stat
from array import array
from pathlib import Path
from typing import Any

import pytest
import report_data
from needed import package

from regimeter.report import html as page

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
    assert text.count("</script>") == 3
    assert embedded(text, "regimeter-data")["names"][0] == HOSTILE


def test_policy_names_exactly_the_inlined_style_and_script() -> None:
    text = page.render_html(report_data.report(steps=1))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "connect-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    for kind, tag in (("script-src", "script"), ("style-src", "style")):
        body = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert len(body) == 1
        wanted = base64.b64encode(hashlib.sha256(body[0].encode()).digest()).decode()
        assert f"{kind} 'sha256-{wanted}'" in policy[1]


def test_the_page_is_self_contained() -> None:
    text = page.render_html(None)
    assert not re.search(r"""(?:src|href)=["'](?!#)""", text)
    assert set(re.findall(r"https?://[^\"'\s)]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "{{" not in text.split("<script>")[0]


def test_long_timelines_are_packed_and_short_ones_are_not() -> None:
    data = report_data.many_spans(5_000)
    timeline = embedded(page.render_html(data), "regimeter-data")["timeline"]
    assert timeline["encoding"] == "gzip+base64"
    assert timeline["count"] == 5_000
    assert timeline["rule"] == data["timeline"]["rule"]
    for name, code in (
        ("start_ns", "d"),
        ("duration_ns", "d"),
        ("name", "I"),
        ("lane", "I"),
        ("depth", "I"),
        ("failed", "B"),
    ):
        column = array(code, gzip.decompress(base64.b64decode(timeline["columns"][name]["data"])))
        assert list(column) == data["timeline"][name]
    assert "encoding" not in data["timeline"], "the caller's data is not changed"
    assert page.render_html(data) == page.render_html(data), "the same data gives the same bytes"


def test_columns_may_be_numpy_arrays() -> None:
    numpy = package("numpy")
    data = report_data.report(steps=2)
    plain = page.render_html(data)
    data["timeline"]["start_ns"] = numpy.array(data["timeline"]["start_ns"], dtype=numpy.int64)
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
