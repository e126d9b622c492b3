# SPDX-License-Identifier: Apache-2.0
"""A job of many ranks: who is waited for and why, step by step, without ever holding more than tables of it."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ..run import ranks, remote
from ..run.format_error import format_error
from .joined import Joined, join
from .lateness import Arrivals, arrivals_of
from .tables import RankTables, Read, Rules
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
            from .document import document

            self._kept["document"] = document(self)
        found: dict[str, Any] = self._kept["document"]
        return found

    def headline(self) -> list[str]:
        """Return what the job lost and to whom, in a few sentences."""
        found: list[str] = self.document()["headline"]
        return found

    def __str__(self) -> str:
        """Return the report as text."""
        from .text import text

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
    found = _read(files, client, scheduler, workers, kept_rules, strict)
    left_out = [(path, one.problem) for path, one in zip(files, found, strict=True) if one.tables is None]
    parts = [
        ranks.Part(path, one.tables, one.stated, one.job)
        for path, one in zip(files, found, strict=True)
        if one.tables is not None
    ]
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


def _read(
    files: Sequence[str], client: Any, scheduler: str | None, workers: int | None, rules: Rules, strict: bool
) -> list[Read]:
    if client is not None:
        return read_by(client, files, rules, strict)
    if scheduler is not None:
        with connect(scheduler) as found:
            return read_by(found, files, rules, strict)
    count = min(workers or min(len(os.sched_getaffinity(0)), len(files) // LEAST_EACH), len(files)) or 1
    return read_here(files, rules, strict) if count == 1 else read_beside(files, rules, strict, count)
