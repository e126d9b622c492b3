# SPDX-License-Identifier: Apache-2.0
"""In what the environments of both sides differ, and whether that forbids comparing them.

Which facts count, and what they count for, is the table of `regimeter.run.identity`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..run.environment import NOT_STATED, Environment
from ..run.identity import FACTS, Fact, Severity, Stored, values_of

LONGEST = 80


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact in which two sides differ, both values as text, and whether the sides cannot be compared because of it."""

    fact: str
    before: str
    after: str
    incomparable: bool

    @property
    def words(self) -> str:
        """The difference in one line."""
        return f"{self.fact}: baseline {self.before}, current {self.after}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary of JSON values."""
        return {"fact": self.fact, "before": self.before, "after": self.after, "incomparable": self.incomparable}


def differences(before: Iterable[Stored], after: Iterable[Stored]) -> tuple[Difference, ...]:
    """Return in what two lists of environments, one for each input, differ; what makes them incomparable first.

    What only one side states is named where it could have made them incomparable, and else is no difference.
    """
    old_side, new_side = ([Environment.of(one) for one in side] for side in (before, after))
    found = []
    for fact in FACTS:
        old, new = values_of(old_side, fact), values_of(new_side, fact)
        stops = fact.severity is Severity.INCOMPARABLE
        if fact.severity is Severity.IGNORED or old == new:
            continue
        if old and new:
            found.append(Difference(fact.words, _text(old), _text(new), stops))
        elif stops and old_side and new_side:
            texts = (_text(old) or _missing(old_side, fact), _text(new) or _missing(new_side, fact))
            found.append(Difference(fact.words, *texts, incomparable=False))
    return tuple(sorted(found, key=lambda row: not row.incomparable))


def mixed(label: str, environments: Iterable[Stored]) -> list[str]:
    """Return a line for each fact in which the inputs of one side differ so that they cannot be compared."""
    known = [Environment.of(one) for one in environments]
    lines = []
    for fact in FACTS:
        values = values_of(known, fact)
        if fact.severity is Severity.INCOMPARABLE and len(values) > 1:
            lines.append(f"{label}: its inputs differ in {fact.words}: {_text(values)}")
    return lines


def _missing(side: list[Environment], fact: Fact) -> str:
    """Return why no input of a side has a fact."""
    return next((why for one in side if (why := one.unknown.get(fact.name))), NOT_STATED)


def _text(values: Iterable[str]) -> str:
    text = ", ".join(values)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
