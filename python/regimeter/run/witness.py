# SPDX-License-Identifier: Apache-2.0
"""How fast the machine was while a run was recorded: the looks that its threads took beside their work, and what the
kernel counted of waiting, theft and limits. docs/witness.md says what is measured and how.

`Witness.of(run)` is what summaries, pages and comparisons ask; the core judges (csrc/analysis/machine).
"""

import functools
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from ..system.quantities import known
from .turns import Turns
from .witness_device import DeviceWitness, devices_of

if TYPE_CHECKING:
    from ..public.run import Run

NOT_RECORDED = "the machine's speed was not recorded: that was off, or the file is older or of another tool"
NO_SCOPE = "the machine's speed is not known: threads look at it when a scope has ended, and none was recorded"
WORDS = {"throughput": "arithmetic", "memory": "reads from memory", "waiting": "waiting for a processor"}
S = 1e9


@functools.cache
def threshold(name: str) -> float:
    """Return the default of one of the thresholds for a machine, ``machine_`` and this name in docs/schema.md."""
    return float(_core.policy()[f"machine_{name}"]["default"])


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


@dataclass(frozen=True, slots=True)
class Witness:
    """The looks at the machine of a run, and what kept its processes from their processors.

    looks: how many. throughput_median, memory_median: how long the fixed work took, in ns. The same work takes the same
    time on the same machine left alone, so what matters are ratios. spread: how far the level moved around its median,
    as a part of it, and spread_of: of which, as in `SlowWindow`.
    waiting_share: of the time in which recording threads were ready to run, the part in which others had the
    processor. steal_share: part of the time that a hypervisor took from a processor. throttled_share: part of the time
    that a limit of the control group held the process back, per processor in use it may be above 1. involuntary_per_s:
    context switches that nobody asked for. migrations: how often a thread was on another processor than at its look
    before, at least. All None where it is not known.
    slow_windows: stretches in which the machine was slower than usual, in order of time; they do not overlap.
    devices: what telemetry, where it was recorded, says of the devices.
    """

    looks: int
    throughput_median: float | None
    memory_median: float | None
    spread: float | None
    spread_of: str
    waiting_share: float | None
    steal_share: float | None
    throttled_share: float | None
    involuntary_per_s: float | None
    migrations: int | None
    start_ns: int
    slow_windows: tuple[SlowWindow, ...] = ()
    devices: tuple[DeviceWitness, ...] = ()

    @classmethod
    def of(cls, run: "Run") -> "Witness | None":
        """Return what a run says of its machine, None where it has recorded nothing of it."""
        if not len(run.tables.witness) and not len(run.tables.pressure):
            return None
        windows, stated = run.analyse("slow_windows"), run.analyse("machine").row(0)
        figures = {name: known(value) for name, value in stated.items()}
        return cls(
            looks=stated["looks"],
            throughput_median=figures["throughput_ns"],
            memory_median=figures["memory_ns"],
            spread=figures["spread"],
            spread_of=_core.MACHINE_SIGNS[stated["spread_sign"]],
            waiting_share=figures["waiting_share"],
            steal_share=figures["steal_share"],
            throttled_share=figures["throttled_share"],
            involuntary_per_s=figures["involuntary_per_s"],
            migrations=stated["migrations"] if stated["migrations"] >= 0 else None,
            start_ns=run.start_ns,
            slow_windows=tuple(_slow(windows.row(number)) for number in range(len(windows))),
            devices=devices_of(run),
        )

    def __len__(self) -> int:
        return self.looks

    def sentence(self) -> str:
        """Return in one sentence, without a full stop, how fast and how steady the machine was."""
        looks = "1 look" if len(self) == 1 else f"{len(self):,} looks"
        if self.slow_windows:
            said = self._slow_sentence()
        elif self.spread is None or len(self) < threshold("least_looks"):
            said = f"the run had {looks} at the machine: too few to say whether it was steady"
        elif self.spread <= threshold("steady"):
            said = f"the machine was steady within {max(1, round(self.spread * 100))} % ({looks})"
        else:
            said = (
                f"the machine's speed varied by ± {self.spread * 100:.0f} % throughout ({WORDS[self.spread_of]}; "
                f"{looks})"
            )
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
                "waiting",
                "others had the processor for {:.0f} % of the time in which its threads could run",
            ),
            (self.steal_share, "steal", "other machines of the host took {:.0f} % of the processors"),
            (
                self.throttled_share,
                "throttled",
                "a limit of the control group held it back for {:.0f} % of the time",
            ),
        )
        said = [f"; {text.format(share * 100)}" for share, name, text in told if share and share >= threshold(name)]
        return "".join(said) + "".join(device.told(threshold("throttled")) for device in self.devices)


def _slow(row: dict[str, Any]) -> SlowWindow:
    return SlowWindow(row["start_ns"], row["end_ns"], row["factor"], _core.MACHINE_SIGNS[row["sign"]])


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
