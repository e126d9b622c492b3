# SPDX-License-Identifier: Apache-2.0
"""Timelines of host and device: events, active times as unions of intervals, their overlap, and views of them.

generator = TimelineGenerator(min_duration_us=1.0)
timeline = generator.from_chrome_trace("trace.json")
generator.generate_html_viewer(timeline, "timeline.html")
"""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

from .. import _core
from ..public.run import Run
from ..run.trace_facts import anomalies_of
from ..system.arrays import np
from ..system.files import atomic_path, atomic_writer
from ..system.text import duration
from .imported import run_of_profiler, run_of_trace

_DEVICE = tuple(_core.SPAN_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset", "accelerator"))
_CALLS = tuple(_core.SPAN_KINDS.index(kind) for kind in ("runtime", "driver"))
_SYNCS = (_core.SPAN_KINDS.index("sync"),)  # records of waits: the call that waits is the host's activity
_PYTHON = (_core.SPAN_KINDS.index("python"),)
# What the analysis active_times leaves out, as bits of its group_by.
_WITHOUT_PYTHON, _WITHOUT_CALLS = 1, 2


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One span. start_us counts from the start of the trace; stream_id is None for what ran on the host."""

    name: str
    category: str
    start_us: float
    duration_us: float
    process: int
    thread: int
    stream_id: int | None
    correlation: int | None


class Stream(NamedTuple):
    """A stream of a device: its number alone names one on every device of every rank. rank is -1 where unknown."""

    rank: int
    device: int
    stream: int


class Events(Sequence[TimelineEvent]):
    """Spans of a run as events, made when they are asked for."""

    def __init__(self, run: Run, rows: Any) -> None:
        self.run = run
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> TimelineEvent: ...
    @overload
    def __getitem__(self, index: slice) -> "Events": ...
    def __getitem__(self, index: int | slice) -> "TimelineEvent | Events":
        if isinstance(index, slice):
            return Events(self.run, self.rows[index])
        return _event(self.run, int(self.rows[index]))

    def __iter__(self) -> Iterator[TimelineEvent]:
        return (_event(self.run, row) for row in self.rows.tolist())


def _event(run: Run, row: int) -> TimelineEvent:
    spans, lanes = run.spans, run.lanes
    lane = int(spans.lane[row])
    correlation = int(spans.correlation[row])
    thread = int(lanes.thread[lane]) if len(lanes) else -1
    return TimelineEvent(
        name=run.string(int(spans.name[row])),
        category=_core.SPAN_KINDS[int(spans.kind[row])],
        start_us=(int(spans.start_ns[row]) - run.start_ns) / 1e3,
        duration_us=int(spans.duration_ns[row]) / 1e3,
        process=int(lanes.process[lane]) if len(lanes) else -1,
        thread=thread,
        stream_id=thread if int(spans.kind[row]) in _DEVICE else None,
        correlation=correlation if correlation >= 0 else None,
    )


@dataclass(frozen=True, slots=True)
class TimelineData:
    """Events and how long host and device were active, in microseconds.

    cpu_active_time_us, gpu_active_time_us: time with any host span, with any device work; overlap_time_us: time with
    both. They are lengths of unions of intervals over all spans, the short ones that `events` leaves out included.
    cpu_utilization, gpu_utilization: percent of total_time_us, None where nothing ran.
    streams: events of each device stream.
    """

    events: Sequence[TimelineEvent]
    cpu_events: Sequence[TimelineEvent]
    gpu_events: Sequence[TimelineEvent]
    streams: Mapping[Stream, Sequence[TimelineEvent]]
    total_time_us: float
    cpu_active_time_us: float
    gpu_active_time_us: float
    overlap_time_us: float
    cpu_utilization: float | None
    gpu_utilization: float | None
    run: Run

    def to_dict(self) -> dict[str, Any]:
        """Return the figures without the events."""
        return {
            "summary": {
                "total_time_us": self.total_time_us,
                "cpu_active_time_us": self.cpu_active_time_us,
                "gpu_active_time_us": self.gpu_active_time_us,
                "overlap_time_us": self.overlap_time_us,
                "cpu_utilization": self.cpu_utilization,
                "gpu_utilization": self.gpu_utilization,
                "event_count": len(self.events),
                "cpu_event_count": len(self.cpu_events),
                "gpu_event_count": len(self.gpu_events),
            },
            "streams": [key._asdict() | {"event_count": len(events)} for key, events in self.streams.items()],
            "anomalies": anomalies_of(self.run),
        }


class TimelineGenerator:
    """Makes timelines of traces.

    min_duration_us: shorter events are not listed; active times include them. include_python_events,
    include_cuda_runtime: whether Python functions and runtime or driver calls are listed and count as host activity.
    ValueError for a min_duration_us that is no number of at least 0.
    """

    def __init__(
        self, min_duration_us: float = 1.0, include_python_events: bool = True, include_cuda_runtime: bool = True
    ) -> None:
        if not 0 <= min_duration_us < math.inf:
            raise ValueError(f"min_duration_us must be a number of at least 0, got {min_duration_us}")
        self.min_duration_us = min_duration_us
        self.include_python_events = include_python_events
        self.include_cuda_runtime = include_cuda_runtime

    def from_run(self, run: Run) -> TimelineData:
        """Return the timeline of a run."""
        left_out = (0 if self.include_python_events else _WITHOUT_PYTHON) | (
            0 if self.include_cuda_runtime else _WITHOUT_CALLS
        )
        table: Any = run.analyse("active_times", group_by=left_out)
        rows = self._rows(run)
        kinds, lanes = run.spans.kind[rows], run.spans.lane[rows]
        device = np.isin(kinds, _DEVICE)
        host = ~device & ~np.isin(kinds, _SYNCS)
        if len(run.lanes):
            host &= run.lanes.device[lanes] < 0
        shares = [float(table.host_share[0]), float(table.device_share[0])]
        used = [None if np.isnan(share) else share * 100 for share in shares]
        return TimelineData(
            events=Events(run, rows),
            cpu_events=Events(run, rows[host]),
            gpu_events=Events(run, rows[device]),
            streams=_streams(run, rows[device]),
            total_time_us=int(table.span_ns[0]) / 1e3,
            cpu_active_time_us=int(table.host_ns[0]) / 1e3,
            gpu_active_time_us=int(table.device_ns[0]) / 1e3,
            overlap_time_us=int(table.overlap_ns[0]) / 1e3,
            cpu_utilization=used[0],
            gpu_utilization=used[1],
            run=run,
        )

    def _rows(self, run: Run) -> Any:
        """Return the rows to list, in order of start."""
        spans = run.spans
        listed = spans.duration_ns >= self.min_duration_us * 1e3
        if not self.include_python_events:
            listed &= ~np.isin(spans.kind, _PYTHON)
        if not self.include_cuda_runtime:
            listed &= ~np.isin(spans.kind, _CALLS)
        rows = np.flatnonzero(listed)
        return rows[np.argsort(spans.start_ns[rows], kind="stable")]

    def from_chrome_trace(self, path: str | os.PathLike[str]) -> TimelineData:
        """Return the timeline of a trace file. FormatError for what is no trace."""
        return self.from_run(run_of_trace(path))

    def from_profiler(self, profiler: Any) -> TimelineData:
        """Return the timeline of a stopped ``torch.profiler.profile``."""
        return self.from_run(run_of_profiler(profiler))

    def export_chrome_trace(self, timeline: TimelineData, path: str | os.PathLike[str]) -> None:
        """Write the timeline as a Chrome trace, atomically: read again, it has the same figures.

        Names of processes, threads and streams, arguments and nanoseconds are kept. Left out are only the Python
        functions or calls that the generator leaves out; short events, which active times include, are in it.
        """
        kinds: tuple[str, ...] = () if self.include_python_events else ("python",)
        kinds += () if self.include_cuda_runtime else ("runtime", "driver")
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            timeline.run._export("chrome", ",".join(kinds), file.write)

    def export_visualization_data(
        self, timeline: TimelineData, path: str | os.PathLike[str] | None = None
    ) -> dict[str, Any]:
        """Return the data that the page shows of the timeline (format ``regimeter.report``); write it where told."""
        from ..report.trace_data import timeline_data  # 50 ms, which a timeline on the terminal does without

        data = timeline_data(timeline.run) | timeline.to_dict()
        if path is not None:
            with atomic_writer(path) as file:
                json.dump(data, file, separators=(",", ":"))
        return data

    def generate_html_viewer(self, timeline: TimelineData, path: str | os.PathLike[str]) -> None:
        """Write the timeline as a page that needs no network, atomically."""
        # As above.
        from ..report.html import write_html
        from ..report.trace_data import timeline_data

        write_html(timeline_data(timeline.run) | {"facts": [["Active", activity(timeline)]]}, path)


def activity(timeline: TimelineData) -> str:
    """Return the active times in a line."""
    rows = (
        ("total", timeline.total_time_us),
        ("host active", timeline.cpu_active_time_us),
        ("device active", timeline.gpu_active_time_us),
        ("both at once", timeline.overlap_time_us),
    )
    return ", ".join(f"{label} {duration(time_us / 1e3)}" for label, time_us in rows)


def _streams(run: Run, rows: Any) -> dict[Stream, Events]:
    if not len(run.lanes):
        return {}
    lanes = run.spans.lane[rows]
    places: dict[Stream, list[int]] = {}
    for lane in np.unique(lanes).tolist():
        key = Stream(*(int(column[lane]) for column in (run.lanes.rank, run.lanes.device, run.lanes.thread)))
        places.setdefault(key, []).append(lane)
    return {key: Events(run, rows[np.isin(lanes, found)]) for key, found in sorted(places.items())}
