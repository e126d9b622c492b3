# SPDX-License-Identifier: Apache-2.0
"""Lightning: a profiler whose actions are scopes, and a callback that records a fit.

trainer = lightning.pytorch.Trainer(callbacks=[RegimeterCallback("fit.rgm", html="fit.html")])
trainer = lightning.pytorch.Trainer(profiler=RegimeterProfiler())
"""

import threading
from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback
from lightning.pytorch.profilers import Profiler

from .. import _core
from ..profiler import GPUProfiler, get_profiler
from ..report.verdict import verdict_lines
from ..run.records import summaries_of
from ..run.summary_text import summary_table
from ..system.text import render
from .recording import DEFAULT, FitRecording

WIDTH = 110
ROWS = 20
# Ends of Lightning's names of actions -> the role of the scope, where the profiler does not find structure by itself.
ROLES = {
    "_next": "data_wait",
    ".training_step": "forward",
    ".backward": "backward",
    ".optimizer_zero_grad": "zero_grad",
    ".configure_gradient_clipping": "grad_clip",
    "save_checkpoint": "checkpoint",
}


class RegimeterProfiler(Profiler):
    """A profiler of Lightning's: each action of its trainer is a scope of a GPUProfiler, which stays the caller's.

    profiler: the one that records, by default that of the process, ``regimeter.get_profiler()``. Waits for batches,
    training steps, backward passes and checkpoints get a role, so that steps are found and the verdict knows them,
    unless the profiler finds structure by itself. dirpath, filename: where Lightning puts the summary.
    """

    def __init__(
        self,
        profiler: GPUProfiler | None = None,
        dirpath: str | Path | None = None,
        filename: str | None = None,
    ) -> None:
        super().__init__(dirpath=dirpath, filename=filename)
        self.profiler = get_profiler() if profiler is None else profiler
        self.profiler._leave_out_roles(False)  # the summary is of steps, whoever has found them
        self._open: dict[tuple[int, str], list[Any]] = {}

    def start(self, action_name: str) -> None:
        """Enter the action's scope."""
        scope = self._scope(action_name)
        self._open.setdefault((threading.get_ident(), action_name), []).append(scope)
        scope.__enter__()

    def stop(self, action_name: str) -> None:
        """Leave it. ValueError for an action that this thread has not started."""
        key = threading.get_ident(), action_name
        scopes = self._open.get(key)
        if not scopes:
            raise ValueError(f"the action {action_name!r} was not started in this thread")
        scopes.pop().__exit__(None, None, None)
        if not scopes:
            del self._open[key]

    def summary(self) -> str:
        """Return the verdict and the table of scopes, as Lightning prints them after a stage."""
        run = self.profiler.run()
        verdict = run.verdict()
        parts = [] if verdict is None else ["\n".join(verdict_lines(verdict, WIDTH))]
        return "\n\n".join(["", *parts, render(summary_table(summaries_of(run), ROWS))])

    def _scope(self, action: str) -> Any:
        role = next((role for end, role in ROLES.items() if action.endswith(end)), "")
        if role and self.profiler._structure is None:
            return self.profiler._role_scope(action, _core.ROLES.index(role))
        return self.profiler.profile(action, "cpu")


class RegimeterCallback(Callback):
    """Records each fit into a file a rank, with sampled stacks and the structure of torch, and says what limits it.

    path, html, show, options: of `FitRecording`. `run` is the last fit, a regimeter.Run; None before its end.
    """

    def __init__(
        self, path: str | Path = DEFAULT, *, html: str | Path | None = None, show: bool = True, **options: Any
    ) -> None:
        self.recording = FitRecording(path, html, show, options)

    @property
    def run(self) -> Any:
        """What was recorded of the last fit."""
        return self.recording.run

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin."""
        self.recording.begin("Trainer.fit", trainer.global_rank, trainer.world_size)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """End, and say what limits it."""
        self.recording.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End where the fit has failed; the exception goes on."""
        self.recording.end(exception)
