# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page from report data: style, scripts and data inside, no network, no number computed here.

The page's parts are in ``regimeter/web``: ``page.html`` is the skeleton; the styles and scripts of the panels that the
page shows (``page_parts``) are inlined: the styles of the frame as they are, all others and the scripts compressed,
which a small script unpacks. The content-security policy names the hash of each and forbids everything else.
"""

import base64
import gzip
import hashlib
import html
import json
import os
import re
from pathlib import Path

from ..system.files import atomic_writer
from ..system.quantities import finite
from . import page_parts

MEDIA_TYPE = "text/html; charset=utf-8"
MOST_HEAD = 4_000  # bytes of a page in which its policy stands
UNREAD = str.maketrans("<>&{}", ".:,[]")
FOOT = "This page is complete in one file and opens no network connection."
FOOT_SENDS = "This page knows the server that it came from, and nobody else."
FOOT_ASKS = "This page asks the server that it came from for figures, and nobody else."
_STATED = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]*)"')


def render_html(
    data: dict[str, object] | None, *, title: str | None = None, home: tuple[str, str] | None = None
) -> str:
    """Return the page for report data (format ``regimeter.report``), as one HTML document.

    With ``data=None`` the page is the drop-in dashboard: it opens empty, reads any file that ``export_json`` wrote,
    plain or compressed, and has demo data, labelled as such. With ``live`` or ``tiles`` in the data it may ask the
    server that it came from, and nobody else. ``home`` (an address, and words for it) is where its header leads.
    ``title`` replaces the title that the data carries. Columns may be lists
    or anything with ``tolist()``; values that JSON cannot hold (NaN, infinities) become null, which the page shows as
    unavailable.
    """
    if data is not None and title is not None:
        data = {**data, "title": title}
    shown = title if data is None else data.get("title")
    asks = data is not None and ("live" in data or "tiles" in data)
    sends = data is not None and data.get("sends") is True
    carried = page_parts.parts_of(data)
    (style, more), app = page_parts.style(carried), page_parts.script(carried)
    loader = page_parts.texts()[page_parts.LOADER]
    slots = {
        "policy": _policy((style, more), (loader, app), connect=_from(asks or sends), forms=_from(sends)),
        "title": html.escape(_encodable(f"{shown} - regimeter" if shown else "regimeter")),
        # A server takes a form only from its own pages, which the browser says of those that may say where they are.
        "referrer": "same-origin" if sends else "no-referrer",
        "home": _link(home),
        "goto": _unless(data is not None),
        "copy": _unless(data is not None and _limit_of(data)),
        "style": style,
        "more": _packed(more),
        "app": _packed(app),
        "loader": loader,
        "data": "" if data is None else _embed(data),
        "foot": FOOT_SENDS if sends else FOOT_ASKS if asks else FOOT,
        "demo": "" if data is not None else _embed(json.loads(_read(page_parts.WEB / "demo-data.json"))),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: slots[slot[1]], _read(page_parts.WEB / "page.html"))


def write_html(data: dict[str, object] | None, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write the page to ``path``; a reader sees the old file or the whole new one, never a part.

    Raises ``OSError`` where the file cannot be written; an existing file is then unchanged.
    """
    text = render_html(data, title=title)
    with atomic_writer(path) as file:
        file.write(text)


def _packed(text: str) -> str:
    """The text compressed, five digits for four bytes, none of which HTML reads; loader.js has them too."""
    return base64.b85encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii").translate(UNREAD)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _encodable(text: str) -> str:
    """The text with lone surrogates (undecodable bytes of a file name) replaced, so that it can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _link(target: tuple[str, str] | None) -> str:
    """The link of the header to where the page was opened from, "" for a page that stands alone."""
    return '<a class="home" href="{}">{}</a>\n'.format(*map(html.escape, target)) if target else ""


def _unless(shown: bool) -> str:
    """The attribute of what is not shown at first: what comes later would move what is there."""
    return "" if shown else " hidden"


def _limit_of(data: dict[str, object]) -> bool:
    limit = data.get("limit")
    return isinstance(limit, dict) and bool(limit.get("sentence"))


def _from(allowed: bool) -> str:
    return "'self'" if allowed else "'none'"


def _policy(styles: tuple[str, str], scripts: tuple[str, str], *, connect: str, forms: str) -> str:
    """Content-security policy that allows exactly these styles and scripts, and to `connect` alone a connection, to
    `forms` alone a form."""

    def source(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(source, scripts))}",
            f"style-src {' '.join(map(source, styles))}",
            f"connect-src {connect}",
            "base-uri 'none'",
            f"form-action {forms}",
        )
    )


def policy_of(body: bytes) -> str:
    """Return the policy that a page states as a header says it; "" for what is no page."""
    found = _STATED.search(body, 0, MOST_HEAD)
    return f"{html.unescape(found[1].decode())}; frame-ancestors 'none'" if found else ""


def as_json(data: object) -> str:
    """Return a page's data as JSON, in which what JSON cannot hold is null."""
    try:
        return json.dumps(data, separators=(",", ":"), allow_nan=False, default=_listed)
    except ValueError:
        return json.dumps(_finite(data), separators=(",", ":"), allow_nan=False)


def _embed(data: object) -> str:
    """JSON that can stand inside a script element whatever the names in it are."""
    text = as_json(data)
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
        return finite(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return _finite(_listed(value))
