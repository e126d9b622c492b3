# SPDX-License-Identifier: Apache-2.0
"""A comparison for a step of GitHub Actions: annotations on its output, and the summary of the step."""

import os
from typing import TYPE_CHECKING, Any

from ..system.files import atomic_writer
from ..system.text import printable
from .comparison_markdown import assemble
from .comparison_text import common_line, verdict_line, whole_lines
from .comparison_view import View, impact
from .junit import sentence

if TYPE_CHECKING:
    from ..compare import ProfilerComparison

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
SUMMARY_BYTES = 1 << 20  # of all summaries of one step
ANNOTATIONS = 10  # errors of one step; further ones are dropped by the service
ROWS = 1_000


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def escape_data(text: str) -> str:
    """Return a text as the message of a command of the workflow."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Return a text as a property of a command of the workflow."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def annotations(comparison: "ProfilerComparison") -> list[str]:
    """Return an error for each regression that fails the gate, those that cost most first, ten at most."""
    if comparison.nothing_compared:
        title = "Not comparable" if comparison.incomparable else "Nothing was compared"
        return [f"::error title={title}::{escape_data(verdict_line(comparison))}"]
    failing = sorted(comparison.failures, key=lambda row: -impact(row))
    lines = []
    if comparison.common_failure:
        lines.append(f"::error title=Everything got slower::{escape_data(common_line(comparison))}")
    for row, text in zip(comparison.wholes, whole_lines(comparison), strict=True):
        if row in comparison.whole_failures:
            title = "The whole got slower" if row.unit == "s" else "Peak memory grew"
            lines.append(f"::error title={title}::{escape_data(printable(text))}")
    for row in failing[: ANNOTATIONS - len(lines)]:
        title = escape_property(
            printable(f"{row.operation} got slower" if row.unit == "s" else f"{row.operation} grew")
        )
        lines.append(f"::error title={title}::{escape_data(printable(sentence(comparison, row)))}")
    return lines


def summary(comparison: "ProfilerComparison", view: View, limit: int = SUMMARY_BYTES) -> str:
    """Return the summary of a step in at most `limit` bytes."""
    return assemble(comparison, view, limit, _bytes)


def github(comparison: "ProfilerComparison", view: View) -> str:
    """Return annotations and summary as one text."""
    return "".join(line + "\n" for line in annotations(comparison)) + summary(comparison, view)


def publish(comparison: "ProfilerComparison", output: str | None, **view: Any) -> str:
    """Write the summary where `output` says, or append it to the step's own, and return what is to be printed.

    Without either, the summary is printed behind the annotations. OSError where the file cannot be written.
    """
    shown = View(**{**view, "top": max(ROWS, view.get("top", 0))})
    lines = "".join(line + "\n" for line in annotations(comparison))
    place = os.environ.get(SUMMARY_VARIABLE)
    if output:
        with atomic_writer(output) as out:
            out.write(summary(comparison, shown))
        return lines
    if not place:
        return lines + summary(comparison, shown)
    with open(place, "ab") as file:
        room = SUMMARY_BYTES - file.tell()  # other commands of the step write there too
        file.write(summary(comparison, shown, max(0, room)).encode("utf-8", "replace"))
    return lines
