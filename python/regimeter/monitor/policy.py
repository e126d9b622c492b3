# SPDX-License-Identifier: Apache-2.0
"""Every threshold of the monitor: when a rule raises its alert and when it clears it, and how much is looked at.

A rule fires when its value has been above `fires` in `looks` looks one after the other, and clears when it has been
at or below `clears` once: between the two nothing changes. Looks without a value change nothing either.
"""

from dataclasses import dataclass, replace

BASELINE_STEPS = 100  # after the first WARMUP_STEPS: what later steps are held against, where no run is given
WARMUP_STEPS = 10
TREND_LOOKS = 60  # of the resident set; fewer than the core's `suggest_growth_steps` show no trend
TREND_REST_S = 4.9  # between two of them: a program that loads a model for half a minute does not leak
LEAST_DISK = 4_000_000  # bytes of a disk budget: less leaves no room between what is asked ahead and what stays
CROWDED, KEPT = 0.7, 0.5  # of the disk budget: from where on old blocks are taken out, and how much then stays
ROOM_S = 0.1  # how often is looked whether a ring's files are crowded; what the program writes meanwhile has the rest
REST_S = 60.0  # between two copies of the ring by one condition
MOST_COPIES = 10  # of the ring that conditions ask for
TRAIL_LOOKS = 720  # in the charts of the live page: an hour of looks five seconds apart
MOST_CHANGES = 50  # of alerts that the live page lists
MOST_WATCHERS = 16  # who have the live page open: each is a thread
LEAVE_S = 1.0  # in which the last event reaches them
WEBHOOK_TIMEOUT_S, WEBHOOK_WAITING = 5.0, 100  # of one call; alerts that wait for it


@dataclass(frozen=True, slots=True)
class Rule:
    """What is watched: the value above which it fires, the one at which it clears, looks in a row, and what it is."""

    name: str
    fires: float
    clears: float
    looks: int
    unit: str
    doc: str

    def above(self, fires: float) -> "Rule":
        """Return the rule with another threshold; the distance to where it clears stays the same part of it."""
        return replace(self, fires=fires, clears=self.clears / self.fires * fires)


RULES = {
    rule.name: rule
    for rule in (
        Rule("step-time", 1.2, 1.1, 3, "times the baseline", "median of a look's steps over that of the baseline"),
        Rule("memory-growth", 0.1, 0.05, 3, "of its level", "growth of the resident set where it has a trend"),
        Rule("throttling", 0.1, 0.05, 3, "of the time", "held back by the control group, or a GPU slowed down"),
        Rule("gpu-idle", 0.7, 0.5, 12, "of the time", "1 - utilisation, the mean of all GPUs of the machine"),
        Rule(
            "own-cost",
            0.005,
            0.004,
            3,
            "of the time",
            "what recording takes: scopes, looks, readings of memory, its own threads",
        ),
    )
}
