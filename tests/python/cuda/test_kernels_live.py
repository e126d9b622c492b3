# SPDX-License-Identifier: Apache-2.0
"""Kernels of a live program with the doubles of the CUDA driver and of CUPTI, each in a process of its own."""

import json
import os
import subprocess
import sys
import textwrap

import fakes
import kernel_programs
import pytest
from kernel_programs import inferred, kind_rows, scopes_of
from places import HELPERS
from shared import once

from regimeter import _core, load

STUB = str(HELPERS / "stub_torch")
STEPS = 20
KERNEL_NS = 40_000

STEP_PROGRAM = f"""
from regimeter import GPUProfiler
profiler = GPUProfiler(profile_kernels=True, path="run.rgm", enable_detailed_metrics=False)
assert profiler.kernels_reason == "", profiler.kernels_reason
for i in range({STEPS}):
    with profiler.profile("step"):
        with profiler.profile("forward"):
            launch(b"_Z4gemmPf")
            launch(b"_Z4reluPf")
        with profiler.profile("load"):
            copy()
launch(b"alone")
"""


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """The recording of the steps."""
    folder = once(
        tmp_path_factory, "kernel-steps", lambda folder: kernel_programs.run_program(folder, STEP_PROGRAM, started=True)
    )
    return load(folder / "run.rgm")


def test_kernels_under_scopes(steps):
    """Every kernel is there, with its launch, scopes and configuration; the file is sound without a close()."""
    run = steps
    kernels, copies = kind_rows(run, "kernel"), kind_rows(run, "memcpy")
    names = [run.strings[name] for name in run.spans.name[kernels]]
    assert sorted(set(names)) in (["alone", "gemm(float*)", "relu(float*)"], ["_Z4gemmPf", "_Z4reluPf", "alone"])
    assert len(kernels) == 2 * STEPS + 1
    assert len(copies) == STEPS
    for row, name in zip(kernels, names, strict=True):
        assert scopes_of(run, row) == ([] if name == "alone" else ["forward", "step"])
    assert all(scopes_of(run, row) == ["load", "step"] for row in copies)
    assert {run.strings[name] for name in run.spans.name[copies]} == {"Memcpy HtoD (Pageable -> Device)"}
    assert set(run.spans.bytes[copies]) == {1 << 16}
    assert abs(run.spans.duration_ns[kernels] - KERNEL_NS).max() < 1000
    launches = run.tables.launches
    assert sorted(launches.span) == list(kernels)  # in order of their coming
    assert set(launches.grid_x) == {4}
    assert set(launches.block_x) == {256}
    assert set(launches.shared_bytes) == {1024}
    # The device of the double is an H100: 8 blocks of 8 warps are its 64, and neither registers nor memory forbid that.
    assert set(launches.occupancy) == {1.0}
    assert {_core.OCCUPANCY_LIMITS[code] for code in launches.occupancy_limit.tolist()} == {"warps"}
    assert run.environment["device"]["kernels_reason"] == ""
    kernels_state = run.environment["device"]["kernels"]
    assert kernels_state["state"] == "left_attached"
    assert kernels_state["calls"] == 3 * STEPS + 1
    assert not [row for row in run.anomaly_list() if row["code"] in ("orphan_kernels", "dropped_activity")]


@pytest.mark.parametrize("version", [18, 26, 130000, 130100, 130400])
def test_versions(run_program, tmp_path, version):
    """Records of every release give the same run, on CLOCK_MONOTONIC, whatever the clock of the records is."""
    run_program(STEP_PROGRAM, cupti=f"version={version},clock_ahead_ns=5000000000000")
    run = load(tmp_path / "run.rgm")
    kernels = kind_rows(run, "kernel")
    assert len(kernels) == 2 * STEPS + 1
    launches = run.spans.launch[kernels]
    assert (launches >= 0).all()
    # The double queues at once, so a kernel begins within the run; far less than the distance of the clocks.
    behind = run.spans.start_ns[kernels] - run.spans.start_ns[launches]
    assert abs(behind).max() < 1_000_000_000
    assert abs(run.spans.duration_ns[kernels] - KERNEL_NS).max() < KERNEL_NS // 10


def test_analyses_of_a_recording(steps):
    """The analyses of imported traces work on a run that was recorded with kernels."""
    rows = {row["name"].partition("(")[0]: row for row in steps.kernels()}
    gemm = rows.get("gemm") or rows["_Z4gemmPf"]
    assert (gemm["count"], gemm["activity"]) == (STEPS, 1)
    assert abs(gemm["total_ns"] - STEPS * KERNEL_NS) < STEPS * 1000
    assert rows["Memcpy HtoD "]["bytes"] == STEPS << 16
    (device,) = steps.breakdown()
    assert (device["n_kernel"], device["n_memcpy"]) == (2 * STEPS + 1, STEPS)
    assert abs(device["compute_ns"] - (2 * STEPS + 1) * KERNEL_NS) < STEPS * 2000
    calls = {row["name"]: row for row in steps.launches()}
    assert (calls["cuLaunchKernel"]["calls"], calls["cuLaunchKernel"]["work"]) == (2 * STEPS + 1, 2 * STEPS + 1)
    # One stream: the last of so many kernels waits for all before it.
    assert calls["cuLaunchKernel"]["delay_max_ns"] > STEPS * KERNEL_NS


THREADS = """
import threading
from regimeter import GPUProfiler
context = made("cuDevicePrimaryCtxRetain", 0)
def elsewhere(name, scope=None):
    call("cuCtxSetCurrent", context)
    if scope is None:
        return launch(name)
    with profiler.profile(scope):
        launch(name)
def run(*arguments):
    thread = threading.Thread(target=elsewhere, args=arguments)
    thread.start()
    thread.join()
with GPUProfiler(path="run.rgm", profile_kernels=True) as profiler:
    with profiler.profile("step"):
        with profiler.profile("forward"):
            launch(b"forward")
        with profiler.profile("backward"):
            run(b"gradient")
        run(b"between")
    run(b"outside")
"""


def test_launches_of_threads_without_scopes_belong_to_the_scope_that_waits(run_program, tmp_path):
    """As those of torch's autograd do; the run says that they were booked by their time."""
    run_program(THREADS)
    run = load(tmp_path / "run.rgm")
    found = {run.strings[run.spans.name[row]]: row for row in kind_rows(run, "kernel")}
    assert {name: scopes_of(run, row) for name, row in found.items()} == {
        "forward": ["forward", "step"],
        "gradient": ["backward", "step"],
        "between": ["step"],
        "outside": [],
    }
    assert {name for name, row in found.items() if inferred(run, row)} == {"gradient", "between"}
    rows = {row["operation"]: row for row in run.result("scopes").rows()}
    assert (rows["backward"]["kernels"], rows["forward"]["kernels"]) == (1, 1)


def test_a_launch_that_two_threads_may_have_caused_belongs_to_neither(run_program, tmp_path):
    run_program(
        """
        import threading
        from regimeter import GPUProfiler
        context = made("cuDevicePrimaryCtxRetain", 0)
        inside, done = threading.Barrier(3), threading.Barrier(3)
        def waits(scope):
            with profiler.profile(scope):
                inside.wait()
                done.wait()
        with GPUProfiler(path="run.rgm", profile_kernels=True) as profiler:
            def launches():
                call("cuCtxSetCurrent", context)
                inside.wait()
                launch(b"whose")
                done.wait()
            threads = [threading.Thread(target=waits, args=(name,)) for name in ("a", "b")]
            threads.append(threading.Thread(target=launches))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        """
    )
    run = load(tmp_path / "run.rgm")
    (row,) = kind_rows(run, "kernel")
    assert scopes_of(run, row) == []
    assert not inferred(run, row)


def test_queue_delay(run_program, tmp_path):
    """A kernel behind a long one on its stream waits that long after its launch has returned."""
    run_program(
        """
        from regimeter import GPUProfiler
        profiler = GPUProfiler(profile_kernels=True, path="run.rgm", enable_detailed_metrics=False)
        cuda.fake_cuda_kernel(b"long", None, ctypes.c_longlong(30_000_000))
        with profiler.profile("two"):
            launch(b"long")
            launch(b"short")
        """
    )
    run = load(tmp_path / "run.rgm")
    first, second = kind_rows(run, "kernel")
    spans = run.spans
    assert spans.start_ns[second] >= spans.start_ns[first] + 30_000_000 - 1000
    launch = spans.launch[second]
    delay = spans.start_ns[second] - spans.start_ns[launch] - spans.duration_ns[launch]
    assert 10_000_000 < delay <= 30_000_000


def test_results_while_it_runs(run_program):
    """run() brings what the device has finished, and tracing goes on."""
    run_program(
        """
        from regimeter import GPUProfiler
        profiler = GPUProfiler(profile_kernels=True, enable_detailed_metrics=False)
        for count in range(1, 4):
            with profiler.profile("step"):
                launch()
            call("cuCtxSynchronize")
            assert len(profiler.run().tables.launches) == count, len(profiler.run().tables.launches)
        state = profiler.run().environment["device"]["kernels"]
        assert state["state"] == "running", state
        profiler.close()
        """
    )


def test_a_conflict_is_explained(run_program):
    """Another tool has CUPTI: one warning, scopes with device times, nothing of the other tool changed."""
    done = run_program(
        """
        import warnings
        from regimeter import GPUProfiler
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            profiler = GPUProfiler(profile_kernels=True, enable_detailed_metrics=False)
        assert [w.category for w in caught] == [RuntimeWarning], caught
        with profiler.profile("step"):
            launch()
        profiler.close()
        run = profiler.run()
        assert len(run.tables.launches) == 0
        assert list(run.tables.intervals.state) == [0]
        assert [row["code"] for row in run.anomaly_list()] == ["tracing_conflict"]
        reason = run.environment["device"]["kernels_reason"]
        assert reason == profiler.kernels_reason and "torch.profiler" in reason
        assert "kernels" not in run.environment["device"]
        library = ctypes.CDLL(os.environ["REGIMETER_LIBCUPTI"])
        assert library.fake_cupti_get(b"clock") == library.fake_cupti_get(b"kinds") == 0
        print(caught[0].message)
        """,
        cupti="taken=1",
    )
    assert "one tool at a time" in done.stdout


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"REGIMETER_LIBCUPTI": "off"}, "switched off"),
        ({"FAKE_CUPTI": "refuse_ActivityEnable=35"}, "administrator"),
        ({"FAKE_CUPTI": "version=140000"}, "driver serves up to CUDA 13"),
    ],
)
def test_without_cupti(run_program, variables, text):
    done = run_program(
        """
        import warnings
        warnings.simplefilter("ignore")
        from regimeter import GPUProfiler
        with GPUProfiler(profile_kernels=True) as profiler:
            with profiler.profile("step"):
                launch()
        print(profiler.run().environment["device"]["kernels_reason"])
        """,
        **variables,
    )
    assert text in done.stdout


def test_without_a_driver(tmp_path):
    """CUPTI is not even called: some releases crash on the first call in a process without a driver."""
    code = """
        import ctypes, os, warnings
        warnings.simplefilter("ignore")
        from regimeter import GPUProfiler
        with GPUProfiler(profile_kernels=True) as profiler:
            with profiler.profile("step", device="cpu"):
                pass
        print(profiler.kernels_reason)
    """
    environment = {**os.environ, **fakes.environment(cupti=""), "REGIMETER_LIBCUDA": "off", "REGIMETER_LIBHIP": "off"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "CUDA driver: switched off" in done.stdout


def test_one_profiler_at_a_time(run_program):
    run_program(
        """
        import warnings
        warnings.simplefilter("ignore")
        from regimeter import GPUProfiler
        first = GPUProfiler(profile_kernels=True)
        second = GPUProfiler(profile_kernels=True)
        assert first.kernels_reason == "" and "another profiler" in second.kernels_reason
        second.close()
        assert first._kernels_state()["running"]
        first.close()
        with GPUProfiler(profile_kernels=True) as third:
            assert third.kernels_reason == ""
        """
    )


def test_a_profiler_that_is_forgotten(run_program):
    """Without a close() the tracing ends with the object."""
    run_program(
        """
        from regimeter import GPUProfiler
        import gc
        profiler = GPUProfiler(profile_kernels=True)
        del profiler
        gc.collect()
        assert GPUProfiler._kernels_state()["state"] == "left_attached"
        launch()
        """
    )


def test_a_forked_child(run_program, tmp_path):
    """The child records scopes without CUDA and CUPTI; the parent's kernels are whole."""
    run_program(
        """
        from regimeter import GPUProfiler
        profiler = GPUProfiler(profile_kernels=True, path="run.rgm", enable_detailed_metrics=False)
        library = ctypes.CDLL(os.environ["REGIMETER_LIBCUPTI"])
        with profiler.profile("before"):
            launch()
        child = os.fork()
        if child == 0:
            with profiler.profile("in the child", device="cpu"):
                pass
            profiler.close()
            reason = profiler.run().environment["device"]["kernels_reason"]
            os._exit(0 if "forked" in reason and library.fake_cupti_get(b"calls_child") == 0 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with profiler.profile("after"):
            launch()
        profiler.close()
        """
    )
    assert len(load(tmp_path / "run.rgm").tables.launches) == 2


def test_wrong_options(run_program):
    run_program(
        """
        from regimeter import GPUProfiler
        for options in ({"colour": 1}, {"buffers": 0}, {"buffer_bytes": -1}):
            try:
                GPUProfiler(profile_kernels=options)
            except ValueError:
                continue
            raise SystemExit(f"{options} was taken")
        """
    )


def test_doctor():
    """With the stub of torch, which it looks at too."""
    doubles = {**fakes.environment(cuda="", cupti="version=28"), "REGIMETER_LIBHIP": "off"}
    done = subprocess.run(
        [sys.executable, "-m", "regimeter", "--json", "doctor"],
        env={
            **os.environ,
            **doubles,
            "PYTHONPATH": os.pathsep.join(filter(None, (STUB, os.environ.get("PYTHONPATH")))),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    (check,) = [check for check in json.loads(done.stdout)["checks"] if check["name"] == "kernels"]
    assert check["state"] == "ok"
    assert check["detail"].startswith("CUPTI 28 of CUDA 12, environment variable: ")
