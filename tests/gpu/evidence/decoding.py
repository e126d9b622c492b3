# SPDX-License-Identifier: Apache-2.0
"""Decoding of a Llama-like model: the same tokens traced or not, every kernel under its layer, and what limits it.

Launched kernel by kernel the host is the limit, replayed as a CUDA graph the device is: the same work on both sides of
that line, with a bound of its own: no token can be had in less time than the memory takes to read all weights.
"""

from collections import Counter
from time import perf_counter_ns
from typing import Any

from . import doubles
from .attribution import LOST
from .claims import Claim, at_least, at_most, equal, physical, shown
from .common import anomalies, finished, kernel_rows, kernels_by_scope, name_of, ready, scope_of, spread, tracing
from .llama import Llama, Shape

TOKENS = 8 if doubles.ON else 96
# What is claimed: by how much the device is busy in each loop, and the verdicts that say so.
EAGER_BUSY, GRAPH_BUSY = 0.75, 0.85
OF_HOST, OF_DEVICE = ("launches", "device_idle"), ("device",)


def begin(model: Any, torch: Any) -> None:
    """Go back to the first position, and wait for it: what that launches is no part of a loop."""
    model.start()
    torch.cuda.synchronize()


def generated(model: Any, profile: Any = None, replay: Any = None) -> tuple[list[int], list[int]]:
    """Return the tokens, and the nanoseconds of each; every one is looked at, as a loop that ends at a word does."""
    tokens, times = [], []
    for _ in range(TOKENS):
        before = perf_counter_ns()
        if replay is not None:
            replay()
        elif profile is None:
            model.step()
        else:
            with profile("token"):
                model.step(profile)
        tokens.append(int(model.token.item()))
        times.append(perf_counter_ns() - before)
    return tokens, times


def loop_of(run: Any, name: str) -> dict[str, Any]:
    """Return how long a loop took, how much of it the device was busy, and the verdict on it alone."""
    row = next(at for at in range(len(run.spans.name)) if name_of(run, at) == name and scope_of(run, at) == at)
    first, length = int(run.spans.start_ns[row]), int(run.spans.duration_ns[row])
    inside = [at for at in kernel_rows(run) if first <= int(run.spans.start_ns[at]) < first + length]
    return {
        "wall_ns": length,
        "kernels": len(inside),
        "busy_ns": sum(int(run.spans.duration_ns[at]) for at in inside),
    }


def verdict_of(run: Any) -> str | None:
    """Return the cause that limits a run."""
    verdict = run.verdict()
    return None if verdict is None else verdict.cause


def joined(run: Any) -> dict[str, Any]:
    """Return how many kernels each layer and each token has, and how many have no scope."""
    found: dict[str, Counter[int]] = {"layer": Counter(), "token": Counter()}
    without = 0
    for row in kernel_rows(run):
        launch = int(run.spans.launch[row])
        scope = scope_of(run, launch) if launch >= 0 else -1
        without += scope < 0
        while scope >= 0:
            name = str(name_of(run, scope))
            if name in found:
                found[name][scope] += 1
            scope = scope_of(run, int(run.spans.parent[scope]))
    return {"without_scope": without} | {f"kernels_of_{name}": list(row.values()) for name, row in found.items()}


def eager(model: Any, torch: Any) -> dict[str, Any]:
    """Decode untraced, then traced with a scope for each layer."""
    begin(model, torch)
    generated(model)
    begin(model, torch)
    tokens, bare = generated(model)
    begin(model, torch)
    profiler = tracing()
    with profiler.profile("eager"):
        again, traced = generated(model, profiler.profile)
    run = finished(profiler, torch)
    return {
        "tokens": [tokens, again],
        "token_ns": {"bare": spread(bare), "traced": spread(traced)},
        "verdict": verdict_of(run),
        "anomalies": anomalies(run),
        **loop_of(run, "eager"),
        **joined(run),
    }


def replayed(model: Any, torch: Any) -> dict[str, Any]:
    """Decode by replays of a graph that holds one token's work; it is older than tracing, so nodes are recorded."""
    graph = torch.cuda.CUDAGraph()
    begin(model, torch)
    with torch.cuda.graph(graph):
        model.step()
    generated(model, replay=graph.replay)
    begin(model, torch)
    profiler = tracing()
    with profiler.profile("replays"):
        tokens, times = generated(model, replay=graph.replay)
    run = finished(profiler, torch)
    loop = loop_of(run, "replays") | {"kernels": sum(map(len, kernels_by_scope(run).values()))}
    return {"tokens": tokens, "token_ns": spread(times), "verdict": verdict_of(run), **loop}


def measure() -> dict[str, Any]:
    """Decode with both loops in one process."""
    torch = ready()
    from regimeter import _core

    model = Llama(torch, Shape(layers=2) if doubles.ON else Shape())
    sheet = _core.datasheets().get(torch.cuda.get_device_properties(0).name)
    with torch.inference_mode():
        found = {
            "layers": model.shape.layers,
            "weight_bytes": model.weight_bytes(),
            "peak_bytes_per_s": sheet["bytes_per_s"] if sheet else None,
            "eager": eager(model, torch),
        }
        return found | {"graph": replayed(model, torch)}


def judge(found: dict[str, Any]) -> list[Claim]:
    """Tracing changes no token, layers are alike, no kernel is lost, and the limit is named on both sides of it."""
    loop, graph = found["eager"], found["graph"]
    bare, traced = loop["tokens"]
    busy = {name: row["busy_ns"] / row["wall_ns"] for name, row in (("eager", loop), ("graph", graph))}
    rates = [found["weight_bytes"] * TOKENS / row["busy_ns"] * 1e9 for row in (loop, graph) if row["busy_ns"]]
    lost = {code: count for code, count in loop["anomalies"].items() if code in LOST}
    claims = [
        physical(equal("tokens that tracing changed", sum(a != b for a, b in zip(bare, traced, strict=True)), 0)),
        shown("tokens that the graph has otherwise", sum(a != b for a, b in zip(bare, graph["tokens"], strict=True))),
        equal("layers with kernels", len(loop["kernels_of_layer"]), found["layers"] * TOKENS),
        equal("different numbers of kernels in a layer", len(set(loop["kernels_of_layer"])), 1),
        equal("different numbers of kernels in a token", len(set(loop["kernels_of_token"])), 1),
        at_least("kernels of a layer", min(loop["kernels_of_layer"], default=0), 15),
        equal("kernels without a scope", loop["without_scope"], 0),
        equal("kernels of tokens that are not in the loop", sum(loop["kernels_of_token"]) - loop["kernels"], 0),
        equal("kernels of replays beyond the same for each token", graph["kernels"] % TOKENS, 0),
        at_least("kernels of a replay", graph["kernels"] / TOKENS, 15 * found["layers"]),
        equal("records lost or wrong", lost, {}),
        physical(at_most("busy time of the loop of launches", busy["eager"], EAGER_BUSY)),
        physical(at_least("busy time of the loop of replays", busy["graph"], GRAPH_BUSY)),
        physical(equal("what limits launches is the host", loop["verdict"] in OF_HOST, True)),
        physical(equal("what limits replays is the device", graph["verdict"] in OF_DEVICE, True)),
        shown("the verdicts", [loop["verdict"], graph["verdict"]]),
        shown("a token, bare and traced", {name: row["median"] for name, row in loop["token_ns"].items()}, "ns"),
        shown("a token by the graph", graph["token_ns"]["median"], "ns"),
    ]
    if found["peak_bytes_per_s"] and rates:
        share = max(rates) / found["peak_bytes_per_s"]
        claims.append(physical(at_most("weights read in busy time, of the peak of the memory", share, 1.0)))
    return claims
