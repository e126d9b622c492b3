# SPDX-License-Identifier: Apache-2.0
"""What hardware may do: each an option of a double (docs/gpu/doubles.md), and what holds with it."""

import json

import fakes
import pytest
from kernel_programs import kind_rows, scopes_of

from regimeter import _core, load

TRACED = """
import json, threading, time
from regimeter import GPUProfiler
cupti = ctypes.CDLL(os.environ["REGIMETER_LIBCUPTI"])
for function in (cuda.fake_cuda_get, cupti.fake_cupti_get):
    function.restype = ctypes.c_longlong
def runtime_launch(name=b"gemm"):
    cupti.fake_cupti_launch(name, 7, ctypes.c_longlong(5000), ctypes.c_longlong(20000))
launch()
profiler = GPUProfiler(path="run.rgm", profile_kernels=OPTIONS)
assert profiler.kernels_reason == "", profiler.kernels_reason
with profiler.profile("step"):
    BODY
profiler.close()

"""


def traced(run_program, tmp_path, body, options="True", **variables):
    """Run BODY in a scope of a traced program; return its run and what it printed."""
    code = TRACED.replace("OPTIONS", options).replace(
        "    BODY", "\n".join(f"    {line}" for line in body.splitlines())
    )
    done = run_program(code, **variables)
    return load(tmp_path / "run.rgm"), done.stdout


def test_a_drivers_call_inside_a_runtimes_has_an_id_of_its_own(run_program, tmp_path):
    run, _ = traced(run_program, tmp_path, "runtime_launch()", cupti="own_ids=1")
    (kernel,) = kind_rows(run, "kernel")
    assert scopes_of(run, kernel) == ["step"]
    assert run.strings[run.spans.name[run.spans.launch[kernel]]] == "cudaLaunchKernel"


def test_launches_followed_by_the_driver_alone(run_program, tmp_path):
    """Two callbacks a launch, not four, and each kernel still has its call and its scope."""
    body = "runtime_launch()\nlaunch()\nprint(cupti.fake_cupti_get(b'callbacks'))"
    both, told = traced(run_program, tmp_path, body)
    alone, less = traced(run_program, tmp_path, body, options='{"driver_launches": 1}')
    for run, name in ((both, "cudaLaunchKernel"), (alone, "cuLaunchKernel")):
        kernels = kind_rows(run, "kernel")
        assert [scopes_of(run, row) for row in kernels] == [["step"]] * 2
        names = {run.strings[run.spans.name[run.spans.launch[row]]] for row in kernels}
        assert names == {name, "cuLaunchKernel"}
    # The double has three versions of the runtime's call.
    assert int(told.splitlines()[0]) - int(less.splitlines()[0]) == 3


def test_waits_without_times_are_counted_and_no_fault(run_program, tmp_path):
    body = "launch()\ncall('cuCtxSynchronize')"
    run, _ = traced(run_program, tmp_path, body, cupti="untimed_syncs=1", cuda="kernel_ns=1000,tell_waits=1")
    assert len(kind_rows(run, "sync")) == 0
    assert len(kind_rows(run, "kernel")) == 1
    state = run.environment["device"]["kernels"]
    assert (state["untimed"], state["kinds"]["38"], state["several"]) == (1, {"records": 1, "invalid": 0}, False)
    assert "invalid_activity" not in {row["code"] for row in run.anomaly_list()}


CAPTURE = """
stream = made("cuStreamCreate", 1)
call("cuStreamBeginCapture_v2", stream, 0)
time.sleep(0.2)
print(json.dumps(cuda.fake_cuda_get(b"invalidated")))
call("cuStreamEndCapture", stream, ctypes.byref(ctypes.c_void_p()))
"""


def test_flushes_that_call_the_driver_leave_a_capture_alone(run_program, tmp_path):
    """The capture forbids such calls to every thread; the flusher says that its calls are none of the capture's."""
    options = '{"flush_interval_ns": 20_000_000}'
    _, told = traced(run_program, tmp_path, CAPTURE.strip(), options=options, cupti="flush_calls=1")
    assert json.loads(told.splitlines()[0]) == 0


def test_clusters_of_kernels(run_program, tmp_path):
    run, _ = traced(run_program, tmp_path, "launch()", cupti="cluster=2")
    launches = run.tables.launches
    assert (int(launches.cluster_x[0]), int(launches.cluster_y[0]), int(launches.cluster_z[0])) == (2, 1, 1)
    run, _ = traced(run_program, tmp_path, "launch()")
    assert int(run.tables.launches.cluster_x[0]) == 0


def test_the_clusters_that_a_device_holds_bound_the_occupancy(run_program, tmp_path):
    """As records of CUDA 12 and later tell them; those before tell none, and the occupancy is that of blocks."""

    def occupancy(**options):
        launches = traced(run_program, tmp_path, "launch()", **options)[0].tables.launches
        return float(launches.occupancy[0]), _core.OCCUPANCY_LIMITS[int(launches.occupancy_limit[0])]

    alone = occupancy()
    assert occupancy(cupti="cluster=4,most_clusters=0") == alone
    assert occupancy(cupti="cluster=4,most_clusters=1,version=18") == alone
    share, limit = occupancy(cupti="cluster=4,most_clusters=1")
    assert limit == "clusters"
    assert 0 < share < alone[0]


GREEN = """
green = made("cuGreenCtxCreate", None, 0, 1)
stream = made("cuGreenCtxStreamCreate", green, 1, 0)
launch(b"part", stream)
launch(b"whole", None)
print(json.dumps(cuda.fake_cuda_get(b"shared_green")))
"""


def test_kernels_of_a_green_context_are_under_their_scope(run_program, tmp_path):
    """Each context has lanes of its own, and from 12.6 on CUPTI tells how large a part is."""
    for version, told in (("130001", (1, 16)), ("24", (1, 16)), ("18", (0, 0))):
        run, out = traced(run_program, tmp_path, GREEN.strip(), cupti=f"version={version}")
        rows = kind_rows(run, "kernel")
        found = {run.strings[run.spans.name[row]]: (scopes_of(run, row), int(run.spans.lane[row])) for row in rows}
        assert found.keys() == {"part", "whole"}
        assert [scopes for scopes, _ in found.values()] == [["step"]] * 2
        assert found["part"][1] != found["whole"][1]
        state = run.environment["device"]["kernels"]
        assert (state["green_contexts"], state["green_multiprocessors"]) == told
        assert json.loads(out.splitlines()[0]) == 0


DRAINED = """
from regimeter.capture import counters
with counters.count("fp") as measurement:
    launch()
    measurement.push("a")
    pushed = cuda.cuStreamQuery(None)
    launch()
    measurement.pop()
    print([pushed, cuda.cuStreamQuery(None)])
print(measurement.result.ranges[0][0])
"""


@pytest.mark.parametrize(("drains", "pending"), [(0, [600, 600]), (1, [0, 0])])
def test_ranges_that_wait_for_the_device_are_counted_as_those_that_do_not(run_program, drains, pending):
    """600: not ready. On a clock that stands still only a wait moves the device on."""
    library = str(fakes.library("cupti_profiler"))
    numbers = {"REGIMETER_LIBCUPTI": library, "FAKE_CUPTI_PROFILER": f"range_drains={drains}"}
    told = run_program(DRAINED, cuda="kernel_ns=40000,follow=0", **numbers).stdout.splitlines()
    assert told == [str(pending), "a"]


def test_an_event_costs_its_stream_time(run_program):
    """1.5 us between two events with nothing between them, unless a test says otherwise."""
    program = """
        events = [made("cuEventCreate", 0), made("cuEventCreate", 0)]
        cuda.fake_cuda_work(None, ctypes.c_longlong(50_000_000))  # so that the host is not between them
        for event in events:
            call("cuEventRecord", event, None)
        call("cuCtxSynchronize")
        milliseconds = ctypes.c_float()
        call("cuEventElapsedTime", ctypes.byref(milliseconds), *events)
        print(round(milliseconds.value * 1e6))
    """
    for options, expected in (("kernel_ns=1", 1500), ("event_ns=4000", 4000), ("event_ns=0", 0)):
        assert int(run_program(program, cuda=options).stdout) == expected


RANGES = """
native = ctypes.CDLL(None).getenv
native.restype = ctypes.c_char_p
print(json.dumps((native(b"NVTX_INJECTION64_PATH") or b"").decode()))
"""


def test_nvtx_finds_cupti_where_it_is_asked_to(run_program, tmp_path):
    """Native code looks for the variable, so the process's own environment has to have it."""
    _, none = traced(run_program, tmp_path, RANGES.strip())
    run, told = traced(run_program, tmp_path, RANGES.strip(), options='{"nvtx": 1}')
    _, theirs = traced(run_program, tmp_path, RANGES.strip(), options='{"nvtx": 1}', NVTX_INJECTION64_PATH="/of/others")
    assert json.loads(none.splitlines()[0]) == ""
    assert json.loads(told.splitlines()[0]) == run.environment["device"]["kernels"]["cupti"]
    assert json.loads(theirs.splitlines()[0]) == "/of/others"
