# SPDX-License-Identifier: Apache-2.0
"""Which scripts and styles a page carries: those of the panels that it shows, as ``regimeter/web/manifest.json`` says.

The manifest lists groups in the order in which they are loaded: `when` names a part of the page's data, or ``page``
(every page), ``run``, ``comparison``, ``history`` or ``dashboard`` (a page without data, which carries everything).
Texts are those that ``cmake/strip_web.py`` made when the package was built.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path

WEB = Path(__file__).resolve().parent.parent / "web"
LOADER = "js/loader.js"


@functools.cache
def manifest() -> list[tuple[str, list[str]]]:
    """Return the groups: when a page has it, and its files below ``regimeter/web``."""
    return [(group["when"], group["parts"]) for group in json.loads((WEB / "manifest.json").read_text("utf-8"))]


@functools.cache
def texts() -> dict[str, str]:
    """Return the text of each script and style sheet by its name."""
    found: dict[str, str] = json.loads((WEB / "page_parts.json").read_text("utf-8"))
    return found


def parts_of(data: Mapping[str, object] | None) -> list[str]:
    """Return the names of what a page with this data carries, in order; all for the dashboard."""
    has = _has(data)
    return list(dict.fromkeys(part for when, parts in manifest() if data is None or when in has for part in parts))


def _has(data: Mapping[str, object] | None) -> set[str]:
    found = {name for name, value in (data or {}).items() if value is not None}
    if "comparisons" in found:
        return {"page", "comparison"}
    if "trends" in found:
        return {"page", "history"}
    if "live" in found:  # it may come to hold whatever a run can hold
        return {when for when, _ in manifest()} - {"comparison", "dashboard", "history"}
    return found | {"page", "run"}


def style(parts: list[str]) -> str:
    """Return the style sheets among the parts as one."""
    return "\n".join(texts()[part] for part in parts if part.endswith(".css"))


def script(parts: list[str]) -> str:
    """Return the scripts among the parts as one."""
    return "\n".join(texts()[part] for part in parts if part.endswith(".js"))
