# SPDX-License-Identifier: Apache-2.0
"""Decisions of the autotuner on disk: one JSON file for each device identity.

A file is written aside and renamed, so a reader sees a whole one or none. What does not add up is not used, as a
whole, and the reason is returned: a decision that is lost costs a tuning, one that is wrong costs more.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._core import RACE_OUTCOMES, UnavailableError
from ..run.environment import Environment
from ..run.identity import facts_of
from ..system.cache import NoCacheError, cache_folder, file_of
from ..system.files import atomic_writer
from .trial import LARGEST

FORMAT = "regimeter-tuning"
VERSION = 1
MOST_BYTES = 16 << 20
OUTCOMES = frozenset(RACE_OUTCOMES) - {"running"}


@dataclass(frozen=True, slots=True)
class Decision:
    """What a tuning decided for a kernel and a bucket of sizes.

    `ratio`, `low` and `high` are the time of the choice over that of the default and its interval, None where the
    default stayed; `rounds` is how often each remaining configuration was measured.
    """

    kernel: str
    bucket: int
    block_size: int
    outcome: str
    rounds: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


def identity(device: int | None) -> dict[str, Any]:
    """Return what decisions belong to: the processor, or (an ordinal) the device by UUID with its driver.

    UnavailableError when the device cannot be identified.
    """
    here = Environment.current()
    if device is None:
        return {"kind": "host", **facts_of([here], "tuning_host")}
    one = here.only(device)
    if not one.gpus or one.gpus[0].uuid is None:
        why = here.unknown.get("gpu") or "NVML lists no device of that CUDA ordinal"
        raise UnavailableError(f"device {device} cannot be identified: {why}")
    return {"kind": "cuda", **facts_of([one], "tuning_device")}


def folder() -> Path:
    """Return where files are kept, below the cache folder. UnavailableError where nothing is to be kept."""
    try:
        return cache_folder("tuning")
    except NoCacheError as error:
        raise UnavailableError(f"the cache is {error}; name a folder") from None


def path_of(who: Mapping[str, Any], where: Path) -> Path:
    """Return the file of an identity."""
    return file_of(where, who)


def write(path: Path, who: Mapping[str, Any], decisions: Iterable[Decision]) -> None:
    """Write a file aside and rename it. OSError when that is not possible; the old file is then as it was."""
    rows = [{name: getattr(row, name) for name in Decision.__slots__} for row in decisions]
    document = {"format": FORMAT, "version": VERSION, "identity": dict(who), "decisions": rows}
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_writer(path) as file:
        json.dump(document, file, indent=1)


def read(path: Path, who: Mapping[str, Any]) -> tuple[list[Decision], str | None]:
    """Return the decisions of a file, and why there are none: None where there is nothing to say (no file)."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return [], None
    except OSError as error:
        return [], f"{path}: {error.strerror}"
    if len(data) > MOST_BYTES:
        return [], f"{path}: longer than {MOST_BYTES} bytes; delete it"
    try:
        return parse(data, who), None
    except ValueError as error:
        return [], f"{path}: not used: {error}; delete it or tune again"


def parse(data: bytes, who: Mapping[str, Any]) -> list[Decision]:
    """Return the decisions of a file's bytes. ValueError, saying what is wrong, for anything that is not one."""
    try:
        document = json.loads(data.decode())
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("no file of tuning decisions")
    if document.get("version") != VERSION:
        raise ValueError(f"version {document.get('version')!r}, this reads {VERSION}")
    if document.get("identity") != dict(who):
        raise ValueError("decisions for another device or driver")
    rows = document.get("decisions")
    if not isinstance(rows, list):
        raise ValueError("no list of decisions")
    return [_decision(number, row) for number, row in enumerate(rows)]


def _decision(number: int, row: Any) -> Decision:
    names = Decision.__slots__
    if not isinstance(row, dict) or set(row) != set(names):
        raise ValueError(f"decision {number} has not the members {', '.join(names)}")
    good = (
        isinstance(row["kernel"], str)
        and _whole(row["bucket"], 0, 64)
        and _whole(row["block_size"], 1, LARGEST)
        and isinstance(row["outcome"], str)
        and row["outcome"] in OUTCOMES
        and _whole(row["rounds"], 0, LARGEST)
        and all(_ratio(row[name]) for name in ("ratio", "low", "high"))
    )
    if not good:
        raise ValueError(f"decision {number} has a value that cannot be")
    return Decision(**row)


def _whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _ratio(value: object) -> bool:
    return value is None or (isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value < 1e9)
