# SPDX-License-Identifier: Apache-2.0
"""torch.compile: its kernels under their scope, with graph breaks at none of ours."""

from typing import Any

from .claims import Claim, at_least, equal, physical, shown
from .common import UnavailableHere, finished, kernels_by_scope, name_of, ready, tracing

CALLS = 20


def measure() -> dict[str, Any]:
    """Trace calls of a compiled function, and of one that holds a scope itself."""
    torch = ready()
    x = torch.randn(1 << 20, device="cuda")
    try:
        function = torch.compile(lambda x: (x * 2 + 1).relu().sum())
        function(x)
    except Exception as error:  # no compiler, no Triton
        raise UnavailableHere(f"torch.compile does not work: {type(error).__name__}: {str(error)[:300]}") from None
    profiler = tracing()
    for _ in range(CALLS):
        with profiler.profile("compiled"):
            y = function(x)
    torch.cuda.synchronize()
    right = bool(torch.allclose(y, (x * 2 + 1).relu().sum(), rtol=1e-3))

    def with_scope(x: Any) -> Any:
        with profiler.profile("inside"):
            return x * 3

    try:
        inside: Any = bool(torch.equal(torch.compile(with_scope)(x), x * 3))
    except Exception as error:
        inside = f"{type(error).__name__}: {str(error)[:300]}"
    run = finished(profiler, torch)
    kernels: dict[str, int] = {}
    for scope, rows in kernels_by_scope(run).items():
        if name_of(run, scope) == "compiled":
            for row in rows:
                name = str(name_of(run, row))
                kernels[name] = kernels.get(name, 0) + 1
    return {
        "right": right,
        "kernels": kernels,
        "timed": run.get_summary()["compiled"].gpu_calls,
        "scope_inside": inside,
    }


def judge(found: dict[str, Any]) -> list[Claim]:
    """Triton's kernels belong to the scope around the call."""
    triton = sum(count for name, count in found["kernels"].items() if "triton" in name)
    return [
        physical(equal("the result is right", found["right"], True)),
        at_least("kernels made by Triton under the scope", triton, CALLS),
        equal("calls with a device time", found["timed"], CALLS),
        shown("a scope inside the compiled function", found["scope_inside"]),
        shown("kernels", found["kernels"]),
    ]
