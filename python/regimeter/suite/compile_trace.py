# SPDX-License-Identifier: Apache-2.0
"""What a folder or file of torch.compile's logs says, as a report: of one process or of many."""

import math
import os
from dataclasses import replace
from pathlib import Path

from ..run.format_error import format_error
from .compile_advice import recommendations
from .compile_breaks import merged
from .compile_log import EXPECTED, Loss, encodable, files_of, records
from .compile_process import ProcessLog
from .compile_report import COUNTS, FIGURES, CompileProcess, CompileReport

NOT_MEASURED = "a log does not tell; `regimeter compile FILE.py:NAME` measures it"
NOT_IN_TEXT = "a text log does not tell; a trace does (TORCH_TRACE=FOLDER)"
NO_LINE = "no line of {0}: there was none, or TORCH_LOGS did not ask for {0}"


def read_trace(path: str | os.PathLike[str]) -> CompileReport:
    """Return what the logs say: times of the slowest process, all else of every one.

    FormatError where no file has a line of torch's, OSError for one that cannot be read.
    """
    found = [one for file in files_of(Path(path)) for one in _processes(file)]
    if not any(log.structured or log.told or log.warnings or log.events_ms for log, _ in found):
        damage = next((f"; {loss.first}" for _, loss in found if loss.first), "")
        raise format_error(f"{os.fspath(path)}: {EXPECTED}{damage}", 0)
    logs = [log for log, _ in found]
    report = _joined(encodable(os.fspath(path)), logs)
    report.processes = [_process(log, loss) for log, loss in found]
    report.unavailable = _unavailable(report, logs)
    report.recommendations = recommendations(report)
    return report


def _processes(path: Path) -> list[tuple[ProcessLog, Loss]]:
    """Return what each process that wrote a file did; what of the file is lost is told with the first."""
    found: dict[int, ProcessLog] = {}
    loss = Loss()
    with path.open("rb") as file:
        for record in records(file, loss):
            log = found.setdefault(record.pid, ProcessLog(encodable(path.name), record.pid))
            try:
                log.add(record)
            except (ValueError, RecursionError) as error:
                loss.note(record.line, str(error).partition("\n")[0])
    logs = list(found.values()) or [ProcessLog(encodable(path.name), None)]
    return list(zip(logs, [loss, *(Loss() for _ in logs[1:])], strict=True))


def _process(log: ProcessLog, loss: Loss) -> CompileProcess:
    tells = log.tells("dynamo")
    return CompileProcess(
        log.file, log.pid, log.rank, log.torch_version, len(log.frames) if tells else None,
        log.graphs if tells else None, log.compile_time_ms, loss.records, loss.first,
    )  # fmt: skip


def _joined(source: str, logs: list[ProcessLog]) -> CompileReport:
    """Return what all processes did, with the times of the slowest."""
    slowest = max(logs, key=lambda log: log.compile_time_ms or 0.0)
    report = CompileReport(source=source, backend=", ".join(sorted({one for log in logs for one in log.backends})))
    report.graph_breaks = merged(one for log in logs for one in log.breaks)
    report.total_graph_breaks = len(report.graph_breaks) if _tells(logs, "graph_breaks") else None
    report.recompiles = [one for log in logs for one in log.recompiles.values()]
    report.frames = [replace(one, process=at) for at, log in enumerate(logs) for one in log.frames.values()]
    report.graphs = sum(log.graphs for log in logs) if _tells(logs, "dynamo") else None
    operators = [frame.operators for frame in report.frames if frame.operators is not None]
    report.captured_ops = sum(operators) if operators else None
    report.phases_ms, report.events_ms = slowest.phases_ms, slowest.events_ms
    report.compile_time_ms = math.nan if slowest.compile_time_ms is None else slowest.compile_time_ms
    for log in logs:
        for name, uses in log.caches.items():
            known = report.caches.setdefault(name, dict.fromkeys(uses, 0))
            report.caches[name] = {kind: known[kind] + uses[kind] for kind in uses}
    report.logs = list(dict.fromkeys(one for log in logs for one in log.warnings))
    _read_kernels(report, logs)
    return report


def _read_kernels(report: CompileReport, logs: list[ProcessLog]) -> None:
    """Note the kernels that were generated: once, where several processes generated the same code."""
    codes = {code: found for log in logs for code, found in log.codes.items()}
    if codes:
        report.fused_kernels = [kernel for kernels, _ in codes.values() for kernel in kernels]
        report.extern_calls = sum(extern for _, extern in codes.values())
        report.ops_after_fusion = sum(kernel.call_count for kernel in report.fused_kernels) + report.extern_calls


def _unavailable(report: CompileReport, logs: list[ProcessLog]) -> dict[str, str]:
    """Return why the logs do not tell what they do not tell."""
    traced = any(log.structured for log in logs)
    found = {name: NOT_MEASURED for name in FIGURES if math.isnan(getattr(report, name))}
    found |= dict.fromkeys(COUNTS, NOT_MEASURED)
    found |= dict.fromkeys(("mode", "ops_before_fusion"), "a log does not tell")
    told = {"total_graph_breaks": "graph_breaks", "recompiles": "recompiles", "graphs": "dynamo", "frames": "dynamo"}
    found |= {name: NO_LINE.format(kind) for name, kind in told.items() if not _tells(logs, kind)}
    why = {
        "backend": "a trace names no backend but inductor" if traced else NO_LINE.format("dynamo"),
        "captured_ops": "no frame of which it is known was compiled" if traced else NOT_IN_TEXT,
        "ops_after_fusion": "no code was generated" if traced else NOT_IN_TEXT,
        "extern_calls": "no code was generated" if traced else NOT_IN_TEXT,
        "caches": "no graph was looked up in a cache" if traced else NOT_IN_TEXT,
        "events_ms": "no phase ended" if traced else NO_LINE.format("dynamo"),
    }
    found |= {name: text for name, text in why.items() if getattr(report, name) in (None, "", {})}
    if "compile_time_ms" in found:
        found["compile_time_ms"] = "no frame was compiled to its end" if traced else NO_LINE.format("dynamo's times")
    return found


def _tells(logs: list[ProcessLog], kind: str) -> bool:
    return any(log.tells(kind) for log in logs)
