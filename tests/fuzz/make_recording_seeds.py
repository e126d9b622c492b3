# SPDX-License-Identifier: Apache-2.0
"""Writes seeds of fuzz_run_file that are recordings: programs on the doubles of a device's libraries, recorded.

``PYTHONPATH=tests/python python tests/fuzz/make_recording_seeds.py tests/fuzz/seeds/fuzz_run_file``. Between them they
have a row for every table that a recording fills. What names the machine is taken out: paths of the interpreter and of
the program become short ones, and of the environment only the device is kept. The C tests read them too.
"""

import json
import sys
import tempfile
from pathlib import Path

import fakes
from kernel_programs import run_program

from regimeter import _core
from regimeter.run import blocks as of

ROOT = Path(__file__).resolve().parent.parent.parent
RECORD = ["-m", "regimeter", "record", "-o", "run.rgm"]
# A graph whose node was captured in a scope, memory of CUDA, marks of the program, and stalls of its kernels.
DEVICE = """
import time
import regimeter
library = ctypes.CDLL(os.environ["REGIMETER_LIBCUPTI"])
library.fake_cupti_capture.restype = library.fake_cupti_clone.restype = ctypes.c_uint64
with regimeter.profile("capture"):
    node = library.fake_cupti_capture(b"node_kernel", ctypes.c_uint64(1))
    nodes = (ctypes.c_uint64 * 1)(library.fake_cupti_clone(ctypes.c_uint64(node), ctypes.c_uint64(2)))
profiler = regimeter.get_profiler()
for _ in range(2000):
    if profiler._stalls_state() is None or profiler._stalls_collect() or profiler._stalls_state()["devices"]:
        break
    time.sleep(0.0005)
for number in range(3):
    with regimeter.profile("step", device="gpu", role="step", number=number):
        copy()
        with regimeter.profile("matmul", device="gpu"):
            launch(b"_Z4gemmPf")
            launch(b"relu")
        library.fake_cupti_graph_launch(3, nodes, ctypes.c_size_t(1))
        block = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(block), ctypes.c_size_t(1 << 20))
        call("cuMemFree_v2", block)
        call("cuStreamSynchronize", None)
"""
# Two threads that want one lock, one that sleeps and one that computes, under a deep stack.
HOST = """
import threading, time
import regimeter
lock = threading.Lock()
def down(depth):
    if depth:
        return down(depth - 1)
    with lock:
        begun = time.perf_counter()
        while time.perf_counter() - begun < 0.02:
            sum(range(100))
def work(number):
    for _ in range(3):
        with regimeter.profile("turn", number=number):
            down(5)
            with regimeter.profile("sleep"):
                time.sleep(0.01)
threads = [threading.Thread(target=work, args=(number,), name=f"worker {number}") for number in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
kept = [bytearray(1 << 20) for _ in range(4)]
"""
# The flight recorder of a real torch.distributed says what a kernel of NCCL did; a loop that has steps.
TORCH = """
import torch
import torch.distributed as dist
import regimeter
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("store"), rank=0, world_size=1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.DataLoader(torch.ones(12, 8), batch_size=4)
values = torch.ones(3, 1000)
for batch in data:
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
    dist.all_reduce(values)
    launch(b"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
"""
PROGRAMS = {
    "recorded_device": (
        DEVICE,
        ["--graph-nodes", "--device-memory", "--stalls", "--telemetry", "--track-memory"],
        fakes.environment(nvml=""),
    ),
    "recorded_host": (HOST, ["--stacks", "200", "--memory", "--interval", "5", "--no-kernels"], {}),
    "recorded_torch": (
        TORCH,
        ["--stacks", "0", "--interval", "0", "--no-witness", "--kernels"],
        {"TORCH_FR_BUFFER_SIZE": "16"},
    ),
}


def without_machine(text: bytes, folder: str) -> bytes:
    """Return a text without the places of this machine."""
    inside = [*sys.path, str(Path(_core.__file__).parent), sys.prefix, sys.base_prefix]
    places = {folder: "work", str(ROOT): "source"} | {
        place: Path(place).name for place in inside if place.startswith("/")
    }
    for place, name in sorted(places.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(place.encode(), name.encode())
    return text


def texts(payload: bytes, folder: str) -> bytes:
    """Return a block of texts with those of `without_machine`."""
    at, parts = of.ROWS_HEAD.size, [payload[: of.ROWS_HEAD.size]]
    while at < len(payload):
        (size,) = of.TEXT.unpack_from(payload, at)
        at += of.TEXT.size
        text = without_machine(payload[at : at + size], folder)
        parts += [of.TEXT.pack(len(text)), text]
        at += size
    return b"".join(parts)


def anonymous(path: Path, folder: str) -> bytes:
    """Return a recording without the names and places of this machine."""
    with path.open("rb") as file:
        head = file.read(of.FILE_HEAD)
        (file_id,) = of.FILE_ID.unpack(head[: of.FILE_ID.size])
        parts = [head]
        for block in of.blocks(file.fileno(), of.FILE_HEAD, path.stat().st_size):
            payload = block.payload(file.fileno())
            if block.kind == of.ENVIRONMENT:
                device = json.loads(payload).get("device", {})
                payload = without_machine(json.dumps({"device": device}).encode(), folder)
            elif block.kind == of.STRINGS:
                payload = texts(payload, folder)
            parts.append(_core.frame(block.kind, payload, file_id, block.number))
    return b"".join(parts)


def main(folder: Path) -> None:
    """Write the seeds."""
    for name, (program, options, variables) in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as work:
            arguments = [*RECORD, *options]
            run_program(
                Path(work), program, cuda="ready=1,kernel_ns=40000", arguments=arguments, started=True, **variables
            )
            (folder / name).write_bytes(anonymous(Path(work) / "run.rgm", work))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
