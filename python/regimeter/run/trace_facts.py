# SPDX-License-Identifier: Apache-2.0
"""What a trace says of itself: hardware, versions, ranks, files, anomalies. Taken as found, nothing is derived."""

import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from .._core import ANOMALY_CODES
from ..system.arrays import distinct
from .witness import witness_line

if TYPE_CHECKING:
    from ..public.run import Run

# Versions as the writers of traces spell them.
_VERSIONS = (
    ("PyTorch", "pytorch_version"),
    ("schema", "schemaVersion"),
    ("CUDA runtime", "cuda_runtime_version"),
    ("CUDA driver", "cuda_driver_version"),
    ("HIP runtime", "hip_runtime_version"),
    ("HIP driver", "hip_driver_version"),
    ("CUPTI", "cupti_version"),
    ("roctracer", "roctracer_version"),
)
# Of the input itself; all other anomalies say something of what was recorded.
DAMAGE = frozenset(("truncated", "trailing_bytes", "invalid_json", "corrupt_bytes", "bad_event", "unfinished"))
RECORDED = ("live", "journal", "record", "run", "export")  # sources of runs that our own profiler recorded
_ON = ("record_shapes", "with_stack", "profile_memory", "with_flops", "with_modules")


def is_trace(run: "Run") -> bool:
    """Return whether the run was imported from another profiler's file."""
    return run.source not in RECORDED


def heads_of(run: "Run") -> list[dict[str, Any]]:
    """Return what each file says of its machine, or what the run does where the files say nothing."""
    texts = [run.string(name) for name in run.table("files").environment.tolist()] if len(run.table("files")) else []
    return [_stated(head) for head in map(_object, texts) if head] or [_stated(run.environment)]


def _stated(environment: dict[str, Any]) -> dict[str, Any]:
    """Return what the trace says of itself: the environment's "trace", or all of an older one."""
    stated = environment.get("trace")
    return stated if isinstance(stated, dict) else environment


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def facts_of(run: "Run") -> list[list[str]]:
    """Return pairs of label and text, the most telling first."""
    heads = heads_of(run)
    found = [
        ["Devices", _distinct(_device_names(head) for head in heads)],
        ["Job", _distinct(_job(head, _ranks(run)) for head in heads)],
        ["Versions", _distinct(_versions(head) for head in heads)],
        ["Recorded with", _distinct(", ".join(key for key in _ON if head.get(key)) for head in heads)],
        ["Steps", _steps(run)],
        ["Machine", witness_line(run) if len(run.tables.witness) or len(run.tables.pressure) else ""],
    ]
    return [pair for pair in found if pair[1]]


def _distinct(texts: Any) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text))


def _device_names(head: dict[str, Any]) -> str:
    devices = head.get("deviceProperties")
    if not isinstance(devices, list):
        return ""
    names = [str(device.get("name") or "unnamed") for device in devices if isinstance(device, dict)]
    return _distinct(f"{names.count(name)} × {name}" for name in names)


def _ranks(run: "Run") -> list[int]:
    return sorted({rank for rank in run.lanes.rank.tolist() if rank >= 0})


def _job(head: dict[str, Any], ranks: list[int]) -> str:
    job = head.get("distributedInfo")
    if not isinstance(job, dict):
        return f"{len(ranks)} ranks" if len(ranks) > 1 else ""
    here = f"{len(ranks)} ranks" if len(ranks) > 1 else f"rank {job['rank']}" if job.get("rank") is not None else ""
    size = f"of {job['world_size']}" if job.get("world_size") is not None else ""
    return " ".join(str(part) for part in (job.get("backend"), here, size) if part)


def _versions(head: dict[str, Any]) -> str:
    return ", ".join(f"{label} {head[key]}" for label, key in _VERSIONS if head.get(key) not in (None, ""))


def _steps(run: "Run") -> str:
    """Return the steps by their numbers, as ranges."""
    numbers = [step for step in distinct(run.spans.step) if step >= 0]
    ranges: list[list[int]] = []
    for step in numbers:
        if ranges and step == ranges[-1][1] + 1:
            ranges[-1][1] = step
        else:
            ranges.append([step, step])
    return ", ".join(str(low) if low == high else f"{low} to {high}" for low, high in ranges)


def files_of(run: "Run") -> list[dict[str, Any]]:
    """Return the inputs of the run with the rows that were read and kept."""
    table, keys = run.table("files"), ("bytes", "events", "kept", "rank", "base_ns", "shift_ns")
    return [
        {"file": run.string(table.file[i]), "format": run.string(table.format[i])}
        | {key: int(getattr(table, key)[i]) for key in keys}
        for i in range(len(table))
    ]


def title_of(run: "Run") -> str:
    """Return the name of the trace: of its file, or of the folder of its files; '' where it was not read from one."""
    files = [PurePath(run.string(name)) for name in run.tables.files.file.tolist()]
    if len(files) > 1:
        return f"{files[0].parent.name or 'trace'} ({len(files)} files)"
    return files[0].name if files else ""


def anomalies_of(run: "Run") -> list[dict[str, Any]]:
    """Return the anomalies with what they cost: rows of the input that are not in the run."""
    table = run.tables.anomalies
    return [
        {
            "code": ANOMALY_CODES[code] if code < len(ANOMALY_CODES) else f"anomaly {code}",
            "count": int(table.count[i]),
            "lost": int(table.lost[i]),
            "first_ns": int(table.first_ns[i]) - run.start_ns if table.first_ns[i] >= 0 else None,
            "first_offset": int(table.first_offset[i]) if table.first_offset[i] >= 0 else None,
            "detail": run.string(table.detail[i]),
        }
        for i, code in enumerate(table.code.tolist())
    ]
