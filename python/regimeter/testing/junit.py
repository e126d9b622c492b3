# SPDX-License-Identifier: Apache-2.0
"""Effect, interval and q in the file of pytest's own --junitxml.

pytest closes a test's element when the test has been torn down, long before all tests are judged together. The
elements are kept until the end of the session, so the verdicts are added to those that carry the test's id in the
property below.
"""

import math
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

TEST_PROPERTY = "perf.test"


def head_of(operation: str, test: str) -> str:
    """Return the beginning of a property's name: perf, and the scope where there is one."""
    inner = operation.removeprefix(test).strip(" []")
    return f"perf.{inner}." if inner else "perf."


def verdict_properties(row: Any, test: str, threshold: float) -> list[tuple[str, str]]:
    """Return the verdict of a row as names and values."""
    head = f"{head_of(row.operation, test)}{row.metric}"
    values = [(f"{head}.verdict", row.status), (f"{head}.threshold_percent", f"{threshold:g}")]
    numbers = {
        "change_percent": row.change_percent,
        "low_percent": row.low_percent,
        "high_percent": row.high_percent,
        "q": row.q,
        "detectable_percent": row.detectable_percent,
    }
    values += [
        (f"{head}.{name}", f"{value:.6g}")
        for name, value in numbers.items()
        if value is not None and math.isfinite(value)
    ]
    if row.accepted:
        values.append((f"{head}.accepted", row.accepted))
    return values


def add(config: Any, found: dict[str, list[tuple[str, str]]]) -> None:
    """Add properties by test id to the elements that pytest is about to write; nothing where it writes none."""
    try:
        from _pytest.junitxml import xml_key
    except ImportError:
        return
    log = config.stash.get(xml_key, None)
    for reporter in getattr(log, "node_reporters_ordered", ()):
        element = reporter.to_xml()
        properties = element.find("properties")
        test = _test_of(properties if properties is not None else ())
        for name, value in found.get(test, ()):
            ElementTree.SubElement(properties, "property", name=name, value=value)


def _test_of(properties: Iterable[Any]) -> str:
    for one in properties:
        if one.get("name") == TEST_PROPERTY:
            return str(one.get("value"))
    return ""
