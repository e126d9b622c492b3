# SPDX-License-Identifier: Apache-2.0
"""What it costs to ask for work: an empty Python call, the smallest operation of NumPy and of torch."""

import sys
import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

from .. import _core
from .ceiling import Ceiling, missing
from .sampling import Effort


def dispatch_costs(effort: Effort, torch_device: str = "cpu") -> dict[str, Ceiling]:
    """Return the costs of dispatch in nanoseconds: a loop of calls, less the loop without them."""
    import numpy as np

    def nothing() -> None:
        pass

    one, out = np.ones(1), np.empty(1)
    found = {
        "dispatch_python": _cost(effort, "dispatch_python", "call of an empty function", nothing),
        "dispatch_numpy": _cost(effort, "dispatch_numpy", "numpy.add of one element", lambda: np.add(one, one, out)),
    }
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "add"):
        found["dispatch_torch"] = missing("dispatch_torch", "the program has not imported torch")
        return found
    try:
        element = torch.ones(1, device=torch_device)
        result = torch.empty_like(element)
    except RuntimeError as error:  # a device without a byte left
        found["dispatch_torch"] = missing("dispatch_torch", f"torch.ones(1) fails: {str(error).splitlines()[0]}")
        return found
    found["dispatch_torch"] = _cost(
        effort, "dispatch_torch", f"torch.add of one element on {torch_device}",
        lambda: torch.add(element, element, out=result),
    )  # fmt: skip
    if torch_device != "cpu":
        torch.cuda.synchronize(torch_device)
    return found


def _cost(effort: Effort, token: str, source: str, work: Callable[[], object]) -> Ceiling:
    calls = max(1, int(effort.value("dispatch_calls")))
    unit = _core.ceilings()[token]["unit"]
    batches, batch = max(1, int(effort.value("batches"))), max(1, int(effort.value("batch")))
    bests: list[float] = []
    _loop(work, min(calls, 100))
    for _ in range(batches):
        if bests and effort.late:
            break
        with_call = min(_loop(work, calls) for _ in range(batch))
        without = min(_loop(None, calls) for _ in range(batch))
        if with_call > without:
            bests.append((with_call - without) / calls)
    if not bests:
        return Ceiling(None, None, unit, reason="too short for the clock")
    value, spread = _core.calibrate_figure(bests, True)
    return Ceiling(value, spread, unit, len(bests) * batch * calls, source)


def _loop(work: Callable[[], object] | None, calls: int) -> int:
    """Return the processor time of a loop in ns, which others cannot lengthen; the loop alone without work."""
    steps = repeat(None, calls)
    if work is None:
        begin = time.thread_time_ns()
        for _ in steps:
            pass
        return time.thread_time_ns() - begin
    begin = time.thread_time_ns()
    for _ in steps:
        work()
    return time.thread_time_ns() - begin
