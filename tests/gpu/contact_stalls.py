# SPDX-License-Identifier: Apache-2.0
"""The step of contact.py about samples of why kernels stall."""

import json
import sys
from pathlib import Path

from contact_answers import Answers, text_of

# Sampling begins before the program has a context, or on one that has loaded and run its kernels already; with the
# records of kernels beside it, or alone.
PROGRAM = """
import json, sys, time, torch
from regimeter import GPUProfiler
late, beside = sys.argv[1] == "late", sys.argv[2] == "beside"
def work():
    left = torch.ones(1 << 24, device="cuda")
    begin = time.monotonic_ns()
    for _ in range(50):
        torch.add(left, left)
    torch.cuda.synchronize()
    return (time.monotonic_ns() - begin) / 50
if late:
    torch.cuda.init()
    work()
# NVIDIA's buffer of samples is 512 MB, of which memory it does not say.
free = [torch.cuda.mem_get_info()[0]] if late else []
begin = time.monotonic_ns()
profiler = GPUProfiler(enable_detailed_metrics=False, profile_kernels=beside, stalls=True)
torch.cuda.init()
torch.ones(1, device="cuda")
taken_ns = time.monotonic_ns() - begin  # of early the start of CUDA, too
free.append(torch.cuda.mem_get_info()[0])
devices = profiler._stalls_state() and profiler._stalls_state()["devices"]  # taken up by now, by nobody's collection
with profiler.profile("add"):
    round_ns = work()
begin = time.monotonic_ns()
profiler.close()
run = profiler.run()
device = run.environment["device"]
print(json.dumps({
    "kernels_reason": profiler.kernels_reason, "reason": device["stalls_reason"], "state": device.get("stalls"),
    "devices_at_once": devices, "taken_ns": taken_ns, "free_bytes": free, "round_ns": round_ns,
    "close_ns": time.monotonic_ns() - begin,
    "kernels": {row["name"][:100]: row["samples"] for row in run.result("stalls").rows()},
    "shares": {row["reason"]: [row["samples"], row["not_issued"]] for row in run.result("stalls", by="reason").rows()},
}))
"""

# A kernel whose binary (of nvcc for 9.0) has line information, loaded while stalls are sampled.
LINES = """
import ctypes, json, os, sys, torch
from regimeter import GPUProfiler
cuda = ctypes.CDLL(os.environ.get("REGIMETER_LIBCUDA", "libcuda.so.1"))
profiler = GPUProfiler(enable_detailed_metrics=False, stalls=True)
torch.cuda.init()
left, right = torch.ones(1 << 24, device="cuda"), torch.ones(1 << 24, device="cuda")
binary = ctypes.create_string_buffer(open(sys.argv[1], "rb").read())
module, function = ctypes.c_void_p(), ctypes.c_void_p()
status = [cuda.cuModuleLoadData(ctypes.byref(module), binary)]
status.append(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"add"))
values = ctypes.c_uint64(left.data_ptr()), ctypes.c_uint64(right.data_ptr()), ctypes.c_int(1 << 24)
given = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))
for _ in range(50):
    status.append(cuda.cuLaunchKernel(function, 1 << 16, 1, 1, 256, 1, 1, 0, None, given, None))
torch.cuda.synchronize()
profiler.close()
run = profiler.run()
device = run.environment["device"]
print(json.dumps({
    "status": sorted(set(status)), "reason": device["stalls_reason"], "state": device.get("stalls"),
    "lines": [[row["name"], row["file"], row["line"], row["reason"], row["samples"]]
              for row in run.result("stalls", by="line").rows()][:30],
}))
"""
BINARY = Path(__file__).resolve().parent.parent / "data" / "cubins" / "add_with_lines.cubin"


def stalls(answers: Answers, out: Path) -> None:
    """Totals beside sums, kernels, reasons and times: early and late, alone and beside records of kernels; lines."""
    for when, beside in (("early", "alone"), ("late", "alone"), ("late", "beside")):
        with answers.part(f"{when} {beside}") as row:
            row |= json.loads(text_of(sys.executable, "-c", PROGRAM, when, beside, limit_s=18).splitlines()[-1])
    with answers.part("lines") as row:
        row |= json.loads(text_of(sys.executable, "-c", LINES, str(BINARY), limit_s=18).splitlines()[-1])
