# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer: a callback that records a training.

trainer = transformers.Trainer(..., callbacks=[RegimeterCallback("fit.rgm", html="fit.html")])
"""

from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from .recording import DEFAULT, FitRecording


class RegimeterCallback(TrainerCallback):
    """Records each `Trainer.train` into a file a rank, with stacks and torch's structure, and says what limits it.

    path, html, show, options: of `FitRecording`. `run` is the last training, a regimeter.Run; None before its end. The
    Trainer tells nobody when a training raises: its recording then ends with the next one or with the process.
    """

    def __init__(
        self, path: str | Path = DEFAULT, *, html: str | Path | None = None, show: bool = True, **options: Any
    ) -> None:
        self.recording = FitRecording(path, html, show, options)

    @property
    def run(self) -> Any:
        """What was recorded of the last training."""
        return self.recording.run

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Begin."""
        self.recording.begin("Trainer.train", args.process_index, args.world_size)

    def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """End, and say what limits it."""
        self.recording.end()
