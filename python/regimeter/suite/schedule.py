# SPDX-License-Identifier: Apache-2.0
"""Which steps of a loop are recorded: some are let pass, the profiler warms up, some are recorded, and so on anew."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps of one cycle, and how many cycles.

    wait: steps without the profiler, whose times show what the profiler adds. warmup: steps with it that are thrown
    away. active: steps that are recorded. repeat: cycles, 0 for as many as there are steps for. ValueError for a
    negative number or no active step.
    """

    wait: int = 0
    warmup: int = 0
    active: int = 1
    repeat: int = 1

    def __post_init__(self) -> None:
        for name, least in (("wait", 0), ("warmup", 0), ("active", 1), ("repeat", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")

    @property
    def cycle(self) -> int:
        """Steps of a cycle."""
        return self.wait + self.warmup + self.active

    def phase(self, step: int) -> str:
        """Return what happens in a step, counted from 0: "wait", "warmup" or "active"; "wait" after the last cycle."""
        if self.repeat and step >= self.cycle * self.repeat:
            return "wait"
        within = step % self.cycle
        if within < self.wait:
            return "wait"
        return "warmup" if within < self.wait + self.warmup else "active"
