# SPDX-License-Identifier: Apache-2.0
"""Steps of contact.py about what CUPTI says beside the work: memory, and times of launches in queues."""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

from contact_answers import Answers, driver, ready, text_of


def allocate_all(torch: Any, row: dict[str, Any]) -> None:
    """Ask for memory in each way, past torch and through it; what the driver refuses is noted."""
    cuda = driver()

    def block(name: str, *arguments: Any) -> ctypes.c_uint64:
        address = ctypes.c_uint64()
        row[name] = getattr(cuda, name)(ctypes.byref(address), *arguments)
        return address

    size = ctypes.c_size_t
    plain, managed = block("cuMemAlloc_v2", size(3 << 20)), block("cuMemAllocManaged", size(1 << 20), 1)
    pinned, pooled = block("cuMemHostAlloc", size(5 << 20), 0), block("cuMemAllocAsync", size(7 << 20), None)
    row["cuMemFreeAsync"] = cuda.cuMemFreeAsync(pooled, None)
    row["cuMemFreeHost"] = cuda.cuMemFreeHost(ctypes.c_void_p(pinned.value))
    row["freed"] = [cuda.cuMemFree_v2(plain), cuda.cuMemFree_v2(managed)]
    kept = torch.ones(1 << 22, device="cuda")
    del kept


def memory(answers: Answers, out: Path) -> None:
    """Every record of memory as it came, and the levels that follow."""
    from regimeter import GPUProfiler, _core

    torch = ready()
    profiler = GPUProfiler(enable_detailed_metrics=False, profile_kernels={"memory": 1})
    answers.put("reason", profiler.kernels_reason)
    with answers.part("calls") as row, profiler.profile("blocks"):
        allocate_all(torch, row)
    torch.cuda.synchronize()
    profiler.close()
    run = profiler.run()
    with answers.part("rows") as row:
        table, columns = run.memory, ("device", "bytes", "allocated", "reserved", "pool")
        row["rows"] = [
            {
                "action": _core.MEMORY_ACTIONS[table.action[at]],
                "kind": run.string(int(table.category[at])),
                "call": run.string(int(run.spans.name[table.span[at]])) if table.span[at] >= 0 else None,
                **{name: int(getattr(table, name)[at]) for name in columns},
            }
            for at in range(len(table))
            if _core.MEMORY_ACTIONS[table.action[at]] not in ("sample", "begin", "end", "peak")
        ][:60]
    answers.put("state", GPUProfiler._kernels_state())


QUEUES = """
import json, sys, torch
from regimeter import GPUProfiler
def work():
    for _ in range(20):
        torch.cuda._sleep(2_000_000)
    torch.cuda.synchronize()
if sys.argv[1] == "used before":
    torch.cuda.init()
    work()
profiler = GPUProfiler(enable_detailed_metrics=False, profile_kernels={"queue_times": 1})
torch.cuda.init()
work()
profiler.close()
run = profiler.run()
launches = run.tables.launches
print(json.dumps({
    "reason": profiler.kernels_reason, "told": run.environment["device"].get("kernels", {}),
    "buffered_ns": launches.buffered_ns.tolist()[:30], "waiting_ns": launches.waiting_ns.tolist()[:30],
}))
"""


def queue_times(answers: Answers, out: Path) -> None:
    """Asked before the first use of CUDA, as the header wants it, and after: what CUPTI then gives.

    The spins lie behind one another, so each waits for those before it; on which side of the submission is CUPTI's
    answer: on an H200 with CUPTI 13.0.1 `buffered_ns` grew by a spin a launch and `waiting_ns` stayed at 0.5 us.
    """
    for when in ("first", "used before"):
        with answers.part(when) as row:
            row |= json.loads(text_of(sys.executable, "-c", QUEUES, when, limit_s=18).splitlines()[-1])
