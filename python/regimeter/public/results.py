# SPDX-License-Identifier: Apache-2.0
"""What a profiler says of what it has recorded so far, by the run of it."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..run.records import ProfileEntry, ProfileSummary
    from .run import Run


class Results:
    """Methods of GPUProfiler, which has `run`."""

    if TYPE_CHECKING:

        def run(self) -> Run: ...

    def get_entries(self) -> "list[ProfileEntry]":
        """Return one entry per recorded block, in order of start."""
        return self.run().get_entries()

    def get_summary(self) -> "dict[str, ProfileSummary]":
        """Return statistics by operation, most exclusive time first."""
        return self.run().get_summary()

    def get_bottlenecks(self, top_n: int = 5) -> "list[ProfileSummary]":
        """Return the operations with the most exclusive time. ValueError for a negative top_n."""
        return self.run().get_bottlenecks(top_n)

    def print_summary(self, top_n: int = 10) -> None:
        """Print a table of the operations, and what the profiler itself cost."""
        from ..run.summary_text import print_summary  # with NumPy, 100 ms: no program that records begins with it

        print_summary(self.run(), top_n)

    def print_bottlenecks(self, top_n: int = 5) -> None:
        """Print the operations with the most exclusive time."""
        from ..run.summary_text import print_bottlenecks  # as above

        print_bottlenecks(self.run(), top_n)

    def export_json(self, path: str | os.PathLike[str]) -> None:
        """Write entries, summary and environment as JSON, atomically."""
        self.run().export_json(path)

    def write_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> None:
        """Write the self-contained HTML report, atomically; progress as of ``Run.write_html``."""
        self.run().write_html(path, title=title, progress=progress)
