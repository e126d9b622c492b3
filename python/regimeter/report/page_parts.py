# SPDX-License-Identifier: Apache-2.0
"""Which scripts and styles a page carries: those of the panels that it shows, as ``regimeter/web/manifest.json`` says.

The manifest lists groups in the order in which they are loaded: `when` names a part of the page's data, or ``page``
(every page), ``run``, ``comparison``, ``history``, ``document`` (a page of sections, and the forms that these have) or
``dashboard`` (a page without data, which carries everything).
Texts are those that ``cmake/strip_web.py`` made when the package was built.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

WEB = Path(__file__).resolve().parent.parent / "web"
LOADER = "js/loader.js"
AT_ONCE = ("css/tokens.css", "css/base.css", "css/layout.css")  # what is seen before the script is unpacked
FORMS = {"levels", "segments", "trend", "runs", "upload", "ring", "roofs", "curves", "regime-map"}
NOT_OF_RUNS = {"comparison", "dashboard", "history", "document"} | FORMS


@functools.cache
def manifest() -> list[tuple[str, list[str]]]:
    """Return the groups: when a page has it, and its files below ``regimeter/web``."""
    return [(group["when"], group["parts"]) for group in json.loads((WEB / "manifest.json").read_text("utf-8"))]


@functools.cache
def texts() -> dict[str, str]:
    """Return the text of each script and style sheet by its name."""
    found: dict[str, str] = json.loads((WEB / "page_parts.json").read_text("utf-8"))
    return found


def parts_of(data: Mapping[str, Any] | None) -> list[str]:
    """Return the names of what a page with this data carries, in order; all for the dashboard."""
    has = _has(data)
    return list(dict.fromkeys(part for when, parts in manifest() if data is None or when in has for part in parts))


def _has(data: Mapping[str, Any] | None) -> set[str]:
    given = data or {}
    found = {name for name, value in given.items() if value is not None}
    if "comparisons" in found:
        return {"page", "comparison"}
    if "trends" in found:
        return {"page", "history"}
    if "sections" in found:
        coming = given["empty_sections"] if "live" in found else []  # what a page that grows may come to hold
        forms = {section["form"] for section in (*given["sections"], *coming)}
        return {"page", "document", "limit", *forms, *({"live"} & found)}
    if "live" in found or "rest" in found:  # it may come to hold whatever a run can hold
        return {when for when, _ in manifest()} - NOT_OF_RUNS - ({"live", "rest"} - found)
    return found | {"page", "run"}


def style(parts: list[str]) -> tuple[str, str]:
    """Return the style sheets among the parts as two: what a page needs at once, and the rest."""
    sheets = [part for part in parts if part.endswith(".css")]
    first = [part for part in sheets if part in AT_ONCE]
    return _joined(first), _joined(part for part in sheets if part not in AT_ONCE)


def script(parts: list[str]) -> str:
    """Return the scripts among the parts as one."""
    return _joined(part for part in parts if part.endswith(".js"))


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(texts()[part] for part in parts)
