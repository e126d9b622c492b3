# SPDX-License-Identifier: Apache-2.0
"""What was in memory when there was no more: a report beside the exception, which passes on."""

import datetime
import re
import time
from pathlib import Path
from typing import Any

from ..system import quantities
from ..system.files import write_json

FORMAT, VERSION = "regimeter.suite.out_of_memory", 1
_ASKED = re.compile(r"[Tt]ried to allocate ([\d.]+) (\w*)")
_HOST = re.compile(r"can't allocate memory|not enough memory|Cannot allocate memory")


def is_out_of_memory(torch: Any, error: BaseException) -> bool:
    """Whether an exception says that the device or the host had no more memory."""
    kinds = tuple(kind for kind in (getattr(torch, "OutOfMemoryError", None), MemoryError) if kind is not None)
    return isinstance(error, kinds) or (isinstance(error, RuntimeError) and bool(_HOST.search(str(error))))


def requested_bytes(text: str) -> int | None:
    """Return what was asked for, as the message says it."""
    found = _ASKED.search(text)
    try:
        return None if found is None else int(quantities.size(f"{found[1]} {found[2]}", bare="B"))
    except ValueError:  # in words of a torch to come
        return None


def write_report(folder: Path, name: str, error: BaseException, facts: dict[str, Any]) -> Path:
    """Write the report, and return its path."""
    text = str(error)
    report = {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "error": f"{type(error).__name__}: {text}",
        "requested_bytes": requested_bytes(text),
    } | facts
    folder.mkdir(parents=True, exist_ok=True)
    plain = re.sub(r"[^\w.-]+", "_", name)[:80] or "memory"
    path = folder / f"{plain}-{time.monotonic_ns()}-out-of-memory.json"
    write_json(path, report, indent=1)
    return path
