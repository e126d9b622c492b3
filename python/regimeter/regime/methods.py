# SPDX-License-Identifier: Apache-2.0
"""What GPUProfiler says of single operations. Nothing else is imported until one is profiled."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _core

if TYPE_CHECKING:
    from ..calibration import Calibration

R = TypeVar("R")


_light: Callable[..., Any] | None = None


def _find_light() -> Callable[..., Any]:
    """An import statement in the method would cost as much as the rest of a lightweight call."""
    global _light
    from .light import profile_light

    _light = profile_light
    return profile_light


class OperationMethods:
    """Methods of GPUProfiler for one call; they record no scope and need no session."""

    device_id: int
    force_recalibration: bool

    def profile_operation(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Call `function` and return its profile: as `profile_with_result`, whose result is dropped."""
        profile: dict[str, Any] = self.profile_with_result(function, *args, **kwargs)[1]
        return profile

    def profile_with_result(
        self,
        function: Callable[..., R],
        /,
        *args: Any,
        lightweight: bool = False,
        repeat: int = 1,
        flops: float | None = None,
        bytes: float | None = None,
        operators: int | None = None,
        accesses: float | None = None,
        count_work: bool | None = None,
        **kwargs: Any,
    ) -> tuple[R, dict[str, Any]]:
        """Call ``function(*args, **kwargs)`` once and return what it returned, and what limits it.

        function: of NumPy, torch or CuPy, a module, a method, any callable. An argument of its own that is called as
        one below is bound before: ``functools.partial(numpy.repeat, repeats=3)``.

        repeat: calls to make; the result is that of the last one, the time the median once they have settled. flops,
        bytes: the work of one call, where it is known better than by formula or count (one multiply-add is two
        FLOPs). operators: calls of library functions inside. accesses: loads beyond all caches that each depend on the
        one before. count_work: False never counts torch's operators inside the call, True also where torch.compile is
        in use. lightweight: time, regime and memory only, for less than 2 us (docs/regime_profiler.md).

        The profile is a dictionary: runtime_ms; achieved_flops in FLOP/s and achieved_bandwidth in bytes/s;
        flops_utilization and bandwidth_utilization as a part of the calibrated ceilings (1.0 is all; a lower bound
        where source says so; above 1 is an error of the model, and stays visible); regime, one of OVERHEAD_BOUND,
        MEMORY_BOUND, COMPUTE_BOUND, AMBIGUOUS, UNKNOWN; compute_intensity in FLOP/byte; memory in MB; detail,
        confidence, leans_to and evidence; calls; flops, bytes and their source; device, pipe, warnings. What is not
        known is None.

        The first call on a device calibrates it, which takes seconds and is kept. What the function raises is raised.
        ValueError for negative work or a repeat below 1; CUDANotAvailableError for a device that is not there.
        """
        if lightweight:
            light: tuple[R, dict[str, Any]] = (_light or _find_light())(self, function, args, kwargs, flops, bytes)
            return light
        from .calls import Question, profile_call

        question = Question(repeat, flops, bytes, operators, accesses, count_work)
        return profile_call(function, args, kwargs, question, self._calibration)

    def _print_calibration(self) -> None:
        """Calibrate the device that operations would be judged by (the host where there is no other) and print it."""
        from ..calibration.text import text_of

        try:
            found = self._calibration(f"cuda:{self.device_id}")
        except (_core.UnavailableError, ValueError):
            found = self._calibration("cpu")
        print(*text_of(found), sep="\n")

    def _calibration(self, device: str) -> "Calibration":
        from ..calibration import calibration_for

        force, self.force_recalibration = self.force_recalibration, False
        return calibration_for(device, force=force)
