# SPDX-License-Identifier: Apache-2.0
"""TorchCompileAnalyzer: known breaks, fusions and recompiles; times, differences, failures; what it leaves behind."""

import gc
import html.parser
import inspect
import json
import math
from pathlib import Path

import pytest
from needed import package
from published import check

from regimeter import CompileBreak, CompileReport, FusedKernel, TorchCompileAnalyzer
from regimeter.cli.compile import text
from regimeter.regime.arguments import describe
from regimeter.regime.torch_work import must_not_count
from regimeter.report.compile_page import compile_data
from regimeter.suite import compile_watch
from regimeter.suite.compile_advice import recommendations
from regimeter.suite.compile_breaks import failed_guards
from regimeter.suite.compile_launches import moved_bytes
from regimeter.suite.compile_report import Recompile
from regimeter.suite.generated_code import fused_in, pointers_of
from regimeter.suite.numeric import difference
from regimeter.system.text import UNAVAILABLE

torch = package("torch")
dynamo = package("torch")._dynamo


@pytest.fixture(scope="module", autouse=True)
def settled(tmp_path_factory):
    """What torch imports for its first compilation is no garbage: an analysis looks through all objects that may be."""
    report = TorchCompileAnalyzer(backend="eager", output_dir=tmp_path_factory.mktemp("whole")).analyze(
        whole, torch.ones(1000), warmup=1, iterations=1
    )
    gc.collect()
    gc.freeze()
    return report


@pytest.fixture
def analyzer(tmp_path):
    return TorchCompileAnalyzer(backend="eager", output_dir=tmp_path / "compile")


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(at for at, line in enumerate(lines) if text in line)


def whole(x):
    return torch.sin(x) * 2 + 1


def broken_once(x):
    y = torch.relu(x) * 2 + 1
    torch._dynamo.graph_break()
    return torch.sin(y).sum()


def broken_three_times(x):
    y = torch.sin(x)
    torch._dynamo.graph_break()  # one
    y = torch.cos(y)
    torch._dynamo.graph_break()  # two
    if y.sum() > 0:  # three
        y = y + 1
    return y * 2


def test_the_constructor_is_that_of_the_specification():
    found = {p.name: p.default for p in inspect.signature(TorchCompileAnalyzer).parameters.values()}
    assert list(found.items())[:4] == [
        ("backend", "inductor"), ("mode", "default"), ("output_dir", None), ("capture_logs", True),
    ]  # fmt: skip
    parameters = inspect.signature(TorchCompileAnalyzer.analyze).parameters
    assert (parameters["warmup"].default, parameters["iterations"].default) == (3, 10)
    assert inspect.signature(TorchCompileAnalyzer.compare_modes).parameters["modes"].default == (
        "default", "reduce-overhead", "max-autotune",
    )  # fmt: skip
    for kind, names in (
        (CompileBreak, ("reason", "location", "line_number", "suggestion")),
        (FusedKernel, ("name",)),
        (CompileReport, ("speedup", "compile_time_ms", "graph_breaks", "fusion_ratio", "ops_before_fusion",
                         "ops_after_fusion", "recommendations", "backend", "mode", "total_graph_breaks",
                         "fused_kernels", "peak_memory_mb", "memory_savings_mb", "eager_time_ms",
                         "compiled_time_ms")),
    ):  # fmt: skip
        assert set(names) <= set(kind.__dataclass_fields__)


# --- breaks: dynamo's, whatever the backend -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "lines"),
    [(broken_once, ["graph_break"]), (broken_three_times, ["# one", "# two", "# three"])],
)
def test_breaks_are_counted_and_placed(analyzer, function, lines):
    """S8: each with reason, file, line and torch's own hint."""
    report = analyzer.analyze(function, torch.ones(8), warmup=1, iterations=1)
    assert report.total_graph_breaks == len(report.graph_breaks) == len(lines)
    assert [one.line_number for one in report.graph_breaks] == [line_of(function, text) for text in lines]
    assert all(one.location == __file__ for one in report.graph_breaks)
    assert all(one.reason and one.suggestion and "\n" not in one.reason for one in report.graph_breaks)
    assert report.graphs == len(lines) + 1
    assert report.captured_ops > 0
    assert report.max_abs_difference == 0
    assert "eager does not tell" in report.unavailable["fusion_ratio"]
    if "# three" in lines:
        assert "torch.cond" in report.graph_breaks[2].suggestion, "torch's text about branches"
        assert "branching" in report.graph_breaks[2].reason


def test_a_function_without_breaks_has_none(settled):
    """S8."""
    assert (settled.total_graph_breaks, settled.graph_breaks, settled.graphs) == (0, [], 1)
    assert settled.captured_ops == 3
    assert settled.max_abs_difference == 0


def test_compiled_again_with_the_guard_that_failed(analyzer):
    def fresh(x):  # dynamo remembers of a function which sizes have changed
        return torch.cos(x) + 1

    report = analyzer.analyze(fresh, torch.ones(8), warmup=1, iterations=1, probe_inputs=[torch.ones(9)])
    assert [one.function for one in report.recompiles] == ["fresh"]
    assert "size mismatch at index 0. expected 8, actual 9" in report.recompiles[0].guard
    assert any("compiled again" in line for line in report.recommendations)
    same = analyzer.analyze(fresh, torch.ones(8), warmup=1, iterations=1, probe_inputs=[torch.zeros(8)])
    assert same.recompiles == []


@pytest.mark.usefixtures("compiles")
def test_what_the_program_compiled_before_is_no_recompile(analyzer):
    def mine(x):
        return torch.sin(x) - 1

    theirs = torch.compile(mine, backend="eager")
    theirs(torch.ones(5))
    report = analyzer.analyze(mine, torch.ones(8), warmup=1, iterations=1)
    assert report.recompiles == [], "that theirs does not fit other sizes is no news of ours"
    assert report.graphs == 1
    guard = "tensor 'x' size mismatch at index 0. expected 5, actual 8"
    other = "BACKEND_MATCH failure: torch.compile detected different backend callables."
    assert failed_guards(f"0/0: {guard}\n0/1: {other}", {"0/1", "0/2"}) == ""
    assert failed_guards(f"0/1: {other}\n0/0: {guard}", {"0/0", "0/1"}) == guard
    assert failed_guards(guard, {"0/0"}) == guard, "older versions name no code"


# --- inductor -------------------------------------------------------------------------------------------------------


def quick():
    """Let inductor's C++ be compiled soon: for no vectors, which are tried out first, and without optimising."""
    inductor = __import__("importlib").import_module("torch._inductor.config")
    return inductor.patch(
        {
            "compile_threads": 1,
            "cpp_cache_precompile_headers": False,
            "cpp.vec_isa_ok": False,
            "aot_inductor.debug_compile": True,
        }
    )


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """One analysis with inductor: two graphs, compiled by the C++ compiler of this machine."""
    analyzer = TorchCompileAnalyzer(output_dir=tmp_path_factory.mktemp("compile"))
    with quick():
        return analyzer.analyze(broken_once, torch.linspace(-1, 1, 20_000), warmup=1, iterations=10)


@pytest.mark.slow
def test_what_is_fused_is_known(compiled):
    """S8: operators before and after are counted; the first graph is one kernel of three operators."""
    assert compiled.total_graph_breaks == 1
    assert compiled.graphs == 2
    assert [kernel.fused_ops for kernel in compiled.fused_kernels] == [["add", "mul", "relu"], ["sin", "sum"]]
    assert compiled.extern_calls == 0
    assert compiled.ops_after_fusion == 2
    assert compiled.ops_before_fusion >= compiled.ops_after_fusion
    assert compiled.fusion_ratio == compiled.ops_before_fusion / 2


@pytest.mark.slow
def test_compile_time_is_without_the_calls(compiled):
    """S8: of the first call, less what a call takes; its parts are torch's, one within the other."""
    phases = compiled.phases_ms
    assert phases["frame"] > phases["backend"] > phases["inductor"] > phases["code_generation"] > 0
    assert compiled.compile_time_ms == pytest.approx(phases["frame"], rel=0.5)
    assert compiled.compile_time_warm_ms < compiled.compile_time_ms, "nothing is generated the second time"


@pytest.mark.slow
def test_results_memory_and_times_are_compared(compiled):
    assert 0 <= compiled.max_rel_difference < 1e-4
    assert compiled.mismatch == ""
    assert compiled.memory_savings_mb > 0, "what is fused is never written"
    assert compiled.speedup_low <= compiled.speedup <= compiled.speedup_high
    assert compiled.verdict in ("improvement", "no_change", "regression")
    assert compiled.eager_time_ms > 0
    assert compiled.compiled_time_ms > 0
    assert math.isnan(compiled.break_even_calls) == ("break_even_calls" in compiled.unavailable)
    assert torch.is_tensor(compiled.result)


@pytest.mark.slow
def test_launches_and_bytes_of_both_forms_are_those_of_the_formula(compiled):
    """relu, mul, add, sin, sum against one kernel for each of the two graphs, over 80,000 bytes."""
    assert (compiled.eager_launches, compiled.compiled_launches) == (5, 2)
    assert compiled.eager_bytes == 9 * 80_000 + 4, "four operators that read and write, one that reads and sums"
    assert compiled.compiled_bytes == 3 * 80_000 + 4


@pytest.mark.slow
def test_launches_of_a_training_step_have_its_backward_pass_and_library_kernels(tmp_path):
    batch, weight = torch.rand(32, 64), torch.rand(64, 64, requires_grad=True)

    def loss(x, w):
        return ((torch.relu(x) * 2 + 1) @ w).sin().sum()

    def step(x, w):
        loss(x, w).backward()

    analyzer = TorchCompileAnalyzer(output_dir=tmp_path, cold=False)
    with quick():
        report = analyzer.analyze(step, (batch, weight), warmup=0, iterations=1)
    assert report.compiled_launches == 5, "two kernels and a product; one kernel and a product of the backward pass"
    one, square = 32 * 64 * 4, 64 * 64 * 4
    forward = 2 * one + (2 * one + square) + one + 4
    backward = (2 * one + 4) + (2 * one + square)  # cosine times the gradient, in place; then the product
    assert report.compiled_bytes == forward + backward
    assert report.eager_launches > report.compiled_launches
    assert report.eager_bytes > report.compiled_bytes


def test_memory_of_a_call_is_without_its_inputs(analyzer):
    report = analyzer.analyze(lambda x: x[:10] * 2 + 1, torch.ones(1_000_000), warmup=0, iterations=1)
    assert 0 < report.peak_memory_mb < 0.1
    assert abs(report.memory_savings_mb) < 0.1


# --- launches -------------------------------------------------------------------------------------------------------


def test_what_an_eager_call_launches_is_counted_without_its_inputs(settled):
    report = settled
    assert (report.eager_launches, report.eager_bytes) == (3, 6 * 4000), "sin, mul and add: each reads and writes"
    assert (report.compiled_launches, report.compiled_bytes) == (None, None)
    assert "eager does not tell what it launches" in report.unavailable["compiled_launches"]
    assert set(report.definitions) >= {"eager_launches", "compiled_launches", "eager_bytes", "compiled_bytes"}
    assert report.to_dict()["eager_launches"] == 3
    figures = next(one for one in compile_data(report.to_dict())["sections"] if one["id"] == "figures")
    shown = {row["label"]: (row["value"], row["unit"]) for row in figures["rows"]}
    assert (shown["launches, eager"], shown["moved, eager"]) == ((3, ""), (24_000, "bytes"))
    assert "launches 3 eager, not available compiled" in text(report).replace(UNAVAILABLE, "not available")


@pytest.mark.usefixtures("compiles")
def test_operators_are_not_counted_where_the_program_compiles_itself(analyzer):
    torch.compile(whole, backend="eager")(torch.ones(3))
    report = analyzer.analyze(broken_once, torch.ones(8), warmup=0, iterations=1)
    assert report.eager_launches is None
    assert "torch.compile is in use" in report.unavailable["eager_bytes"]


def test_a_kernel_reads_and_writes_what_its_signature_says():
    code = """
cpp_fused_add_0 = async_compile.cpp_pybinding(['float*', 'const float*', 'float*', 'const int64_t'], r'''
extern "C"  void  kernel(float* in_out_ptr0,
                       const float* in_ptr0,
                       float* out_ptr1,
                       const int64_t ks0)
{ other(in_ptr0, in_ptr0); }
''')
triton_poi_fused_1 = async_compile.triton('triton_poi_fused_1', '''
@triton.jit
def triton_poi_fused_1(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
''', device_str='cuda')
async_compile.wait(globals())
"""
    found = pointers_of(code)
    assert found == {
        "cpp_fused_add_0": ["in_out_ptr", "in_ptr", "out_ptr"], "triton_poi_fused_1": ["in_ptr", "in_ptr", "out_ptr"],
    }  # fmt: skip
    arrays = [describe(torch.ones(size)) for size in (1, 10, 100)]
    assert moved_bytes(found["cpp_fused_add_0"], arrays) == 4 * (1 + 10) + 4 * (1 + 100)
    assert moved_bytes([], arrays) == 4 * 111, "each once where nothing is said"
    same = describe(torch.ones(7))
    assert moved_bytes(["in_ptr", "in_ptr", "out_ptr"], [same, same, arrays[0]]) == 4 * 7 + 4


# --- inputs ---------------------------------------------------------------------------------------------------------


def test_a_dictionary_is_keywords_where_they_are_taken(analyzer):
    """S8: a dictionary is not wrapped in a tuple."""
    seen = []

    def named(a, b=0):
        seen.append((type(a), type(b)))
        return a * 2

    def of_one(batch):
        seen.append(type(batch))
        return batch["x"] + batch["y"]

    analyzer.analyze(named, {"a": torch.ones(2), "b": torch.ones(2)}, warmup=0, iterations=1)
    assert seen[0] == (torch.Tensor, torch.Tensor)
    seen.clear()
    report = analyzer.analyze(of_one, {"x": torch.ones(2), "y": torch.ones(2)}, warmup=0, iterations=1)
    assert seen[0] is dict
    assert report.result.tolist() == [2, 2]
    report = analyzer.analyze(named, (torch.ones(2),), warmup=0, iterations=1, kwargs={"b": 3})
    assert report.result.tolist() == [2, 2]


def test_a_module_is_left_as_it_was(analyzer):
    torch.manual_seed(11)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5))
    model(torch.ones(8, 4)).sum().backward()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    counted = must_not_count(model)
    batch = torch.rand(8, 4)
    random_state = torch.get_rng_state()
    report = analyzer.analyze(model, batch, warmup=1, iterations=2)
    assert report.error == ""
    assert report.max_abs_difference == 0, "the same random numbers on both sides"
    assert torch.equal(torch.get_rng_state(), random_state)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), gradients, strict=True))
    assert model.training
    assert must_not_count(model) == counted, "torch.compile is not in use afterwards"


def test_a_training_step_can_be_analyzed(analyzer):
    model = torch.nn.Linear(4, 1)

    def step(batch):
        loss = model(batch).square().mean()
        loss.backward()
        return loss

    report = analyzer.analyze(step, torch.ones(8, 4), warmup=1, iterations=1)
    assert report.error == ""
    assert report.graphs >= 1


# --- what it leaves behind ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("compiles")
def test_the_state_of_dynamo_is_put_back(analyzer):
    utils = __import__("importlib").import_module("torch._dynamo.utils")
    compiles = []

    def backend(graph, inputs):
        compiles.append(graph)
        return graph.forward

    theirs = torch.compile(broken_once, backend=backend)
    theirs(torch.ones(4))
    before = len(compiles), json.dumps(utils.counters, default=str), len(utils.graph_break_reasons)
    analyzer.analyze(broken_once, torch.ones(4), warmup=1, iterations=1)
    theirs(torch.ones(4))
    assert (len(compiles), json.dumps(utils.counters, default=str), len(utils.graph_break_reasons)) == before


def test_modes_are_compiled_anew(analyzer):
    """S8: what one mode has compiled is not what the next one runs."""
    found = analyzer.compare_modes(whole, torch.ones(4), ["default", "reduce-overhead"], warmup=0, iterations=1)
    assert list(found) == ["default", "reduce-overhead"]
    assert [report.graphs for report in found.values()] == [1, 1]
    assert [report.mode for report in found.values()] == list(found)
    assert all(report.recompiles == [] for report in found.values())


# --- what goes wrong ------------------------------------------------------------------------------------------------


def test_a_backend_that_fails_is_reported_and_the_eager_result_kept(monkeypatch, tmp_path):
    def refuses(graph, inputs):
        raise ValueError("no room for this graph")

    monkeypatch.setattr(compile_watch, "_backend", lambda *_: refuses)
    report = TorchCompileAnalyzer(output_dir=tmp_path).analyze(whole, torch.zeros(3), warmup=0, iterations=2)
    assert report.error == "ValueError: no room for this graph"
    assert report.result.tolist() == [1, 1, 1]
    assert report.eager_time_ms > 0
    assert math.isnan(report.speedup)
    assert report.to_dict()["speedup"] is None
    assert report.unavailable["speedup"] == "compiling failed"
    assert "no room" in report.recommendations[0]


def test_what_the_function_raises_is_raised(analyzer):
    def raises(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        analyzer.analyze(raises, torch.ones(1))


def test_what_torch_does_not_know_is_refused(analyzer):
    with pytest.raises(ValueError, match=r"unknown backend 'inductr'; valid are: .*inductor"):
        TorchCompileAnalyzer(backend="inductr")
    with pytest.raises(ValueError, match="unknown mode 'fast'; valid are: default, "):
        TorchCompileAnalyzer(mode="fast")
    with pytest.raises(ValueError, match="iterations"):
        analyzer.analyze(whole, torch.ones(1), iterations=0)
    with pytest.raises(ValueError, match="format"):
        analyzer.export_report(CompileReport(), "x", format="xml")


# --- reports --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_reports_are_written(analyzer, compiled, tmp_path, monkeypatch):
    document = check(json.loads(analyzer.export_report(compiled, tmp_path / "new folder/r.json").read_text()))
    assert document["format"] == "regimeter.suite.compile"
    assert document["fusion_ratio"] == compiled.fusion_ratio
    assert "ops_after_fusion" in document["definitions"]["fusion_ratio"]
    monkeypatch.chdir(tmp_path)
    assert analyzer.export_report(compiled, "compile_report.html", format="html") == Path("compile_report.html")
    assert (tmp_path / "compile_report.html").exists()
    compiled.logs.append("</script><b>")
    page = analyzer.export_report(compiled, tmp_path / "r.html", format="html").read_text()
    compiled.logs.pop()
    html.parser.HTMLParser().feed(page)
    assert "<b>" not in page
    assert "fused_add_mul_relu" in page
    assert "http" not in page.replace("http-equiv", "")


def test_recommendations_follow_the_interval():
    def said(**fields):
        return " ".join(recommendations(CompileReport(**fields)))

    assert "slower" in said(speedup=0.8, verdict="regression")
    assert "hardly" in said(speedup=1.1, verdict="improvement")
    assert "hardly" in said(speedup=3.0, verdict="no_change"), "the pairs do not show it"
    assert "keep it" in said(speedup=2.5, verdict="improvement")
    assert "31 s" in said(speedup=1.5, verdict="improvement", compile_time_ms=31_000.0)
    assert "differ by 0.1" in said(speedup=1.5, verdict="improvement", max_rel_difference=0.1)
    assert "f.py:3" in said(recompiles=[Recompile("f", "f.py", 3, "x changed")])


def test_differences_of_results():
    one = {"a": torch.tensor([1.0, float("nan"), -4.0]), "b": 3}
    assert difference(torch, one, {"a": torch.tensor([1.0, float("nan"), -4.5]), "b": 3}) == (0.5, 0.125, "")
    assert difference(torch, one, one)[0] == 0
    assert "structures" in difference(torch, one, [1])[2]
    assert "torch.float64" in difference(torch, torch.ones(2), torch.ones(2).double())[2]
    assert "value 0 is 4 in place of 3" in difference(torch, 3, 4)[2]
    assert difference(torch, torch.tensor([1.0]), torch.tensor([float("nan")]))[0] == math.inf


def test_operators_in_the_name_of_a_kernel():
    known = {"add", "mul", "_softmax", "native_layer_norm", "native", "layer", "norm"}
    assert fused_in("triton_per_fused__softmax_add_native_layer_norm_12", known) == [
        "_softmax", "add", "native_layer_norm",
    ]  # fmt: skip
    assert fused_in("cpp_fused_add_0", known) == ["add"]
    assert fused_in("cpp_fused_strange_thing_0", known) == ["strange_thing"]
