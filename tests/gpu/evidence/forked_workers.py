# SPDX-License-Identifier: Apache-2.0
"""Workers of a DataLoader, forked from a process that uses CUDA and is traced."""

from typing import Any

from .claims import Claim, equal, physical, shown
from .common import anomalies, finished, kernels_by_scope, name_of, ready, tracing

ITEMS, BATCH = 32, 8


def measure() -> dict[str, Any]:
    """Read items in scopes in forked workers, and use them in scopes in the parent, in two epochs."""
    torch = ready()
    profiler = tracing()

    class Items(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return ITEMS

        def __getitem__(self, index: int) -> Any:
            with profiler.profile("read"):
                return torch.full((8,), index)

    loader = torch.utils.data.DataLoader(
        Items(), batch_size=BATCH, num_workers=2, multiprocessing_context="fork", timeout=20
    )
    seen = []
    for _ in range(2):
        for batch in loader:
            with profiler.profile("step"):
                seen.append((batch.to("cuda") * 2).sum())
    total = sum(int(value) for value in seen)
    run = finished(profiler, torch)
    kernels = sum(len(rows) for scope, rows in kernels_by_scope(run).items() if name_of(run, scope) == "step")
    return {
        "total": total,
        "steps": run.get_summary()["step"].gpu_calls,
        "kernels": kernels,
        "reads_in_parent": "read" in run.get_summary(),
        "anomalies": anomalies(run),
        "state": run.environment["device"]["kernels"]["state"],
    }


def judge(found: dict[str, Any]) -> list[Claim]:
    """The workers end, the sums are right, and the parent's recording goes on."""
    steps = 2 * ITEMS // BATCH
    return [
        physical(equal("sum of what was read", found["total"], 2 * 2 * 8 * sum(range(ITEMS)))),
        equal("steps with a device time", found["steps"], steps),
        equal("at least a kernel in every step", found["kernels"] >= steps, True),
        equal("scopes of the workers in the parent's recording", found["reads_in_parent"], False),
        shown("anomalies", found["anomalies"]),
        shown("tracing ended", found["state"]),
    ]
