# SPDX-License-Identifier: Apache-2.0
"""What a rule says: texts with places for figures of the evidence and for thresholds, both by name."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """The texts of one rule.

    title: what was found, as a sentence. when: the condition under which the rule speaks; beside it every bounded
    suggestion must concern {suggest_least_share} of the critical path. advice: what to try. bound: where the bound
    comes from. refuted: what would show that the suggestion is wrong. look: the command that shows the evidence, before
    and after the change. look_host: the same for a run without device work, "" where it is the same.
    """

    title: str
    when: str
    advice: str
    bound: str
    refuted: str
    look: str
    look_host: str = ""


OPERATORS = "regimeter operators {trace}"
AMDAHL = "its time on the critical path"
NOT_BOUNDED = "not bounded: the run does not show what the change would save"
