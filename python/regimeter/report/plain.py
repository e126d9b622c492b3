# SPDX-License-Identifier: Apache-2.0
"""The forms without scripts: tables in a notebook's cell, and a page of one sentence where a server has nothing else.

Every name is escaped. All other pages are those of ``html.py``.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape

from .page_parts import texts

TOKENS = "css/tokens.css"  # colours and sizes of all pages
STYLE = """
html { background: var(--background); color: var(--text); }
body { font: var(--type-3)/1.4 var(--font); max-width: 44rem; margin: 48px auto; padding: 0 16px; }
main { padding: 16px 24px; border: 1px solid var(--line); border-radius: var(--radius); background: var(--surface); }
h1 { font-size: var(--type-5); font-weight: 600; } p { overflow-wrap: anywhere; } a { color: var(--accent); }
"""


def sentence_page(title: str, sentence: str, link: tuple[str, str]) -> str:
    """Return a page that says one thing and where to go. link: the address and the words for it."""
    rules = texts()[TOKENS] + STYLE
    digest = base64.b64encode(hashlib.sha256(rules.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    address, words = link
    text = (
        '<!doctype html>\n<html lang="en" data-ready="1">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{rules}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>"
        f'<p>{escape(sentence)}</p><p><a href="{escape(address)}">{escape(words)}</a></p>\n</main>\n</body>\n</html>\n'
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def table(header: Sequence[str], rows: Iterable[Iterable[str]], nothing: str = "None in the trace.") -> str:
    """Return a table, or the sentence that says why there is none."""
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    if not body:
        return f"<p>{escape(nothing)}</p>"
    names = "".join(f'<th scope="col">{escape(cell)}</th>' if cell else "<td></td>" for cell in header)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
