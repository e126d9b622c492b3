# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton, CuPy and JAX, each where it is installed: under the scope that launched them."""

import os
from collections.abc import Callable
from typing import Any

from .claims import Claim, at_least, equal, shown
from .common import UnavailableHere, in_process, kernel_rows, name_of, scope_of, tracing

CALLS = 20
FRAMEWORKS = ("triton", "cupy", "jax")
PART_S = 25

# What calls the framework once, and what waits for all of it.
Program = tuple[Callable[[], Any], Callable[[], Any]]


def _triton() -> Program:
    import torch

    from .triton_add import add_one

    x = torch.zeros(1 << 16, device="cuda")
    return lambda: add_one[(64,)](x, x.numel(), BLOCK=1024), torch.cuda.synchronize


def _cupy() -> Program:
    import cupy

    x = cupy.zeros((512, 512), dtype=cupy.float32)
    return lambda: cupy.cos(x), cupy.cuda.Device().synchronize


def _jax() -> Program:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the others want memory, too
    import jax

    if jax.devices()[0].platform != "gpu":
        raise UnavailableHere("JAX has no GPU")
    x = jax.numpy.ones((512, 512))
    function = jax.jit(lambda x: jax.numpy.tanh(x @ x))
    return lambda: function(x), lambda: function(x).block_until_ready()


def traced(framework: str) -> dict[str, Any]:
    """Trace calls of one framework, each in a scope. UnavailableHere where it is not installed or does not work."""
    try:
        call, wait = {"triton": _triton, "cupy": _cupy, "jax": _jax}[framework]()
        call()
        wait()
    except UnavailableHere:
        raise
    except Exception as error:  # not installed, of another CUDA, no compiler
        raise UnavailableHere(f"{framework}: {type(error).__name__}: {str(error)[:300]}") from None
    profiler = tracing()
    for _ in range(CALLS):
        with profiler.profile("call"):
            call()
    with profiler.profile("wait"):
        wait()
    profiler.close()
    run = profiler.run()
    rows = kernel_rows(run)
    launches = [int(run.spans.launch[row]) for row in rows]
    scopes = [name_of(run, scope_of(run, launch)) if launch >= 0 else None for launch in launches]
    return {
        "kernels": len(rows),
        "names": sorted({str(name_of(run, row)) for row in rows})[:20],
        "without_launch": sum(launch < 0 for launch in launches),
        "in_calls": scopes.count("call"),
        "without_scope": scopes.count(None),
        "timed": run.get_summary()["call"].gpu_calls,
    }


def measure() -> dict[str, Any]:
    """Trace each framework in a process of its own; UnavailableHere where there is none of them."""
    found: dict[str, Any] = {}
    for framework in FRAMEWORKS:
        try:
            found[framework] = in_process("frameworks", "traced", framework, limit_s=PART_S)
        except UnavailableHere as error:
            found[framework] = {"missing": str(error)}
        except RuntimeError as error:  # it crashed or hung; the others are measured all the same
            found[framework] = {"failed": str(error)[-600:]}
    if all("missing" in row for row in found.values()):
        raise UnavailableHere("; ".join(row["missing"] for row in found.values()))
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """Every kernel has its launch and its scope; calls have kernels. What is not installed is said."""
    claims = []
    for framework, row in found.items():
        if "missing" in row:
            claims.append(shown(f"{framework}: not measured", row["missing"]))
            continue
        if "failed" in row:
            claims.append(Claim(f"{framework}: its kernels were traced", row["failed"], "no error", False))
            continue
        claims += [
            at_least(f"{framework}: kernels in the scopes of its calls", row["in_calls"], CALLS),
            equal(f"{framework}: kernels without their launch", row["without_launch"], 0),
            equal(f"{framework}: kernels without a scope", row["without_scope"], 0),
            shown(f"{framework}: calls with a device time", row["timed"]),
            shown(f"{framework}: names of kernels", row["names"]),
        ]
    return claims
