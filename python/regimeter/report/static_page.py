# SPDX-License-Identifier: Apache-2.0
"""Reports as static pages: no script, no network, every name escaped."""

import base64
import hashlib
from collections.abc import Iterable
from html import escape

STYLE = """
:root { color-scheme: light dark; --line: #8884; --compute: #2a78d6; --communication: #d9822b; --memory: #7a5bc2;
 --idle: #9aa0a6; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: right; padding: .25rem .5rem;
 border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; vertical-align: top; }
th, td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 12rem; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .5em; }
.scroll { overflow-x: auto; }
svg { width: 100%; height: 2rem; display: block; }
.compute { fill: var(--compute); } .communication { fill: var(--communication); } .memory { fill: var(--memory); }
.idle { fill: var(--idle); } .reserved { fill: var(--line); } svg.map { height: auto; }
.key.compute { background: var(--compute); } .key.communication { background: var(--communication); }
.key.memory { background: var(--memory); } .key.idle { background: var(--idle); } .note { opacity: .75; }
.under { display: block; font-size: .87rem; opacity: .8; }
@media print { body { max-width: none; margin: 0; } }
"""
UNAVAILABLE = "unavailable"


class Markup(str):
    """Text of a table's cell that is escaped already and stands as it is."""

    __slots__ = ()


def page(title: str, body: str, *, head: str = "", forms: str = "'none'", style: str = "") -> str:
    """Return the page around sections that are escaped already; the title is not.

    head: further elements of the head. style: further rules. forms: where forms may be sent, as the content-security
    policy names it.
    """
    rules = STYLE + style
    digest = base64.b64encode(hashlib.sha256(rules.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action {forms}"
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n{head}<style>{rules}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def lines(title: str, found: Iterable[str], nothing: str) -> str:
    """Return a section with a list; without any, what is said of that."""
    items = "".join(f"<li>{escape(line)}</li>" for line in found)
    return f"<h2>{title}</h2>" + (f"<ul>{items}</ul>" if items else f'<p class="note">{nothing}</p>')


def table(title: str, header: Iterable[str], rows: Iterable[Iterable[str]], nothing: str = "None in the trace.") -> str:
    """Return a section with a table; without a title, the table alone."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    heading = f"<h2>{title}</h2>" if title else ""
    if not body:
        return f'{heading}<p class="note">{escape(nothing)}</p>'
    made = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'{heading}<div class="scroll">{made}</div>'


def _cell(text: str) -> str:
    return text if isinstance(text, Markup) else escape(text)
