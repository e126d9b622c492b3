# SPDX-License-Identifier: Apache-2.0
"""The steps of contact.py: ``python contact_steps.py STEP RESULT OUT``, each in a process of its own.

What a step has seen is written after each of its parts, so that a step that is ended for its time keeps the parts
before. A part that fails leaves its error in place of its answer.
"""

import contextlib
import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contact_answers import Answers, driver, ready, spread, text_of
from contact_counters import ranges, samples
from contact_memory import memory, queue_times
from contact_stalls import stalls

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DOUBLES = os.environ.get("REGIMETER_DOUBLES") == "1"
# On the doubles time means nothing, so the loops are short.
SCALE = 0.05 if DOUBLES else 1.0


# --- 0, 1, 2: the machine, the build, the libraries -----------------------------------------------------------------


def facts(answers: Answers, out: Path) -> None:
    """Ask the machine, without any of our code."""
    answers.put("system", {"platform": platform.platform(), "python": sys.version, "root": os.geteuid() == 0})
    answers.put("tools", {name: shutil.which(name) for name in ("make", "cc", "nvcc", "ncu", "nsys", "git", "cmake")})
    answers.put("devices", sorted(str(path) for path in Path("/dev").glob("nvidia*")))
    wanted = ("nvperf", "cupti", "nvrtc", "libcuda.", "nvidia-ml")
    known = text_of("ldconfig", "-p").splitlines()
    answers.put("libraries", [line.strip() for line in known if any(name in line for name in wanted)])
    clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    answers.put("clocksource", clock.read_text().strip() if clock.exists() else None)
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    flags = next((line for line in lines if line.startswith("flags")), "")
    answers.put("tsc", sorted(word for word in flags.split() if "tsc" in word))
    answers.put("nvidia_smi", text_of("nvidia-smi", "-q"))
    answers.put("packages", text_of(sys.executable, "-m", "pip", "list", "--format", "freeze"))


def build(answers: Answers, out: Path) -> None:
    """Build with a compiler alone, and compile our checks of declarations against this machine's headers."""
    if not DOUBLES:
        command = [sys.executable, str(ROOT / "tools/build_site.py"), str(ROOT / "build/gpu/site")]
        answers.put("site", text_of(*command, limit_s=50))
    folders = [Path(root) / tail for root in (os.environ.get("CUDA_HOME", "/usr/local/cuda"),)
               for tail in ("include", "extras/CUPTI/include")]  # fmt: skip
    includes = [f"-I{folder}" for folder in folders if folder.exists()]
    for name in ("test_cupti_headers", "test_profiler_types", "test_nvml"):
        command = ["cc", "-std=gnu11", "-fsyntax-only", "-D_GNU_SOURCE", "-DRGM_FAULTS=1", f"-I{ROOT / 'csrc'}"]
        command += [f"-I{ROOT / 'tests/core'}", f"-I{ROOT / 'tests/core/cuda_stubs'}", *includes, '-DFAKES=""']
        answers.put(name, text_of(*command, str(ROOT / f"tests/core/cuda/{name}.c"), limit_s=30) or "agrees")


def libraries(answers: Answers, out: Path) -> None:
    """What doctor finds, for what chips counters can be planned, and what telemetry offers."""
    words = {
        "doctor": ["--json", "doctor"], "chips": ["counters", "--chips"], "telemetry": ["telemetry", "--json"],
        "telemetry_expensive": ["telemetry", "--json", "--expensive"],
    }  # fmt: skip
    for name, command in words.items():
        answers.put(name, text_of(sys.executable, "-m", "regimeter", *command, limit_s=15))


# --- 3: tracing -----------------------------------------------------------------------------------------------------


def from_another_thread(torch: Any, work: Callable[[], Any]) -> None:
    """Launch on a thread that holds no scope, and wait for it, as a backward pass does."""
    thread = threading.Thread(target=work, name="launches-without-scope")
    thread.start()
    thread.join()


def mixed_program(torch: Any, profiler: Any, row: dict[str, Any]) -> None:
    """Products, work of other threads and streams, a long capture beside pending work, replays, waits."""
    left = torch.ones(256, 256, device="cuda")
    other = torch.cuda.Stream()
    with profiler.profile("forward"):
        for _ in range(20):
            left @ left
    with profiler.profile("thread"):
        from_another_thread(torch, lambda: left @ left)
    if hasattr(torch, "nn") and hasattr(torch.nn, "Conv2d"):
        model = torch.nn.Conv2d(3, 16, 3).to("cuda")
        with profiler.profile("conv forward"):
            loss = model(torch.ones(4, 3, 32, 32, device="cuda")).sum()
        with profiler.profile("conv backward"):
            loss.backward()
    with profiler.profile("side stream"), torch.cuda.stream(other):
        left @ left
    with profiler.profile("wait"):
        left.sum().item()
    with profiler.profile("copy of nothing"):  # which may have no record
        nothing = ctypes.c_ulonglong(left.data_ptr())
        row["copy_of_nothing"] = driver().cuMemcpyDtoDAsync_v2(nothing, nothing, ctypes.c_size_t(0), None)
    with contextlib.suppress(Exception), profiler.profile("triton"):  # where it is installed and works
        from evidence.triton_add import add_one

        add_one[(64,)](left, left.numel(), BLOCK=1024)
    if hasattr(torch.cuda, "nvtx"):  # the first range of the process, after tracing has begun
        torch.cuda.nvtx.range_push("contact range")
        left @ left
        torch.cuda.nvtx.range_pop()
    made = torch.cuda.CUDAGraph()
    held_s = 1.3 * (SCALE if DOUBLES else 1)
    with profiler.profile("capture"), torch.cuda.graph(made):
        left @ left
        # Two rounds of CUPTI's flushes fall into the capture, with work pending beside it.
        with contextlib.suppress(Exception), torch.cuda.stream(other):
            torch.cuda._sleep(1_000_000)
        time.sleep(held_s)
    with profiler.profile("replay"):
        for _ in range(10):
            made.replay()
    torch.cuda.synchronize()
    begin = time.monotonic()
    time.sleep(1.2 * SCALE)  # idle: does CUPTI hand out buffers for records of its own?
    row["idle_s"] = time.monotonic() - begin


def what_joined(run: Any) -> dict[str, Any]:
    """Return what of the device work has a launch and a scope, by name and thread, and the distance of the clocks."""
    from regimeter import _core

    spans, kinds = run.spans, _core.SPAN_KINDS
    without_launch, without_scope, delays = Counter[str](), Counter[str](), list[float]()
    inferred = ranges = 0
    for row, kind in enumerate(spans.kind.tolist()):
        ranges += kinds[kind] == "annotation"
        if kinds[kind] not in ("kernel", "memcpy", "memset"):
            continue
        launch = int(spans.launch[row])
        name = run.strings[spans.name[row]]
        if launch < 0:
            without_launch[name] += 1
            continue
        delays.append(int(spans.start_ns[row]) - int(spans.start_ns[launch]))
        if spans.parent[launch] < 0:
            without_scope[f"{name} from {run.strings[run.lanes.name[spans.lane[launch]]]}"] += 1
        inferred += bool(spans.flags[launch] & _core.FLAG_INFERRED)
    return {
        "without_launch": dict(without_launch),
        "without_scope": dict(without_scope),
        "inferred": inferred,
        "nvtx_ranges": ranges,
        "start_less_begin_of_call_ns": spread(delays),
        "by_scope": {row["operation"]: row["kernels"] for row in run.result("scopes").rows()},
        "anomalies": {row["code"]: int(row["count"]) for row in run.anomaly_list()},
    }


def traced(answers: Answers, out: Path, nodes: int) -> None:
    """Trace the mixed program, and keep the raw buffers."""
    from regimeter import GPUProfiler

    torch = ready()
    memory = torch.cuda.mem_get_info()
    profiler = GPUProfiler(enable_detailed_metrics=False, profile_kernels={"graph_nodes": nodes, "nvtx": 1})
    answers.put("reason", profiler.kernels_reason)
    with answers.part("program") as row:
        before = GPUProfiler._kernels_state()
        mixed_program(torch, profiler, row)
        row["before"], row["after"] = before, GPUProfiler._kernels_state()
    with answers.part("close"):
        profiler.close()
    with answers.part("joined") as row:
        row |= what_joined(profiler.run())
        row["state"] = GPUProfiler._kernels_state()
    answers.put("memory", {"free_before": memory[0], "free_after": torch.cuda.mem_get_info()[0]})


def callbacks(torch: Any, options: Any) -> dict[str, Any]:
    """Return what a launch costs the host with these options of tracing (None: untraced), and whether kernels join."""
    from regimeter import GPUProfiler

    small = torch.zeros(256, device="cuda")
    count = int(20_000 * SCALE)
    with GPUProfiler(enable_detailed_metrics=False, profile_kernels=options) as profiler:
        with profiler.profile("launches"):
            begin = time.perf_counter_ns()
            for _ in range(count):
                small.add_(1)
            spent = time.perf_counter_ns() - begin
        torch.cuda.synchronize()
        profiler.close()
        joined = what_joined(profiler.run()) if options else {}
    names = ("without_launch", "without_scope", "anomalies")
    return {"launches": count, "each_ns": spent / count} | {name: joined[name] for name in names if name in joined}


def several_subscribers() -> dict[str, Any]:
    """Return what CUPTI's library has of the interface for several tools (13.3 and later), and its version."""
    from regimeter import GPUProfiler

    state = GPUProfiler._kernels_state()
    library = ctypes.CDLL(state["path"])
    names = ("cuptiSubscribe_v2", "cuptiActivityEnable_v2", "cuptiIsTracingSessionRunning", "cuptiGetEnabledCallbacks")
    has = [name for name in names if hasattr(library, name)]
    return {"version": state["version"], "several": state["several"], "has": has}


def tracing(answers: Answers, out: Path) -> None:
    """A record for each launch of a graph; then launches with all callbacks, and with the driver's alone."""
    traced(answers, out, 0)
    with answers.part("several_subscribers") as row:
        row |= several_subscribers()
    torch = ready()
    for name, options in (("untraced", None), ("all_callbacks", True), ("drivers_alone", {"driver_launches": 1})):
        with answers.part(name) as row:
            row |= callbacks(torch, options)


def tracing_nodes(answers: Answers, out: Path) -> None:
    """A record for each node of a graph."""
    traced(answers, out, 1)


def several(answers: Answers, out: Path) -> None:
    """As the first of several tools, in a process of its own; then torch.profiler beside it."""
    with answers.part("library") as row:
        row |= callbacks(ready(), {"several": 2})
        row |= several_subscribers()
    torch = ready()
    with answers.part("torch_profiler_beside") as row:
        from regimeter import GPUProfiler

        small = torch.zeros(256, device="cuda")
        profiler = GPUProfiler(enable_detailed_metrics=False, profile_kernels={"several": 2})
        row["reason"], row["state"] = profiler.kernels_reason, GPUProfiler._kernels_state()
        activity = torch.profiler.ProfilerActivity
        with torch.profiler.profile(activities=[activity.CPU, activity.CUDA]) as guest, profiler.profile("beside"):
            for _ in range(100):
                small.add_(1)
        torch.cuda.synchronize()
        profiler.close()
        row["ours"] = what_joined(profiler.run())["by_scope"]
        events = guest.profiler.kineto_results.events()
        row["theirs"] = sum(int(event.device_type()) == 1 for event in events)  # 1: CUDA


# --- 4: events ------------------------------------------------------------------------------------------------------


def timed(work: Callable[[], Any], times: int) -> dict[str, float]:
    """Return the spread of the time of calls, in ns."""
    values = []
    for _ in range(times):
        begin = time.perf_counter_ns()
        work()
        values.append(float(time.perf_counter_ns() - begin))
    return spread(values)


def spins(torch: Any, kernels: bool) -> dict[str, Any]:
    """Time spins of four lengths by events, with or without tracing; the slope is free of the constant."""
    from regimeter import GPUProfiler

    profiler = GPUProfiler(enable_detailed_metrics=False, profile_kernels=kernels)
    for cycles in (10_000, 100_000, 1_000_000, 3_000_000):
        for _ in range(20):
            torch.cuda._sleep(300_000)  # fills the queue, so that the host is not in the interval
            with profiler.profile(f"spin {cycles}"):
                torch.cuda._sleep(cycles)
            with profiler.profile("nothing"):
                pass
        torch.cuda.synchronize()
    profiler.close()
    times: dict[str, list[float]] = {}
    for entry in profiler.run().get_entries():
        if entry.gpu_time_ms is not None:
            times.setdefault(entry.operation, []).append(entry.gpu_time_ms * 1e6)
    return {name: spread(values) for name, values in times.items()}


def driver_calls() -> dict[str, Any]:
    """Return what each driver call of a scope costs through ctypes; the interpreter's part is the first row."""
    cuda, number, state = driver(), ctypes.c_ulonglong(), ctypes.c_int()
    context, event = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuCtxGetCurrent(ctypes.byref(context))
    cuda.cuEventCreate(ctypes.byref(event), 0)
    calls = {
        "cuCtxGetCurrent": lambda: cuda.cuCtxGetCurrent(ctypes.byref(context)),
        "cuCtxGetId": lambda: cuda.cuCtxGetId(context, ctypes.byref(number)),
        "cuStreamIsCapturing": lambda: cuda.cuStreamIsCapturing(None, ctypes.byref(state)),
        "cuEventRecord": lambda: cuda.cuEventRecord(event, None),
        "cuEventQuery": lambda: cuda.cuEventQuery(event),
    }
    found: dict[str, Any] = {"nothing": timed(lambda: ctypes.byref(context), 2000)}
    for name, call in calls.items():
        with contextlib.suppress(AttributeError):
            found[name] = timed(call, 2000)
    return found


def events(answers: Answers, out: Path) -> None:
    """Events without tracing first, because CUPTI stays in the process."""
    torch = ready()
    with answers.part("driver_calls") as row:
        row |= driver_calls()
    for name, kernels in (("without_tracing", False), ("with_tracing", True)):
        with answers.part(name) as row:
            row |= spins(torch, kernels)


# --- 7, 8: the first claims, and the ends of processes --------------------------------------------------------------


def evidence(answers: Answers, out: Path) -> None:
    """The measurements that everything else rests on."""
    chosen = (
        ["stream_lanes"] if DOUBLES else ["event_times", "attribution", "scope_cost", "stream_lanes", "torch_memory"]
    )
    folder = out / "evidence"
    command = [sys.executable, str(HERE / "evidence"), "--out", str(folder), "--only", *chosen, "--seconds", "60"]
    answers.put("printed", text_of(*command, limit_s=65))
    report = folder / "evidence.json"
    if report.exists():
        answers.put("rows", json.loads(report.read_text(encoding="utf-8")).get("measurements"))


ENDINGS = {
    "fork": "profiler = make(); work(); child = os.fork()\n"
    "if child == 0: os._exit(0)\n"
    "os.waitpid(child, 0); work(); profiler.close()",
    "no close": "profiler = make(); work()",
    "os._exit": "profiler = make(); work(); os._exit(0)",
    "torch.profiler before": "other(); profiler = make(); print(profiler.kernels_reason); work(); profiler.close()",
    "torch.profiler after": "profiler = make(); work(); profiler.close(); other()",
}
PRELUDE = """
import os, sys
import torch
from regimeter import GPUProfiler
torch.cuda.init()
a = torch.ones(64, 64, device="cuda")
def make(): return GPUProfiler(path=sys.argv[1], profile_kernels=True)
def work():
    for _ in range(5): a @ a
    torch.cuda.synchronize()
def other():
    if not hasattr(torch, "profiler"): return
    with torch.profiler.profile(): work()
"""


def endings(answers: Answers, out: Path) -> None:
    """Status and time of processes that end in different ways while they trace; each took 5 to 12 s on an H200."""
    for name, body in ENDINGS.items():
        with answers.part(name) as row, tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", PRELUDE + body, str(Path(folder) / "run.rgm")]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=14, check=False)
                row |= {"status": done.returncode, "printed": (done.stdout + done.stderr)[-600:]}
            except subprocess.TimeoutExpired:
                row["status"] = "no end after 14 s"


STEPS = (
    facts,
    build,
    libraries,
    tracing,
    tracing_nodes,
    several,
    memory,
    queue_times,
    events,
    ranges,
    samples,
    stalls,
    evidence,
    endings,
)


def main() -> int:
    """Run one step."""
    name, result, out = sys.argv[1:]
    step = next(step for step in STEPS if step.__name__ == name)
    step(Answers(Path(result)), Path(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
