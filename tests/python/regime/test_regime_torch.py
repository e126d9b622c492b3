# SPDX-License-Identifier: Apache-2.0
"""Torch on the host: work of functions and modules, models, attention, blocks and decorators."""

import threading

import pytest
from made_up_machine import REGIMES, calibration, every_call_takes
from needed import package

torch = package("torch")

import regimeter  # noqa: E402
from regimeter import GPUProfiler, MultiGPUError  # noqa: E402
from regimeter.regime import blocks, floor, replay, torch_work  # noqa: E402

F = torch.nn.functional
ONES = torch.ones(10)


@pytest.fixture
def profiler(make_profiler, monkeypatch):
    monkeypatch.setattr(GPUProfiler, "_calibration", lambda self, device: calibration())
    return make_profiler()


@pytest.mark.parametrize(
    ("function", "args", "flops", "moved"),
    [
        (torch.add, (ONES, ONES), 10, 80),
        (torch.mul, (ONES, ONES[:5].repeat(2)), 10, 120),
        (ONES.add_, (ONES,), 10, 80),
        (torch.add, (ONES[:5], ONES[5:]), 5, 60),
        (torch.matmul, (torch.ones(2, 3), torch.ones(3, 4)), 48, 4 * (6 + 12 + 8)),
        (torch.ones(2, 3).matmul, (torch.ones(3, 4),), 48, 4 * (6 + 12 + 8)),
        (torch.add, (torch.ones(10), torch.ones(10)), 10, 120),
        (torch.cos, (torch.ones(10),), None, 80),
        (torch.Tensor.t, (torch.ones(3, 4),), 0, 0),
        (torch.Tensor.fill_, (torch.ones(10), 2.0), 0, 40),
        (torch.add, (torch.ones(1).expand(10), torch.ones(10)), 10, 4 * (1 + 10 + 10)),
        (torch.ones(8).add_, (1.0,), 8, 64),
        (torch.mv, (torch.ones(2, 3), torch.ones(3)), 12, 4 * (6 + 3 + 2)),
        (F.linear, (torch.ones(2, 3), torch.ones(4, 3)), 48, 4 * (6 + 12 + 8)),
        (F.conv2d, (torch.ones(1, 2, 5, 5), torch.ones(3, 2, 3, 3)), 2 * 3 * 3 * 3 * 2 * 9, 4 * (50 + 54 + 27)),
        (F.scaled_dot_product_attention, (torch.ones(1, 2, 8, 4),) * 3, 2 * 2 * 8 * 8 * 8, 4 * 2 * 64),
    ],
)
def test_formulas_of_torch(function, args, flops, moved):
    """Counted by hand. An operand that is given twice is read once; views move nothing, an in-place operation reads
    and writes, fill_ writes alone."""
    found = torch_work.of_plain_call(function, args, {})
    assert found.flops == flops
    assert found.bytes == moved


@pytest.mark.parametrize(
    ("call", "most"),
    [
        (lambda x: F.softmax(x, 1), 100 * 2 * 12),
        (lambda x: F.layer_norm(x, (4,)), 100 * (12 + 12 + 3 + 3)),  # the result, means and deviations
        (lambda x: torch.linalg.svdvals(x), None),
        (lambda x: x + x, None),
    ],
)
def test_arithmetic_that_is_not_counted_is_bounded_where_it_can_be(call, most):
    with torch_work.make_mode() as mode:
        call(torch.ones(3, 4))
    assert mode.count.work("counted").flops_most == most


def test_a_small_call_without_a_count_is_overhead(profiler, monkeypatch):
    monkeypatch.setattr("regimeter.regime.floor.shortest_call", lambda *told: (1500.0, 0.05))

    def verdict(size, microseconds):
        every_call_takes(monkeypatch, microseconds * 1000)
        return profiler.profile_operation(F.softmax, torch.ones(size, 4), 1)

    small = verdict(3, 5)
    assert (small["regime"], small["flops"], small["evidence"]["sol_compute"]) == ("OVERHEAD_BOUND", None, None)
    assert verdict(3, 20)["regime"] == "AMBIGUOUS"  # more than the call explains
    told = {0.1: "MEMORY_BOUND", 0.9: "COMPUTE_BOUND"}  # of 8 million values may be its arithmetic: a cache tells
    for inside, regime in told.items():
        replayed = replay.Replay(inside * 1e7, 0.2, False, False)
        monkeypatch.setattr("regimeter.regime.replay.of_call", lambda *_, replayed=replayed: replayed)
        assert verdict(1_000_000, 10_000)["regime"] == regime


def test_what_torch_writes_in_python_runs_once(profiler, tmp_path):
    """torch.save on tensors without data, to find out about its work, would write over the file."""
    values = torch.arange(5.0)
    profiler.profile_operation(torch.save, values, tmp_path / "values.pt")
    assert torch.equal(torch.load(tmp_path / "values.pt"), values)
    assert torch_work.is_plain(torch.compile) == torch_work.is_plain(torch.save) == (None, None)
    assert torch_work.is_plain(torch.relu)[0] is torch.relu


@pytest.mark.parametrize(
    ("function", "args", "own"),
    [
        (torch.relu, (torch.ones(30),), True),
        (F.softmax, (torch.ones(3, 4), 1), True),
        (F.gelu, (torch.ones(3, 4),), True),
        (torch.ones(30).add_, (2.0,), True),
        (torch.cat, ([torch.ones(3), torch.ones(3)],), True),
        (F.embedding, (torch.tensor([1, 2]), torch.ones(5, 3)), True),
        (F.dropout, (torch.ones(30), 0.5), False),  # draws numbers
        (torch.bernoulli, (torch.ones(3),), False),
        (torch.ones(3).repeat, (100_000,), False),
        (torch.nn.Linear(2, 2), (torch.ones(1, 2),), False),
        (torch.ones(3).apply_, (abs,), False),
    ],
)
def test_the_least_of_a_function_draws_nothing_and_makes_little(function, args, own):
    state = torch.random.get_rng_state()
    assert floor.is_own("torch", function, args) == own
    assert torch.equal(torch.random.get_rng_state(), state)


def test_what_out_names_is_written_alone():
    found = torch_work.of_plain_call(torch.add, (torch.ones(10), torch.ones(10)), {"out": torch.ones(10)})
    assert found.bytes == 120


def test_the_count_draws_no_random_number_and_changes_nothing(profiler):
    torch.manual_seed(3)
    expected = F.dropout(torch.ones(20), 0.5)
    torch.manual_seed(3)
    assert torch.equal(profiler.profile_with_result(F.dropout, torch.ones(20), 0.5)[0], expected)
    values = torch.zeros(4)
    profiler.profile_with_result(values.add_, 1.0)
    assert values.tolist() == [1.0] * 4


def test_code_of_the_program_is_counted_in_its_one_call(profiler):
    def step(x):
        step.calls += 1
        return torch.relu(x @ x)

    step.calls = 0
    _, profile = profiler.profile_with_result(step, torch.ones(8, 8))
    assert step.calls == 1
    assert profile["flops"] == 2 * 8**3 + 64
    assert profile["bytes"] == 4 * (2 * 64) + 4 * (2 * 64)
    assert profile["source"]["flops"].startswith("counted")
    assert any("subtracted" in text for text in profile["warnings"])
    uncounted = profiler.profile_operation(step, torch.ones(8, 8), count_work=False)
    assert uncounted["flops"] is None


def test_a_lambda_over_tensors_is_counted(profiler):
    x = torch.ones(4, 4)
    assert profiler.profile_operation(lambda: x @ x)["flops"] == 2 * 4**3


def test_modules_forward_and_backward(profiler):
    layer = torch.nn.Linear(3, 5)

    def step():
        layer(torch.ones(2, 3)).sum().backward()

    profile = profiler.profile_operation(step)
    assert profile["flops"] >= 2 * 2 * 3 * 5 * 2  # forward and the gradient of the weights
    assert layer.weight.grad is not None


@pytest.mark.usefixtures("compiles")
def test_a_compiled_function_is_never_counted(profiler):
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    assert torch_work.must_not_count(compiled)
    found = profiler.profile_operation(lambda x: compiled(x), torch.ones(3))
    assert found["flops"] is None
    assert any("torch.compile is in use" in text for text in found["warnings"])


def test_layers_share_the_time_by_what_they_do(monkeypatch):  # D8
    monkeypatch.setattr("regimeter.regime.calls.ceilings_of", lambda profiler, device: calibration())

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.small, self.large = torch.nn.Linear(4, 4), torch.nn.Linear(1500, 1500)
            self.calls = 0

        def forward(self, x, y):
            self.calls += 1
            return self.small(x), self.large(y)

    model = torch.nn.Sequential()
    model.add_module("block", Block())
    block = model.block
    found = regimeter.profile_model(block, (torch.ones(2, 4), torch.ones(1500, 1500)))
    rows = {row.name: row for row in found.layers}
    assert block.calls == 1
    assert set(rows) == {"Block", "small", "large"}
    assert found.layers[0].name == "large"
    assert rows["large"].percentage_of_total > 50
    assert sum(row.percentage_of_total for row in found.layers) == pytest.approx(100)
    assert sum(found.regime_distribution.values()) == pytest.approx(1)
    assert found.bottleneck_layers[0] == "large"
    assert rows["large"].flops_utilization > 0
    assert rows["small"].flops_utilization != rows["large"].flops_utilization
    assert all(row.regime in REGIMES and row.suggestion for row in found.layers)
    assert not block.large._forward_hooks
    assert not block.large._forward_pre_hooks


def test_a_model_that_raises_keeps_no_hook(monkeypatch):
    monkeypatch.setattr("regimeter.regime.calls.ceilings_of", lambda profiler, device: calibration())
    layer = torch.nn.Linear(3, 3)
    with pytest.raises(RuntimeError):
        regimeter.profile_model(layer, torch.ones(2, 4))
    assert not layer._forward_hooks
    with pytest.raises(TypeError, match=r"torch\.nn\.Module"):
        regimeter.profile_model(lambda x: x, 1)


def test_attention_stages(profiler):
    q = torch.ones(2, 3, 8, 4)
    found = regimeter.profile_attention(q, q, q, profiler=profiler)
    assert {found.qk_matmul_regime, found.softmax_regime, found.v_matmul_regime} <= REGIMES
    assert found.total_time_ms == pytest.approx(found.qk_time_ms + found.softmax_time_ms + found.v_time_ms)
    assert found.bottleneck_stage in found.profiles
    assert not found.flash_attention_compatible
    assert "float32" in found.flash_reason
    assert found.scores_bytes == 2 * 3 * 8 * 8 * 4
    text = " ".join(regimeter.get_attention_suggestions(found))
    assert "3-5x" not in text  # D9
    with pytest.raises(ValueError, match="head size"):
        regimeter.profile_attention(q, torch.ones(2, 3, 8, 5), q, profiler=profiler)
    with pytest.raises(TypeError):
        regimeter.profile_attention(1, 2, 3)


class Tracker:
    def __init__(self):
        self.rows = []

    def log(self, row):
        self.rows.append(row)


class Board:
    def __init__(self):
        self.rows = []

    def add_scalar(self, name, value, step):
        self.rows.append((name, value, step))


def test_the_decorator_profiles_and_logs(profiler):  # D2
    tracker, board = Tracker(), Board()

    @regimeter.profile_regime(log_to=tracker, profiler=profiler, name="twice")
    def twice(x):
        """Doc."""
        return x + x

    assert twice(torch.ones(2)).tolist() == [2.0, 2.0]
    assert (twice.__name__, twice.__doc__) == ("twice", "Doc.")
    assert twice.last_profile["regime"] in REGIMES
    assert tracker.rows[0]["twice/regime"] in REGIMES
    assert tracker.rows[0]["twice/runtime_ms"] > 0
    blocks.log(board, "twice", twice.last_profile, 4)
    assert ("twice/runtime_ms", twice.last_profile["runtime_ms"], 4) in board.rows
    with pytest.warns(RuntimeWarning, match="log_to"):
        regimeter.profile_regime(lambda: 1, log_to=object(), profiler=profiler)()


def test_the_block_has_a_regime(monkeypatch):  # D2
    monkeypatch.setattr("regimeter.regime.calls.ceilings_of", lambda profiler, device: calibration())
    x = torch.ones(8, 8)
    with regimeter.profile_block("product") as block:
        x @ x
    assert block.analysis["regime"] in REGIMES
    assert block.analysis["flops"] == 2 * 8**3
    assert block.analysis["name"] == "product"
    with pytest.raises(ZeroDivisionError), block:
        1 / 0  # noqa: B018
    assert any("ZeroDivisionError" in text for text in block.analysis["warnings"])


def test_threads_share_a_profiler(profiler):  # D1
    shared = regimeter.create_thread_safe_profiler(profiler=profiler)
    results = []

    def work(number):
        results.append(shared.profile_with_result(lambda: number * 2)[0])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 2, 4, 6, 8, 10]
    assert len(shared.history()) == 6


@pytest.mark.skipif(torch.cuda.is_available(), reason="there are devices")
def test_several_devices_are_unavailable_with_a_reason():
    with pytest.raises(MultiGPUError, match="no CUDA device"):
        regimeter.profile_multi_gpu(lambda device: None)
    with pytest.raises(MultiGPUError):
        regimeter.profile_data_parallel(torch.nn.Linear(2, 2), torch.ones(2, 2))
    with pytest.raises(regimeter.CUDANotAvailableError):
        regimeter.has_tensor_cores(0)


def test_the_comparison_of_devices_invents_no_communication():  # D9
    from regimeter.regime.devices import summarize

    found = summarize({0: {"runtime_ms": 1.0, "flops_utilization": 0.5},
                       1: {"runtime_ms": 3.0, "flops_utilization": None}}, 4.0)  # fmt: skip
    assert found.communication_overhead_ms is None
    assert found.bottleneck_gpu == 1
    assert found.load_balance == pytest.approx(2 / 3)
    assert found.utilization_variance is None


def test_precisions_are_compared_by_measured_peaks(monkeypatch):  # D4, D5
    monkeypatch.setattr("regimeter.regime.precision.ceilings_of", lambda profiler, device: calibration())
    assert regimeter.detect_precision(torch.ones(2, dtype=torch.bfloat16)) is regimeter.Precision.BF16
    assert regimeter.detect_precision(torch.float16) is regimeter.Precision.FP16
    assert regimeter.detect_precision("no array") is None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert regimeter.detect_precision(torch.ones(2)) is regimeter.Precision.BF16
    assert regimeter.get_precision_peak_flops("fp32") == 2e11
    assert regimeter.get_precision_peak_flops("fp8") is None
    assert regimeter.adjust_flops_for_precision(1e9, "fp64") == pytest.approx(5e8)
    assert regimeter.get_tensor_core_speedup("fp8", "cpu") is None


def test_the_lightning_callback_reports_what_it_measured(monkeypatch):  # D9
    monkeypatch.setattr("regimeter.regime.calls.ceilings_of", lambda profiler, device: calibration())
    callback = regimeter.GPURegimeProfiler(every=2)
    assert callback.summary() == {}
    for step in range(4):
        callback.on_train_batch_start(None, object(), None, step)
        torch.ones(4) + 1
        callback.on_train_batch_end(None, None, None, None, step)
    assert len(callback.profiles) == 2
    assert sum(callback.summary().values()) == pytest.approx(1)
