# SPDX-License-Identifier: Apache-2.0
"""Accelerate: a tracker that records between `init_trackers` and `end_training`.

accelerator = accelerate.Accelerator(log_with=RegimeterTracker("fit.rgm"))
accelerator.init_trackers("fit")
...
accelerator.end_training()
"""

from pathlib import Path
from typing import Any

from accelerate.state import PartialState
from accelerate.tracking import GeneralTracker

from .recording import DEFAULT, FitRecording


class RegimeterTracker(GeneralTracker):
    """Records into a file a rank, with sampled stacks and the structure of torch, and says what limits it at the end.

    path, html, show, options: of `FitRecording`. What `Accelerator.log` is given becomes a mark in the recording: a
    scope `log` with the values as its metadata.
    """

    name = "regimeter"
    requires_logging_directory = False
    main_process_only = False

    def __init__(
        self, path: str | Path = DEFAULT, *, html: str | Path | None = None, show: bool = True, **options: Any
    ) -> None:
        super().__init__()
        self.recording = FitRecording(path, html, show, options)

    @property
    def tracker(self) -> FitRecording:
        """The recording."""
        return self.recording

    @property
    def run(self) -> Any:
        """What was recorded; None before the end."""
        return self.recording.run

    def start(self) -> None:
        """Begin; Accelerate calls it from `init_trackers`."""
        if self.recording.profiler is None:
            state = PartialState()
            self.recording.begin("training", state.process_index, state.num_processes)

    def log(self, values: dict[str, Any], step: int | None = None, **others: Any) -> None:
        """Put a mark with these values into the recording."""
        if self.recording.profiler is not None:
            at = {} if step is None else {"at_step": step}
            with self.recording.profiler.profile("log", "cpu", **{**values, **at}):
                pass

    def finish(self) -> None:
        """End, and say what limits it."""
        self.recording.end()
