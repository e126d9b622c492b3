# SPDX-License-Identifier: Apache-2.0
"""What the steps of contact.py share: answers that are on disk after each part, a warm device, texts of commands."""

import contextlib
import ctypes
import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evidence.bounded import write_answer


class Answers:
    """What a step has seen so far, on disk after each part."""

    def __init__(self, path: Path) -> None:
        self.path, self.found = path, dict[str, Any]()

    def put(self, name: str, value: Any) -> None:
        """Keep an answer."""
        self.found[name] = value
        write_answer(self.path, self.found)

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[dict[str, Any]]:
        """Collect the answers of a part; its error becomes one of them."""
        row: dict[str, Any] = {}
        begin = time.monotonic()
        try:
            yield row
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"
        row["seconds"] = round(time.monotonic() - begin, 3)
        self.put(name, row)


def text_of(*command: str, limit_s: float = 10) -> str:
    """Return what a command prints, or why it cannot be had."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"not to be had: {error}"
    return (done.stdout + done.stderr).strip()


def spread(values: list[float]) -> dict[str, float]:
    """Return count, least, quartiles and most."""
    known = sorted(values)
    if len(known) < 2:
        return {"count": len(known), **({"median": known[0]} if known else {})}
    low, middle, high = statistics.quantiles(known, n=4, method="inclusive")
    return {"count": len(known), "least": known[0], "low": low, "median": middle, "high": high, "most": known[-1]}


def ready() -> Any:
    """Return torch after the device has been used."""
    import torch

    torch.cuda.init()
    torch.ones(1, device="cuda").add_(1)
    torch.cuda.synchronize()
    return torch


def driver_path() -> str:
    """Return the name of the CUDA driver that the process uses."""
    return os.environ.get("REGIMETER_LIBCUDA", "libcuda.so.1")


def driver() -> Any:
    """Return the CUDA driver that the process uses."""
    return ctypes.CDLL(driver_path())
