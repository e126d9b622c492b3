# SPDX-License-Identifier: Apache-2.0
"""How Sphinx renders the documents; tools/make_site.py lays them out and calls it."""

import inspect
import itertools
import re

from regimeter import __version__

project = "regimeter"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
default_role = "code"  # a docstring's `name` is one
smartquotes = False
highlight_language = "default"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
html_theme = "furo"
html_title = f"regimeter {release}"
html_copy_source = False
html_show_copyright = False


def setup(app):  # type: ignore[no-untyped-def]
    """Have docstrings read as the plain text that they are."""
    app.connect("autodoc-process-docstring", _from_plain)


def _from_plain(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
    """Turn a docstring into markup: what it says of parameters becomes a list of them."""
    try:
        known = [re.escape(parameter) for parameter in inspect.signature(obj).parameters]
    except (TypeError, ValueError):
        known = []
    told = (
        re.compile(rf"(?:^|(?<=[.;:] ))((?:{'|'.join(known)})(?:(?:, | and )(?:{'|'.join(known)}))*): ")
        if known
        else None
    )
    text = []
    for apart, group in itertools.groupby(lines, lambda line: not line or line.startswith(" ")):
        if apart:
            text += group
        else:
            text += _listed(" ".join(group).replace("*", r"\*"), told)
    lines[:] = text


def _listed(paragraph: str, told: re.Pattern[str] | None) -> list[str]:
    """Return a paragraph, and below it a list of the parameters that it tells of, where those are two or more."""
    first, *rest = told.split(paragraph) if told else [paragraph]
    if len(rest) < 4:
        return [paragraph]
    rows = [
        f"- ``{names}``: {text.strip().removesuffix(';')}" for names, text in zip(rest[::2], rest[1::2], strict=True)
    ]
    return [*([first.strip(), ""] if first.strip() else []), *rows, ""]
