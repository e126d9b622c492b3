# SPDX-License-Identifier: Apache-2.0
"""Several files as one run: a directory, a pattern or a list, and which of its files belong together.

Recordings of the processes of one program (`regimeter record` writes RUN, and RUN.PID of what it forks and spawns)
state the same program and are one run. What is left are the ranks of a job.

Files belong together when they state the same world size and the same trace id; where they state neither, nothing
tells them apart. Of several jobs the one with most files is read. What is left out is named in `anomalies`.
"""

import glob
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .. import _core
from . import inputs, remote
from .alignment import merge_ranks
from .format_error import format_error
from .processes import launch_of, merge_processes, process_of, program_of
from .rebuild import with_anomaly, with_rank

if TYPE_CHECKING:
    from ..public.run import Run

SKIPPED = "skipped_files"
_RANK = re.compile(r"(?:rank|worker)[-_ ]?(\d+)", re.IGNORECASE)
_NUMBERS = re.compile(r"(\d+)")
_NAMED = 3  # files named in one anomaly


Held = TypeVar("Held")


@dataclass(slots=True)
class Part(Generic[Held]):
    """One file: what was made of it, its rank if it states one, and what it says of its job (world size, trace id).

    program: what it has in common with the recordings of the same program's processes; owner: it is the one of the
    process that `regimeter record` has started.
    """

    path: str
    held: Held
    stated: int
    job: tuple[Any, ...]
    program: tuple[int, str] | None = None
    owner: bool = False

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
    if remote.is_url(path):
        elsewhere = remote.find(path)
        return None if elsewhere is None else sorted(elsewhere, key=_natural)
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


def read(
    kind: "type[Run]", source: object, files: list[str], strict: bool, names: Mapping[str, str] | None = None
) -> "Run":
    """Read the files that belong together; names: what files are called in the place of their paths. FormatError when
    there is none."""
    parts: list[Part[Run]] = []
    left_out: list[tuple[str, str]] = []
    for path in files:
        part = read_part(kind, path, strict, (names or {}).get(path))
        if isinstance(part, str):
            left_out.append((path, part))
        elif (same := _copied(part, parts)) is not None:
            left_out.append((path, f"the same recording as {os.path.basename(same.path)}"))
        else:
            parts.append(part)
    groups = by_program(parts, left_out)
    chosen = choose([as_one(group) for group in groups], left_out, source, files)
    runs = [part.held if rank == -1 or _has(part.held, rank) else with_rank(part.held, rank) for part, rank in chosen]
    if left_out:
        runs[0] = with_anomaly(runs[0], SKIPPED, len(left_out), _name(left_out))
    if len(runs) == 1:
        return runs[0]
    return merge_ranks(runs)[0]


def _copied(part: "Part[Run]", parts: "list[Part[Run]]") -> "Part[Run] | None":
    """Return the part that is the same recording as another one, or that it is a copy of."""
    run, launch = part.held, launch_of(part.held)
    for other in parts:
        known = other.held
        if launch and launch == launch_of(known) and (run.start_ns, run.end_ns) == (known.start_ns, known.end_ns):
            return other
    return None


def _has(run: "Run", rank: int) -> bool:
    """Whether its tables name the rank; those of a recording do not, whose environment states it."""
    files = run.tables.files.rank.tolist()
    return bool(files) and all(one == rank for one in files)


def read_part(kind: "type[Run]", path: str, strict: bool, name: str | None = None) -> "Part[Run] | str":
    """Read one file of several, called `name`: a part, or why it is left out."""
    try:
        run = inputs.read(kind, path, strict, False, name)
    except _core.FormatError as error:
        return str(error).removeprefix(f"{path}: ").partition("; expected")[0]
    part = _part(path, run)
    known = part.rank >= 0 or part.program is not None
    return part if len(run.tables.files) or (run.start_unix_ns is not None and known) else "not a trace"


def by_program(parts: list[Part[Held]], left_out: list[tuple[str, str]]) -> list[list[Part[Held]]]:
    """Return the parts in groups: those of one program's processes, of one rank where they have one, are together.

    What lacks the recording of its program beside one that has it is of an earlier program, and left out.
    """
    groups: dict[Any, list[Part[Held]]] = {}
    for place, part in enumerate(parts):
        groups.setdefault(place if part.program is None else (part.program, part.rank), []).append(part)
    whole = any(part.owner for part in parts)
    found = []
    for group in groups.values():
        if whole and group[0].rank < 0 and group[0].program is not None and not any(part.owner for part in group):
            left_out += [(part.path, "of another program's recording") for part in group]
        else:
            found.append(group)
    return found


def as_one(group: "list[Part[Run]]") -> "Part[Run]":
    """Return the recordings of one program's processes as one part."""
    return group[0] if len(group) == 1 else replace(group[0], held=merge_processes([part.held for part in group]))


def choose(
    parts: list[Part[Held]], left_out: list[tuple[str, str]], source: object, files: list[str]
) -> list[tuple[Part[Held], int]]:
    """Return the parts that belong together, each with its rank: -1 for a lone one, whose ranks stay as they are.

    What does not belong to them is appended to `left_out` with the reason. FormatError when there is no part.
    """
    if not parts:
        place = f"{len(files)} files" if isinstance(source, list | tuple) else os.fsdecode(os.fspath(source))  # type: ignore[call-overload]
        raise format_error(f"{place}: {_none_of(files, left_out)}")
    parts = _same_job(parts, left_out)
    parts = _one_per_rank(parts, left_out)
    return list(zip(parts, _ranks(parts) if len(parts) > 1 else [-1], strict=True))


def _name(left_out: list[tuple[str, str]]) -> str:
    named = "; ".join(f"{os.path.basename(path)}: {why}" for path, why in left_out[:_NAMED])
    more = f"; and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    return f"files were left out: {named}{more}"


def _none_of(files: list[str], left_out: list[tuple[str, str]]) -> str:
    if not files:
        return "an empty directory; expected trace files"
    named = "; ".join(f"{os.path.basename(path)}: {why}" for path, why in left_out[:_NAMED])
    return f"none of {len(files)} files is a trace: {named}"


def _part(path: str, run: "Run") -> "Part[Run]":
    environment = run.environment.get("trace")
    environment = environment if isinstance(environment, dict) else run.environment
    described = environment.get("distributedInfo")
    described = described if isinstance(described, dict) else {}
    stated = int(run.tables.files.rank[0]) if len(run.tables.files) else -1  # a recording was not imported from a file
    if stated < 0:
        given = described.get("rank")
        stated = given if type(given) is int and 0 <= given < 2**31 else -1
    program = program_of(run)
    owner = program is not None and program[0] == process_of(run)
    return Part(path, run, stated, (described.get("world_size"), environment.get("trace_id")), program, owner)


def _same_job(parts: list[Part[Held]], left_out: list[tuple[str, str]]) -> list[Part[Held]]:
    """Keep the largest group, of several as large one that states a world size, and of these the first."""
    counts = Counter(repr(part.job) for part in parts)
    states = {repr(part.job): part.job[:1] not in ((), (None,)) for part in parts}
    chosen = max(counts, key=lambda job: (counts[job], states[job]))
    for part in parts:
        if repr(part.job) != chosen:
            world = part.job[0]
            left_out.append(
                (part.path, f"of another job ({'no world size' if world is None else f'world size {world}'})")
            )
    return [part for part in parts if repr(part.job) == chosen]


def _one_per_rank(parts: list[Part[Held]], left_out: list[tuple[str, str]]) -> list[Part[Held]]:
    seen: set[int] = set()
    kept = []
    for part in parts:
        if part.rank >= 0 and part.rank in seen:
            left_out.append((part.path, f"another trace of rank {part.rank}"))
            continue
        seen.add(part.rank)
        kept.append(part)
    return kept


def _ranks(parts: list[Part[Held]]) -> list[int]:
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
