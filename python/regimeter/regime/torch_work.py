# SPDX-License-Identifier: Apache-2.0
"""Work of torch code: FLOPs by torch's own formulas, bytes of the storages that each operator reads and writes.

A plain function of torch is evaluated once more on meta tensors (shapes without data: no kernel runs, no random
number is drawn, nothing of the program is called). What contains Python of the program must not run twice, so its
operators are counted in the one call that is timed; the counter measures its own time, and it is subtracted.
"""

import functools
import statistics
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .arguments import Array, arrays_in
from .work import FORMULA, PIPES, Work

# Operators that allocate without writing, or write without reading what they change.
NO_TRAFFIC = (
    "empty", "new_empty", "_unsafe_view", "_reshape_alias", "lift_fresh", "detach", "alias", "set_", "resize_",
)  # fmt: skip
WRITE_ONLY = ("copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_", "random_", "exponential_")
# Operators that read as much of their source as they write.
GATHERS = ("embedding", "index", "index_select", "gather", "take", "masked_select")
# One operation an element of the result (or of what is reduced), in hardware.
SIMPLE = frozenset(
    [
        "add",
        "add_",
        "sub",
        "sub_",
        "mul",
        "mul_",
        "div",
        "div_",
        "neg",
        "neg_",
        "abs",
        "abs_",
        "sqrt",
        "sqrt_",
        "rsqrt",
        "relu",
        "relu_",
        "maximum",
        "minimum",
        "clamp",
        "clamp_",
        "clamp_min",
        "square",
        "reciprocal",
        "rsub",
        "threshold",
        "threshold_backward",
        "addcmul",
        "addcmul_",
        "lerp",
        "lerp_",
    ]
)
REDUCTIONS = frozenset(["sum", "mean", "amax", "amin", "max", "min", "prod", "cumsum", "cumprod"])
# Data is moved, no arithmetic is done.
MOVES = frozenset(
    [
        "clone",
        "copy_",
        "_to_copy",
        "fill_",
        "zero_",
        "cat",
        "stack",
        "gather",
        "index",
        "index_select",
        "embedding",
        "zeros",
        "ones",
        "full",
        "zeros_like",
        "ones_like",
        "full_like",
        "arange",
        "scatter",
        "scatter_",
        "roll",
        "flip",
        "repeat",
        "constant_pad_nd",
        "where",
        "take",
    ]
)
# Operators of which no count is agreed on (exponentials, comparisons), with at most so many operations an element of
# what they read and write. Enough to say that the time of a small one is not its arithmetic.
LINEAR_MOST = 100.0
LINEAR = frozenset(
    [
        "_softmax",
        "_log_softmax",
        "logsumexp",
        "native_layer_norm",
        "native_group_norm",
        "native_batch_norm",
        "_native_batch_norm_legit",
        "_native_batch_norm_legit_no_training",
        "_native_batch_norm_legit_functional",
        "native_dropout",
        "nll_loss_forward",
        "std",
        "std_mean",
        "var",
        "var_mean",
        "norm",
        "linalg_vector_norm",
        "argmax",
        "argmin",
        "any",
        "all",
        "sort",
        "topk",
        "max_pool2d_with_indices",
        "avg_pool2d",
    ]
)
# Modules whose functions hold no code of the program.
PLAIN_MODULES = ("torch.functional", "torch.nn.functional", "torch._tensor", "torch.linalg", "torch.fft")
ENTRY_CALLS = 200
OTHER_ARITHMETIC = ("numpy", "scipy", "cupy", "numba", "pandas", "polars")
NAMED = 5


Tell = Callable[[Any, Any, Any, Any, int], None]

# --- a counter --------------------------------------------------------------------------------------------------


class Count:
    """FLOPs and bytes of operators as they pass; `uncovered` names those whose arithmetic no formula covers.

    moving: those of the operators that read or write memory, which views and allocations do not.
    """

    def __init__(self) -> None:
        self.flops = 0.0
        self.bytes = 0.0
        self.operators = 0
        self.moving = 0
        self.own_ns = 0  # processor time of counting
        self.inside_ns = 0  # processor time of this thread inside of operators
        self.uncovered: dict[str, int] = {}
        self.pointwise = 0
        self.most = 0.0  # operations that the uncovered ones have at most
        self.dtypes: dict[str, float] = {}
        self.devices: set[str] = set()

    def add(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Count one operator of the dispatcher that has run."""
        self.operators += 1
        if function.is_view:
            return
        name = function.overloadpacket.__name__
        if name in NO_TRAFFIC:
            return
        self.moving += 1
        read, written = arrays_in(args, kwargs), arrays_in(result)
        self.devices.update(array.device for array in written or read)
        self.bytes += _traffic(function, name, read, written)
        flops = _flops(function, name, read, written, args, kwargs, result)
        if flops is None:
            self.uncovered[name] = self.uncovered.get(name, 0) + 1
            elements = sum(array.count for array in written)
            if _is_pointwise(function):
                self.pointwise += elements
            known = name in LINEAR or _is_pointwise(function)
            elements += sum(array.count for array in read)
            self.most += LINEAR_MOST * elements if known else float("inf")
        elif flops:
            self.flops += flops
            dtype = (read or written)[0].dtype
            self.dtypes[dtype] = self.dtypes.get(dtype, 0.0) + flops

    def add_timed(self, function: Any, args: Any, kwargs: Any, result: Any, inside_ns: int) -> None:
        """Count one operator, and what counting costs."""
        begin = time.thread_time_ns()
        self.inside_ns += inside_ns
        self.add(function, args, kwargs, result)
        self.own_ns += time.thread_time_ns() - begin

    def work(self, source: str) -> Work:
        """Return the sums. Where an operator has no formula, FLOPs are a lower bound, or unknown if none has one."""
        main = max(self.dtypes, key=lambda dtype: self.dtypes[dtype]) if self.dtypes else ""
        flops: float | None = self.flops
        flops_source = source
        warnings: tuple[str, ...] = ()
        if self.uncovered:
            names = ", ".join(sorted(self.uncovered)[:NAMED])
            flops_source = f"{source}, lower bound"
            warnings = (f"no formula covers the arithmetic of {names}: FLOPs are a lower bound",)
            if not self.flops:
                flops, flops_source = None, "unknown"
                warnings = (f"no formula covers the arithmetic of {names}: FLOPs are unknown",)
        alone = self.operators == 1 and self.pointwise > 0
        return Work(
            flops,
            self.bytes,
            PIPES.get(main),
            flops_source,
            source,
            operators=self.operators,
            elements=self.pointwise if alone else None,
            flops_most=self.flops + self.most if self.uncovered and self.most < float("inf") else None,
            warnings=warnings,
        )


def _is_pointwise(function: Any) -> bool:
    return sys.modules["torch"].Tag.pointwise in function.tags


def _flops(
    function: Any, name: str, read: list[Array], written: list[Array], args: Any, kwargs: Any, result: Any
) -> float | None:
    formula = _formulas().get(function.overloadpacket)
    if formula is not None:
        return float(formula(*args, **kwargs, out_val=result))
    if name in MOVES:
        return 0.0
    dtype = (written or read)[0].dtype if written or read else ""
    if dtype not in PIPES:
        return None if written else 0.0
    factor = 2 if dtype.startswith("complex") else 1
    if name in SIMPLE:
        return float(factor * max((array.count for array in written), default=0))
    if name in REDUCTIONS:
        return float(factor * max((array.count for array in read), default=0))
    return None


@functools.cache
def _formulas() -> dict[Any, Callable[..., int]]:
    """Torch's registry of FLOP formulas, by operator."""
    from torch.utils import flop_counter

    torch: Any = sys.modules["torch"]
    known: dict[Any, Callable[..., int]] = dict(flop_counter.flop_registry)
    return {torch.ops.aten.mv: _each_used_once, torch.ops.aten.dot: _each_used_once} | known


def _each_used_once(first: Any, *_: Any, **__: Any) -> int:
    """Matrix times vector, vector times vector: a multiply-add for each element of the first."""
    return int(2 * first.numel())


def _traffic(function: Any, name: str, read: list[Array], written: list[Array]) -> float:
    """Return the bytes of one operator: operands once, results once, what is changed in place twice."""
    sources = {array.start: array.bytes for array in read}
    results = {array.start: array.bytes for array in written}
    changed = results.keys() & sources.keys()
    if changed and not function._schema.is_mutable:
        return 0.0  # an alias that the schema does not declare
    if name in GATHERS and read:
        whole = max(array.bytes for array in read)
        picked = sum(results.values())
        return float(sum(sources.values()) - whole + min(whole, picked) + picked)
    if name in WRITE_ONLY or any(argument.is_out for argument in function._schema.arguments):
        for start in changed:
            sources.pop(start)
    return float(sum(sources.values()) + sum(results.values()))


# --- plain functions, on meta tensors ------------------------------------------------------------------------------


def of_plain_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Work | None:
    """Return the work of a function of torch itself from the shapes of its arguments, None for anything else."""
    plain, bound = is_plain(function)
    if plain is None:
        return None
    if bound is not None:
        args = (bound, *args)
    torch: Any = sys.modules["torch"]
    if plain is torch.nn.functional.scaled_dot_product_attention:
        return _attention(args)
    try:
        with torch.no_grad():
            return _on_meta(plain, args, kwargs)
    except Exception:  # no meta kernel, or a shape that depends on data
        found = arrays_in(args, kwargs)
        reason = f"torch cannot tell the shapes of {getattr(plain, '__name__', plain)} without data: work is unknown"
        return Work(warnings=(reason,)) if found else None


def is_plain(function: Any) -> tuple[Any, Any]:
    """Return (function, bound tensor) for a function or a tensor's method of torch without code of the program."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None, None
    owner = getattr(function, "__self__", None)
    if type(owner) in (torch.Tensor, torch.nn.Parameter):
        named = getattr(torch.Tensor, getattr(function, "__name__", ""), None)
        return (named, owner) if named is not None and not hasattr(function, "__code__") else (None, None)
    if isinstance(function, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return function, None
    if type(function).__name__ == "method_descriptor" and issubclass(torch.Tensor, function.__objclass__):
        return function, None
    module = getattr(function, "__module__", None)
    name = getattr(function, "__name__", "")
    builtin = not hasattr(function, "__code__")  # torch.save and torch.compile are written in Python, as programs are
    for home in (module, "torch.nn.functional", "torch") if builtin else (module,):
        plain = home in PLAIN_MODULES or (builtin and (home == "torch" or str(home).startswith("torch._C")))
        if plain and getattr(sys.modules.get(str(home)), name, None) is function:
            return function, None
    return None, None


def _on_meta(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Work:
    torch: Any = sys.modules["torch"]
    bases: dict[int, Any] = {}

    def to_meta(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return torch.device("meta") if isinstance(value, torch.device) else value
        storage = value.untyped_storage()
        base = bases.get(storage._cdata)
        if base is None or base.dtype != value.dtype:
            length = max(1, storage.nbytes() // max(1, value.element_size()))
            base = torch.empty(length, dtype=value.dtype, device="meta")
            bases[storage._cdata] = base
        return base.as_strided(value.size(), value.stride(), value.storage_offset())

    pytree = torch.utils._pytree
    meta_args, meta_kwargs = pytree.tree_map(to_meta, (args, dict(kwargs)))
    if "device" in meta_kwargs:
        meta_kwargs["device"] = "meta"
    mode = make_mode()
    with mode:
        function(*meta_args, **meta_kwargs)
    work: Work = mode.count.work(FORMULA)
    return work


FEW = 4096  # elements of a call that is made to measure the least that a function takes


def is_repeatable(function: Any, args: tuple[Any, ...]) -> bool:
    """Say whether a plain function may be called on these small tensors: it draws no number and makes nothing large."""
    return _is_told_on_meta(function, args, {}, FEW)


def is_seedless(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Say whether a plain function draws no random number."""
    return _is_told_on_meta(function, args, kwargs, None)


def _is_told_on_meta(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], most: int | None) -> bool:
    torch: Any = sys.modules["torch"]
    seeded = getattr(torch.Tag, "nondeterministic_seeded", None)
    told = [True]

    def tell(function: Any, args: Any, kwargs: Any, result: Any, inside_ns: int) -> None:
        few = most is None or sum(array.count for array in arrays_in(result)) <= most
        told[0] = told[0] and few and seeded not in function.tags

    pytree = torch.utils._pytree
    meta = pytree.tree_map(lambda x: x.to("meta") if isinstance(x, torch.Tensor) else x, (args, kwargs))
    try:
        with torch.no_grad(), make_mode(tell):
            function(*meta[0], **meta[1])
    except Exception:  # no meta kernel, or a shape that depends on data
        return False
    return told[0]


def _attention(args: tuple[Any, ...]) -> Work | None:
    """Both products of attention and its four arrays: a fused kernel does not write the matrix of scores."""
    if len(args) < 3:
        return None
    query, key, value = args[:3]
    leading = query.numel() // max(1, query.shape[-1])
    flops = 2.0 * leading * key.shape[-2] * (query.shape[-1] + value.shape[-1])
    arrays = arrays_in(query, key, value)
    output = leading * value.shape[-1] * query.element_size()
    return Work(flops, float(sum(array.bytes for array in arrays) + output), None, FORMULA, FORMULA)


# --- code of the program, in the call itself ----------------------------------------------------------------------


@functools.cache
def _mode_type() -> type:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):  # type: ignore[misc]
        """Counts each operator and measures what that costs, or hands it to someone else."""

        def __init__(self, tell: Tell | None) -> None:
            super().__init__()
            self.count = Count()
            self.tell = tell or self.count.add_timed

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            begin = time.thread_time_ns()
            result = func(*args, **kwargs)
            self.tell(func, args, kwargs, result, time.thread_time_ns() - begin)
            return result

    return Counting


def make_mode(tell: Tell | None = None) -> Any:
    """Return a dispatch mode with a `count`; enter it round the code to count.

    tell: called with operator, args, kwargs, result and ns inside of it, in place of the count.
    """
    return _mode_type()(tell)


def entry_cost_ns() -> tuple[float, float]:
    """Return what the way into and out of the mode costs an operator, and its uncertainty, in ns; measured once."""
    return _entry_cost()


@functools.cache
def _entry_cost() -> tuple[float, float]:
    torch: Any = sys.modules["torch"]
    value = torch.zeros(8, device="cpu")

    def time_adds() -> int:
        begin = time.thread_time_ns()
        for _ in range(ENTRY_CALLS):
            torch.add(value, value)
        return time.thread_time_ns() - begin

    time_adds()
    costs = []
    for _ in range(9):
        without = time_adds()
        mode = make_mode()
        with mode:
            inside = time_adds()
        costs.append((inside - mode.count.own_ns - without) / ENTRY_CALLS)
    low, _, high = statistics.quantiles(costs, n=4)
    return max(0.0, statistics.median(costs)), (high - low) / 2


def must_not_count(function: Any) -> str | None:
    """Return why the operators of a call must not be counted: torch.compile would leave it eager for ever."""
    if (
        getattr(function, "_torchdynamo_orig_callable", None) is not None
        or type(function).__name__ == "OptimizedModule"
    ):
        return "the function is compiled"
    for module in function.modules() if _is_module(function) else ():
        if type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None:
            return "a part of the model is compiled"
    frames = sys.modules.get("torch._dynamo.eval_frame")
    backends = getattr(frames, "cached_backends", None) or {}
    if any(backend is not None for backend in backends.values()):
        return "torch.compile is in use in this process"
    return None


def is_torch_alone(function: Any) -> bool:
    """Say whether a function computes with torch alone, as far as the names in its code tell.

    Then what it does outside of operators is neither arithmetic nor memory traffic.
    """
    if _is_module(function):
        return True
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    space = getattr(function, "__globals__", {})
    cells = zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=False)
    used = [space.get(name) for name in code.co_names]
    used += [cell.cell_contents for _, cell in cells if _is_filled(cell)]
    return not any(_package(value) in OTHER_ARITHMETIC for value in used)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _package(value: Any) -> str:
    name = getattr(value, "__name__", "") if isinstance(value, ModuleType) else type(value).__module__
    module = getattr(value, "__module__", None)
    return str(module if isinstance(module, str) and not isinstance(value, ModuleType) else name).partition(".")[0]


def _is_module(function: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(function, torch.nn.Module)
