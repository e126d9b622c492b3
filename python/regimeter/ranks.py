# SPDX-License-Identifier: Apache-2.0
"""The files of a job's ranks as one run: a directory or a pattern, and which of its files belong together.

Files belong together when they state the same world size and the same trace id; where they state neither, nothing
tells them apart. Of several jobs the one with most files is read. What is left out is named in `anomalies`.
"""

import glob
import os
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core, inputs
from .analysis.ranks import merge_ranks
from .rebuild import with_anomaly, with_rank

if TYPE_CHECKING:
    from .trace import Run

SKIPPED = "skipped_files"
_RANK = re.compile(r"(?:rank|worker)[-_ ]?(\d+)", re.IGNORECASE)
_NUMBERS = re.compile(r"(\d+)")
_NAMED = 3  # files named in one anomaly


@dataclass(slots=True)
class Part:
    """One file: its run, its rank if the file states one, and what it says of its job."""

    path: str
    run: "Run"
    stated: int
    job: tuple[Any, ...]

    @property
    def rank(self) -> int:
        """The rank that the file states, else that of its name, else -1."""
        if self.stated >= 0:
            return self.stated
        found = _RANK.findall(os.path.basename(self.path))
        return int(found[-1]) if found else -1


def find_files(source: object) -> list[str] | None:
    """Return the files of a list, a directory or a pattern, None when the source is none of these.

    FileNotFoundError for a pattern that no file matches.
    """
    if isinstance(source, list | tuple):
        return [os.fsdecode(os.fspath(path)) for path in source]
    if isinstance(source, bytes | bytearray | memoryview) or not isinstance(source, str | os.PathLike):
        return None
    path = os.fsdecode(os.fspath(source))
    if os.path.isdir(path):
        return sorted((e.path for e in os.scandir(path) if e.is_file() and not e.name.startswith(".")), key=_natural)
    if os.path.lexists(path) or not glob.has_magic(path):
        return None
    found = [name for name in glob.glob(path, recursive=True) if os.path.isfile(name)]
    if not found:
        raise FileNotFoundError(2, "no file matches the pattern", path)
    return sorted(found, key=_natural)


def _natural(path: str) -> list[Any]:
    """Order rank-2 before rank-10."""
    return [int(part) if part.isdigit() else part for part in _NUMBERS.split(path)]


def read(kind: "type[Run]", source: object, files: list[str], strict: bool) -> "Run":
    """Read the files that belong together. FormatError when there is none."""
    parts: list[Part] = []
    left_out: list[tuple[str, str]] = []
    for path in files:
        try:
            run = inputs.read(kind, path, strict, False)
        except _core.FormatError as error:
            left_out.append((path, _reason(error, path)))
            continue
        if not len(run.files):
            left_out.append((path, "not a trace"))
            continue
        parts.append(_part(path, run))
    if not parts:
        place = f"{len(files)} files" if isinstance(source, list | tuple) else os.fsdecode(os.fspath(source))  # type: ignore[call-overload]
        raise inputs.format_error(f"{place}: {_none_of(files, left_out)}")
    parts = _same_job(parts, left_out)
    parts = _one_per_rank(parts, left_out)
    runs = [part.run for part in parts]
    if len(parts) > 1:
        ranks = _ranks(parts)
        runs = [
            run if part.stated == rank else with_rank(run, rank)
            for run, part, rank in zip(runs, parts, ranks, strict=True)
        ]
    if left_out:
        runs[0] = with_anomaly(runs[0], SKIPPED, len(left_out), _name(left_out))
    if len(runs) == 1:
        return runs[0]
    return merge_ranks(runs)[0]


def _name(left_out: list[tuple[str, str]]) -> str:
    named = "; ".join(f"{os.path.basename(path)}: {why}" for path, why in left_out[:_NAMED])
    more = f"; and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    return f"files were left out: {named}{more}"


def _none_of(files: list[str], left_out: list[tuple[str, str]]) -> str:
    if not files:
        return "an empty directory; expected trace files"
    named = "; ".join(f"{os.path.basename(path)}: {why}" for path, why in left_out[:_NAMED])
    return f"none of {len(files)} files is a trace: {named}"


def _reason(error: Exception, path: str) -> str:
    return str(error).removeprefix(f"{path}: ").partition("; expected")[0]


def _part(path: str, run: "Run") -> Part:
    environment = run.environment.get("trace")
    environment = environment if isinstance(environment, dict) else run.environment
    described = environment.get("distributedInfo")
    described = described if isinstance(described, dict) else {}
    stated = int(run.files.rank[0])
    if stated < 0:
        given = described.get("rank")
        stated = given if type(given) is int and 0 <= given < 2**31 else -1
    return Part(path, run, stated, (described.get("world_size"), environment.get("trace_id")))


def _same_job(parts: list[Part], left_out: list[tuple[str, str]]) -> list[Part]:
    """Keep the largest group, of several as large the first; parts that state nothing go with any."""
    counts = Counter(repr(part.job) for part in parts)
    chosen = max(counts, key=lambda job: counts[job])
    for part in parts:
        if repr(part.job) != chosen:
            world = part.job[0]
            left_out.append(
                (part.path, f"of another job ({'no world size' if world is None else f'world size {world}'})")
            )
    return [part for part in parts if repr(part.job) == chosen]


def _one_per_rank(parts: list[Part], left_out: list[tuple[str, str]]) -> list[Part]:
    seen: set[int] = set()
    kept = []
    for part in parts:
        if part.rank >= 0 and part.rank in seen:
            left_out.append((part.path, f"another trace of rank {part.rank}"))
            continue
        seen.add(part.rank)
        kept.append(part)
    return kept


def _ranks(parts: list[Part]) -> list[int]:
    """Return the rank of each part: as stated, as named, or the first number that is free."""
    taken = {part.rank for part in parts}
    ranks = []
    for place, part in enumerate(parts):
        rank = part.rank
        if rank < 0:
            rank = place if place not in taken else next(n for n in range(len(parts) * 2 + 1) if n not in taken)
            taken.add(rank)
        ranks.append(rank)
    return ranks
