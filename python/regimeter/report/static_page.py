# SPDX-License-Identifier: Apache-2.0
"""Reports as static pages: no script, no network, every name escaped."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape

from .page_parts import texts

# Colours and sizes are the tokens of all pages (css/tokens.css).
STYLE = """
html { background: var(--surface); color: var(--text); }
body { font: var(--type-3)/1.4 var(--font); max-width: 70rem; margin: 32px auto; padding: 0 16px;
 overflow-wrap: anywhere; }
h1 { font-size: var(--type-5); font-weight: 600; } h2 { font-size: var(--type-4); font-weight: 600; margin-top: 32px; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: right; padding: 4px 8px;
 border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; vertical-align: top; }
th, td { white-space: nowrap; } th { font-weight: 600; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 12rem; }
td.text { text-align: left; white-space: normal; min-width: 14rem; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .5em; }
.scroll { overflow-x: auto; }
svg { width: 100%; height: 2rem; display: block; }
.compute { fill: var(--compute); } .communication { fill: var(--communication); } .memory { fill: var(--copies); }
.idle { fill: var(--idle-line); } .reserved { fill: var(--line); } svg.map { height: auto; }
.key.compute { background: var(--compute); } .key.communication { background: var(--communication); }
.key.memory { background: var(--copies); } .key.idle { background: var(--idle-line); } .note { color: var(--muted); }
.under { display: block; font-size: var(--type-1); color: var(--muted); }
a { color: var(--accent); }
@media print { body { max-width: none; margin: 0; } }
"""
UNAVAILABLE = "unavailable"
TOKENS = "css/tokens.css"
SENTENCE = 24  # characters: a longer cell of words is broken into lines


class Markup(str):
    """Text of a table's cell that is escaped already and stands as it is."""

    __slots__ = ()


def page(title: str, body: str, *, head: str = "", forms: str = "'none'", style: str = "") -> str:
    """Return the page around sections that are escaped already; the title is not.

    head: further elements of the head. style: further rules. forms: where forms may be sent, as the content-security
    policy names it.
    """
    rules = texts()[TOKENS] + STYLE + style
    digest = base64.b64encode(hashlib.sha256(rules.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action {forms}"
    text = (
        '<!DOCTYPE html>\n<html lang="en" data-ready="1">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n{head}<style>{rules}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def lines(title: str, found: Iterable[str], nothing: str) -> str:
    """Return a section with a list; without any, what is said of that. Without a title, the list alone."""
    items = "".join(f"<li>{escape(line)}</li>" for line in found)
    return _heading(title) + (f"<ul>{items}</ul>" if items else f'<p class="note">{escape(nothing)}</p>')


def table(title: str, header: Sequence[str], rows: Iterable[Iterable[str]], nothing: str = "None in the trace.") -> str:
    """Return a section with a table; without a title, the table alone. Without names of columns it has no head."""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    if not body:
        return f'{_heading(title)}<p class="note">{escape(nothing)}</p>'
    names = "".join(f'<th scope="col">{escape(cell)}</th>' if cell else "<td></td>" for cell in header)
    head = f"<thead><tr>{names}</tr></thead>" if any(header) else ""
    label = escape(title or ", ".join(filter(None, header)))
    # What may be wider than the screen is reached by keys, too.
    scrolled = f'<div class="scroll" tabindex="0" role="group" aria-label="{label}">'
    return f"{_heading(title)}{scrolled}<table>{head}<tbody>{body}</tbody></table></div>"


def _heading(title: str) -> str:
    return f"<h2>{escape(title)}</h2>" if title else ""


def _cell(text: str) -> str:
    if isinstance(text, Markup):
        return f"<td>{text}</td>"
    return f"<td{' class=text' if len(text) > SENTENCE and ' ' in text else ''}>{escape(text)}</td>"
