# SPDX-License-Identifier: Apache-2.0
"""Thresholds of this package: name, default, unit and where each comes from. Those of the classification are in C."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Threshold:
    """One number that a verdict depends on."""

    name: str
    value: float
    unit: str
    source: str


_API = "the documented OOM levels of GPURegimeProfiler"

THRESHOLDS = (
    Threshold("oom_high_headroom_bytes", float(2**30), "bytes", _API),
    Threshold("oom_high_usage", 0.90, "fraction", _API),
    Threshold("oom_medium_headroom_bytes", 4.0 * 2**30, "bytes", _API),
    Threshold("oom_medium_usage", 0.70, "fraction", _API),
    Threshold("overhead_ratio", 1.5, "t(2N) / t(N)", "the documented cut of overhead_test; doubled work doubles time"),
    Threshold("first_touch_share", 0.1, "fraction", "pages touched first against the bytes moved: a tenth is visible"),
    Threshold("single_call_spread", 0.2, "half-width", "of a time that was measured once; chosen here"),
    Threshold("lower_bound_spread", 1.0, "half-width", "of work of which only a lower bound is known; chosen here"),
    Threshold("negligible_share", 0.1, "of the time", "arithmetic that is less at its most is none; chosen here"),
    Threshold("cpu_time_from", 10.0, "times the clocks' own", "below it processor time says nothing; chosen here"),
    Threshold("resolution_ns", 200.0, "ns", "some reads of the clock, which take 30 to 50 ns each"),
    Threshold("event_resolution_ns", 500.0, "ns", "of cuEventElapsedTime: around half a microsecond, as NVIDIA states"),
    Threshold("impossible_share", 1.05, "of a ceiling", "work above it was not inside the time; as sane_high"),
    Threshold("stolen_share", 0.05, "fraction", "a twentieth of the time is worth a word; chosen here"),
    Threshold("stolen_spread", 0.5, "of the stolen part", "what else the others disturbed is not known; chosen here"),
    Threshold("least_undisturbed", 3.0, "calls", "the fewest that have a middle; disturbed ones are left out then"),
    Threshold("several_threads", 1.5, "busy threads", "between one and two"),
    Threshold("python_ns", 1000.0, "ns", "below it Python has done nothing but calls; chosen here"),
    Threshold("cold_python_ns", 5000.0, "ns", "the same with cold caches; chosen here"),
    Threshold("wrapper_ns", 50_000.0, "ns", "of functions written in Python on next to no data; chosen here"),
    Threshold("wrapper_bytes", 2048.0, "bytes", "some numbers and words: as much as a call's own objects; chosen here"),
    Threshold("plain_least_ns", 100_000.0, "ns", "of compiled code of Python's library; calling it is nothing then"),
    Threshold("slow_operation_ns", 10.0, "ns", "a division that waits for the one before takes some 20 cycles"),
    Threshold("slow_element_ns", 200.0, "ns", "the slowest elementwise functions take about 100; chosen here"),
    Threshold("slow_line_ns", 200.0, "ns", "a cache line from memory takes 60 to 150; chosen here"),
    Threshold("floor_beaten", 1.25, "of the time", "a floor above it was disturbed; the spread of five calls"),
    Threshold("small_call_ns", 2000.0, "ns", "twice the smallest call of NumPy on a slow processor; chosen here"),
    Threshold("pace_least_ns", 200_000.0, "ns", "of looks at Python, or its pace is not known; chosen here"),
    Threshold("pace_spread", 0.2, "half-width", "looks miss stays that begin and end between two; chosen here"),
    Threshold("ceiling_doubt", 1.5, "times", "what a busy machine took from a rate: half of a core; chosen here"),
    Threshold(
        "worked_share", 0.8, "of the time", "of a lightweight call; below, others had the processor; chosen here"
    ),
    Threshold("alike", 1.5, "times", "calls of one function that differ by less have one verdict; chosen here"),
    Threshold("light_share", 0.05, "of the calls", "that lightweight verdicts may take; chosen here"),
    Threshold("product_intensity", 4.0, "FLOP/byte", "more than passes over data have; chosen here"),
    Threshold("rarely", 0.2, "fraction", "of the time: not worth a word below; chosen here"),
    Threshold("mostly", 0.75, "fraction", "of the time: three times all that is left; chosen here"),
    Threshold("tick_ns", 4e6, "ns", "how often most systems look who has the processor (CONFIG_HZ=250)"),
    Threshold("least_ticks", 4.0, "ticks", "fewer tell nothing of the system's part; chosen here"),
    Threshold("looked_at_ms", 100.0, "ms", "of all calls: fewer may show neither Python's pace nor the system's part"),
    Threshold("replay_bytes", 65536.0, "bytes", "an array that the first caches hold beside its result; chosen here"),
    Threshold("replay_spread", 0.25, "half-width", "of a rate in a cache, taken to another size; chosen here"),
    Threshold("far_apart_bytes", 4096.0, "bytes", "places that no prefetching joins: another page"),
    Threshold("disturbed_most", 3.0, "of a ceiling", "beyond it the work is wrong, not the ceiling; chosen here"),
    Threshold("attempts", 4.0, "times", "own rate and floor are measured again where a call was faster; chosen here"),
    Threshold("pause_s", 0.02, "s", "before those, longer each time: disturbances last milliseconds; chosen here"),
    Threshold("steps_share", 0.6, "of the time", "of calls of one regime, which is that of a function; chosen here"),
    Threshold("step_share", 0.02, "of the time", "of a call in a function; a shorter one is not judged; chosen here"),
    Threshold("counting_spread", 0.1, "of the cost", "of what counting operators cost, which is measured; chosen here"),
    Threshold("bottleneck_share", 20.0, "percent", "a layer that five equal layers would share the time with"),
    Threshold("balance_uneven", 0.8, "mean time / longest time", "a fifth of the devices' time spent waiting"),
)

VALUE = {threshold.name: threshold.value for threshold in THRESHOLDS}
