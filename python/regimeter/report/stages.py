# SPDX-License-Identifier: Apache-2.0
"""How far a report is: the stages of its making, each told as it begins."""

from collections.abc import Callable

# Called with what is being done and the part of all stages that is done, from 0 to 1.
Progress = Callable[[str, float], None]


class Stages:
    """Counts the stages that were begun, of a number that is known beforehand."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._progress, self._begun = total, progress, 0

    def begin(self, name: str) -> None:
        """Tell that the stage before is done and that this one begins."""
        if self._progress is not None:
            self._progress(name, self._begun / self._total)
        self._begun += 1
