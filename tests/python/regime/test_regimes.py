# SPDX-License-Identifier: Apache-2.0
"""What limits kernels and regions: the classifier's properties, its use on runs, shares against plain intervals."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from runs import HOST, STREAM, build_run, disjoint, kernel, launch, run_of, span
from runs import LANES as RUN_LANES
from traces import all_traces, load_trace, trace_path

import regimeter
from regimeter import Run, _core
from regimeter.calibration.choice import choose, read_calibration

PARTS = ("kernels_ns", "communication_ns", "transfer_ns", "host_wait_ns", "launch_gap_ns", "wait_ns", "unknown_ns")
HOST_PARTS = ("input", "sync", "allocation", "compile", "optimizer", "other")
CONFIDENT = 0.8


def ceilings(**known: tuple[float, float]) -> NDArray[np.float64]:
    """Return ceilings of which only these are known."""
    rows = np.full((len(_core.CEILINGS), 2), np.nan)
    for token, pair in known.items():
        rows[_core.CEILINGS.index(token)] = pair
    return rows


def device(scale: float = 1.0, spread: float = 0.0) -> NDArray[np.float64]:
    """Return a device of 100 T fp32 and 1000 T bf16 operations/s, 1 TB/s and kernels of 2 us; `scale` times slower."""
    return ceilings(
        compute_fp32=(100e12 / scale, spread),
        compute_bf16=(1000e12 / scale, spread),
        memory_copy=(1e12 / scale, spread),
        shortest_kernel=(2000 * scale, spread),
    )


def column(run: Run, table: Any, name: str) -> list[Any]:
    """Return a column of codes as tokens."""
    tokens = {"detail": "REGIME_DETAILS", "reason": "REGIME_REASONS", "source": "WORK_SOURCES"}.get(name, "REGIMES")
    return [getattr(_core, tokens)[cell] for cell in getattr(table, name)]


# --- the classifier -----------------------------------------------------------------------------------------------

amounts = st.floats(0, 1e14)
times = st.floats(1e2, 1e9)
spreads = st.floats(0, 3)


@given(time=times, operations=amounts, moved=amounts, spread=spreads, power=st.integers(-20, 20))
def test_scaling_time_and_ceilings_leaves_the_verdict(
    time: float, operations: float, moved: float, spread: float, power: int
) -> None:
    work = {"operations": {"bf16": operations}, "operations_spread": spread, "bytes": moved, "time_spread": spread / 3}
    scale = 2.0**power  # exact, so that no boundary is crossed by rounding
    one = _core.classify(time_ns=time, ceilings=device(), **work)
    other = _core.classify(time_ns=time * scale, ceilings=device(scale), **work)
    near = {"floor_share", "sol_compute", "sol_memory"} & {k for k, v in one.items() if v is not None}
    for name in near:
        assert other[name] == pytest.approx(one[name], rel=1e-9)
    for name in ("overhead_probability", "memory_probability", "compute_probability"):
        assert other[name] == pytest.approx(one[name], abs=1e-6) or _at_a_cut(one)


def _at_a_cut(verdict: dict[str, Any]) -> bool:
    """Return whether a share lies so near a cut that the last bit of a logarithm decides."""
    cuts = (0.2, 0.5, 0.6, 1.05, 1 / 1.15, 1.0)
    shares = [verdict[name] for name in ("sol_compute", "sol_memory", "floor_share") if verdict[name]]
    ratio = [shares[0] / shares[1]] if len(shares) > 1 else []
    return any(abs(value / cut - 1) < 1e-9 for value in shares for cut in cuts) or any(
        abs(value / cut - 1) < 1e-9 for value in ratio for cut in (1.15, 1 / 1.15, 1)
    )


@given(
    time=times,
    operations=amounts,
    moved=amounts,
    blocks=st.sampled_from((None, 10.0, 1000.0)),
    first=st.tuples(spreads, spreads, spreads, spreads),
    more=st.tuples(spreads, spreads, spreads, spreads),
)
def test_more_uncertainty_never_gives_another_confident_label(
    time: float, operations: float, moved: float, blocks: float | None, first: Any, more: Any
) -> None:
    found = set()
    for of_time, of_operations, of_bytes, of_ceilings in (
        first,
        tuple(a + b for a, b in zip(first, more, strict=True)),
    ):
        verdict = _core.classify(
            time_ns=time,
            time_spread=of_time,
            operations={"fp32": operations},
            operations_spread=of_operations,
            bytes=moved,
            bytes_spread=of_bytes,
            ceilings=device(spread=of_ceilings),
            blocks=blocks,
            multiprocessors=100,
        )
        sure = verdict["confidence"] is not None and verdict["confidence"] >= CONFIDENT
        if sure and verdict["regime"] not in ("AMBIGUOUS", "UNKNOWN"):
            found.add(verdict["regime"])
    assert len(found) < 2


@given(time=times, operations=amounts, moved=amounts, a=spreads, b=spreads, c=spreads)
def test_probabilities_are_probabilities(
    time: float, operations: float, moved: float, a: float, b: float, c: float
) -> None:
    verdict = _core.classify(
        time_ns=time, time_spread=a, operations={"fp32": operations}, bytes=moved, bytes_spread=b, ceilings=device(1, c)
    )
    parts = [verdict[f"{name}_probability"] for name in ("overhead", "memory", "compute")]
    assert all(-1e-9 <= part <= 1 + 1e-9 for part in (*parts, verdict["error_probability"]))
    assert sum(parts) <= 1 + 1e-6
    if verdict["regime"] not in ("AMBIGUOUS", "UNKNOWN"):
        assert verdict[f"{verdict['regime'].split('_')[0].lower()}_probability"] >= CONFIDENT


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"time_ns": -1}, "time_ns must be a finite number"),
        ({"operations": {"fp31": 1}}, "no pipe is called 'fp31'"),
        ({"ceilings": np.zeros(3)}, r"ceilings must be float64 of shape"),
        ({"dispatch": "ruby"}, "unknown dispatch 'ruby'"),
        ({"caches": (1, 2, 3, 4)}, "at most three levels"),
        ({"policy": {"regime_near": 1}}, "no threshold is called 'regime_near'"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.classify(**wrong)


# --- kernels of a run ---------------------------------------------------------------------------------------------

BF16 = '["c10::BFloat16","c10::BFloat16"]'


def operator_run(name: str, shapes: str, types: str, duration: int, kernel_name: str, pieces: int = 1) -> Run:
    """Return a run of one operator with its kernels."""
    rows = [span("cpu_op", name, HOST, 0, 1000)]
    for i in range(pieces):
        rows.append(launch("cudaLaunchKernel", 10 + 20 * i, 10, i + 1))
        rows.append(kernel(2000 + i * duration, duration, i + 1, STREAM, kernel_name))
    return build_run(
        rows, RUN_LANES, parents=True, operators=[{"span": 0, "shapes": shapes, "types": types, "values": ""}]
    )


def test_a_product_is_judged_by_its_shapes_and_type() -> None:
    run = operator_run("aten::mm", "[[8192,8192],[8192,8192]]", BF16, 1_440_001, "cutlass_bf16_gemm")
    table = run.analyse("kernel_regimes", ceilings=device())
    assert column(run, table, "regime") == ["COMPUTE_BOUND"]
    assert column(run, table, "source") == ["shapes"]
    assert table.operations[0] == 2 * 8192**3
    assert table.bytes[0] == 3 * 8192**2 * 2
    assert table.sol_compute[0] == pytest.approx(2 * 8192**3 / 1000e12 / 1_440_001e-9)


def test_a_product_in_single_precision_has_an_unknown_pipe() -> None:
    types = '["float","float"]'
    shapes = "[[8192,8192],[8192,8192]]"
    plain = operator_run("aten::mm", shapes, types, 14_400_001, "ampere_gemm")
    table = plain.analyse("kernel_regimes", ceilings=device())
    assert (column(plain, table, "regime"), column(plain, table, "reason")) == (["UNKNOWN"], ["no_operations"])
    named = operator_run("aten::mm", shapes, types, 14_400_001, "ampere_sgemm_128x128_nn")
    assert column(named, named.analyse("kernel_regimes", ceilings=device()), "regime") == ["COMPUTE_BOUND"]


def test_the_work_of_an_operator_with_two_kernels_is_nobodys() -> None:
    run = operator_run("aten::mm", "[[8192,8192],[8192,8192]]", BF16, 720_001, "cutlass_bf16_gemm", pieces=2)
    table = run.analyse("kernel_regimes", ceilings=device())
    assert (column(run, table, "source"), column(run, table, "reason")) == (["none"], ["no_work"])


def test_an_addition_is_judged_by_the_bytes_of_its_shapes() -> None:
    types = '["float","float","Scalar"]'
    run = operator_run("aten::add", "[[1000,100000],[1000,100000],[]]", types, 1_400_001, "elementwise_kernel")
    table = run.analyse("kernel_regimes", ceilings=device())
    assert table.bytes[0] == 3 * 4 * 1000 * 100000
    assert column(run, table, "regime") == ["MEMORY_BOUND"]


def counted_run(counted: dict[str, float]) -> Run:
    """Return a kernel of 100 us and what a profiler's range says of it."""
    rows = [kernel(0, 100_001, -1, STREAM, "k"), span("counter_range", "k", STREAM, 500_000, 100)]
    counters = [
        {"time_ns": 0, "series": name, "value": value, "span": 1, "device": 0} for name, value in counted.items()
    ]
    return build_run(rows, RUN_LANES, counters=counters)


FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"


def test_counters_judge_a_kernel() -> None:
    tensor = {"sm__inst_executed_pipe_tensor.sum": 0}
    run = counted_run({FFMA: 4e9, "dram__bytes.sum": 2e7, **tensor})
    table = run.analyse("kernel_regimes", ceilings=device())
    assert table.operations[0] == 8e9
    assert (column(run, table, "regime"), column(run, table, "source")) == (["COMPUTE_BOUND"], ["counters"])


def test_counters_without_those_of_tensor_cores_are_not_all_operations() -> None:
    run = counted_run({FFMA: 0, "dram__bytes.sum": 6.5e7})
    table = run.analyse("kernel_regimes", ceilings=device())
    assert (column(run, table, "regime"), column(run, table, "reason")) == (["UNKNOWN"], ["no_operations"])


def test_without_shapes_counters_or_ceilings_nothing_is_guessed() -> None:
    run = run_of([kernel(0, 500_001), kernel(600_000, 1500)])
    table = run.analyse("kernel_regimes", group_by=1)
    assert column(run, table, "regime") == ["UNKNOWN", "OVERHEAD_BOUND"]
    assert column(run, table, "reason") == ["no_work", "floor"]
    assert table.floor_assumed.tolist() == [1, 1]


# --- regions ------------------------------------------------------------------------------------------------------


def test_host_waits_have_the_cause_that_the_thread_shows() -> None:
    load = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    rows = [
        launch("cudaLaunchKernel", 0, 10, 1),
        kernel(100, 900, 1),
        span("cpu_op", load, HOST, 1100, 5800),
        launch("cudaLaunchKernel", 7000, 10, 2),
        kernel(7100, 900, 2),
        launch("cudaDeviceSynchronize", 7500, 1500, -1),
        launch("cudaLaunchKernel", 9000, 10, 3),
        kernel(9100, 900, 3),
        launch("cudaLaunchKernel", 9500, 10, 4),
        kernel(11_000, 1000, 4),
    ]
    table = run_of(rows).analyse("region_regimes")
    # Gaps: 1000 to 7100 (launched at 7000), 8000 to 9100 (9000, in sync before), 10000 to 11000 (launched early).
    assert {name: int(getattr(table, name)[0]) for name in PARTS} == {
        "kernels_ns": 3700,
        "communication_ns": 0,
        "transfer_ns": 0,
        "host_wait_ns": 7000,
        "launch_gap_ns": 1200,
        "wait_ns": 0,
        "unknown_ns": 0,
    }
    assert {name: int(getattr(table, f"host_{name}_ns")[0]) for name in HOST_PARTS} == {
        "input": 6000,
        "sync": 1000,
        "allocation": 0,
        "compile": 0,
        "optimizer": 0,
        "other": 0,
    }
    run = run_of(rows)
    assert (column(run, table, "regime"), column(run, table, "detail")) == (["OVERHEAD_BOUND"], ["input"])
    assert table.queue_delay_ns[0] == 100


def half_waiting(stacks: bool) -> Run:
    """Return a run whose device is idle, for the host, 60 % of the time, and whose kernels are memory-bound."""
    types = '["float","float","Scalar"]'
    rows = [span("cpu_op", "aten::add", HOST, 0, 100), launch("cudaLaunchKernel", 10, 10, 1)]
    rows += [kernel(1000, 2_000_001, 1), span("cpu_op", "aten::add", HOST, 8_000_000, 100)]
    rows += [launch("cudaLaunchKernel", 8_000_010, 10, 2), kernel(8_001_000, 2_000_001, 2)]
    if stacks:
        rows.append(span("python", "train.py(1): step", HOST, 3_000_000, 4_000_000))
    shapes = "[[1000,150000],[1000,150000],[]]"
    operators = [{"span": i, "shapes": shapes, "types": types, "values": ""} for i in (0, 3)]
    return build_run(rows, RUN_LANES, parents=True, operators=operators)


def test_what_the_profiler_may_have_caused_is_no_verdict() -> None:
    run = half_waiting(stacks=False)
    table = run.analyse("region_regimes", ceilings=device())
    assert table.memory_kernels_share[0] == pytest.approx(0.4, abs=0.01)
    assert (column(run, table, "regime"), column(run, table, "detail")) == (["OVERHEAD_BOUND"], ["host_wait"])
    run = half_waiting(stacks=True)  # with waits half as long, memory would have the larger share
    table = run.analyse("region_regimes", ceilings=device())
    assert (column(run, table, "regime"), column(run, table, "reason")) == (["AMBIGUOUS"], ["profiler"])
    assert column(run, table, "leans_to") == ["OVERHEAD_BOUND"]


def test_kernels_that_nothing_is_known_of_make_a_busy_region_unknown() -> None:
    run = run_of([kernel(i * 1_000_001, 1_000_000) for i in range(5)])
    table = run.analyse("region_regimes", ceilings=device())
    assert (column(run, table, "regime"), column(run, table, "reason")) == (["UNKNOWN"], ["unjudged"])
    assert table.unjudged_kernels_share[0] == pytest.approx(1, abs=1e-5)


def test_a_run_without_a_device_says_so() -> None:
    run = run_of([span("scope", "work", HOST, 0, 1000)])
    for group in (0, 2):
        table = run.analyse("region_regimes", group_by=group)
        assert (column(run, table, "regime"), column(run, table, "reason")) == (["UNKNOWN"], ["no_device"])
        assert table.wall_ns.tolist() == [1000]


# --- against plain intervals, on real traces ----------------------------------------------------------------------


def inside(merged: list[tuple[int, int]], start: int, end: int) -> int:
    """Return how much of [start, end) disjoint intervals cover."""
    return sum(max(0, min(b, end) - max(a, start)) for a, b in merged)


class Naive:
    """The work of one device as lists, and the parts of a window by loops over them."""

    def __init__(self, run: Run, rank: int, process: int, number: int) -> None:
        lanes, spans = run.lanes, run.spans
        mine = (lanes.rank == rank) & (lanes.process == process) & (lanes.device == number)
        kinds = [_core.SPAN_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset", "accelerator")]
        rows = np.flatnonzero(mine[spans.lane] & np.isin(spans.kind, kinds))
        rows = rows[np.argsort(spans.start_ns[rows], kind="stable")]
        activity = {}
        by_name = run.analyse("kernel_times")
        for name, code in zip(by_name.name.tolist(), by_name.activity.tolist(), strict=True):
            activity[name] = _core.ACTIVITIES[code]
        self.pieces: dict[str, list[tuple[int, int]]] = {"compute": [], "communication": [], "memory": [], "none": []}
        self.gaps: list[tuple[int, int, int | None]] = []
        self.last, end = 0, None
        for row in rows.tolist():
            start, stop = int(spans.start_ns[row]), int(spans.start_ns[row] + spans.duration_ns[row])
            copies = spans.kind[row] in kinds[1:3]
            self.pieces["memory" if copies else activity[int(spans.name[row])]].append((start, stop))
            call = int(spans.launch[row])
            if end is None or start > end:
                self.gaps.append(
                    (-(2**62) if end is None else end, start, int(spans.start_ns[call]) if call >= 0 else None)
                )
            end = stop if end is None else max(end, stop)
        self.last = end or 0
        self.compute = disjoint(self.pieces["compute"])
        self.no_memory = disjoint(self.pieces["compute"] + self.pieces["communication"])
        self.any = disjoint([piece for pieces in self.pieces.values() for piece in pieces])

    def parts(self, start: int, end: int) -> dict[str, int]:
        """Return the parts that a gap's launch alone decides; gaps and waits together."""
        compute, no_memory, any_work = (inside(u, start, end) for u in (self.compute, self.no_memory, self.any))
        found = {"kernels": compute, "communication": no_memory - compute, "transfer": any_work - no_memory}
        found |= {"host": max(0, end - max(start, self.last)), "launched": 0, "unknown": 0}
        for low, high, call in self.gaps:
            a, b = max(low, start), min(high, end)
            if a >= b:
                continue
            if call is None:
                found["unknown"] += b - a
            else:
                called = min(max(call, a), b)
                found["host"] += called - a
                found["launched"] += b - called
        return found


def check_region(run: Run, table: Any, row: int, start: int, end: int, known: dict[Any, Naive]) -> None:
    key = (int(table.rank[row]), int(table.process[row]), int(table.device[row]))
    naive = known.setdefault(key, Naive(run, *key)) if key not in known else known[key]
    parts = naive.parts(start, end)
    got = {name: int(getattr(table, name)[row]) for name in PARTS}
    assert sum(got.values()) == int(table.wall_ns[row]) == end - start
    assert got["kernels_ns"] == parts["kernels"]
    assert got["communication_ns"] == parts["communication"]
    assert got["transfer_ns"] == parts["transfer"]
    assert got["unknown_ns"] == parts["unknown"]
    assert got["host_wait_ns"] == parts["host"]
    assert got["launch_gap_ns"] + got["wait_ns"] == parts["launched"]


@pytest.mark.parametrize("name", all_traces())
def test_parts_of_regions_are_those_of_plain_intervals(name: str) -> None:
    run = load_trace(name)
    known: dict[Any, Naive] = {}
    whole = run.analyse("region_regimes")
    for row in np.flatnonzero(whole.device >= 0).tolist():
        start = int(whole.start_ns[row])
        check_region(run, whole, row, start, start + int(whole.wall_ns[row]), known)
    steps = run.analyse("region_regimes", group_by=1)
    for row in np.flatnonzero(steps.device >= 0).tolist()[:20]:
        start = int(steps.start_ns[row])
        check_region(run, steps, row, start, start + int(steps.wall_ns[row]), known)


@pytest.mark.parametrize("name", all_traces())
def test_every_trace_has_verdicts_with_a_reason(name: str) -> None:
    run = load_trace(name)
    for ceiling in (None, device(spread=0.3)):
        for analysis, groups in (("region_regimes", 3), ("kernel_regimes", 2)):
            for group in range(groups):
                table = run.analyse(analysis, group_by=group, ceilings=ceiling)
                assert (table.reason > 0).all()
                judged = table.regime < _core.REGIMES.index("AMBIGUOUS")
                assert np.isfinite(table.confidence[judged]).all()
                if analysis == "region_regimes":
                    hosts = sum(getattr(table, f"host_{part}_ns") for part in HOST_PARTS)
                    assert (hosts == table.host_wait_ns).all()
    kernels = run.analyse("kernel_regimes")
    roofed = np.isin(kernels.reason, [_core.REGIME_REASONS.index(r) for r in ("roof", "underused", "balanced")])
    counted = kernels.source == _core.WORK_SOURCES.index("counters")
    assert not (roofed & ~counted).any()  # without ceilings nothing is near a roof


# --- ceilings -----------------------------------------------------------------------------------------------------


def run_on(name: str) -> Run:
    """Return a run that says which device it used."""
    environment = json.dumps({"trace": {"deviceProperties": [{"id": 0, "name": name}]}})
    columns = {"start_ns": np.array([0]), "duration_ns": np.array([5])}
    lanes = {"process": np.array([0]), "device": np.array([0], dtype="i2")}
    kind = np.array([_core.SPAN_KINDS.index("kernel")], dtype="u1")
    tables = {"spans": columns | {"kind": kind}, "lanes": lanes}
    run: Run = Run._build([""], tables, environment, "kineto", 0, 5, -1, True)
    return run


def test_a_datasheet_is_taken_by_its_exact_name_only() -> None:
    found = choose(run_on("NVIDIA H100 80GB HBM3"))
    assert found.source == "datasheet"
    assert found.vector is not None
    value, spread = found.vector[_core.CEILINGS.index("compute_bf16")]
    assert value * (1 + spread) == pytest.approx(0.95 * 989e12)
    assert value / (1 + spread) == pytest.approx(0.60 * 989e12)
    for similar in ("NVIDIA H100 NVL", "NVIDIA H100", "NVIDIA GeForce RTX 4090 Laptop GPU"):  # D3
        assert (choose(run_on(similar)).source, choose(run_on(similar)).vector) == ("none", None)


def test_a_file_that_is_no_calibration_is_named(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"format": "other"}', '{"format": "regimeter.calibration", "version": 1}', "9" * 5000):
        path = tmp_path / "ceilings.json"
        path.write_text(text)
        with pytest.raises(regimeter.FormatError, match=r"ceilings\.json: not a calibration"):
            read_calibration(path)


# --- the command --------------------------------------------------------------------------------------------------


Command = Callable[..., subprocess.CompletedProcess[str]]


def test_the_command_prints_every_share(command: Command) -> None:
    path = trace_path("h100_bert_small.json.gz")
    done = command("regime", path, "--by", "scope", "--top", "2")
    assert done.returncode == 0, done.stderr
    assert "device 0: OVERHEAD_BOUND, host wait" in done.stdout
    assert "datasheet of NVIDIA H100" in done.stdout
    document = json.loads(command("regime", path, "--json").stdout)
    row = document["run"][0]
    assert sum(row[name] for name in PARTS) == row["wall_ns"]
    assert document["ceilings"]["source"] == "datasheet"
    assert {kernel["regime"] for kernel in document["kernels"]} <= set(_core.REGIMES)


def test_a_program_is_recorded_once(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys, regimeter\nopen(sys.argv[1], 'a').write('x')\n")
    words = ["regime", "-o", str(tmp_path / "run.rgm"), str(program), str(tmp_path / "runs")]
    done = subprocess.run([sys.executable, "-m", "regimeter", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs").read_text() == "x"
    assert "UNKNOWN" in done.stdout


def test_a_file_of_ceilings_that_is_none_is_one_line(tmp_path: Path, command: Command) -> None:
    (tmp_path / "c.json").write_text("{}")
    done = command("regime", trace_path("a100_triton.json.gz"), "--ceilings", tmp_path / "c.json")
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert "regimeter calibrate --json" in done.stderr
