# SPDX-License-Identifier: Apache-2.0
"""Rules about work in runs without a device: operators of the host are the work. Times are worked out by hand."""

from collections.abc import Callable

import pytest
from programs import Program
from suggest_cases import found

from regimeter import Run

FLOAT, DOUBLE = "float", "double"
NODE = "autograd::engine::evaluate_function: "


def tensor(element: str, *size: int) -> dict[str, object]:
    return {"Input Dims": [list(size)], "Input type": [element]}


def framed(write: Callable[[Program], None]) -> Run:
    """A host-only program: 1 ms of something else on each side."""
    p = Program(deviceProperties=[])
    p.op("aten::mm", 1000)
    write(p)
    p.op("aten::mm", 1000)
    return p.run(wait=False)


def nested(*names: str, duration: float, category: str = "cpu_op", **args: object) -> Callable[[Program], None]:
    """The last of these operators takes `duration`, those around it 1 us more each."""

    def write(p: Program) -> None:
        around = [p.op(name, category=category if i == 0 else "cpu_op") for i, name in enumerate(names[:-1])]
        p.op(names[-1], duration, **args)
        for one in reversed(around):
            one.__exit__()

    return write


def row(*names: str, duration: float = 100, **args: object) -> Callable[[Program], None]:
    """Operators one after the other."""

    def write(p: Program) -> None:
        for name in names:
            p.op(name, duration, **args)

    return write


def converted(to: str, source: str) -> Callable[[Program], None]:
    """A conversion whose copy was given these two types."""

    def write(p: Program) -> None:
        with p.op("aten::to"), p.op("aten::_to_copy"):
            p.op("aten::copy_", 500, **{"Input Dims": [[8], [8], []], "Input type": [to, source, ""]})

    return write


def training(*, clear: bool, add: bool = True) -> Callable[[Program], None]:
    """A step of one parameter."""

    def write(p: Program) -> None:
        with p.op("Optimizer.zero_grad#SGD.zero_grad", category="user_annotation"):
            if clear:
                p.op("aten::zero_", 100)
        node = "torch::autograd::AccumulateGrad"
        with p.op(NODE + node), p.op(node):
            if add:
                p.op("aten::add_", 200)
            else:
                p.op("aten::detach", 2)

    return write


def optimizer(name: str, count: int) -> Callable[[Program], None]:
    def write(p: Program) -> None:
        with p.op("Optimizer.step#Adam.step", category="user_annotation"):
            row(*[name] * count, duration=10)(p)

    return write


ATTENTION = ("aten::matmul", "aten::div", "aten::softmax", "aten::matmul")
BACKWARD = (NODE + "BmmBackward0", NODE + "SoftmaxBackward0", NODE + "BmmBackward0")
POINTWISE = ("aten::mul", "aten::add_", "aten::tanh")

# Rule: the fault, what it may save at most in us, and a program like it without the fault.
CASES: dict[str, tuple[Callable[[Program], None], float, Callable[[Program], None]]] = {
    "contiguous_copies": (
        nested("aten::contiguous", "aten::clone", duration=500),
        501,
        nested("aten::linear", "aten::addmm", duration=500),
    ),
    "casts": (converted(FLOAT, DOUBLE), 501, converted(FLOAT, FLOAT)),
    "double_precision": (
        row("aten::addmm", duration=500, **tensor(DOUBLE, 8, 8)),
        500,
        row("aten::addmm", duration=500, **tensor(FLOAT, 8, 8)),
    ),
    "zero_grad": (training(clear=True), 302, training(clear=False)),
    "single_tensor_optimizer": (optimizer("aten::mul_", 60), 601, optimizer("aten::_fused_adam_", 60)),
    "attention_math": (row(*ATTENTION), 400, row("aten::matmul", "aten::relu", "aten::matmul")),
    "pointwise_chain": (
        row(*POINTWISE, **tensor(FLOAT, 1024)),
        200,
        row("aten::mul", "aten::sum", "aten::tanh", **tensor(FLOAT, 1024)),
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_speaks_and_is_bounded_by_the_operators(rule: str) -> None:
    one = found(framed(CASES[rule][0]))[rule]
    assert one.merged_into is None
    assert one.saved_low_ms == 0
    assert one.saved_high_ms == pytest.approx(CASES[rule][1] * 1e-3)
    assert "an unknown value" not in one.description
    assert not one.verify.startswith("regimeter kernels")


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_silent_where_its_fault_is_not(rule: str) -> None:
    assert rule not in found(framed(CASES[rule][2]))


def test_attention_has_a_backward_pass() -> None:
    assert found(framed(row(*BACKWARD)))["attention_math"].saved_high_ms == pytest.approx(0.3)


def test_a_fused_attention_is_no_fault() -> None:
    chosen = nested(
        "aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention_for_cpu", duration=500
    )
    assert "attention_math" not in found(framed(chosen))
    math = nested("aten::scaled_dot_product_attention", "aten::_scaled_dot_product_attention_math", duration=500)
    assert found(framed(math))["attention_math"].saved_high_ms == pytest.approx(0.5)


def test_a_chain_keeps_its_shortest_operator() -> None:
    def write(p: Program) -> None:
        for duration in (100, 300, 50, 200):
            p.op("aten::mul", duration, **tensor(FLOAT, 4096))

    assert found(framed(write))["pointwise_chain"].saved_high_ms == pytest.approx(0.6)


@pytest.mark.parametrize("args", [{}, tensor(FLOAT)], ids=["no shapes", "scalars"])
def test_a_chain_is_told_by_shapes(args: dict[str, object]) -> None:
    assert "pointwise_chain" not in found(framed(row(*POINTWISE, **args)))


def test_operators_of_other_sizes_end_a_chain() -> None:
    def write(p: Program) -> None:
        for size in (64, 64, 32, 64, 64):
            p.op("aten::mul", 100, **tensor(FLOAT, size))

    assert "pointwise_chain" not in found(framed(write))


def test_a_conversion_from_double_precision_is_a_cast() -> None:
    def write(p: Program) -> None:
        with p.op("aten::to", **tensor(DOUBLE, 8)):
            p.op("aten::_to_copy", 500, **tensor(DOUBLE, 8))

    told = found(framed(write))
    assert "double_precision" not in told
    assert told["casts"].saved_high_ms == pytest.approx(0.5)


def test_python_between_operators_of_a_loop_counts() -> None:
    def write(p: Program) -> None:
        with p.op("loop", category="cpu_op"):
            pass
        for _ in range(20):
            p.op("aten::select", 10)
            p.host += 30  # Python

    # From the first select to the end of the last: 20 selects and 19 pauses.
    assert found(framed(write))["loop_indexing"].saved_high_ms == pytest.approx(0.77)


def test_with_a_device_the_host_is_no_work() -> None:
    p = Program().kernels(3)
    p.sync()
    row(*ATTENTION, duration=500)(p)
    row(*POINTWISE, duration=500, **tensor(FLOAT, 1024))(p)
    row("aten::clone", duration=500)(p)
    assert not {"attention_math", "pointwise_chain", "contiguous_copies"} & set(found(p.kernels(2).run()))


def test_pytorchs_collector_is_known() -> None:
    def write(p: Program) -> None:
        p.op("Python GC", 400, "python_function")

    assert found(framed(write))["gc_pause"].saved_high_ms == pytest.approx(0.4)
