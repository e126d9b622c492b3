# SPDX-License-Identifier: Apache-2.0
"""The verdict on a call: what was measured and counted, judged by the classifier of the core against the ceilings."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from .. import _core
from ..calibration.measure import measure_again
from ..system.arrays import np
from . import floor, inner_rate, limits, plain_data, replay, torch_work
from .arguments import arrays_in, distinct_bytes
from .caches import LINE_BYTES, cache_sizes
from .policy import VALUE
from .stopwatch import Measurement
from .work import FORMULA, Work

if TYPE_CHECKING:
    from ..calibration import Calibration


REGIMES = ("OVERHEAD_BOUND", "MEMORY_BOUND", "COMPUTE_BOUND")
USUAL_CACHE = 32 * 2**10  # of a first-level cache
MEMORY = ("cache_l2", "memory_read", "memory_copy", "memory_triad", "memory_fill")


@dataclass(frozen=True, slots=True)
class Call:
    """A call that has been measured. outside: part of its time outside of torch's operators, at least and at most, if
    that is no work. accesses: loads that each depend on the one before. inner: function, arguments and keywords of the
    one call that it consists of, or its own; result: what it returned."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    library: str
    device: str
    measured: Measurement
    work: Work
    outside: tuple[float, float] | None = None
    accesses: float | None = None
    inner: tuple[Any, tuple[Any, ...], dict[str, Any]] | None = None
    result: Any = None

    @property
    def operators(self) -> int:
        """Calls of the library inside, at least one."""
        return max(1, self.work.operators or 1)


def judge(call: Call, calibration: "Calibration") -> dict[str, Any]:
    """Return what the classifier says of a call; figures that it cannot know are None."""
    work, measured = call.work, call.measured
    host = call.device == "cpu"
    spread = VALUE["single_call_spread"] if measured.spread is None else measured.spread
    if host:
        # What several threads lost overlaps with what the others did meanwhile, so what is left is known less well.
        whole = measured.own_ns if measured.busy_threads > VALUE["several_threads"] else measured.wall_ns
        disturbed = VALUE["stolen_spread"] * measured.stolen_ns / whole if whole else 0.0
    else:
        disturbed = VALUE["event_resolution_ns"] / judged_ns(measured)
    known: dict[str, Any] = {
        "ceilings": calibration.vector(),
        "host": host,
        "time_ns": judged_ns(measured),
        "time_spread": spread + disturbed,
        "bytes": work.bytes,
        "calls": call.operators,
        "accesses": call.accesses,
    }
    if work.flops is not None and (work.pipe is not None or work.flops == 0):
        known["operations"] = {work.pipe or "fp64": work.flops}
    if "lower bound" in work.flops_source:
        known["operations_spread"] = VALUE["lower_bound_spread"]
    if "lower bound" in work.bytes_source:
        known["bytes_spread"] = VALUE["lower_bound_spread"]
    known |= _host(call, calibration) if host else _device_floor(calibration)
    judged = _classify(call, known)
    if host:
        judged, known, calibration = _without_disturbances(call, known, judged, calibration)
        judged = _beside_the_roofs(call, known, judged, calibration)
        judged["ceilings_matter"] = _depends_on_ceilings(call, known, judged)
    if judged["confidence"] is not None:
        judged["confidence"] = min(1.0, judged["confidence"])  # sums of probabilities round
    judged["flops_utilization"] = _flops_share(call, judged, calibration)
    return judged


UNKNOWN_WORK = ("no_work", "no_operations", "no_bytes")
# Verdicts that a roof, the floor or a wait gives by itself.
DECIDED = ("roof", "floor", "cpu_idle", "chain")


def _beside_the_roofs(
    call: Call, known: dict[str, Any], judged: dict[str, Any], calibration: "Calibration"
) -> dict[str, Any]:
    """Return the verdict with what else limits a call, where neither roofs nor floor explain it."""
    fill = calibration.ceilings.get("memory_fill")
    found = limits.of_measurement(call.measured, None if fill is None else fill.value)
    decided = judged["reason"] in DECIDED and judged["regime"] not in ("AMBIGUOUS", "UNKNOWN")
    if not decided and judged["detail"] != "model_error":
        inside: limits.Limits = {}
        if call.inner and not _is_product(call.work):
            moves = call.work.flops == 0 or _does_little(call, judged)
            most = judged["sol_compute"] if _has_own_rate(call) else None
            inside = limits.of_function(*call.inner, call.result, call.measured, found, moves, most)
        if (judged["sol_memory"] or 0.0) < VALUE["rarely"]:
            if call.work.flops != 0:
                inside.pop("placement", None)  # no pattern and little traffic: a cache may not be all that differs
        elif _does_little(call, judged):
            inside.pop("arithmetic", None)  # a stream: in a cache it takes long for the bytes, too
        share = max((inside[name][0] for name in ("arithmetic", "dependent") if name in inside), default=0.0)
        if share and not known.get("operations"):
            known["compute_share"] = share
        if call.inner and not inside and judged["reason"] == "no_work":
            inside = limits.of_plain_data(*call.inner, call.result, call.measured, found)
        if not inside and judged["reason"] in UNKNOWN_WORK:
            inside = limits.of_touched(call.measured, found)
        if inside:  # they say better what first touch means
            found = {name: value for name, value in found.items() if name not in limits.NEW}
        found |= inside
        known["limits"] = found
        judged = _classify(call, known) | {"flops_utilization": judged.get("flops_utilization")}
    return judged | {"limits": {name: share for name, (share, _) in found.items()}}


def _does_little(call: Call, judged: dict[str, Any]) -> bool:
    """Say whether the operations, which a formula tells, take next to no time."""
    by_formula = call.work.flops is not None and not _has_own_rate(call)
    return by_formula and (judged["sol_compute"] or 0.0) < VALUE["negligible_share"]


def _is_product(work: Work) -> bool:
    """Say whether the known operations are many for each byte, whose number a part of the data does not tell."""
    return bool(work.flops and work.bytes and work.flops > VALUE["product_intensity"] * work.bytes)


def _depends_on_ceilings(call: Call, known: dict[str, Any], judged: dict[str, Any]) -> bool:
    """Say whether the label would be another one if what disturbed the calibration had made its rates too low."""
    place = {token for token, row in _core.ceilings().items() if row["unit"].endswith("/s")}
    higher = {}
    for name in ("ceilings", "single"):
        if known.get(name) is not None:
            higher[name] = np.array(known[name], dtype="float64", copy=True)
            for at, token in enumerate(_core.CEILINGS):
                higher[name][at][0] *= VALUE["ceiling_doubt"] if token in place else 1.0
    return bool(_classify(call, known | higher)["regime"] != judged["regime"])


def _without_disturbances(
    call: Call, known: dict[str, Any], judged: dict[str, Any], calibration: "Calibration"
) -> tuple[dict[str, Any], dict[str, Any], "Calibration"]:
    """Measure again what the call was faster than, and an own rate that decides; return the verdict then, what it rests
    on, and the ceilings.

    What disturbs a measurement only makes it slower, so the faster one stands.
    """
    by_own_rate = "operations_spread" in known and _has_own_rate(call)
    confirmed = not by_own_rate
    for attempt in range(int(VALUE["attempts"])):
        beaten = judged["detail"] == "model_error"
        shares = {name: judged[f"sol_{name}"] or 0.0 for name in ("compute", "memory")}
        rate = by_own_rate and (
            shares["compute"] > 1 if beaten else judged["regime"] == "COMPUTE_BOUND" and not confirmed
        )
        least = (judged["floor_share"] or 0.0) > VALUE["floor_beaten"]
        other = None
        if beaten and not rate:
            other = _measured_again(judged, shares, calibration)
        if not rate and not least and other is None:
            break
        time.sleep(VALUE["pause_s"] * (attempt + 1))  # what disturbed the one may be over
        if rate:
            known |= _arithmetic(call, known["single"], again=True)
            confirmed = True
        if least:
            known |= _host_floor(call, calibration, again=True)
        if other is not None:
            calibration = other
            known |= {"ceilings": other.vector(), "single": other.vector(threads=1)}
            if by_own_rate:
                known |= _arithmetic(call, known["single"])
        judged = _classify(call, known)
    return *_never_faster_by_mistake(call, known, judged), calibration


def _never_faster_by_mistake(
    call: Call, known: dict[str, Any], judged: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the verdict and what it rests on, or others where a ceiling was beaten only by what is not known well.

    By the clock on the wall, where the time that others took is why: it may have been that of a thread that only spun.
    And where arithmetic that a formula gives was done faster than the loops of the calibration do any, the call itself
    is the best measurement of that ceiling that there is.
    """
    if judged["detail"] != "model_error":
        return judged, known
    measured, work = call.measured, call.work
    if measured.stolen_ns > 0:
        by_the_wall = known | {"time_ns": measured.wall_ns}
        if "cpu_ns" in known:
            most = measured.wall_ns * max(1, known["machine_threads"])
            by_the_wall["cpu_ns"] = min(most, measured.process_cpu_ns)
        by_wall = _classify(call, by_the_wall)
        if by_wall["detail"] != "model_error":
            return by_wall, by_the_wall
    share = judged["sol_compute"] or 0.0
    beaten = share > (judged["sol_memory"] or 0.0) and 1 < share < VALUE["disturbed_most"]
    if not beaten or FORMULA not in work.flops_source or work.pipe is None or not known.get("operations"):
        return judged, known
    place = _core.CEILINGS.index(f"compute_{work.pipe}")
    raised = {}
    for name in ("ceilings", "single"):
        if known.get(name) is not None:
            raised[name] = np.array(known[name], dtype="float64", copy=True)
            raised[name][place][0] *= share
    return _classify(call, known | raised), known | raised


def _measured_again(
    judged: dict[str, Any], shares: dict[str, float], calibration: "Calibration"
) -> "Calibration | None":
    """Return the ceilings with those measured again that the call beat; None where that cannot be the reason."""
    name = max(shares, key=lambda name: shares[name])
    if not 1 < shares[name] < VALUE["disturbed_most"]:
        return None
    inner = str(judged["memory_roof"]).startswith("cache")
    return measure_again(calibration, "compute" if name == "compute" else "caches" if inner else "memory")


def _classify(call: Call, known: dict[str, Any]) -> dict[str, Any]:
    judged = None if _has_own_rate(call) else _with_little_arithmetic(known, call.work)
    return judged or _core.classify(**known)


def _with_little_arithmetic(known: dict[str, Any], work: Work) -> dict[str, Any] | None:
    """Return the verdict on a call whose arithmetic is not known but takes next to no time at its most, else None."""
    if work.flops is not None or work.flops_most is None:
        return None
    most = _core.classify(**known, operations={work.pipe or "fp32": work.flops_most})
    if most["sol_compute"] is None or most["sol_compute"] > VALUE["negligible_share"]:
        return None
    return most | {"sol_compute": None, "ridge": None}


def judged_ns(measured: Measurement) -> float:
    """Return the time that a verdict rests on; of a device at least what its events resolve."""
    return VALUE["event_resolution_ns"] if measured.is_unresolved else measured.own_ns


def is_impossible(call: Call, calibration: "Calibration") -> bool:
    """Say whether a device would have to be faster than its arithmetic and its caches to do the work in the time."""
    seconds = judged_ns(call.measured) / 1e9
    limits = ((call.work.flops, (f"compute_{call.work.pipe}",)), (call.work.bytes, MEMORY))
    for amount, tokens in limits:
        found = [calibration.ceilings[token] for token in tokens if token in calibration.ceilings]
        fastest = max((row.value for row in found if row.value is not None), default=None)
        if amount and fastest and amount / seconds > VALUE["impossible_share"] * fastest:
            return True
    return False


def _flops_share(call: Call, judged: dict[str, Any], calibration: "Calibration") -> float | None:
    """FLOPs as a part of the peak; the classifier's share is that of a function's own rate where that is the roof."""
    if call.work.flops is None:
        return None
    if not call.work.elements:
        share: float | None = judged["sol_compute"]
        return share
    found = calibration.single.get(f"compute_{call.work.pipe}")
    if found is None or not found.value:
        return None
    return call.work.flops / (call.measured.own_ns / 1e9) / found.value


def judge_layer(
    time_ns: float, work: Work, calls: int, device: str, outside: float | None, calibration: "Calibration | None"
) -> dict[str, Any]:
    """Return what the classifier says of a part of a call: the operators of a module.

    outside: part of the time that was spent in no operator, which is overhead by definition.
    """
    operators = max(1, work.operators or calls)
    known: dict[str, Any] = {
        "host": device == "cpu",
        "time_ns": time_ns,
        "time_spread": VALUE["single_call_spread"],
        "bytes": work.bytes,
        "calls": operators,
        "working_set": work.footprint,
    }
    if work.flops is not None:
        known["operations"] = {work.pipe or "fp64": work.flops}
        if "lower bound" in work.flops_source:
            known["operations_spread"] = VALUE["lower_bound_spread"]
    if calibration is None:
        return _core.classify(**known)
    known["ceilings"] = calibration.vector()
    if device != "cpu":
        return _core.classify(**known, **_device_floor(calibration))
    found = calibration.single.get("dispatch_torch")
    one = (
        found.value
        if found is not None and found.value is not None
        else floor.shortest_call("torch", None, (), False)[0]
    )
    known["floor_ns"] = one + (outside or 0.0) * time_ns / operators
    known |= {"single": calibration.vector(threads=1), "machine_threads": calibration.threads, "caches": cache_sizes()}
    return _with_little_arithmetic(known, work) or _core.classify(**known)


def _host(call: Call, calibration: "Calibration") -> dict[str, Any]:
    work, measured = call.work, call.measured
    single = calibration.vector(threads=1)
    clock_ns = floor.stopwatch_cpu_ns()
    known: dict[str, Any] = {
        "single": single,
        "machine_threads": calibration.threads,
        "working_set": work.footprint,
        "caches": cache_sizes(),
        **_host_floor(call, calibration),
    }
    if _is_nothing_but_the_call(call):
        known |= {"floor_ns": measured.own_ns / call.operators, "floor_spread": 0.0}  # nothing but the call
    if measured.own_ns > VALUE["cpu_time_from"] * clock_ns:
        most = measured.own_ns * max(1, calibration.threads)
        known["cpu_ns"] = min(most, max(0.0, measured.process_cpu_ns - clock_ns))
    else:
        known["threads"] = 1  # too short to tell, and to share out
    if _has_own_rate(call):
        known |= _arithmetic(call, single)
    return known


def _is_nothing_but_the_call(call: Call) -> bool:
    """Say whether the work would be a small part of the time even if each operation waited for the one before.

    A single call of a library on a few elements takes as long as its code needs to come into the caches, which no
    repetition shows. What Python runs in less than a microsecond are some tens of steps of the interpreter. Of longer
    code of the program nobody knows what else it does.
    """
    work = call.work
    if work.flops == 0 and work.bytes == 0:
        return True
    if work.flops is None and work.bytes is None and call.library == "python":
        cold = call.measured.calls == 1
        if call.measured.own_ns < VALUE["cold_python_ns" if cold else "python_ns"]:
            return True
    if _is_wrapper_on_little(call):
        return True
    whole = FORMULA in work.flops_source or FORMULA in work.bytes_source or call.outside is not None
    if call.library not in ("numpy", "torch") or not whole or work.bytes is None or not work.footprint:
        return False
    if work.footprint > (cache_sizes()[0] or USUAL_CACHE):
        return False
    operations = work.flops_most if work.flops is None else work.flops
    elements = work.elements or 0
    if operations is None and not elements:
        return False
    serial = VALUE["slow_operation_ns"] * (operations or 0.0) + VALUE["slow_element_ns"] * elements
    serial += VALUE["slow_line_ns"] * work.bytes / LINE_BYTES
    return serial < VALUE["negligible_share"] * call.measured.own_ns


def _is_wrapper_on_little(call: Call) -> bool:
    """Say whether it is a library's function in Python on so little data that its own steps are the time."""
    if call.inner is None or call.measured.own_ns > VALUE["wrapper_ns"]:
        return False
    function, args, kwargs = call.inner
    written = getattr(function, "__wrapped__", function)
    if not isinstance(written, FunctionType) or not (
        plain_data.is_of_library(function) or replay.is_known(*call.inner)
    ):
        return False
    arrays = arrays_in(args, kwargs, call.result)
    plain = [
        value for value in (*args, *kwargs.values(), call.result) if not isinstance(value, np.ndarray | np.generic)
    ]
    size = plain_data.occupied(*plain)
    return size is not None and size + distinct_bytes(arrays) <= VALUE["wrapper_bytes"]


def _host_floor(call: Call, calibration: "Calibration", again: bool = False) -> dict[str, Any]:
    """Per operator: one as it was timed, the others in a row, and what lies between them."""
    cold = call.measured.calls == 1
    first, spread = floor.shortest_call(call.library, call.function, call.args, cold, again)
    found = calibration.single.get(f"dispatch_{call.library}")
    warm = found.value if found is not None and found.value is not None else first
    inside = 0 if floor.is_own(call.library, call.function, call.args) else call.operators - 1
    total = first + inside * warm
    if call.outside is not None:
        least, most = call.outside
        spent = (least + most) / 2 * call.measured.own_ns + (call.operators - 1) * warm
        if spent > total:
            total, spread = spent, max(spread, (most - least) / (most + least))
    return {"floor_ns": total / call.operators, "floor_spread": spread, "dispatch": call.library}


def _device_floor(calibration: "Calibration") -> dict[str, Any]:
    """A call on a device takes at least its shortest kernel, and what the host needs to launch one."""
    values = [calibration.ceilings.get(token) for token in ("shortest_kernel", "launch", "dispatch_torch")]
    known = [found.value for found in values if found is not None and found.value is not None]
    return {"floor_ns": max(known)} if known else {}


def _has_own_rate(call: Call) -> bool:
    return call.device == "cpu" and bool(call.work.elements) and call.library in ("numpy", "torch")


def _arithmetic(call: Call, single: Any, again: bool = False) -> dict[str, Any]:
    """The time of the arithmetic alone as operations at the ceiling of a pipe, which is how the classifier takes it."""
    function: Any = call.function
    args = call.args
    if call.library == "torch":
        function, bound = torch_work.is_plain(function)
        args = args if bound is None else (bound, *args)
    found = inner_rate.ns_per_element(call.library, function, args, again) if function is not None else None
    if found is None or call.work.elements is None:
        return {}
    pipe, rate = _known_pipe(call.work.pipe, single)
    if pipe is None:
        return {}
    told = {"operations": {pipe: found[0] * call.work.elements * rate / 1e9}, "operations_spread": found[1]}
    return told | {"threads": 1} if call.library == "numpy" else told


def _known_pipe(pipe: str | None, single: Any) -> tuple[str | None, float]:
    for name in (pipe, "fp64", "fp32"):
        if name is not None:
            rate = float(single[_core.CEILINGS.index(f"compute_{name}")][0])
            if not math.isnan(rate):
                return name, rate
    return None, math.nan
