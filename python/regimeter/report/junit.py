# SPDX-License-Identifier: Apache-2.0
"""A comparison as a JUnit document: a test case for each row and each single test, failed where the gate fails."""

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from ..compare.result import ChangeType, OperationComparison
from .comparison_text import (
    common_line,
    data,
    equals,
    interval,
    level_of,
    missed_line,
    note,
    probability,
    signed,
    size,
    value,
    verdict_line,
    whole_lines,
)
from .comparison_view import View, rows_of

if TYPE_CHECKING:
    from ..compare import ProfilerComparison

# What XML 1.0 cannot hold even escaped, and what a terminal that shows the document would obey.
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
SUITE = "regimeter.compare"


def xml_text(text: str) -> str:
    """Return the text with the characters that XML cannot hold replaced."""
    return FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def junit(comparison: "ProfilerComparison", view: View) -> str:
    """Return the document. A failed gate is a failure, what could not be judged for want of samples is an error."""
    rows = [*comparison.wholes, *rows_of(comparison, view)]
    failing = {id(row) for row in (*comparison.failures, *comparison.whole_failures)}
    invalid = [row for row in rows if row.change_type is ChangeType.INVALID]
    skipped = [row for row in rows if row.reason == "one_side"]
    suite = ElementTree.Element(
        "testsuite",
        name=SUITE,
        tests=str(len(rows)),
        failures=str(sum(id(row) in failing for row in rows)),
        errors=str(len(invalid)),
        skipped=str(len(skipped)),
    )
    _properties(suite, comparison, view)
    for row in rows:
        _case(suite, comparison, row, id(row) in failing)
    if comparison.nothing_compared:
        suite.set("tests", str(len(rows) + 1))
        suite.set("errors", str(len(invalid) + 1))
        case = ElementTree.SubElement(suite, "testcase", classname=SUITE, name="comparison")
        text = xml_text(verdict_line(comparison))
        ElementTree.SubElement(case, "error", type="nothing", message=text).text = text
    elif comparison.common_failure:
        suite.set("tests", str(len(rows) + 1))
        suite.set("failures", str(len(failing & {id(row) for row in rows}) + 1))
        case = ElementTree.SubElement(suite, "testcase", classname=f"{SUITE}.time", name="all operations together")
        text = xml_text(common_line(comparison))
        ElementTree.SubElement(case, "failure", type="regression", message=text).text = text
    output = "\n".join(
        [verdict_line(comparison), *whole_lines(comparison), missed_line(comparison), *comparison.warnings]
    )
    ElementTree.SubElement(suite, "system-out").text = xml_text(output)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _properties(suite: ElementTree.Element, comparison: "ProfilerComparison", view: View) -> None:
    facts = {
        "threshold_percent": comparison.significance_threshold,
        "alpha": comparison.alpha,
        "fdr": comparison.fdr,
        "decision": comparison.decision,
        "detectable_percent": comparison.mde_percent,
        "common_mode_percent": comparison.common_mode_percent,
    }
    node = ElementTree.SubElement(suite, "properties")
    for name, fact in facts.items():
        ElementTree.SubElement(node, "property", name=name, value="not known" if fact is None else f"{fact}")
    for difference in comparison.differences:
        ElementTree.SubElement(node, "property", name="environment", value=xml_text(difference.words))


def sentence(comparison: "ProfilerComparison", row: OperationComparison) -> str:
    """Return what became of a row in one sentence."""
    text = f"{row.operation} ({row.metric}): {value(row, row.baseline)} → {value(row, row.current)}"
    text += f", {signed(row.change_percent)}"
    if row.ci_percent:
        text += f", {100 * level_of(comparison):.10g} % interval {interval(row)} %"
    if row.detectable_percent is not None and row in comparison.wholes:
        text += f", could have missed below {size(row.detectable_percent)}"
    if row.q is not None:
        text += f", q {equals(probability(row.q, row.least_q))}"
    text += f", threshold {comparison.significance_threshold:g} %"
    return f"{text}; {data(row)}" + (f"; {note(row)}" if note(row) else "")


def _case(suite: ElementTree.Element, comparison: "ProfilerComparison", row: OperationComparison, failed: bool) -> None:
    seconds = (row.current_total_ms or 0.0) / 1e3
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=f"{SUITE}.{row.metric}",
        name=xml_text(row.operation),
        time=f"{max(0.0, seconds):.6f}",
    )
    text = xml_text(" ".join(sentence(comparison, row).splitlines()))
    if failed:
        ElementTree.SubElement(case, "failure", type="regression", message=text).text = text
    elif row.change_type is ChangeType.INVALID:
        ElementTree.SubElement(case, "error", type="invalid", message=text).text = text
    elif row.reason == "one_side":
        side = "current side" if row.change_type is ChangeType.NEW_OPERATION else "baseline"
        ElementTree.SubElement(case, "skipped", message=f"only the {side} has it")
    else:
        ElementTree.SubElement(case, "system-out").text = text
