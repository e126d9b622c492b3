# SPDX-License-Identifier: Apache-2.0
"""What measurements share: a warm device, rows of a run, spreads, and functions that run in processes of their own."""

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import doubles
from .bounded import left_s, read_answer, run_bounded, write_answer

HERE = Path(__file__).resolve().parent
PYTHON_TESTS = HERE.parent.parent / "python"
RESULT = "REGIMETER_EVIDENCE_RESULT"  # where this process writes its answer


class UnavailableHere(Exception):
    """The measurement cannot be made on this machine; the text says why."""


def ready() -> Any:
    """Return torch with a device that has been used."""
    import torch

    torch.cuda.init()
    torch.ones(1, device="cuda").add_(1)
    torch.cuda.synchronize()
    return torch


def tracing(**options: Any) -> Any:
    """Return a profiler that records kernels; UnavailableHere with its reason where it cannot."""
    from regimeter import GPUProfiler

    options.setdefault("profile_kernels", True)
    profiler = GPUProfiler(enable_detailed_metrics=False, **options)
    if profiler.kernels_reason:
        profiler.close()
        raise UnavailableHere(f"kernels are not traced: {profiler.kernels_reason}")
    return profiler


def finished(profiler: Any, torch: Any) -> Any:
    """Return the run of a profiler after the device has done everything."""
    torch.cuda.synchronize()
    profiler.close()
    return profiler.run()


def spread(values: Iterable[float]) -> dict[str, Any]:
    """Return count, least, quartiles, median and most; only the count for nothing."""
    known = sorted(values)
    if len(known) < 2:
        return {"count": len(known), **({"median": known[0], "least": known[0], "most": known[0]} if known else {})}
    low, median, high = statistics.quantiles(known, n=4, method="inclusive")
    return {"count": len(known), "least": known[0], "low": low, "median": median, "high": high, "most": known[-1]}


def anomalies(run: Any) -> dict[str, int]:
    """Return what a run counts as lost or wrong."""
    return {row["code"]: int(row["count"]) for row in run.anomaly_list()}


def kernel_rows(run: Any) -> list[int]:
    """Return the rows of `spans` that are kernels."""
    from regimeter import _core

    kind = _core.SPAN_KINDS.index("kernel")
    return [row for row, value in enumerate(run.spans.kind.tolist()) if value == kind]


def scope_of(run: Any, row: int) -> int:
    """Return the row of the scope around a call or span, -1 for none."""
    from regimeter import _core

    scope = _core.SPAN_KINDS.index("scope")
    while row >= 0 and run.spans.kind[row] != scope:
        row = int(run.spans.parent[row])
    return row


def name_of(run: Any, row: int) -> str | None:
    """Return the name of a span, None for row -1."""
    return run.strings[run.spans.name[row]] if row >= 0 else None


def kernels_by_scope(run: Any) -> dict[int, list[int]]:
    """Return the rows of kernels by the row of the scope that launched them; -1 holds those without."""
    found: dict[int, list[int]] = {}
    for row in kernel_rows(run):
        launch = int(run.spans.launch[row])
        found.setdefault(scope_of(run, launch) if launch >= 0 else -1, []).append(row)
    return found


def find_compiler_of_kernels() -> None:
    """Name torch's or pip's NVRTC to regimeter, unless one is named already."""
    sys.path.insert(0, str(PYTHON_TESTS))
    import nvrtc_place

    from regimeter.system import libraries

    libraries.search_wheels()
    place = nvrtc_place.find()
    if place is not None:
        os.environ.setdefault("REGIMETER_LIBNVRTC", str(place))


def in_process(module: str, function: str, *arguments: Any, limit_s: float = 120, on_doubles: str | None = None) -> Any:
    """Call evidence.MODULE.FUNCTION in a new process and return its result.

    CUPTI serves one tool for the life of a process, so what traces gets one of its own. It ends before the process
    that asks for it is ended for its time. on_doubles: the kind of doubles, where not those of this process.
    RuntimeError with the end of the output when it fails or takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="regimeter-evidence-") as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, str(HERE), "--call", f"{module}:{function}", "--arguments", json.dumps(arguments)]
        allowed_s = left_s(limit_s)
        own = doubles.variables(on_doubles) if doubles.ON and on_doubles else None
        ended = run_bounded([*command, "--result", str(result)], allowed_s, own, apart=False)
        answer = read_answer(result)
    if "unavailable" in answer:
        raise UnavailableHere(answer["unavailable"])
    if "found" in answer and not answer.get("partial"):
        return answer["found"]
    how = f"took more than {allowed_s:g} s" if ended.status is None else f"ended with {ended.status}"
    raise RuntimeError(f"{module}:{function}{arguments} {how}:\n{ended.output[-2000:]}")


def keep(found: Any) -> None:
    """Keep what has been found so far: it is the answer of this measurement if it is ended for its time."""
    result = os.environ.get(RESULT)
    if result is not None:
        write_answer(Path(result), {"found": found, "partial": True})
