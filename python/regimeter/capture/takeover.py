# SPDX-License-Identifier: Apache-2.0
"""Which profiler of a program goes on with the recording that stood in for it, rather than begins one of its own.

What has been recorded of the program before is in its recording then, and what it does after its last scope.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import rates, recording

if TYPE_CHECKING:
    from ..profiler import GPUProfiler

# Options of GPUProfiler that a session learns on its way; all others have to be what they are by default, or what the
# recording was begun with.
LEARNT = frozenset(
    {"enabled", "enable_detailed_metrics", "sample_rate", "track_memory", "memory_interval_ms", "structure",
     "device_timing", "force_recalibration", "verbose"}
)  # fmt: skip
BY_DEFAULT = {"path": None, "budget": None, "witness": True}  # the others: off, or 0
DEVICE_ID, BY_POSITION = 1, 3


class Signature:
    """The signature of a class, as its ``__init__`` has it: ``__new__`` only looks at what it is given."""

    def __get__(self, instance: object, owner: type) -> Any:
        import inspect  # 10 ms, for who asks

        whole = inspect.signature(owner.__init__)  # type: ignore[misc]
        return whole.replace(parameters=list(whole.parameters.values())[1:])


def profiler_for(arguments: tuple[Any, ...], options: Mapping[str, Any]) -> "GPUProfiler | None":
    """Return the profiler that stood in, for a GPUProfiler with these arguments; None where that is a new one.

    ValueError or TypeError for a sample rate that is none, which leaves everything as it was.
    """
    stands_in = recording.stand_in_profiler()
    if stands_in is None or not _may_go_on(arguments, options, stands_in):
        return None
    rates.check_rate(options.get("sample_rate", 1.0))
    rates.memory_interval_ns(options.get("memory_interval_ms"), tracking=False, detailed=False)
    place = recording.standing()
    profiler = place.hand_over() if place is not None else None
    if profiler is not None:
        profiler._place = place
    return profiler


def _may_go_on(arguments: tuple[Any, ...], options: Mapping[str, Any], stands_in: "GPUProfiler") -> bool:
    if len(arguments) > BY_POSITION or any(arguments[DEVICE_ID : DEVICE_ID + 1]):
        return False
    return all(
        name in LEARNT or _is_default(value, BY_DEFAULT.get(name, False)) or _is_recorded(name, value, stands_in)
        for name, value in options.items()
    )


def _is_default(value: object, default: object) -> bool:
    return value is default or (default is False and type(value) is int and value == 0)


def _is_recorded(name: str, value: Any, stands_in: "GPUProfiler") -> bool:
    """Return whether it is recorded already: as the program asks, or stacks more often than that."""
    if name == "stacks":
        sampled = not stands_in._stacks_reason()  # else the program's profiler says why not
        return sampled and 0 < stands_in._session["stacks_interval_ns"] <= rates.stacks_interval_ns(value)
    begun_with = getattr(stands_in._asked, name, None)
    return type(value) is type(begun_with) and bool(value == begun_with)
