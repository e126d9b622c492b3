# SPDX-License-Identifier: Apache-2.0
"""Work of operators: against the registry of torch.utils.flop_counter, called with the same shapes."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from needed import package
from runs import build_run, span
from slow_import import slow_import
from traces import load_trace

from regimeter import Run, _core

SOURCES = _core.FLOP_SOURCES
Call = tuple[str, list[Any], list[Any]]  # name, shapes, concrete values


def text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def run_of(calls: list[Call], parents: list[int] | None = None, kind: str = "float") -> Run:
    """Return a run of operators, one after another or, with parents, inside each other."""
    nested = parents is not None
    spans = [
        span("cpu_op", name, 0, i if nested else 1000 * i, 1000 - 2 * i if nested else 10, parent=above)
        for i, ((name, _, _), above) in enumerate(zip(calls, parents or [-1] * len(calls), strict=True))
    ]
    operators = [
        {"span": i, "shapes": text(shapes), "types": text([kind if s else "" for s in shapes]),
         "values": text([str(v) for v in values])}
        for i, (_, shapes, values) in enumerate(calls) if shapes
    ]  # fmt: skip
    return build_run(spans, operators=operators)


def flops_of(*calls: Call) -> list[float]:
    table = run_of(list(calls)).analyse("operator_flops", group_by=1)
    order = np.argsort(table.span)
    return [float(f) for f in table.flops[order]]


size = st.integers(1, 6)


@given(size, size, size, size)
def test_matrix_products(b: int, m: int, k: int, n: int) -> None:
    counter = package("torch.utils.flop_counter")
    found = flops_of(
        ("aten::mm", [[m, k], [k, n]], ["", ""]),
        ("aten::addmm", [[n], [m, k], [k, n], [], []], ["", "", "", "1", "1"]),
        ("aten::bmm", [[b, m, k], [b, k, n]], ["", ""]),
        ("aten::baddbmm", [[b, m, n], [b, m, k], [b, k, n], [], []], ["", "", "", "1", "1"]),
        ("aten::_scaled_mm", [[m, k], [k, n], [], []], ["", "", "", ""]),
        ("aten::linear", [[b, m, k], [n, k], [n]], ["", "", ""]),
        ("aten::matmul", [[b, m, k], [k, n]], ["", ""]),
    )
    assert found == [
        counter.mm_flop([m, k], [k, n]),
        counter.addmm_flop([n], [m, k], [k, n]),
        counter.bmm_flop([b, m, k], [b, k, n]),
        counter.baddbmm_flop([b, m, n], [b, m, k], [b, k, n]),
        counter._scaled_mm_flop([m, k], [k, n], [], []),
        counter.mm_flop([b * m, k], [k, n]),
        counter.mm_flop([b * m, k], [k, n]),
    ]


conv_arguments = st.tuples(
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), st.integers(1, 2),
    st.booleans(), st.integers(1, 2),
)  # fmt: skip


@given(conv_arguments, st.integers(1, 3))
def test_convolutions(arguments: tuple[int, int, int, int, int, int, bool, int], spatial: int) -> None:
    torch = package("torch")
    counter = package("torch.utils.flop_counter")
    n, cin, cout, k, pad, stride, transposed, groups = arguments
    cin, cout = cin * groups, cout * groups
    x = torch.empty([n, cin, *range(7, 7 + spatial)], device="meta")
    w_shape = [cin, cout // groups] if transposed else [cout, cin // groups]
    w = torch.empty([*w_shape, *[k] * spatial], device="meta")
    options = ([stride] * spatial, [pad] * spatial, [1] * spatial, transposed, [0] * spatial, groups)
    out = torch.ops.aten.convolution(x, w, None, *options)
    shapes = [list(x.shape), list(w.shape), [], [], [], [], [], [], []]
    forward = ("aten::convolution", shapes, ["", "", "", *options])
    expected = counter.conv_flop(x.shape, w.shape, None, *options, out_val=out)
    table = run_of([forward]).analyse("operator_flops")
    assert table.flops.tolist() == [expected]
    assert table.bytes.tolist() == [4 * (x.numel() + w.numel() + out.numel())]
    for mask in ([True, True, False], [True, False, True], [False, True, True], [False, False, True]):
        backward = (
            "aten::convolution_backward",
            [list(out.shape), list(x.shape), list(w.shape), *[[]] * 8],
            ["", "", "", "", *options, mask],
        )
        theirs = counter.conv_backward_flop(
            out.shape, x.shape, w.shape, None, *options, mask,
            out_val=[x if mask[0] else None, w if mask[1] else None, None],
        )  # fmt: skip
        if groups > 1 and mask[1]:
            # torch leaves the groups out of the gradient of the weights: it counts every pair of channels, of
            # which a grouped convolution computes one in `groups`.
            theirs -= expected * groups - expected
        assert flops_of(backward) == [theirs]


def test_other_spellings_of_a_convolution() -> None:
    x, w = [2, 4, 9, 9], [8, 4, 3, 3]
    expected = 2 * 2 * 8 * 4 * 9 * 5 * 5
    found = flops_of(
        ("aten::conv2d", [x, w, [8], [], [], [], []], ["", "", "", [2, 2], [1, 1], [1, 1], 1]),
        ("aten::cudnn_convolution", [x, w, *[[]] * 7], ["", "", [1, 1], [2, 2], [1, 1], 1, False, False, True]),
        ("aten::mkldnn_convolution", [x, w, [8], *[[]] * 4], ["", "", "", [1, 1], [2, 2], [1, 1], 1]),
        ("aten::miopen_convolution", [x, w, [8], *[[]] * 6], ["", "", "", [1, 1], [2, 2], [1, 1], 1, False, False]),
        ("aten::_slow_conv2d_forward", [x, w, [], [8], [], []], ["", "", [3, 3], "", [2, 2], [1, 1]]),
        ("aten::conv2d", [x, w, [8], [], [], [], []], ["", "", "", [2], [1], [1], 1]),
    )
    assert found == [expected] * 6
    assert flops_of(("aten::conv2d", [x, w, [8], [], [], [], []], ["", "", "", [1, 1], "same", [1, 1], 1])) == [
        2 * 2 * 8 * 4 * 9 * 9 * 9
    ]


@given(size, size, size, size, size, size)
def test_attention(b: int, h: int, q: int, k: int, d: int, v: int) -> None:
    counter = package("torch.utils.flop_counter")
    outer = [[b, h, q, d], [b, h, k, d], [b, h, k, v]]
    inner = [[s[0], s[2], s[1], s[3]] for s in outer]
    grad, grad_inner = [b, h, q, v], [b, q, h, v]
    forward = counter.sdpa_flop_count(*outer)
    backward = counter.sdpa_backward_flop_count(grad, *outer)
    names = ("flash", "efficient", "cudnn")
    calls = [(f"aten::_scaled_dot_product_{n}_attention", outer, [""] * 3) for n in names]
    calls += [(f"aten::_{n}_attention_forward", inner, [""] * 3) for n in names[:2]]
    assert flops_of(*calls) == [forward] * 5
    calls = [(f"aten::_scaled_dot_product_{n}_attention_backward", [grad, *outer], [""] * 4) for n in names]
    calls += [(f"aten::_{n}_attention_backward", [grad_inner, *inner], [""] * 4) for n in names[:2]]
    assert flops_of(*calls) == [backward] * 5


def test_torch_reads_the_layout_of_flash_attention_wrong() -> None:
    """The lower operator has [batch, sequence, heads, size]; torch's formula takes the sequence for the heads."""
    torch = package("torch")
    counter = package("torch.utils.flop_counter")
    q = torch.empty([2, 100, 4, 8], device="meta")
    lower = counter._flash_attention_forward_flop(q, q, q, None, None, 100, 100)
    assert lower == 2 * 2 * 2 * 100 * 4 * 4 * 8
    assert flops_of(("aten::_flash_attention_forward", [[2, 100, 4, 8]] * 3, [""] * 3)) == [lower * 25]


def test_only_the_innermost_known_operator_counts() -> None:
    linear = ("aten::linear", [[2, 3, 4], [5, 4], [5]], ["", "", ""])
    addmm = ("aten::addmm", [[5], [6, 4], [4, 5], [], []], ["", "", "", "1", "1"])
    unknown = ("aten::mm", [], [])
    for calls, names, flops in (
        ([linear, addmm], ["aten::addmm"], [240]),
        ([linear, unknown], ["aten::linear"], [240]),
        ([unknown, addmm], ["aten::addmm"], [240]),
        ([unknown, unknown], ["aten::mm"], [math.nan]),
    ):
        run = run_of(calls, parents=[-1, 0])
        table = run.analyse("operator_flops")
        assert [run.string(n) for n in table.name] == names
        assert table.flops.tolist() == pytest.approx(flops, nan_ok=True)
        assert SOURCES[table.source[0]] == ("unavailable" if math.isnan(flops[0]) else "shapes")


def test_bytes_follow_types() -> None:
    for kind, width in (("float", 4), ("c10::BFloat16", 2), ("double", 8), ("long int", 8), ("c10::Float8_e4m3fn", 1)):
        table = run_of([("aten::mm", [[2, 3], [3, 5]], ["", ""])], kind=kind).analyse("operator_flops")
        assert table.bytes[0] == width * (6 + 15 + 10)
        assert table.intensity[0] == 60 / (width * 31)
    odd = run_of([("aten::mm", [[2, 3], [3, 5]], ["", ""])], kind="quint4x2").analyse("operator_flops")
    assert np.isnan(odd.bytes[0])
    assert odd.flops[0] == 60


BROKEN = [
    "", "[", "[[", "[[2,3]", "[[2,3],", "[[-1,3],[3,4]]", "[[2,3],[4,5]]", "[[2,3,4,5,6,7,8,9,10]]", "[[[2]],[[3]]]",
    "{}", "[[99999999999999999999999999999,1],[1,99999999999999999999]]", "[[2,3] [3,4]]", "[[2,,3],[3,4]]",
]  # fmt: skip


@pytest.mark.parametrize("shapes", BROKEN)
def test_broken_texts_are_unavailable_or_finite(shapes: str) -> None:
    names = ["aten::mm", "aten::conv2d", "aten::convolution_backward", "aten::linear", "aten::bmm",
             "aten::scaled_dot_product_attention", "aten::matmul"]  # fmt: skip
    spans = [span("cpu_op", name, 0, at, 0) for at, name in enumerate(names)]
    cut = {"shapes": shapes, "types": '["', "values": '["","","","[1, 1'}
    table = build_run(spans, operators=[cut | {"span": at} for at in range(len(names))]).analyse("operator_flops")
    assert len(table) == len(names)
    known = table.source == SOURCES.index("shapes")
    assert np.isnan(table.flops[~known]).all()
    assert (table.flops[known] >= 0).all()


def test_a_recorded_model_counts_what_the_flop_counter_counts(tmp_path: Path) -> None:
    torch = package("torch")
    from torch.profiler import ProfilerActivity, profile
    from torch.utils.flop_counter import FlopCounterMode

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
            self.up = torch.nn.ConvTranspose2d(8, 4, 2, stride=2)
            self.last = torch.nn.Linear(4 * 64, 10)

        def forward(self, x: Any) -> Any:
            return self.last(self.up(self.conv(x).relu()).flatten(1))

    model, x = Model(), torch.ones(5, 3, 8, 8)
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        model(x).sum().backward()
    path = tmp_path / "cpu.json"
    recorded.export_chrome_trace(str(path))
    table = slow_import(path).analyse("operator_flops")
    assert table.flops.sum() == counter.get_total_flops()
    assert table.source.all()
    assert (table.host_ns > 0).all()
    assert np.isnan(table.flops_per_s).all()  # nothing ran on a device


def test_real_traces() -> None:
    """The rate of a GEMM on an H100 lies under its peak of 989 TFLOP/s (BF16, dense), and over nothing."""
    run = load_trace("h100_owlv2_with_stack.json.gz")
    table = run.analyse("operator_flops")
    names = {run.string(n) for n in table.name}
    assert names == {"aten::addmm", "aten::bmm", "aten::cudnn_convolution", "aten::mm"}
    assert table.source.all()
    assert (table.flops_per_s < 989e12).all()
    assert (table.flops_per_s > 0).all()
    row = next(i for i, s in enumerate(table.shapes) if run.string(s).startswith("[[1024],[5185,1024],[1024,1024]"))
    assert table.flops[row] == table.calls[row] * 2 * 5185 * 1024 * 1024
    old = load_trace("v100_ddp_large.json.gz").analyse("operator_flops")
    assert len(old) > 0
    assert not old.source.any()
    assert np.isnan(old.flops).all()
