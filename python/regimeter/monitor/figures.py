# SPDX-License-Identifier: Apache-2.0
"""What is known of the program so far: totals since its start, and durations of the last minute."""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..run.cost import OWN_COST
from .steps import found_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..public.run import Run

OPERATIONS = 20  # with a label of their own; the rest share one
OTHERS = "other"
WINDOW_S = 60.0
LOOK_NS = 1_000_000_000  # between two statements of the recorder what it has cost (csrc/capture/governor.h)
QUANTILES = (0.5, 0.95, 0.99)
MOST_KEPT = 20_000  # durations of a name and a look; more are thinned out evenly


@dataclass(slots=True)
class Durations:
    """Durations of one name: how many and how long since the start, and those of the window."""

    count: int = 0
    total_ns: int = 0
    recent: "deque[tuple[float, NDArray[np.int64]]]" = field(default_factory=deque)

    def add(self, now: float, values: "NDArray[np.int64]") -> None:
        """Add durations that were seen now."""
        self.count += len(values)
        self.total_ns += int(values.sum())
        self.recent.append((now, values[:: len(values) // MOST_KEPT + 1]))

    def quantiles(self, now: float) -> dict[float, float]:
        """Return seconds by quantile over the window; none where nothing was seen in it."""
        while self.recent and self.recent[0][0] < now - WINDOW_S:
            self.recent.popleft()
        if not self.recent:
            return {}
        values = np.concatenate([values for _, values in self.recent])
        return dict(zip(QUANTILES, (np.quantile(values, QUANTILES) / 1e9).tolist(), strict=True))


class Figures:
    """Totals of what the tail of a recording showed. Any thread may add and read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        self._clock = clock
        self._begin()

    def begin_anew(self) -> None:
        """Forget all: another recording stands in the place of the one before, that of the program's own profiler."""
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        self.began_unix_ns = time.time_ns()  # of all totals
        self.scopes = 0
        self.failed = 0
        self.own_ns = 0.0
        self._stated_ns = 0.0
        self._stated_until = 0  # on the recording's clock; 0 where nothing was stated
        self.rate = 0.0
        self.anomalies: dict[str, int] = {}
        self.steps = Durations()
        self.operations: dict[str, Durations] = {}
        self._new = 0
        self._looked = self._clock()

    def add(self, part: "Run | None", anomalies: Mapping[str, int], steps: "NDArray[np.int64]") -> None:
        """Add what has come since the last call; anomalies: totals so far; steps: durations of those that are over."""
        with self._lock:
            self.anomalies = dict(anomalies)
            now = self._clock()
            rows = ~found_rows(part) if part is not None else np.empty(0, bool)
            scopes = int(np.count_nonzero(rows))
            if len(steps):
                self.steps.add(now, steps)
            if part is None:
                return
            self.scopes += scopes
            self._new += scopes
            self.failed += int(np.count_nonzero(part.spans.flags & _core.FLAG_FAILED))
            self._add_cost(part, scopes)
            self._add_durations(part, rows, now)

    def _add_cost(self, part: "Run", scopes: int) -> None:
        """Add what recording has cost: as the recorder states it each second, else what scopes alone tell, which is
        less: looks, readings of memory and its own threads are not in it."""
        counters = part.tables.counters
        rows = [row for row, name in enumerate(counters.series.tolist()) if part.string(name) == OWN_COST]
        for row in rows:
            until = int(counters.time_ns[row])
            window_ns = until - self._stated_until if self._stated_until else LOOK_NS
            self._stated_ns += float(counters.value[row]) * max(window_ns, 0)
            self._stated_until = until
        if self._stated_until:
            self.own_ns = max(self.own_ns, self._stated_ns)  # a total never falls
        else:
            cost: Any = part.environment.get("cost")
            each = cost.get("per_scope_ns") if isinstance(cost, dict) else None
            self.own_ns += int(part.spans.own_ns.sum()) + scopes * (each if isinstance(each, int | float) else 0.0)

    def own_until(self, now: float) -> float:
        """Return up to which time, in seconds, the own cost is known: of the last statement, or now where there is
        none. Both are of the same clock; between two statements nothing is known of the time since the last one."""
        return self._stated_until / 1e9 if self._stated_until else now

    def end_look(self) -> None:
        """Say that all that had come by now is added: the rate is that of the scopes since the last time."""
        with self._lock:
            now = self._clock()
            self.rate = self._new / max(now - self._looked, 1e-9)
            self._new, self._looked = 0, now

    def _add_durations(self, part: "Run", rows: "NDArray[np.bool_]", now: float) -> None:
        durations, names = part.spans.duration_ns[rows], part.spans.name[rows]
        by_label: dict[str, list[NDArray[np.int64]]] = defaultdict(list)
        for number in np.unique(names).tolist():
            label = part.string(number)
            if label not in self.operations and len(self.operations) - (OTHERS in self.operations) >= OPERATIONS:
                label = OTHERS
            by_label[label].append(durations[names == number])
            self.operations.setdefault(label, Durations())
        for label, values in by_label.items():
            self.operations[label].add(now, np.concatenate(values))

    def read(self, function: Callable[["Figures", float], Any]) -> Any:
        """Call a function with the figures and the time while nothing is added."""
        with self._lock:
            return function(self, self._clock())
