# SPDX-License-Identifier: Apache-2.0
"""Checked budgets as a JUnit document: a test case for each, failed where it is exceeded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from .junit import xml_text
from .workloads import micro

if TYPE_CHECKING:
    from ..workloads.budgets import BudgetResult

SUITE = "regimeter.workloads.budgets"


def budgets_junit(results: "Sequence[BudgetResult]") -> str:
    """Return the document. What could not be checked is skipped, with the reason."""
    states = [one.state for one in results]
    counts = {"tests": len(results), "failures": states.count("over"), "errors": 0,
              "skipped": states.count("not checked")}  # fmt: skip
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {"name": SUITE, **{key: str(n) for key, n in counts.items()}})
    for one in results:
        name = xml_text(f"{one.budget.kernel} {one.budget.quantity}")
        case = ElementTree.SubElement(suite, "testcase", classname=SUITE, name=name)
        text = xml_text(_sentence(one))
        if one.state == "over":
            ElementTree.SubElement(case, "failure", type="budget", message=text).text = text
        elif one.state == "not checked":
            ElementTree.SubElement(case, "skipped", message=text)
        else:
            ElementTree.SubElement(case, "system-out").text = text
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _sentence(one: "BudgetResult") -> str:
    if one.low is None:
        return f"{one.state}: {one.reason}"
    more = f"; {one.reason}" if one.reason else ""
    if one.budget.quantity == "cv":
        return (f"{one.state}: CV {one.value:.3f}, interval {one.low:.3f} to {one.high:.3f}, "
                f"budget {one.budget.limit:g}{more}")  # fmt: skip
    return (f"{one.state}: median {micro(one.value)} us, interval {micro(one.low)} to {micro(one.high)} us, "
            f"budget {one.budget.text}{more}")  # fmt: skip
