# SPDX-License-Identifier: Apache-2.0
"""How fast the machine was while a run was recorded: the looks that its threads took beside their work, and what the
kernel counted of waiting, theft and limits. docs/witness.md says what is measured and how.

`Witness.of(run)` is the one reader of the tables `witness` and `pressure`; summaries, pages and comparisons ask it.
"""

import functools
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..system.arrays import np
from .turns import Turns
from .witness_device import DeviceWitness, devices_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..public.run import Run

    Times = NDArray[np.int64]
    Values = NDArray[np.float64]

NOT_RECORDED = "the machine's speed was not recorded: that was off, or the file is older or of another tool"
NO_SCOPE = "the machine's speed is not known: threads look at it when a scope has ended, and none was recorded"
WORDS = {"throughput": "arithmetic", "memory": "reads from memory", "waiting": "waiting for a processor"}
S = 1e9
# Of a normal distribution: its deviation over the median of absolute deviations, and the standard error of a median
# over that of a mean. Hampel, The influence curve and its role in robust estimation, JASA 69 (1974).
NORMAL_DEVIATION = 1.4826
MEDIAN_ERROR = 1.2533


@dataclass(frozen=True, slots=True)
class WitnessPolicy:
    """From when on something is said. Ratios of medians, shares of time.

    least_looks: fewer say nothing. around: a look is slow when the median of so many looks around it is `slower` times
    the usual level or more, which is the quantile `usual_share` of these medians; least_looks of them in a row are a
    stretch. errors: by so many standard errors its median lies above that of the looks in no stretch. pieces: of the
    run, whose medians say how steady it was. steady: spread of these up to which it is called so. active: part
    of an interval in which threads must have been ready for it to tell how long they waited. waiting, steal, throttled:
    shares from which on they are told.
    """

    least_looks: int = 5
    around: int = 9
    slower: float = 1.15
    usual_share: float = 0.2
    errors: float = 5.0
    pieces: int = 8
    steady: float = 0.10
    active: float = 0.1
    waiting: float = 0.03
    steal: float = 0.01
    throttled: float = 0.01


POLICY = WitnessPolicy()


@dataclass(frozen=True, slots=True)
class SlowWindow:
    """A stretch of the run in which a fixed piece of work took `factor` times its usual time.

    Times are those of the spans. what: "throughput", "memory", or "waiting", where threads that were ready waited so
    long that any work took `factor` times as long.
    """

    start_ns: int
    end_ns: int
    factor: float
    what: str


@dataclass(frozen=True)
class Witness:
    """The looks at the machine of a run, in order of time, and what kept its processes from their processors.

    time_ns, lane, processor: of each look, shape (looks,); lane and processor -1 where not known. process: a number for
    each process (of one rank) that looked; the times of different processes may be of different machines.
    throughput_ns, memory_ns: how long the fixed work took, NaN where a look has none. The same work takes the same time
    on the same machine left alone, so what matters are ratios.
    interval_ns, stretch: begin of each interval in which threads were ready to run, and how many times as long as
    without waiting they took, shape (intervals,).
    waiting_share: of the time in which recording threads were ready to run, the part in which others had the
    processor. steal_share: part of the time that a hypervisor took from a processor. throttled_share: part of the time
    that a limit of the control group held the process back, per processor in use it may be above 1. involuntary_per_s:
    context switches that nobody asked for. All None where the system does not tell.
    devices: what telemetry, where it was recorded, says of the devices.
    migrations: how often a thread was on another processor than at its look before, at least; None without looks.
    start_ns, end_ns: of the run.
    """

    time_ns: "Times"
    lane: "Times"
    processor: "Times"
    process: "Times"
    throughput_ns: "Values"
    memory_ns: "Values"
    interval_ns: "Times"
    stretch: "Values"
    waiting_share: float | None
    steal_share: float | None
    throttled_share: float | None
    involuntary_per_s: float | None
    migrations: int | None
    start_ns: int
    end_ns: int
    devices: tuple[DeviceWitness, ...] = ()

    @classmethod
    def of(cls, run: "Run") -> "Witness | None":
        """Return what a run says of its machine, None where it has recorded nothing of it."""
        looks, pressure = run.table("witness"), run.table("pressure")
        if not len(looks) and not len(pressure):
            return None
        order = np.argsort(looks.time_ns, kind="stable")
        order = order[looks.throughput_ns[order] >= 0]
        lane, intervals = looks.lane[order].astype(np.int64), pressure.interval_ns
        ready = _sum(pressure.running_ns, pressure.waiting_ns)
        told = np.flatnonzero((ready > POLICY.active * intervals) & (pressure.running_ns > 0))
        told = told[np.argsort(pressure.time_ns[told], kind="stable")]
        switches = _share(pressure.involuntary, intervals)
        return cls(
            time_ns=looks.time_ns[order],
            lane=lane,
            processor=looks.processor[order].astype(np.int64),
            process=_processes(run, lane),
            throughput_ns=_known(looks.throughput_ns[order]),
            memory_ns=_known(looks.memory_ns[order]),
            interval_ns=pressure.time_ns[told] - intervals[told],
            stretch=ready[told] / pressure.running_ns[told],
            waiting_share=_share(pressure.waiting_ns, ready),
            steal_share=_share(pressure.steal_ns, intervals),
            throttled_share=_share(pressure.throttled_ns, intervals),
            involuntary_per_s=None if switches is None else switches * S,
            migrations=_migrations(looks) if len(looks) else None,
            start_ns=run.start_ns,
            end_ns=run.end_ns,
            devices=devices_of(run),
        )

    def __len__(self) -> int:
        return len(self.time_ns)

    @property
    def throughput_median(self) -> float | None:
        """Median time of the arithmetic in ns, None without looks."""
        return _median(self.throughput_ns)

    @property
    def memory_median(self) -> float | None:
        """Median time of the reads from memory in ns, None without any."""
        return _median(self.memory_ns)

    def nearest(self, time_ns: "Times") -> "Times":
        """Return the look nearest in time to each of the times: rows of the columns; ValueError without looks."""
        if not len(self):
            raise ValueError("the run has no look at its machine")
        times = np.asarray(time_ns, np.int64)
        after = np.clip(np.searchsorted(self.time_ns, times), 1 if len(self) > 1 else 0, len(self) - 1)
        before = np.maximum(after - 1, 0)
        nearer = times - self.time_ns[before] <= self.time_ns[after] - times
        return np.where(nearer, before, after)

    @functools.cached_property
    def slow_windows(self) -> tuple[SlowWindow, ...]:
        """Stretches in which the machine was slower than usual, in order of time; they do not overlap."""
        found = [window for series in self._series() for window in self._windows(*series)]
        kept: list[SlowWindow] = []
        for window in sorted(found, key=lambda window: -window.factor):
            if all(window.end_ns <= other.start_ns or window.start_ns >= other.end_ns for other in kept):
                kept.append(window)
        return tuple(sorted(kept, key=lambda window: window.start_ns))

    @property
    def spread(self) -> float | None:
        """How far the level moved around its median, as a part of it; None with fewer than POLICY.least_looks looks.

        Half the distance of the first and the ninth decile of the medians of consecutive pieces of the run, of the
        witness in which it is larger.
        """
        return max(self._spreads.values(), default=None)

    @functools.cached_property
    def _spreads(self) -> dict[str, float]:
        spreads = {}
        for what, _, values in self._series():
            pieces = np.array_split(values, max(1, min(POLICY.pieces, len(values) // POLICY.least_looks)))
            levels = np.array([np.median(piece) for piece in pieces])
            low, high = np.quantile(levels, (0.1, 0.9))
            spreads[what] = float(high - low) / 2 / float(np.median(values))
        return spreads

    def sentence(self) -> str:
        """Return in one sentence, without a full stop, how fast and how steady the machine was."""
        looks = "1 look" if len(self) == 1 else f"{len(self):,} looks"
        if self.slow_windows:
            said = self._slow_sentence()
        elif self.spread is None or len(self) < POLICY.least_looks:
            said = f"the run had {looks} at the machine: too few to say whether it was steady"
        elif self.spread <= POLICY.steady:
            said = f"the machine was steady within {max(1, round(self.spread * 100))} % ({looks})"
        else:
            most = max(self._spreads, key=lambda what: self._spreads[what])
            said = f"the machine's speed varied by ± {self.spread * 100:.0f} % throughout ({WORDS[most]}; {looks})"
        return said + self._pressed()

    def facts(self) -> dict[str, Any]:
        """Return the figures of the summary, JSON-ready."""
        return {
            "looks": len(self),
            "sentence": self.sentence(),
            "throughput_median_ns": self.throughput_median,
            "memory_median_ns": self.memory_median,
            "spread": self.spread,
            "waiting_share": self.waiting_share,
            "steal_share": self.steal_share,
            "throttled_share": self.throttled_share,
            "involuntary_per_s": self.involuntary_per_s,
            "migrations": self.migrations,
            "devices": [asdict(device) for device in self.devices],
        }

    def tracks(self, most: int) -> "list[tuple[str, Times, Values]]":
        """Return what a picture shows: name, times, and how many times the usual a fixed work took, `most` points each.

        Of the looks the median of those around each, since a single one says little.
        """
        series = [
            (what, times, _moving_median(values), -(-len(times) // most)) for what, times, values in self._series()
        ]
        return [(what, times[::every], values[::every]) for what, times, values, every in series]

    def _series(self) -> list[tuple[str, "Times", "Values"]]:
        """Return name, times and values of what there is enough of, as ratios to the median of their process."""
        series = [(what, self.time_ns, _ratios(values, self.process)) for what, values in self._works()]
        series.append(("waiting", self.interval_ns, self.stretch))
        return [(what, times, values) for what, times, values in series if len(values) >= POLICY.least_looks]

    def _works(self) -> list[tuple[str, "Values"]]:
        """Return the witnesses that every look has."""
        works = (("throughput", self.throughput_ns), ("memory", self.memory_ns))
        return [(what, values) for what, values in works if bool((values > 0).all())]

    def _windows(self, what: str, times: "Times", values: "Values") -> list[SlowWindow]:
        moving = _moving_median(values)
        usual = float(np.quantile(moving, POLICY.usual_share))
        stretches = _stretches(moving >= POLICY.slower * usual)
        outside = np.ones(len(values), bool)
        for first, end in stretches:
            outside[first:end] = False
        rest = values[outside] if len(stretches) else values
        level, noise = float(np.median(rest)), _noise(values, moving)
        windows = []
        for first, end in stretches:
            factor = float(np.median(values[first:end])) / level
            error = noise * math.sqrt(1 / (end - first) + 1 / len(rest))
            if factor < POLICY.slower or math.log(factor) < POLICY.errors * error:
                continue
            start = int(times[first]) if first else min(self.start_ns, int(times[0]))
            until = int(times[end]) if end < len(values) else max(self.end_ns, int(times[-1]))
            windows.append(SlowWindow(start, until, factor, what))
        return windows

    def _slow_sentence(self) -> str:
        worst = sorted(self.slow_windows, key=lambda window: window.factor * (window.end_ns - window.start_ns))
        window, more = worst[-1], len(worst) - 1
        between = (
            f"between {(window.start_ns - self.start_ns) / S:.1f} s and {(window.end_ns - self.start_ns) / S:.1f} s"
        )
        others = f", and in {more} more stretch{'es' if more > 1 else ''}" if more else ""
        return f"the machine ran {window.factor:.2g} x slower {between} ({WORDS[window.what]}){others}"

    def _pressed(self) -> str:
        told = (
            (
                self.waiting_share,
                POLICY.waiting,
                "others had the processor for {:.0f} % of the time in which its threads could run",
            ),
            (self.steal_share, POLICY.steal, "other machines of the host took {:.0f} % of the processors"),
            (
                self.throttled_share,
                POLICY.throttled,
                "a limit of the control group held it back for {:.0f} % of the time",
            ),
        )
        said = "".join(f"; {text.format(share * 100)}" for share, least, text in told if share and share >= least)
        return said + "".join(device.told(POLICY.throttled) for device in self.devices)


def witness_line(run: "Run") -> str:
    """Return the sentence of a run's summary about its machine, with its reason where nothing is known."""
    said, turns = witness_facts(run)["sentence"], Turns.of(run)
    return f"{said[0].upper()}{said[1:]}.{f' {turns.sentence}' if turns else ''}"


def witness_facts(run: "Run") -> dict[str, Any]:
    """Return `Witness.facts` of a run; the sentence alone, with the reason, where nothing is known."""
    found = Witness.of(run)
    return found.facts() if found is not None else {"sentence": NO_SCOPE if _without_scopes(run) else NOT_RECORDED}


def _without_scopes(run: "Run") -> bool:
    """Whether the program recorded nothing of its own; `regimeter record` then makes one scope of it."""
    return run.source == "record" or not len(run.spans)


def _processes(run: "Run", lane: "Times") -> "Times":
    """Return a number for the process and rank of each lane, the same for all that are not known."""
    pairs = np.stack([run.lanes.process, run.lanes.rank.astype(np.int64)], axis=1)
    if not len(pairs):
        return np.zeros(len(lane), np.int64)
    _, number = np.unique(pairs, axis=0, return_inverse=True)
    return np.where(lane >= 0, number.reshape(-1)[np.maximum(lane, 0)], -1).astype(np.int64)


def _ratios(values: "Values", process: "Times") -> "Values":
    ratios = values.copy()
    for number in np.unique(process):
        ratios[process == number] /= np.median(values[process == number])
    return ratios


def _moving_median(values: "Values") -> "Values":
    """Return the median around each look; at the ends that of the looks that are there."""
    side = POLICY.around // 2
    padded = np.r_[np.full(side, np.nan), values, np.full(side, np.nan)]
    around: Values = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, 2 * side + 1), axis=1)
    return around


def _stretches(slow: "NDArray[np.bool_]") -> list[tuple[int, int]]:
    """Return where the truth holds for POLICY.least_looks looks or more: the first, and the one after the last."""
    changes = np.flatnonzero(np.diff(np.r_[False, slow, False].astype(np.int8)))
    pairs = zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True)
    return [(first, end) for first, end in pairs if end - first >= POLICY.least_looks]


def _noise(values: "Values", moving: "Values") -> float:
    """Return the standard error of the median of one logarithm, by the median deviation from the level around."""
    deviation = float(np.median(np.abs(np.log(values / moving))))
    return NORMAL_DEVIATION * deviation * MEDIAN_ERROR


def _known(column: "Times") -> "Values":
    return np.where(column > 0, column, np.nan)


def _median(values: "Values") -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None


def _sum(running: "Times", waiting: "Times") -> "Times":
    return np.where((running >= 0) & (waiting >= 0), running + waiting, -1)


def _share(part: "Times", whole: "Times") -> float | None:
    known = (part >= 0) & (whole >= 0)
    total = int(whole[known].sum())
    return float(part[known].sum()) / total if total else None


def _migrations(looks: Any) -> int:
    """Return the changes of processor between a lane's consecutive rows, marks included."""
    order = np.lexsort((looks.time_ns, looks.lane))
    lane, processor = looks.lane[order], looks.processor[order]
    known = (lane[1:] >= 0) & (processor[1:] >= 0) & (processor[:-1] >= 0)
    return int(np.sum(known & (lane[1:] == lane[:-1]) & (processor[1:] != processor[:-1])))
