# SPDX-License-Identifier: Apache-2.0
"""One training as a recording: what the callbacks of trainers share. It imports none of them."""

import sys
from pathlib import Path
from typing import Any

from ..profiler import GPUProfiler
from ..public.run import Run
from ..report.verdict import print_verdict

DEFAULT = "regimeter-fit.rgm"


class FitRecording:
    """Records from `begin` to `end`, with sampled stacks and the structure of torch, into a file a rank.

    path: the recording; of several ranks each has its number before the suffix, ``fit.rank1.rgm``. html: also write
    the page there. show: print the verdict at the end, on rank 0. options: of GPUProfiler; stacks and structure are on
    unless they say otherwise. `run` is what was recorded, None before the end; `profiler` records, None outside.
    """

    def __init__(self, path: str | Path, html: str | Path | None, show: bool, options: dict[str, Any]) -> None:
        self.path = Path(path)
        self.html = None if html is None else Path(html)
        self.show = show
        self.options = {"stacks": True, "structure": True, **options}
        self.profiler: GPUProfiler | None = None
        self.run: Run | None = None
        self._rank = 0
        self._scope: Any = None

    def begin(self, name: str, rank: int = 0, world_size: int = 1) -> None:
        """Begin, as the scope `name`; what is still open, of a training that failed unseen, is ended before."""
        self.end()
        self._rank = rank
        if world_size > 1:
            self.path, self.html = _of_rank(self.path, rank), _of_rank(self.html, rank)
        self.profiler = GPUProfiler(path=self.path, **self.options)
        self._scope = self.profiler.profile(name, device="cpu", rank=rank, world_size=world_size)
        self._scope.__enter__()

    def end(self, error: BaseException | None = None) -> None:
        """End, write the page, print the verdict; nothing where nothing has begun. error: what the training raised."""
        profiler, self.profiler = self.profiler, None
        if profiler is None:
            return
        self._scope.__exit__(None if error is None else type(error), error, None)
        profiler.close()
        self.run = profiler.run()
        if self.html is not None:
            self.run.write_html(self.html)
        if self.show and self._rank == 0:
            print_verdict(self.run, sys.stderr)


def _of_rank(path: Any, rank: int) -> Any:
    """Return the path with the rank before its suffix, unless it has it already; None for None."""
    if path is None or path.stem.endswith(f".rank{rank}"):
        return path
    return path.with_name(f"{path.stem}.rank{rank}{path.suffix}")
