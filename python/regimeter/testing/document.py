# SPDX-License-Identifier: Apache-2.0
"""A saved session: one JSON document of name, commit, environment and the samples of every test by launch."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

FORMAT, VERSION = "regimeter.perf", 1


Document = dict[str, Any]


TIMES = ("time", "device_time")


LONGEST, LARGEST = 1e9, 1e18  # seconds (30 years) and bytes: nothing that a test measures


REMEDY = "save the session anew with --perf-save, or compare with another one"


COMMIT = re.compile(r"[0-9a-f]{7,40}")


# A reference to a commit reads this many of the newest documents.
MOST_READ = 500


def split(reference: str) -> tuple[str, int]:
    """Return a reference and how many of its documents are asked for: 'main:5' asks for the newest five."""
    name, colon, count = reference.rpartition(":")
    if colon and count.isdigit() and int(count) > 0 and name:
        return name, int(count)
    return reference, 1


def once(documents: Sequence[Document]) -> tuple[list[Document], list[str]]:
    """Return the documents of different sessions, and what the others are called: a session may be saved under several
    names and given by more than one, and its processes are as many as they are."""
    kept: dict[str, Document] = {}
    again = []
    for document in documents:
        # A document of an earlier release does not say of which session it is.
        key = str(document.get("session") or document.get("file"))
        if kept.setdefault(key, document) is not document:
            again.append(str(document.get("file") or document.get("name")))
    return list(kept.values()), again


def check(document: Any, name: str) -> None:
    """Refuse what is no sound saved session: UsageError, which says where and what is wrong."""
    problem = _problem(document)
    if problem:
        raise pytest.UsageError(f"{name} is no saved session of the perf options: {problem}; {REMEDY}")


def _problem(document: Any) -> str:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return f"its format is not {FORMAT!r}"
    if document.get("version") != VERSION:
        return f"its version is {document.get('version')!r}, and this release reads {VERSION}"
    if not isinstance(document.get("environment", {}), dict):
        return "its environment is no object"
    tests = document.get("tests")
    if not isinstance(tests, list) or not all(isinstance(one, dict) and "operation" in one for one in tests):
        return "its tests are no list of records"
    return next(filter(None, (_problem_of(number, one) for number, one in enumerate(tests))), "")


def _problem_of(number: int, record: dict[str, Any]) -> str:
    """Return the place of the first value of a test that cannot be, '' when there is none."""
    place = f"tests[{number}]"
    for field in ("operation", "test", "kind", "clock", "memory_source"):
        if not isinstance(record.get(field, ""), str):
            return f"{place}.{field} is {record[field]!r:.40}, not a text"
    if not isinstance(record.get("workers", 1), int):
        return f"{place}.workers is {record['workers']!r:.40}, not a number"
    metrics = record.get("metrics", {})
    if not isinstance(metrics, dict):
        return f"{place}.metrics is no object"
    for metric, launches in metrics.items():
        if not isinstance(launches, list) or not all(isinstance(launch, list) for launch in launches):
            return f"{place}.metrics.{metric} is no list of launches"
        for at, launch in enumerate(launches):
            for which, value in enumerate(launch):
                if not _possible(metric, value):
                    what = "no time in seconds" if metric in TIMES else "no amount"
                    return f"{place}.metrics.{metric}[{at}][{which}] is {value!r:.40}, {what}"
    return ""


def _possible(metric: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value < LONGEST if metric in TIMES else 0 <= value < LARGEST
