# SPDX-License-Identifier: Apache-2.0
"""Runs: what was recorded or loaded, with its tables, its results and its renderings.

Every program that is recorded imports this module. So what reads, analyses and writes a run is imported where it is
asked for: together that is NumPy and ten times what the rest takes.
"""

import functools
import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _core
from ..analysis.methods import Analyses
from ..run import cost, records
from ..run.environment import stored_form
from ..run.records import ProfileEntry, ProfileSummary
from ..system.joints import joint
from ..system.spill import limit_memory
from ..system.text import duration
from .tables import Tables

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..analysis.result import Result
    from ..calibration import Calibration
    from ..calibration.choice import Choice
    from ..run.inputs import Source
    from ..suggest import OptimizationSuggestion
    from ..suggest.verdict import Verdict


class Run(_core.Run, Analyses):
    """A recording: an environment plus columnar tables.

    `tables` has the tables, of which `spans`, `lanes`, `memory` and `samples` are also at hand here; a column such as
    ``run.spans.duration_ns`` is a read-only NumPy array without a copy, and a table can be handed to pyarrow or
    polars as it is (``polars.DataFrame(run.spans)``). Every analysis is a method by the name of its command, such as
    ``run.kernels(by="kernel")``. Results are computed on first use and kept.
    """

    def __repr__(self) -> str:
        files = len(self.tables.files)
        inputs = [self.string(int(self.tables.files.file[0]))] if files == 1 else [f"{files} files"] if files else []
        facts = {
            "source": " ".join((self.source, *inputs)),
            "spans": len(self.spans),
            "lanes": len(self.lanes),
            "duration": duration(self.duration_ns / 1e6),
            "anomalies": int(self.tables.anomalies.count.sum()),
        }
        return f"Run({', '.join(f'{name}={value!r}' for name, value in facts.items())})"

    def _repr_html_(self) -> str:
        return str(joint("run in a notebook")(self))

    @property
    def tables(self) -> Tables:
        """All tables by name, such as ``run.tables.launches``."""
        return Tables(self)

    @property
    def spans(self) -> "_core.SpansTable":
        """Scopes and, in imported traces, operators, kernels and copies."""
        found: _core.SpansTable = self.table("spans")
        return found

    @property
    def lanes(self) -> "_core.LanesTable":
        """Threads, task slots and device streams."""
        found: _core.LanesTable = self.table("lanes")
        return found

    @property
    def memory(self) -> "_core.MemoryTable":
        """Memory samples and events."""
        found: _core.MemoryTable = self.table("memory")
        return found

    @property
    def samples(self) -> "_core.SamplesTable":
        """Threads of the host, each found at a moment in a call stack."""
        found: _core.SamplesTable = self.table("samples")
        return found

    @functools.cached_property
    def environment(self) -> dict[str, Any]:
        """Machine, process and libraries of the recording."""
        return stored_form(self.environment_json)

    @property
    def duration_ns(self) -> int:
        """From the start of the recording to its end."""
        return max(0, self.end_ns - self.start_ns)

    @functools.cached_property
    def has_start_times(self) -> bool:
        """Whether it is known when the scopes began: not from a file whose entries have no start times.

        Without, they stand end to end in the order of the file, and times of the run and exclusive times are not known.
        """
        return _core.ANOMALY_CODES.index("no_start_times") not in self.tables.anomalies.column("code").tolist()

    @property
    def device_reason(self) -> str:
        """Why there is no device time."""
        device = self.environment.get("device")
        reason = device.get("reason") if isinstance(device, dict) else None
        return str(reason) if reason else "the recording holds no device measurement"

    @property
    def skipped(self) -> dict[str, int]:
        """Calls that a sample rate left out, by operation and device joined with a zero byte."""
        found = self.environment.get("skipped")
        return {key: int(count) for key, count in found.items() if _is_amount(count)} if isinstance(found, dict) else {}

    @functools.cached_property
    def cost(self) -> dict[str, Any] | None:
        """The profiler's own cost in this run, None when it is not known."""
        stated = cost.stated_in(self.environment)
        if stated is None:
            return None
        return cost.describe(stated, len(self.entries), sum(self.skipped.values()), self.duration_ns)

    def anomaly_list(self) -> list[dict[str, Any]]:
        """Return the anomalies as dictionaries of code, count and detail."""
        table = self.tables.anomalies
        return [
            {"code": _anomaly(row["code"]), "count": row["count"], "detail": self.string(row["detail"])}
            for row in map(table.row, range(len(table)))
        ]

    def get_entries(self) -> list[ProfileEntry]:
        """Return one entry per scope, in order of start."""
        return records.entries_of(self)

    def get_summary(self) -> dict[str, ProfileSummary]:
        """Return statistics by operation, most exclusive time first."""
        return records.by_operation(records.summaries_of(self))

    def get_bottlenecks(self, top_n: int = 5) -> list[ProfileSummary]:
        """Return the operations with the most exclusive time.

        Exclusive time, because a scope around everything would otherwise always come first. ValueError for
        a negative top_n.
        """
        if top_n < 0:
            raise ValueError(f"top_n must not be negative, got {top_n}")
        return records.summaries_of(self)[:top_n]

    def analyse(
        self,
        name: str,
        *,
        group_by: int = 0,
        text: str | None = None,
        other: "Run | None" = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
        ceilings: "NDArray[np.float64] | None" = None,
    ) -> "_core.Table":
        """Return the result table of an analysis by its name in ``_core.analyses()``.

        thresholds: by name, see docs/schema.md. rules: pairs of a text in kernel names (a leading ^ ties it to their
        beginning) and what such kernels do, "compute", "communication" or "memory"; they go before the built-in
        rules. ceilings: what the device can do, as `Calibration.vector` returns it. KeyError for an unknown analysis,
        ValueError for an unknown threshold or activity.
        """
        return self._analyse(name, dict(thresholds or {}), tuple(rules), group_by, text, other, ceilings)

    def result(
        self,
        name: str,
        *,
        by: str | None = None,
        top: int | None = None,
        text: str | None = None,
        other: "Run | None" = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
        ceilings: "Calibration | Choice | str | None" = None,
        choices: Mapping[str, str] | None = None,
    ) -> "Result":
        """Return an analysis by the name of its command, with names as text and the columns that are shown.

        by: one of the groupings that the command's ``--by`` takes. choices: values of its further options, as
        ``{"graphs": "capture"}``. top: rows to give, None for all; the table has all. ceilings: a calibration or a
        file of one; without it that of this machine if it is of the run's device, else a datasheet's, else none. The
        rest is as in `analyse`. KeyError for an unknown name, ValueError for an unknown grouping or choice.
        """
        from ..analysis.catalog import find_verbs
        from ..analysis.result import Result

        verb = find_verbs()[name]
        if by is not None and by not in verb.by:
            raise ValueError(f"{name} cannot be grouped by {by!r}; valid are: {', '.join(verb.by) or 'none'}")
        if top is not None and top < 0:
            raise ValueError(f"top must not be negative, got {top}")
        if verb.other and other is None:
            raise ValueError(f"{name} needs a second run: other=")
        group = verb.by[by] if by is not None else next(iter(verb.by.values()), 0)
        for option, value in (choices or {}).items():
            if value not in verb.choices.get(option, {}):
                valid = ", ".join(f"{known}={'|'.join(values)}" for known, values in verb.choices.items())
                raise ValueError(f"{name} has no choice {option}={value!r}; valid are: {valid or 'none'}")
            group += verb.choices[option][value]
        vector = None
        if verb.ceilings:
            from ..calibration.choice import choose

            vector = choose(self, ceilings).vector
        table = self.analyse(
            verb.analysis,
            group_by=group,
            text=text,
            other=other,
            thresholds=thresholds,
            rules=rules,
            ceilings=vector,
        )
        return Result(verb, table, self, other, -1 if top is None else top)

    def suggestions(
        self,
        top_n: int | None = None,
        *,
        policy: Mapping[str, float] | None = None,
        ceilings: Mapping[str, float] | None = None,
    ) -> "list[OptimizationSuggestion]":
        """Return what to try next, by what it may save, most first.

        top_n: how many, None for all. policy: thresholds by name; ceilings: measured peaks by token. ValueError for an
        unknown name. Rules, bounds and what refutes them: docs/suggestions.md.
        """
        from ..suggest.of_run import open_ones, suggestions_of_run

        return open_ones(suggestions_of_run(self, policy, ceilings), top_n)

    def verdict(self, policy: Mapping[str, float] | None = None) -> "Verdict | None":
        """Return what limits the run: a sentence, why, what to do next, and the shares of all causes.

        policy: thresholds by name. None for a run that holds nothing that tells it, or no start times. ValueError for
        an unknown name. Causes, their order and its margins: docs/verdict.md.
        """
        from ..suggest.verdict import verdict_of

        return verdict_of(self, policy)

    def export_json(self, path: str | os.PathLike[str]) -> None:
        """Write entries, summary and environment as JSON, atomically."""
        from ..run.profile_json import export_json

        export_json(self, path)

    def sampled(self, state: str = "all") -> "Run":
        """Return what the samples of host stacks say, as a run of spans, so that every view can show them.

        A span is a function at a line, "function (file:line)", that a thread was found in from one sample to the
        next, below its callers and below the scopes that were open (docs/stacks.md). state: the samples of threads
        that were "running" or "waiting" (for anything), or "all". ValueError for another one.
        """
        found: Run = self._sampled(state)
        return found

    def export(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        table: str | None = None,
        stacks: str = "host",
    ) -> None:
        """Write the run in a format of another tool, atomically.

        format: "chrome" (.trace.json), "perfetto" (.pftrace), "speedscope" (.speedscope.json), "speedscope-sampled",
        "collapsed" (.folded), "pprof" (.pb.gz), "otlp" (.otlp.json: scopes as spans of OpenTelemetry; the path may be a
        collector's address), "csv", "parquet", "arrow", or "json", the profile of entries and summary; without it the
        suffix of the path decides. A name in .gz is compressed. Times are nanoseconds as in
        the run; text formats replace bytes that are not UTF-8.

        table: of csv, parquet and arrow, "spans" by default; with a path that has no suffix every table goes to a
        file of its own in that folder. stacks: of collapsed, "host" (self time of host spans) or "device" (time of
        device work below the stack that launched it).

        ValueError for an unknown format or table, UnavailableError where pyarrow or the SDK of OpenTelemetry is needed
        and missing, OSError where it cannot be written or sent.
        """
        from ..run.formats import export

        export(self, path, format, table=table, stacks=stacks)

    def write_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        progress: Callable[[str, float], None] | None = None,
        ceilings: "Calibration | str | os.PathLike[str] | None" = None,
    ) -> None:
        """Write the self-contained HTML report, atomically.

        progress: called at the beginning of each stage with its name and the part of all stages that is done, 0 to 1.
        ceilings: a calibration, or a file of `regimeter calibrate --json`, that kernels are held against; by default
        that of this machine where the run used its device, else a datasheet's. FormatError or OSError for a file that
        is none.
        """
        from ..system.files import atomic_writer

        text = self.to_html(title=title, progress=progress, ceilings=ceilings)
        with atomic_writer(path) as file:
            file.write(text)

    def to_html(
        self,
        *,
        title: str | None = None,
        progress: Callable[[str, float], None] | None = None,
        ceilings: "Calibration | str | os.PathLike[str] | None" = None,
    ) -> str:
        """Return the self-contained HTML report; progress and ceilings: as of `write_html`."""
        text: str = joint("page of a run")(self, title=title, progress=progress, ceilings=ceilings)
        return text


def _is_amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf  # type: ignore[operator]


def _anomaly(code: int) -> str:
    return _core.ANOMALY_CODES[code] if code < len(_core.ANOMALY_CODES) else f"anomaly {code}"


def load(path: "Source", strict: bool = False, recover: bool = False, *, memory: str | float | None = None) -> Run:
    """Read a trace, a recording, a saved run or an exported profile.

    path: a file, plain or compressed by gzip or zstd; "-" for standard input; a pipe; a binary file object; the bytes
    themselves; a directory, a glob pattern or a list of the files of a job's ranks, which become one run. What it is
    is told by its content. Of a file, only that file is read, and it is not changed.

    Traces are those of torch.profiler and others in Chrome's JSON format, and SQLite exports of Nsight Systems. What
    is damaged in them is repaired or left out, and counted in `anomalies`.

    strict: the first damage of a trace is an error, and so is an event that cannot be kept as it stands. recover: skip
    damage of a recording instead of raising.

    memory: how much memory this process may take from now on, in bytes or as "512MB", for this run and what is
    computed from it; columns beyond lie in a file in $REGIMETER_SPILL, else $TMPDIR, else /var/tmp, and all results
    are the same (docs/traces.md). None: as $REGIMETER_MEMORY says, else without limit.

    FormatError, with byte offset, for what cannot be read; OSError when a file cannot be opened; UnavailableError
    when zstd data needs a package that is not installed, or the file of `memory` cannot be had; ValueError for a memory
    that is no size.
    """
    from ..run import inputs, ranks

    if memory is not None:
        limit_memory(memory)
    files = ranks.find_files(path)
    return inputs.read(Run, path, strict, recover) if files is None else ranks.read(Run, path, files, strict)
