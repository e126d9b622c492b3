# SPDX-License-Identifier: Apache-2.0
"""Kernels of programs that nobody asked for them: traced from the program's first use of CUDA on, by nobody's start."""

import os
import subprocess
import sys
import textwrap

import fakes
import pytest
import warm
from kernel_programs import DEVICE, kind_rows, scopes_of

import regimeter

# A program that uses the device when it calls `device`, and can wait until its kernels are traced.
LATE = f"""
import contextlib, os, sys, threading, time
DEVICE = {textwrap.dedent(DEVICE)!r}
def device():
    scope = {{}}
    exec(DEVICE, scope)
    return scope
def traced():
    from regimeter import _core
    while not _core.Profiler._kernels_state()["running"]:
        time.sleep(0.001)
def threads():
    names = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # it has ended
            names.append(open(f"/proc/self/task/{{task}}/comm").read().strip())
    return [name for name in names if name in ("rgm-kernels", "rgm-activity", "rgm-cupti")]
def number(library, name):
    import ctypes
    double = ctypes.CDLL(os.environ["REGIMETER_LIB" + library])
    return getattr(double, f"fake_{{library.lower()}}_get")(name)
"""


@pytest.fixture
def record(tmp_path):
    """A function that records a program with the doubles and returns what is printed; runs lie in `tmp_path`.

    started: by a start of its own, else from a warm process.
    """

    def recorded(code, *options, cupti="", cuda="kernel_ns=40000", run=True, started=False, **variables):
        (tmp_path / "program.py").write_text(LATE + textwrap.dedent(code), encoding="utf-8")
        words = ["record", "-o", "run.rgm", *options, "program.py"]
        variables = {**os.environ, **fakes.environment(cuda=cuda, cupti=cupti), "REGIMETER_LIBHIP": "off", **variables}
        torch = "import torch" in code
        if started:
            done = subprocess.run(
                [sys.executable, "-m", "regimeter", *words],
                cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
        elif run:
            done = warm.command(tmp_path, *words, variables=variables, torch=torch)
        else:
            done = warm.program(tmp_path, LATE + textwrap.dedent(code), variables, torch=torch)
        assert done.returncode == 0, done.stderr
        return done

    return recorded


def told(folder, file="run.rgm"):
    run = regimeter.load(folder / file)
    return run, run.environment["device"]


def test_a_program_that_never_uses_cuda_is_left_alone(record, tmp_path):
    """CUPTI is not loaded, the driver not initialised, no thread added, and a forked child may use it first."""
    record(
        """
        time.sleep(0.2)
        assert "fake_cupti" not in open("/proc/self/maps").read()
        assert threads() == []
        child = os.fork()
        if child == 0:
            device()["launch"]()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert number("CUDA", b"calls_cuInit") == 0
        """,
        started=True,
    )
    run, device = told(tmp_path)
    assert device["kernels_awaited"]["phase"] == "unused"
    assert device["kernels_reason"] == "the program has not used CUDA"
    assert "kernels" not in device
    assert device["kernels_late"] == ""
    assert len(kind_rows(run, "kernel")) == 0


def test_the_driver_by_its_own_name(record, tmp_path):
    """As on a machine that has one: found as libcuda.so.1 among the loaded objects, named by no variable."""
    record(
        """
        time.sleep(0.05)
        scope = {}
        exec(DEVICE.replace('os.environ["REGIMETER_LIBCUDA"]', '"libcuda.so.1"'), scope)
        traced()
        scope["launch"](b"seen")
        """,
        REGIMETER_LIBCUDA="",
        LD_LIBRARY_PATH=str(fakes.under_its_name("cuda", "libcuda.so.1")),
        started=True,
    )
    run, device = told(tmp_path)
    assert [run.strings[run.spans.name[row]] for row in kind_rows(run, "kernel")] == ["seen"]
    assert device["kernels_awaited"]["phase"] == "started"


def test_a_cupti_that_hangs_in_the_start_holds_neither_forks_nor_the_end(record, tmp_path):
    record(
        """
        scope = device()
        while "rgm-kernels" not in threads():
            time.sleep(0.001)
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        scope["launch"]()
        """,
        cupti="hang_Subscribe=1",
        started=True,
    )
    run, device = told(tmp_path)
    assert device["kernels_awaited"]["phase"] == "refused"
    assert "did not come back" in device["kernels_reason"]
    assert len(kind_rows(run, "kernel")) == 0


def test_a_library_that_is_loaded_is_no_use_of_it(record, tmp_path):
    """Also not where the program asks a function that works before cuInit, and takes the library out again."""
    record(
        """
        import _ctypes, ctypes
        cuda = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
        assert cuda.cuDriverGetVersion(ctypes.byref(ctypes.c_int())) == 0
        time.sleep(0.2)
        assert cuda.cuCtxGetCurrent(ctypes.byref(ctypes.c_void_p())) == 3
        assert number("CUDA", b"calls_cuInit") == 0
        assert threads() == []
        _ctypes.dlclose(cuda._handle)
        time.sleep(0.1)
        """
    )
    assert told(tmp_path)[1]["kernels_awaited"]["phase"] == "unused"


def test_tracing_begins_with_the_use_of_cuda(record, tmp_path):
    """Whatever is launched from then on is there; of what was before, the bound is told at the end and in `show`."""
    printed = record(
        """
        import ctypes
        time.sleep(0.05)
        scope = device()
        # Not before it has its context, which else takes a moment longer than cuInit.
        ctypes.CDLL(os.environ["REGIMETER_LIBCUPTI"]).fake_cupti_set(b"hang_Subscribe", ctypes.c_longlong(0))
        traced()
        for _ in range(3):
            scope["launch"](b"seen")
        """,
        cupti="hang_Subscribe=1",
        started=True,
    ).stderr
    run, device = told(tmp_path)
    assert [scopes_of(run, row) for row in kind_rows(run, "kernel")] == [["program.py"]] * 3
    watch = device["kernels_awaited"]
    assert (watch["phase"], device["kernels_reason"]) == ("started", "")
    assert watch["late_ns"] > 0
    assert watch["cpu_ns"] > 0
    assert watch["context_before"]
    assert run.start_ns < watch["started_ns"] < run.end_ns
    assert "of CUDA, at most, were not seen" in device["kernels_late"]
    assert "Kernels: those of the first" in printed
    assert run.cost["service_cpu_ns"] >= watch["cpu_ns"]


def test_no_kernels_and_kernels_mean_what_they_say(record, command, tmp_path):
    program = """
        scope = device()
        scope["launch"]()
        time.sleep(0.1)
        assert bool(threads()) == (sys.argv[0] == "program.py" and KERNELS)
    """
    record(f"KERNELS = True\n{textwrap.dedent(program)}", "--kernels")
    run, device = told(tmp_path)
    assert len(kind_rows(run, "kernel")) == 1
    assert "kernels_awaited" not in device
    (tmp_path / "run.rgm").unlink()
    record(f"KERNELS = False\n{textwrap.dedent(program)}", "--no-kernels")
    run, device = told(tmp_path)
    assert len(kind_rows(run, "kernel")) == 0
    assert device["kernels_reason"] == "profile_kernels is off"
    both = command("record", "--kernels", "--no-kernels", "program.py")
    assert both.returncode == 2
    assert "contradicts" in both.stderr


def test_a_child_that_uses_cuda_first_is_traced_in_its_own_recording(record, tmp_path):
    """The parent has not used it, so a fork can; the parent's use of it afterwards is its own."""
    record(
        """
        child = os.fork()
        if child == 0:
            scope = device()
            traced()
            scope["launch"](b"in_the_child")
            sys.exit()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        scope = device()
        traced()
        scope["launch"](b"in_the_parent")
        """
    )
    (other,) = (path.name for path in tmp_path.glob("run.rgm.*"))
    for file, name in (("run.rgm", "in_the_parent"), (other, "in_the_child")):
        run, device = told(tmp_path, file)
        assert [run.strings[run.spans.name[row]] for row in kind_rows(run, "kernel")] == [name]
        assert device["kernels_awaited"]["phase"] == "started"


def test_a_fork_after_the_use_is_told_that_the_driver_is_lost(record, tmp_path):
    record(
        """
        scope = device()
        traced()
        scope["launch"]()
        child = os.fork()
        if child == 0:
            time.sleep(0.1)
            assert number("CUDA", b"calls_in_child") == number("CUPTI", b"calls_child") == 0
            sys.exit()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        scope["launch"]()
        """
    )
    assert len(kind_rows(told(tmp_path)[0], "kernel")) == 2
    (other,) = (path.name for path in tmp_path.glob("run.rgm.*"))
    run, device = told(tmp_path, other)
    assert "forked from one that used CUDA" in device["kernels_reason"]
    assert len(kind_rows(run, "kernel")) == 0


def test_forks_beside_the_start_do_not_hang_and_lose_nothing(record, tmp_path):
    record(
        """
        scope = device()
        for _ in range(40):
            child = os.fork()
            if child == 0:
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        traced()
        scope["launch"]()
        """
    )
    assert len(kind_rows(told(tmp_path)[0], "kernel")) == 1


def test_a_recording_that_ends_before_a_look_says_so(record):
    """The drainer comes by in a quarter of an hour, and nobody else looks."""
    done = record(
        """
        from regimeter import GPUProfiler
        profiler = GPUProfiler(profile_kernels="auto", drain_interval_ns=10**12)
        assert profiler.kernels_reason == "the program has not used CUDA"
        with profiler.profile("step", device="cpu"):
            time.sleep(0.1)  # past the drainer's first look
            device()["launch"]()
        profiler.close()
        device = profiler.run().environment["device"]
        assert device["kernels_awaited"]["phase"] == "missed" and "kernels" not in device
        print(device["kernels_reason"])
        assert number("CUPTI", b"subscribed") == 0
        """,
        run=False,
    )
    assert "before tracing had begun" in done.stdout
    assert "--kernels" in done.stdout


def test_a_profiler_of_a_program_that_uses_cuda_already_misses_nothing_of_its_own(record):
    record(
        """
        from regimeter import GPUProfiler
        scope = device()
        scope["launch"](b"before")
        with GPUProfiler(profile_kernels="auto") as profiler:
            with profiler.profile("step"):
                scope["launch"](b"within")
        run = profiler.run()
        assert len(run.tables.launches) == 1
        device = run.environment["device"]
        assert device["kernels_awaited"]["late_ns"] == 0 and device["kernels_late"] == ""
        """,
        run=False,
    )


def test_two_contexts_and_two_threads(record, tmp_path):
    record(
        """
        scope = device()
        traced()
        scope["launch"](b"of_the_primary")
        def work():
            scope["made"]("cuCtxCreate_v2", 0, 0)  # and makes it current here
            module = scope["made"]("cuModuleLoadData", b"")
            function = scope["made"]("cuModuleGetFunction", module, b"of_the_other")
            scope["call"]("cuLaunchKernel", function, 4, 2, 1, 256, 1, 1, 1024, None, None, None)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """
    )
    run, _ = told(tmp_path)
    names = sorted(run.strings[run.spans.name[row]] for row in kind_rows(run, "kernel"))
    assert names == ["of_the_other", "of_the_primary"]


def test_a_profiler_that_asks_for_kernels_has_them(record, tmp_path):
    record(
        """
        from regimeter import GPUProfiler
        scope = device()
        traced()
        scope["launch"](b"first")
        with GPUProfiler(path="own.rgm", profile_kernels=True) as own:
            assert own.kernels_reason == ""
            scope["launch"](b"second")
        """
    )
    run, device = told(tmp_path)
    assert [run.strings[run.spans.name[row]] for row in kind_rows(run, "kernel")] == ["first"]
    assert device["kernels_awaited"]["phase"] == "yielded"
    assert "another profiler" in device["kernels_reason"]
    assert device["kernels"]["records"] > 0
    own = regimeter.load(tmp_path / "own.rgm")
    assert [own.strings[own.spans.name[row]] for row in kind_rows(own, "kernel")] == ["second"]


def test_room_is_made_for_torch_profiler(record, tmp_path):
    """Before it prepares to record the device, nothing of CUPTI is ours any more; on the host alone it is no reason."""
    pytest.importorskip("torch")
    printed = record(
        """
        import torch
        from torch.autograd import ProfilerActivity
        scope = device()
        traced()
        scope["launch"](b"before")
        with torch.profiler.profile(activities=[ProfilerActivity.CPU]):
            torch.ones(2).sum()
        assert threads()
        scope["launch"](b"between")
        guest = torch.autograd.profiler.profile()
        guest.kineto_activities.add(ProfilerActivity.CUDA)
        with guest:
            assert threads() == [] and number("CUPTI", b"subscribed") == number("CUPTI", b"kinds") == 0
            scope["launch"](b"of_the_guest")
        scope["launch"](b"after")
        """
    ).stderr
    run, device = told(tmp_path)
    names = [run.strings[run.spans.name[row]] for row in kind_rows(run, "kernel")]
    assert sorted(names) == ["before", "between"]
    assert "torch.profiler began to record the device" in device["kernels_reason"]
    assert "Kernels: torch.profiler began" in printed
    assert run.start_ns < device["kernels_awaited"]["yielded_ns"] < run.end_ns


def test_torch_tells_when_it_has_initialised_cuda(record):
    """Then tracing has begun when the call returns, and torch's functions are as they were."""
    pytest.importorskip("torch")
    record(
        """
        import torch
        from regimeter import GPUProfiler
        original = torch.cuda._lazy_init
        def initialise():  # of a torch without CUDA: what it does to the driver and to itself
            global scope
            scope = device()
            torch.cuda._initialized = True
        torch.cuda._lazy_init = initialise
        with GPUProfiler(profile_kernels="auto", drain_interval_ns=10**12) as profiler:
            with profiler.profile("step", device="cpu"):
                assert torch.cuda._lazy_init is not initialise
                torch.cuda._lazy_init()
                scope["launch"]()
                assert torch.cuda._lazy_init is initialise
        assert len(profiler.run().tables.launches) == 1
        """,
        run=False,
    )


def test_another_tool_that_takes_the_records_over_is_left_alone(record, tmp_path):
    """It is noticed by launches without records; its kinds stay enabled, and nothing of it is ended by us."""
    record(
        """
        import ctypes
        scope = device()
        traced()
        cupti = ctypes.CDLL(os.environ["REGIMETER_LIBCUPTI"])
        cupti.fake_cupti_take_over()
        kinds = number("CUPTI", b"kinds")
        assert kinds > 0
        function = scope["made"]("cuModuleGetFunction", scope["module"], b"unseen")
        while threads():
            for _ in range(1000):
                scope["cuda"].cuLaunchKernel(function, 4, 2, 1, 256, 1, 1, 1024, None, None, None)
            time.sleep(0.01)  # the double holds no more than 512 full buffers
        assert number("CUPTI", b"kinds") == kinds and number("CUPTI", b"subscribed") == 0
        """
    )
    _, device = told(tmp_path)
    assert device["kernels_awaited"]["phase"] == "yielded"
    assert "another tool" in device["kernels_reason"]


def test_spawned_processes_begin_by_themselves_too(record, tmp_path):
    record(
        """
        import multiprocessing
        def work(number):
            scope = device()
            traced()
            scope["launch"](b"child_kernel")
            return number
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                assert pool.map(work, range(1)) == [0]
                pool.close()
                pool.join()
        """
    )
    files = sorted(map(str, tmp_path.glob("run.rgm*")))
    run = regimeter.load(files)
    assert [run.strings[run.spans.name[row]] for row in kind_rows(run, "kernel")] == ["child_kernel"]
    assert told(tmp_path)[1]["kernels_awaited"]["phase"] == "unused"


@pytest.mark.parametrize(("cupti", "text"), [("off", "switched off"), ("taken", "one tool at a time")])
def test_what_stands_against_it_is_a_line_and_no_warning(cupti, text, record, tmp_path):
    variables = {"REGIMETER_LIBCUPTI": "off"} if cupti == "off" else {}
    printed = record(
        """
        scope = device()
        scope["launch"]()
        time.sleep(0.3)
        """,
        cupti="taken=1" if cupti == "taken" else "",
        **variables,
    ).stderr
    _, device = told(tmp_path)
    assert device["kernels_awaited"]["phase"] == "refused"
    assert text in device["kernels_reason"]
    assert "RuntimeWarning" not in printed
    assert "Kernels: " in printed


def test_every_idle_gap_has_the_line_that_caused_it(record, command, tmp_path):
    """What the launching thread did before it launched: one gap is of a computation, the next of a sleep."""
    record(
        """
        scope = device()
        traced()
        def prepare():
            end = time.thread_time() + 0.15
            while time.thread_time() < end:
                pass
        def rest():
            time.sleep(0.15)
        for _ in range(2):
            scope["launch"](b"after_rest")
            prepare()
            scope["launch"](b"after_prepare")
            rest()
        scope["launch"](b"after_rest")
        """
    )
    run, _ = told(tmp_path)
    gaps = [row for row in run.result("idle-gaps") if row["duration_ns"] > 100_000_000]
    assert len(gaps) == 4
    sampled = [row for row in gaps if row["samples"] > 0]  # a busy machine may leave one without
    assert {row["function"] for row in sampled} == {"prepare", "rest"}
    for row in sampled:
        assert row["function"] == row["next_name"].removeprefix("after_")
        assert row["file"].endswith("program.py")
        assert row["line"] > 0
        assert 0.5 <= row["samples_share"] <= 1
    text = command("idle-gaps", "run.rgm").stdout
    assert "prepare" in text
    assert "rest" in text
