# SPDX-License-Identifier: Apache-2.0
"""How a result table of an analysis is shown: which columns, under which headings, in which units."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LISTED = 8  # rows that the text shows of a long list


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a text table.

    unit: "" for text and plain numbers, "ns" for times (shown with a fitting unit), "bytes", "share" for 0 to 1
    (shown as a percentage), "rate" for bytes per second, "code:NAME" for an index of the tuple ``_core.NAME``,
    "other" for a name of the second run of a comparison, as columns called baseline_* are anyway; any other text is
    put after the number. "at" is a moment, shown as time since the start of the run; "nested" is a name, indented by
    the column called depth.
    adds: whether values of several rows may be summed; such columns are filled in the row of the others.
    whole: whether the text is never shortened, because its rows differ in any part of it; other columns give way.
    hidden: whether it stands in rows and documents only, as text where it is a code; the headline says what it says.
    """

    name: str
    heading: str
    unit: str = ""
    adds: bool = False
    whole: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Verb:
    """An analysis as a command and a method.

    by: values of ``--by`` with the number that the C analysis takes as group_by; the first is the default.
    choices: further options with their values; the number of the value chosen, by default the first, is added to that.
    options: thresholds of the policy that have an option of their own, as option -> threshold name.
    text_option: option for the text that the analysis looks at, "" when it looks at none.
    other: what a second run that it compares with is called, BASELINE; "" when there is none.
    rules: whether what kernels do matters, so that ``--rule`` is offered.
    top: rows that the text shows unless told otherwise, 0 for all.
    ceilings: whether what the device can do matters, so that ``--ceilings`` is offered.
    headline: makes of all rows the sentences that stand above them in text, page and document.
    keyed: makes of the rows what the JSON document has in the place of `rows`.
    """

    name: str
    analysis: str
    help: str
    columns: tuple[Column, ...]
    by: Mapping[str, int] = field(default_factory=dict)
    choices: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    text_option: str = ""
    empty: str = "nothing of that kind is in the trace"
    other: str = ""
    rules: bool = True
    top: int = 0
    ceilings: bool = False
    headline: Callable[[Sequence[dict[str, Any]]], list[str]] | None = None
    keyed: Callable[[list[dict[str, Any]]], dict[str, Any]] | None = None
