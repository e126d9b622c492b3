# SPDX-License-Identifier: Apache-2.0
"""The data of a page that is made of sections: what is known of compiling, of memory, of workloads.

A page is a sentence with one bar and sections in order; each section is a pure function's columns and figures, with the
form in which the page draws it. Which page of the report a section is on stands in ``web/js/pages.js``.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..system.quantities import known

FORMAT, VERSION = "regimeter.document", 1
MOST_ACTIONS = 3  # of the first screen
MOST_ROWS = 5_000  # of one table; the page says how many it does not hold
TEXT = "text"
Section = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: texts (unit TEXT), or numbers and None in a unit that pages know (ns, bytes, share, op/s).

    doc: what the heading means, and why a value may be missing. prose: texts are sentences, broken into lines.
    blank: a missing value is meant to be missing, and nothing is said of it.
    """

    heading: str
    unit: str
    values: Sequence[str | float | None]
    doc: str = ""
    prose: bool = False
    blank: bool = False


def document(
    kind: str, title: str, *, file: str = "", limit: Mapping[str, Any], sections: Iterable[Section], sends: bool = False
) -> Section:
    """Return the page's data. kind: which pages it has (``web/js/pages.js``). file: what it was made of.

    sends: whether it may send forms to the server that it came from.
    Sections without anything are named at the end of the first page, with the reason that they give.
    """
    given = list(sections)
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "title": title,
        "file": file,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "sends": sends,
        "limit": dict(limit),
        "sections": [one for one in given if not _is_empty(one)],
        "empty_sections": [_empty(one) for one in given if _is_empty(one)],
    }


def _empty(one: Section) -> Section:
    """Return what is said of a section without anything; its form is there for a page that may come to have it."""
    return {"title": one["title"], "reason": one["nothing"], "form": one["form"]}


def _is_empty(one: Section) -> bool:
    held = {"table": "total", "sentences": "lines", "levels": "series", "curves": "series", "regime-map": "cells"}
    return one["form"] in held and not one[held[one["form"]]] and not one.get("lines")


def first(
    title: str, sentence: str, *, why: str = "", of: str = "", parts: Mapping[str, float] | None = None,
    actions: Iterable[Section] = (),
) -> Section:  # fmt: skip
    """Return the first screen: a sentence, why it is so, and the bar of what is divided (of) into parts of any size."""
    whole = sum((parts or {}).values())
    shares = {name: size / whole for name, size in sorted((parts or {}).items(), key=lambda one: -one[1]) if whole > 0}
    return {"title": title, "sentence": sentence, "why": why, "of": of, "shares": shares, "actions": list(actions)}


def action(title: str, section: str) -> Section:
    """Return something to do, with the section that shows why."""
    return {"title": title, "hint": "", "saved_ns": None, "share": None, "of": "", "section": section}


def table(id: str, title: str, columns: Sequence[Column], nothing: str, *, note: str = "", span: int = 12) -> Section:
    """Return a table. nothing: what is said where it has no rows."""
    return {
        "id": id, "title": title, "form": "table", "note": note, "span": span, "nothing": nothing,
        "total": len(columns[0].values),
        "columns": [_column(one) for one in columns],
    }  # fmt: skip


def _column(one: Column) -> Section:
    values = [value if isinstance(value, str) else known(value) for value in one.values[:MOST_ROWS]]
    named = {"heading": one.heading, "unit": one.unit, "doc": one.doc, "prose": one.prose, "blank": one.blank}
    return named | {"values": values}


def sentences(id: str, title: str, lines: Iterable[str], nothing: str, *, span: int = 12) -> Section:
    """Return a list of sentences."""
    return {"id": id, "title": title, "form": "sentences", "span": span, "lines": list(lines), "nothing": nothing}


def figure(
    label: str, value: str | float | None, unit: str = TEXT, *, note: str = "", ends: tuple[Any, Any] = (None, None)
) -> Section:
    """Return one figure: a number in its unit or a text, the ends of its interval, and what it means or lacks."""
    shown = value if isinstance(value, str) else known(value)
    return {"label": label, "value": shown, "unit": unit, "note": note, "low": known(ends[0]), "high": known(ends[1])}


def figures(id: str, title: str, rows: Iterable[Section], *, span: int = 12) -> Section:
    """Return a list of figures."""
    return {"id": id, "title": title, "form": "figures", "span": span, "rows": list(rows)}


def levels(id: str, title: str, series: Sequence[Section], *, note: str = "", nothing: str = "") -> Section:
    """Return sizes over time: series of {name, time_ns, value}; with `steps` a size holds until the next time."""
    shown = [{"unit": "bytes", "steps": False} | one | {"count": len(one["time_ns"])} for one in series]
    return {"id": id, "title": title, "form": "levels", "note": note, "nothing": nothing, "series": shown}
