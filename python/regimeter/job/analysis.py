# SPDX-License-Identifier: Apache-2.0
"""A job of many ranks: who is waited for and why, step by step, without ever holding more than tables of it."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ..run import ranks, remote
from ..run.format_error import format_error
from .document import document
from .joined import Joined, join
from .lateness import Arrivals, arrivals_of
from .tables import RankTables, Read, Rules, Source
from .text import text
from .workers import connect, read_beside, read_by, read_here

LEAST_EACH = 8  # ranks a process, unless told: starting one takes as long as reading some ten


@dataclass(frozen=True, slots=True)
class RankAnalysis:
    """What many ranks show together.

    file: what was asked for. parts: the files that belong together, with their tables and ranks. left_out: files with
    the reason. world_size: as the files state it, None where they do not. joined, arrivals: the tables of the job.
    """

    file: str | list[str]
    parts: list[tuple[str, RankTables, int]]
    left_out: list[tuple[str, str]]
    world_size: int | None
    joined: Joined
    arrivals: Arrivals
    policy: dict[str, float]
    rules: Rules
    by: str = "rank"
    _kept: dict[str, Any] = field(default_factory=dict)

    @property
    def ranks(self) -> list[int]:
        """The ranks that were read."""
        return sorted({row["rank"] for row in self.joined.whole} | {rank for _, _, rank in self.parts if rank >= 0})

    @property
    def missing(self) -> list[int]:
        """Ranks below the world size of which no file was read."""
        return sorted(set(range(self.world_size or 0)) - set(self.ranks))

    def document(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dictionary, the same whoever read the files."""
        if "document" not in self._kept:
            self._kept["document"] = document(self)
        found: dict[str, Any] = self._kept["document"]
        return found

    def headline(self) -> list[str]:
        """Return what the job lost and to whom, in a few sentences."""
        found: list[str] = self.document()["headline"]
        return found

    def __str__(self) -> str:
        """Return the report as text."""
        return text(self.document())


def analyze_ranks(
    paths: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]",
    client: Any = None,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    rules: Iterable[tuple[str, str]] = (),
    thresholds: dict[str, float] | None = None,
    strict: bool = False,
    by: str = "rank",
) -> RankAnalysis:
    """Return who is waited for and why in a job of many ranks: stragglers with their cause, steps, stages.

    paths: a folder, a glob pattern, one file, or files; what fsspec reads (s3://, gs://, http://) where it is
    installed. client: a distributed.Client (or an Executor of concurrent.futures) whose workers read the ranks;
    scheduler: the address of a Dask scheduler. Without either `workers` processes do (default: one a processor and
    LEAST_EACH files; 1: this process). A worker holds one rank at a time, the result holds tables. rules, thresholds,
    strict: as in Run.analyse and load; with strict, a damaged file is left out. by: "rank" or "step", of
    document()["rows"].

    Files that are missing, empty, damaged beyond use or of another job are left out, named and counted. FormatError
    when no file is left; FileNotFoundError for a pattern that nothing matches; UnavailableError for a scheduler that
    does not answer or a package that is missing; ValueError for an unknown threshold or grouping.
    """
    if by not in ("rank", "step"):
        raise ValueError(f"ranks cannot be grouped by {by!r}; valid are: rank, step")
    if workers is not None and workers < 1:
        raise ValueError(f"workers is at least 1, not {workers}")
    source = _source(paths)
    policy, given = {name: float(row["default"]) for name, row in _core.policy().items()}, thresholds or {}
    if unknown := sorted(set(given) - set(policy)):
        raise ValueError(f"no threshold is called {unknown[0]!r}")
    policy |= given
    kept_rules = tuple(rules)
    files = _files(source)
    with _reader(client, scheduler, workers, len(files), kept_rules, strict) as read:
        parts, left_out = _parts(files, read)
    # In order of rank, so that nothing depends on the order of the files.
    chosen = sorted(ranks.choose(parts, left_out, source, files), key=lambda pair: pair[1])
    joined = join([(part.held, rank) for part, rank in chosen], kept_rules)
    world = chosen[0][0].job[0] if chosen[0][0].job else None
    return RankAnalysis(
        file=source,
        parts=[(part.path, part.held, rank) for part, rank in chosen],
        left_out=sorted(left_out),
        world_size=world if type(world) is int and 0 < world <= 1 << 20 else None,
        joined=joined,
        arrivals=arrivals_of(joined, policy, kept_rules),
        policy=policy,
        rules=kept_rules,
        by=by,
    )


def _source(paths: Any) -> str | list[str]:
    if isinstance(paths, str | bytes | os.PathLike):
        return os.fsdecode(os.fspath(paths))
    found = [os.fsdecode(os.fspath(path)) for path in paths]
    return found[0] if len(found) == 1 else found


def _files(source: str | list[str]) -> list[str]:
    files = ranks.find_files(source)
    if files is not None:
        if not files:
            raise format_error(f"{source if isinstance(source, str) else 'no file'}: no file of a rank; name some")
        return files
    assert isinstance(source, str)
    if not remote.is_url(source):
        os.stat(source)  # FileNotFoundError names it
    return [source]


def _parts(
    files: Sequence[str], read: Callable[[Sequence[Source]], list[Read]]
) -> tuple[list[ranks.Part[RankTables]], list[tuple[str, str]]]:
    """Return the ranks, and the files that are left out with the reason.

    That files are recordings of one rank's processes is known when they have been read; those are read again, together.
    """
    left_out: list[tuple[str, str]] = []
    alone: list[ranks.Part[RankTables]] = []
    for path, one in zip(files, read(files), strict=True):
        if one.tables is None:
            left_out.append((path, one.problem))
        else:
            alone.append(one.part(path))
    groups = ranks.by_program(alone, left_out)
    several = [tuple(part.path for part in group) for group in groups if len(group) > 1]
    parts = [group[0] for group in groups if len(group) == 1]
    for paths, one in zip(several, read(several) if several else (), strict=True):
        if one.tables is None:
            left_out += [(path, one.problem) for path in paths]
        else:
            parts.append(one.part(paths[0]))
    places = {path: place for place, path in enumerate(files)}
    return sorted(parts, key=lambda part: places[part.path]), left_out


@contextlib.contextmanager
def _reader(
    client: Any, scheduler: str | None, workers: int | None, files: int, rules: Rules, strict: bool
) -> Iterator[Callable[[Sequence[Source]], list[Read]]]:
    """Give what reads ranks: here, in processes beside, or by the workers of a cluster."""
    if client is not None:
        yield lambda sources: read_by(client, sources, rules, strict)
    elif scheduler is not None:
        with connect(scheduler) as found:
            yield lambda sources: read_by(found, sources, rules, strict)
    else:
        count = min(workers or min(len(os.sched_getaffinity(0)), files // LEAST_EACH), files) or 1
        yield (
            lambda sources: (
                read_here(sources, rules, strict) if count == 1 else read_beside(sources, rules, strict, count)
            )
        )
