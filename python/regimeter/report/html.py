# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page from report data: style, scripts and data inside, no network, no number computed here.

The page's parts are in ``regimeter/web``: ``page.html`` is the skeleton, ``css/*.css`` and ``js/**/*.js`` are inlined
as one style and one script. The content-security policy names the hash of each and forbids everything else.
"""

import base64
import gzip
import hashlib
import html
import json
import math
import os
import re
import sys
from array import array
from pathlib import Path

from .files import atomic_writer

WEB = Path(__file__).resolve().parent.parent / "web"

# What must come first and last; all others are independent of order.
_FIRST_SCRIPTS = ("dom.js", "units.js")
_LAST_SCRIPTS = ("main.js",)
_FIRST_STYLES = ("tokens.css", "base.css", "layout.css")
_LAST_STYLES = ("print.css",)

# Type of each timeline column when it is packed: array typecode and the name that the page knows.
_COLUMN_TYPES = {
    "start_ns": ("d", "f64"),
    "duration_ns": ("d", "f64"),
    "name": ("I", "u32"),
    "lane": ("I", "u32"),
    "depth": ("I", "u32"),
    "failed": ("B", "u8"),
}
_PACK_FROM = 2_000  # spans; below it, plain lists are small and can be read by eye


def render_html(data: dict[str, object] | None, *, title: str | None = None) -> str:
    """Return the page for report data (format ``regimeter.report``), as one HTML document.

    With ``data=None`` the page is the drop-in dashboard: it opens with demo data, labelled as such, and reads any file
    that ``export_json`` wrote. ``title`` replaces the title that the data carries. Columns may be lists or anything
    with ``tolist()``; values that JSON cannot hold (NaN, infinities) become null, which the page shows as unavailable.
    """
    if data is not None and title is not None:
        data = {**data, "title": title}
    shown = title if data is None else data.get("title")
    style, script = _style(), _script()
    parts = {
        "policy": _policy(style, script),
        "title": html.escape(_encodable(f"{shown} - regimeter" if shown else "regimeter")),
        "style": style,
        "script": script,
        "data": "" if data is None else _embed(_with_packed_timeline(data)),
        "demo": "" if data is not None else _embed(json.loads(_read(WEB / "demo-data.json"))),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], _read(WEB / "page.html"))


def write_html(data: dict[str, object] | None, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write the page to ``path``; a reader sees the old file or the whole new one, never a part.

    Raises ``OSError`` where the file cannot be written; an existing file is then unchanged.
    """
    text = render_html(data, title=title)
    with atomic_writer(path) as file:
        file.write(text)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _encodable(text: str) -> str:
    """The text with lone surrogates (undecodable bytes of a file name) replaced, so that it can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _style() -> str:
    """All style sheets in a fixed order."""
    found = {path.name: path for path in sorted((WEB / "css").glob("*.css"))}
    middle = [name for name in found if name not in _FIRST_STYLES + _LAST_STYLES]
    return "\n".join(_read(found[name]) for name in (*_FIRST_STYLES, *middle, *_LAST_STYLES))


def _script() -> str:
    """All scripts: what others take at load, the other parts, the views that use them, the start."""
    found = {path.name: path for path in sorted((WEB / "js").glob("*.js"))}
    middle = [name for name in found if name not in _FIRST_SCRIPTS + _LAST_SCRIPTS]
    ordered = [found[name] for name in (*_FIRST_SCRIPTS, *middle)] + sorted((WEB / "js/views").glob("*.js"))
    text = "\n".join(_read(path) for path in [*ordered, *(found[name] for name in _LAST_SCRIPTS)])
    if "</script" in text.lower() or "<!--" in text:
        raise AssertionError("a script in regimeter/web contains markup that would end its element")
    return text


def _policy(style: str, script: str) -> str:
    """Content-security policy that allows exactly this style and this script, and no connection."""

    def source(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {source(script)}",
            f"style-src {source(style)}",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _embed(data: object) -> str:
    """JSON that can stand inside a script element whatever the names in it are."""
    try:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=_listed)
    except ValueError:
        text = json.dumps(_finite(data), separators=(",", ":"), allow_nan=False)
    # Non-ASCII (with it U+2028) is escaped by json; these three could end the element or open a comment or a reference.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _listed(value: object) -> object:
    """Array scalars and columns (NumPy and the like) as plain numbers and lists."""
    tolist = getattr(value, "tolist", None)
    if tolist is None:
        raise TypeError(f"report data holds {type(value).__name__}, which JSON has no form for")
    return tolist()


def _finite(value: object) -> object:
    """A copy in which NaN and infinities are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return _finite(_listed(value))


def _with_packed_timeline(data: dict[str, object]) -> dict[str, object]:
    """The same data with a long timeline's columns packed; the caller's dictionary is not changed."""
    timeline = data.get("timeline")
    if not isinstance(timeline, dict) or "encoding" in timeline or len(timeline.get("start_ns", ())) < _PACK_FROM:
        return data
    rest = {key: value for key, value in timeline.items() if key not in _COLUMN_TYPES}
    columns = {
        name: {"type": label, "data": _packed(array(code, timeline[name]))}
        for name, (code, label) in _COLUMN_TYPES.items()
    }
    packed = {**rest, "encoding": "gzip+base64", "count": len(timeline["start_ns"]), "columns": columns}
    return {**data, "timeline": packed}


def _packed(column: "array[float] | array[int]") -> str:
    """Base64 of gzip of the column's little-endian bytes."""
    if sys.byteorder == "big":
        column.byteswap()
    return base64.b64encode(gzip.compress(column.tobytes(), compresslevel=6, mtime=0)).decode("ascii")
