# SPDX-License-Identifier: Apache-2.0
"""What to try, from what was measured: one rule a line of the list, with its evidence and the command that goes on."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .alerts import SLOW, THROTTLING, VARIANCE, Alert
from .statistics import KernelStats
from .steady import STEADY_FAULTS

# Parameters that a slow workload can be made smaller by, and what that costs.
SIZES = {
    "pixel_entropy": ("window", "a smaller window is less work, and less of a neighbourhood"),
    "lstm_cell_forward": ("batch", "a smaller batch answers sooner, a larger one does more a second"),
}


@dataclass(frozen=True, slots=True)
class Advice:
    """One recommendation: the kernel, what was measured, what to try, and a command ('' where there is none)."""

    kernel: str
    evidence: str
    text: str
    command: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def sentence(self) -> str:
        """The recommendation in a line."""
        return f"{self.kernel}: {self.evidence}: {self.text}" + (f": {self.command}" if self.command else "")


@dataclass(frozen=True, slots=True)
class _Case:
    """What a rule looks at."""

    one: KernelStats
    kinds: frozenset[str]  # of the kernel's alerts
    policy: Mapping[str, float]

    @property
    def on_device(self) -> bool:
        return self.one.backend == "device" or str(self.one.facts.get("place", "")).startswith("cuda")


def advice_of(stats: Iterable[KernelStats], alerts: Iterable[Alert], policy: Mapping[str, float]) -> list[Advice]:
    """Return what to try, kernel by kernel. alerts: of the same kernels."""
    kinds: dict[str, set[str]] = {}
    for alert in alerts:
        kinds.setdefault(alert.kernel, set()).add(alert.kind)
    cases = [_Case(one, frozenset(kinds.get(one.name, ())), policy) for one in stats]
    return [advice for case in cases for rule in RULES for advice in rule(case)]


def _variance(case: _Case) -> Iterable[Advice]:
    one = case.one
    if VARIANCE not in case.kinds or one.cv is None:
        return
    evidence = f"the {_basis(one)} varies by {100 * one.cv:.0f} %"
    faults = one.times.faults_per_run
    if faults is not None and faults >= STEADY_FAULTS:
        yield Advice(
            one.name, f"{evidence}, with {faults:,.0f} page faults each", "judge the kernel, not the host call"
        )
    elif case.on_device:
        yield Advice(one.name, evidence, "see whether other programs use the device", "nvidia-smi")
        yield Advice(
            one.name, evidence, "watch temperature and clocks", "nvidia-smi -q -d TEMPERATURE,CLOCK,PERFORMANCE"
        )
        yield Advice(one.name, evidence, "see what runs in between", f"nsys profile --stats=true {_run(one)}")
    else:
        text = "see what else runs (`uptime`, `top`), and keep it off two processors"
        yield Advice(one.name, evidence, text, f"taskset -c 0,1 {_run(one)} --iterations 100")


def _outside(case: _Case) -> Iterable[Advice]:
    one = case.one
    if one.host_call is None or one.kernel is None or one.host_call.p50_ns <= 0:
        return
    share = 1 - one.kernel.p50_ns / one.host_call.p50_ns
    if share > case.policy["outside_share"]:
        evidence = f"{100 * share:.0f} % of the host call is not the kernel, but allocation and copies"
        pool = "ActiveMemoryPool" if case.on_device else "arrays that are made once, out="
        yield Advice(one.name, evidence, f"keep data where it is and use buffers again ({pool})")


def _short(case: _Case) -> Iterable[Advice]:
    one, limit = case.one, case.policy["short_kernel_us"]
    if case.on_device and one.kernel is not None and one.kernel.p50_ns < limit * 1e3:
        evidence = f"the kernel takes {one.kernel.p50_ns / 1e3:.1f} us"
        yield Advice(one.name, evidence, "give it more work a launch, or launch many by a CUDA graph", _sweep(one))


def _slow(case: _Case) -> Iterable[Advice]:
    one = case.one
    if SLOW not in case.kinds:
        return
    evidence = f"the mean {_basis(one)} is {one.mean_us:,.0f} us"
    if one.name in SIZES:
        over, cost = SIZES[one.name]
        yield Advice(one.name, evidence, cost, f"{_sweep(one)} --over {over}")
    else:
        yield Advice(one.name, evidence, "see from which size on its rate is all that there is", _sweep(one))
    if one.backend in ("numpy", "torch", "reference") and not case.on_device:
        command = f"regimeter workloads ab {one.name} --base {one.backend} --current c"
        yield Advice(one.name, evidence, "compare with vectorised C on all processors", command)
    if one.backend == "device":
        text = "tune threads of a block: KernelAutotuner(device=0).tune_workload (docs/tuning.md)"
        yield Advice(one.name, evidence, text)


def _throttled(case: _Case) -> Iterable[Advice]:
    if THROTTLING in case.kinds:
        evidence = f"the device was slowed down ({', '.join(case.one.facts['slowed_by'])})"
        text = "its times say nothing of the code; cool it, raise its power limit or lock lower clocks"
        yield Advice(case.one.name, evidence, text, "nvidia-smi -q -d PERFORMANCE")


def _basis(one: KernelStats) -> str:
    return one.basis.replace("_", " ")


def _run(one: KernelStats) -> str:
    return f"regimeter workloads run --kernel {one.name} --backend {one.backend or 'auto'}"


def _sweep(one: KernelStats) -> str:
    return f"regimeter workloads sweep {one.name} --backend {one.backend or 'auto'}"


RULES: tuple[Callable[[_Case], Iterable[Advice]], ...] = (_variance, _throttled, _slow, _outside, _short)
