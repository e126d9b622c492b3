# SPDX-License-Identifier: Apache-2.0
"""Which profiler the structure is recorded by: one at a time, from when it asks until it is closed."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import collection
from .arrival import Arrival
from .patches import Patches

if TYPE_CHECKING:
    from ...profiler import GPUProfiler
    from .backward import Marks

OLDEST = (2, 4)
OFF = "structure is off"
WAITING = "the program has not imported torch"
TAKEN = "another profiler of the process records the structure"


class Attachment:
    """The structure of the program, as one profiler records it. reason: why torch's part is not, '' where it is."""

    def __init__(self, profiler: "GPUProfiler") -> None:
        self.profiler = profiler
        self.reason = WAITING
        self.missing: list[str] = []
        self._patches = Patches()
        self._arrivals: list[Arrival] = []
        self.youngest = collection.Youngest()
        self.marks: Marks | None = None  # what is torch's is imported when torch is there

    def begin(self) -> None:
        """Put in place what does not need torch, and wait for it."""
        self.youngest = collection.install(self.profiler, self._patches)
        self._expect("torch", self._torch)

    def end(self) -> None:
        """Put everything back."""
        for arrival in self._arrivals:
            arrival.stop()
        self._patches.undo()
        self._arrivals.clear()

    def _expect(self, name: str, then: Any) -> None:
        arrival = Arrival(name, then)
        self._arrivals.append(arrival)
        arrival.wait()

    def _torch(self, torch: ModuleType) -> None:
        self.reason = refusal(torch)
        if self.reason:
            return
        # What belongs to torch waits for it: 5 ms, which programs without torch do not spend.
        from . import parts
        from .backward import Marks

        try:
            self.marks = Marks(torch, self.profiler)
            self.missing = parts.install(torch, self.profiler, self._patches, self.marks)
            self._expect("torch._dynamo", self._dynamo)
        except Exception as error:  # the program must run all the same
            self._patches.undo()
            self.reason = f"not put in place: {type(error).__name__}: {error}"

    def _dynamo(self, dynamo: ModuleType) -> None:
        from . import compilation  # as torch's own parts, for programs that compile

        try:
            compilation.install(dynamo, self.profiler, self._patches)
        except Exception as error:
            self.missing.append(f"torch.compile: {type(error).__name__}: {error}")


def refusal(torch: ModuleType) -> str:
    """Return why this torch is left alone, '' for one that is not."""
    spec = getattr(torch, "__spec__", None)
    if getattr(spec, "_initializing", False) and not _is_whole(torch):
        return "torch is only half imported"
    version = str(getattr(torch, "__version__", ""))
    if not _is_whole(torch):
        return "this torch has no torch.nn.Module, torch.optim.Optimizer or torch.autograd.backward"
    numbers = version.split("+")[0].split(".")[:2]
    if not all(number.isdigit() for number in numbers) or tuple(map(int, numbers)) < OLDEST:
        return f"torch {version} is older than {OLDEST[0]}.{OLDEST[1]}"
    return ""


def _is_whole(torch: Any) -> bool:
    try:
        return all((torch.nn.Module, torch.optim.Optimizer, torch.autograd.backward, torch.utils.data.DataLoader))
    except AttributeError:
        return False


_current: Attachment | None = None


def attach(profiler: "GPUProfiler") -> Attachment | None:
    """Record the structure of the program by this profiler; None where another one does."""
    global _current
    if _current is not None:
        return None
    _current = Attachment(profiler)
    _current.begin()
    return _current


def detach(attachment: Attachment | None) -> None:
    """Put everything back."""
    global _current
    if attachment is not None and attachment is _current:
        _current = None
        attachment.end()


def describe(attachment: Attachment | None, asked: bool) -> dict[str, Any]:
    """Return what the recording says about it: reason ('' where torch's part is in place) and what is missing."""
    if attachment is None:
        return {"reason": TAKEN if asked else OFF}
    youngest = attachment.youngest
    return {
        "reason": attachment.reason,
        "missing": list(attachment.missing),
        "backward": attachment.marks.passes if attachment.marks else None,
        "gc_generation_0": {"count": youngest.count, "total_ns": youngest.ns},
    }
