# SPDX-License-Identifier: Apache-2.0
"""What the evidence judges: claims hold for figures that are as they should be, and fail for those that are not."""

import sys

from places import TESTS

sys.path.insert(0, str(TESTS / "gpu"))

from evidence import (
    attribution,
    calibration,
    claims,
    comparison,
    decoding,
    event_times,
    graphs,
    kernel_sums,
    million_kernels,
    operations,
    overhead,
    recorded,
    regimes,
    serving,
)


def judged(rows):
    return {claim.claim: claim.holds for claim in rows}


def test_claims_about_nothing_show_nothing():
    assert claims.at_most("a", None, 1).holds is None
    assert claims.at_least("a", float("nan"), 1).holds is None
    assert claims.between("a", 5, 1, 5).holds is True
    assert claims.equal("a", [], []).holds is True


def test_event_times_are_judged_by_their_distance():
    spins = {
        str(cycles): [[kernel + 900, kernel]] * 40
        for cycles, kernel in zip(event_times.CYCLES, (9000, 60000, 600000, 6000000), strict=True)
    }
    others = {name: [[60900, 60000]] * 40 for name in event_times.OTHERS}
    found = {"spins": spins, "others": others, "nothing_ns": [500] * 40, "scopes": 200}
    good = event_times.judge(found)
    assert all(claim.holds is not False for claim in good)
    spins["10000"] = [[9000 + 1200, 9000]] * 40
    bad = judged(event_times.judge(found | {"others": {"product": [[62000, 60000]] * 40}}))
    assert bad["median difference over 1 us + 1 %, 10000 cycles"] is False
    assert bad["median difference over 1 us + 1 %, 100000 cycles"] is True
    assert bad["median difference over 1 us + 1 %, product"] is False
    assert bad["scopes of a sum of vectors with a device time and kernels"] is False
    assert (
        judged(event_times.judge({"spins": {}, "others": {}, "nothing_ns": [], "scopes": 0}))[
            "scopes of 10000 cycles with a device time and one kernel"
        ]
        is False
    )


def test_kernel_sums_are_judged_within_half_a_percent():
    ours = [{"gemm": [200, 1_000_000]}] * 3
    theirs = [{"gemm": [200, 1_004_000], "Memcpy": [1, 5]}] * 3
    assert all(claim.holds is not False for claim in kernel_sums.judge({"ours": ours, "theirs": theirs}))
    for wrong in (
        [{"gemm": [200, 1_006_000]}] * 3,
        [{"gemm": [199, 1_000_000]}] * 3,
        [{"other": [200, 1_000_000]}] * 3,
    ):
        assert False in judged(kernel_sums.judge({"ours": ours, "theirs": wrong})).values()


def test_kernels_without_a_scope_are_judged():
    row = {"kernels": 1000, "without_launch": 0, "without_scope": 0, "before_launch": 0, "negative": 0,
           "registers": 1000, "occupied": 1000, "configurations": 1000, "anomalies": {}, "state": {}}  # fmt: skip
    assert False not in judged(attribution.judge({"decode": row})).values()
    for change in (
        {"without_scope": 1},
        {"before_launch": 2},
        {"anomalies": {"dropped_activity": 4}},
        {"occupied": 999},
    ):
        assert False in judged(attribution.judge({"decode": row | change})).values()


def test_threads_of_a_server_are_judged():
    kernels = 2 * serving.REQUESTS
    row = {"kernels": kernels, "without_launch": 0, "inferred": 0, "kernels_of_request": [2], "before_launch": 0,
           "threads": serving.WORKERS, "streams": serving.WORKERS, "timed": serving.REQUESTS,
           "anomalies": {}}  # fmt: skip
    found = {way: row | {"scopes": {scope: kernels}} for way, scope in serving.WAYS.items()}
    found["one"] = found["one"] | {"inferred": kernels}
    assert False not in judged(serving.judge(found)).values()
    for way, wrong in (
        ("one", {"inferred": 0}), ("one", {"scopes": {"serve": kernels - 1, "None": 1}}), ("requests", {"inferred": 1}),
        ("requests", {"timed": 3}), ("requests", {"scopes": {"serve": kernels}}),
        ("none", {"scopes": {"before": kernels}}),
        ("none", {"streams": 1}), ("one", {"kernels": kernels + 1}), ("one", {"anomalies": {"orphan_kernels": 1}}),
    ):  # fmt: skip
        assert False in judged(serving.judge(found | {way: found[way] | wrong})).values(), wrong


def test_decoding_is_judged_on_both_sides_of_the_line():
    tokens = list(range(decoding.TOKENS))
    loop = {"tokens": [tokens, tokens], "token_ns": {"bare": {"median": 1}, "traced": {"median": 2}},
            "verdict": "launches", "anomalies": {}, "wall_ns": 1000, "busy_ns": 400, "without_scope": 0,
            "kernels": 40 * decoding.TOKENS, "kernels_of_layer": [20] * 2 * decoding.TOKENS,
            "kernels_of_token": [40] * decoding.TOKENS}  # fmt: skip
    graph = {"tokens": tokens, "token_ns": {"median": 1}, "verdict": "device", "wall_ns": 500, "busy_ns": 480,
             "kernels": 40 * decoding.TOKENS}  # fmt: skip
    found = {"layers": 2, "weight_bytes": 1, "peak_bytes_per_s": 4.8e12, "eager": loop, "graph": graph}
    assert False not in judged(decoding.judge(found)).values()
    for wrong in (
        {"tokens": [tokens, tokens[::-1]]}, {"kernels_of_layer": [20, 19] * decoding.TOKENS}, {"without_scope": 3},
        {"verdict": "device"}, {"busy_ns": 900}, {"anomalies": {"orphan_kernels": 1}}, {"kernels": 7},
    ):  # fmt: skip
        assert False in judged(decoding.judge(found | {"eager": loop | wrong})).values(), wrong
    for wrong in ({"verdict": "device_idle"}, {"busy_ns": 300}, {"kernels": 3}):
        assert False in judged(decoding.judge(found | {"graph": graph | wrong})).values(), wrong
    assert False in judged(decoding.judge(found | {"weight_bytes": 1 << 40})).values()  # faster than the memory reads


def trial(bare, traced, before=None, after=None):
    return {"bare": [bare] * 5, "traced": [traced] * 5, "before": [before or bare] * 5, "after": [after or bare] * 5,
            "launches": [4.0]}  # fmt: skip


def test_overhead_is_judged_where_the_peer_is_expensive():
    loop = {"tier0": trial(100, 101), "tier1": trial(100, 108), "torch_profiler": trial(100, 190),
            "torch_profiler_cuda": trial(100, 130), "proton": {"reason": "no module"}}  # fmt: skip
    good = judged(overhead.judge({"loops": {"decode": loop}}))
    each = {claim.claim: claim.value for claim in overhead.judge({"loops": {"decode": loop}})}
    assert each["decode: tier 1 costs a launch, against rounds between"] == 2
    assert False not in good.values()
    assert good["decode: tier 1 costs"] is True
    assert good["decode: proton runs"] is None
    cheap = judged(overhead.judge({"loops": {"decode": loop | {"torch_profiler": trial(100, 120)}}}))
    assert cheap["decode: tier 1 costs"] is None
    # Rounds that the tracer has slowed for good are no excuse: those from before count too.
    slowed = judged(overhead.judge({"loops": {"decode": loop | {"tier1": trial(119, 120, before=100, after=119)}}}))
    assert slowed["decode: tier 1 costs"] is False
    assert slowed["decode: what tier 1 leaves behind"] is False
    assert (
        judged(overhead.judge({"loops": {"decode": loop | {"tier0": {"reason": "it died"}}}}))["decode: tier0 runs"]
        is False
    )


def test_graphs_are_judged():
    row = {"right": True, "rows": 60, "replayed": {"replay": 40, "replay of another": 20},
           "captured": {"replay": ["bend", "product"], "replay of another": ["sum"]},
           "captured_scope": "captured", "replay_ms": 1.0, "beside_ms": 1.0, "anomalies": {}}  # fmt: skip
    assert False not in judged(graphs.judge({"1": row})).values()
    mixed = {"replay": ["bend", "product", "sum"], "replay of another": []}
    for change in ({"right": False}, {"replayed": {"None": 60}}, {"captured": mixed}, {"captured_scope": None}):
        assert False in judged(graphs.judge({"1": row | change})).values()


def calibration_of(**values):
    """A row of an H200: the datasheet of the core has 4.8 TB/s and 67 TFLOP/s in single precision."""
    from regimeter import _core

    sheet = _core.datasheets()["NVIDIA H200"]
    units = _core.ceilings()
    ceilings = {name: {"value": value, "unit": units[name]["unit"], "reason": "none"} for name, value in values.items()}
    peaks = {"source": "datasheet", "bytes_per_s": sheet["bytes_per_s"], "operations": sheet["peaks"]}
    return {"seconds": 25.0, "window": [0.4, 1.05], "name": "NVIDIA H200", "ceilings": ceilings, "peaks": peaks,
            "warnings": [], "state": {}}  # fmt: skip


def test_calibration_is_judged_against_the_datasheet():
    good = {"memory_copy": 4.2e12, "compute_fp32": 60e12, "launch": 2000.0, "compute_fp8": None, "h2d_pinned": 5e10}
    again = good | {"memory_copy": 4.25e12, "launch": 2900.0, "h2d_pinned": 6e10}
    row = calibration_of(**good)
    assert False not in judged(calibration.judge({"calibrations": [row, calibration_of(**again)]})).values()
    claims = judged(calibration.judge({"calibrations": [row, calibration_of(**again)]}))
    assert claims["memory_copy: share of the peak"] is True
    assert claims["compute_fp8: not measured"] is None
    for change in ({"memory_copy": 8.4e12}, {"compute_fp32": 20e12}):
        wrong = calibration_of(**good | change)
        assert False in judged(calibration.judge({"calibrations": [wrong, wrong]})).values()
    apart = calibration_of(**good | {"memory_copy": 4.4e12})
    assert judged(calibration.judge({"calibrations": [row, apart]}))["memory_copy: difference of the two"] is False
    late = row | {"seconds": 61.0}
    assert judged(calibration.judge({"calibrations": [row, late]}))["duration"] is False
    assert False in judged(calibration.judge({"calibrations": [row]})).values()


def regimes_found(verdict=lambda label: label, shares=None):
    """Verdicts and counters of every operation: those of its construction, unless a test has others."""
    shares = shares or {
        "OVERHEAD_BOUND": (2, 0, 0.1), "MEMORY_BOUND": (90, 0, 0.8), "COMPUTE_BOUND": (30, 85, 1.0), "": (50, 10, 0.5),
    }  # fmt: skip
    rows, told = {}, {}
    for operation in operations.operations():
        rows[operation.name] = dict(
            zip(("dram_throughput", "tensor_active", "ipc"), shares[operation.label], strict=True)
        )
        told[operation.name] = {"regime": verdict(operation.label) or "AMBIGUOUS"}
    return {"profiled": told, "counted": {"rows": rows, "counts": {}, "asked": len(rows)}}


def test_operations_have_names_of_their_own_and_are_enough():
    rows = list(operations.operations())
    assert len({row.name for row in rows}) == len(rows) >= regimes.LEAST
    assert {row.label for row in rows} == {*regimes.LABELS, ""}


def test_regimes_are_judged_by_hardware_counters():
    assert regimes.truth_of({"dram_throughput": 90, "tensor_active": 0, "ipc": 0.5}) == "MEMORY_BOUND"
    assert regimes.truth_of({"dram_throughput": 30, "tensor_active": 0, "ipc": 3.2}) == "COMPUTE_BOUND"
    assert regimes.truth_of({"dram_throughput": 65, "tensor_active": 70, "ipc": 1}) == ""  # near both
    assert regimes.truth_of({"dram_throughput": 40, "tensor_active": 40, "ipc": 1}) == ""  # near none
    assert regimes.truth_of({"dram_throughput": 3, "tensor_active": 0, "ipc": 0.1}) == "OVERHEAD_BOUND"
    assert regimes.truth_of({"sm_active": 3}) == ""
    good = judged(regimes.judge(regimes_found()))
    assert False not in good.values()
    assert good["hardware: verdicts that agree"] is True
    assert judged(regimes.judge(regimes_found(lambda label: "MEMORY_BOUND")))["hardware: verdicts that agree"] is False
    silent = judged(regimes.judge(regimes_found(lambda label: "AMBIGUOUS")))
    assert silent["hardware: verdicts that agree"] is None
    assert silent["hardware: without a verdict"] is False
    denied = regimes_found() | {"counted": {"reason": "no privileges"}}
    assert judged(regimes.judge(denied))["hardware: not available"] is None
    few = regimes_found()
    few["profiled"] = dict(list(few["profiled"].items())[:99])
    assert judged(regimes.judge(few))["operations with a profile"] is False


def test_memory_is_judged():
    found = {"resident_bytes": [10**9, 10**9 + 10**7], "seconds": 9.0, "file_bytes": 1, "records": 1_000_001,
             "dropped": 0, "anomalies": {}}  # fmt: skip
    assert False not in judged(million_kernels.judge(found)).values()
    assert False in judged(million_kernels.judge(found | {"resident_bytes": [10**9, 2 * 10**9]})).values()
    assert False in judged(million_kernels.judge(found | {"records": 10})).values()


def test_comparison_is_judged_by_the_projects_own_rule():
    import random

    chance = random.Random(1)

    def launch(slower):
        place = chance.gauss(1e-3, 2e-6)

        def draw(scale):
            return [scale * chance.gauss(place, 3e-6) for _ in range(30)]

        return {"baseline": draw(1), "again": draw(1), "slower": draw(slower)}

    found = {"launches": [launch(1.1) for _ in range(comparison.LAUNCHES)], "clocks_mhz": [[1980.0]]}
    assert False not in judged(comparison.judge(found)).values()
    found |= {"launches": [launch(1.0) for _ in range(comparison.LAUNCHES)]}
    assert judged(comparison.judge(found))["duet: a tenth more work"] is False


def test_recorded_programs_are_judged_by_the_cause_that_they_state():
    def row(found, stated="input", unseen=False):
        verdict = {"cause": found, "sentence": "", "confidence": "high", "causes": []}
        return {"stated": stated, "unseen": unseen, "verdict": verdict}

    four_of_five = {str(i): row("input" if i else "launches", unseen=True) for i in range(5)}
    assert set(judged(recorded.judge({"known": row("input")} | four_of_five)).values()) == {True, None}
    three_of_five = four_of_five | {"1": row("device", unseen=True)}
    for wrong in (
        {"known": row("device")}, {"known": row("input") | {"verdict": None}},
        {"known": {"stated": "input", "unseen": False, "failed": "record ended with 1"}}, three_of_five,
    ):  # fmt: skip
        assert False in judged(recorded.judge(wrong)).values(), wrong
