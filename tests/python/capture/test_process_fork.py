# SPDX-License-Identifier: Apache-2.0
"""Forks of a process that records, with scopes open, from threads and by multiprocessing."""

import pytest
from entries import codes

from regimeter import load


def test_fork_while_eight_threads_record(tmp_path, run_python):
    done = run_python(
        """
        import os, sys, threading
        import regimeter
        profiler = regimeter.GPUProfiler(path=sys.argv[1], enable_detailed_metrics=False)
        stop = threading.Event()
        counts = [0] * 8

        def work(number):
            while not stop.is_set() and counts[number] < 100_000:
                with profiler.profile("parent", number=number):
                    with profiler.profile("nested"):
                        counts[number] += 1

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        children = []
        with profiler.profile("around the forks"):
            for number in range(6):
                child = os.fork()
                if not child:
                    for turn in range(100):
                        with profiler.profile("child", number=number):
                            pass
                    assert len(profiler.run().spans) == 100, len(profiler.run().spans)
                    profiler.close()
                    os._exit(0)
                children.append(child)
        for child in children:
            _, status = os.waitpid(child, 0)
            assert status == 0, status
        stop.set()
        for thread in threads:
            thread.join()
        profiler.close()
        print(sum(counts), *children)
        """,
        tmp_path / "run.rgm",
    )
    count, *children = map(int, done.stdout.split())
    parent = load(tmp_path / "run.rgm")
    summary = parent.get_summary()
    assert parent.complete
    assert codes(parent) == {}
    assert summary["parent"].call_count == summary["nested"].call_count == count
    assert summary["around the forks"].call_count == 1
    assert "child" not in summary
    for number, child in enumerate(children):
        run = load(tmp_path / f"run.rgm.{child}")
        assert run.complete
        assert {e.operation for e in run.get_entries()} == {"child"}
        assert {e.metadata["number"] for e in run.get_entries()} == {number}
        assert len(run.spans) == 100
        assert set(run.lanes.process.tolist()) == {child}


def test_fork_inside_a_scope(tmp_path, run_python):
    done = run_python(
        """
        import os, sys
        import regimeter
        profiler = regimeter.GPUProfiler(path=sys.argv[1], enable_detailed_metrics=False)
        with profiler.profile("outer"):
            child = os.fork()
            with profiler.profile("inner"):
                pass
        if child:
            assert os.waitpid(child, 0)[1] == 0
            print(child)
        """,
        tmp_path / "run.rgm",
    )
    child = int(done.stdout)
    assert [(e.operation, e.depth) for e in load(tmp_path / "run.rgm").get_entries()] == [("outer", 0), ("inner", 1)]
    run = load(tmp_path / f"run.rgm.{child}")
    assert [(e.operation, e.depth) for e in run.get_entries()] == [("inner", 0)]
    assert codes(run) == {"lost_scopes": 1}


def test_fork_of_a_recording_in_memory(run_python):
    run_python(
        """
        import os, sys
        import regimeter
        profiler = regimeter.GPUProfiler(track_memory=True, memory_interval_ms=1)
        decorated = profiler.profile_function("decorated")(lambda: None)
        for _ in range(5000):
            with profiler.profile("before"):
                decorated()
        for _ in range(3):
            child = os.fork()
            decorated()
            with profiler.profile("after"):
                pass
            if not child:
                assert set(profiler.get_summary()) == {"decorated", "after"}, profiler.get_summary()
                profiler.reset()
                decorated()
                assert len(profiler.get_entries()) == 1
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
        summary = profiler.get_summary()
        assert summary["before"].call_count == 5000
        assert summary["after"].call_count == 3
        """
    )


def test_fork_of_a_fork(tmp_path, run_python):
    run_python(
        """
        import os, sys
        import regimeter
        profiler = regimeter.GPUProfiler(path=sys.argv[1], enable_detailed_metrics=False)
        def work():
            with profiler.profile("a"):
                pass
        work()
        if not os.fork():
            work()
            if not os.fork():
                work()
                sys.exit()
            assert os.wait()[1] == 0
            sys.exit()
        assert os.wait()[1] == 0
        """,
        tmp_path / "run.rgm",
    )
    files = [file for file in tmp_path.iterdir() if ".rgm" in file.name]
    assert len(files) == 3
    assert all(len(load(file).spans) == 1 for file in files)


def test_a_child_that_records_nothing_leaves_no_file(tmp_path, run_python):
    run_python(
        """
        import os, sys
        import regimeter
        profiler = regimeter.GPUProfiler(path=sys.argv[1])
        with profiler.profile("a"):
            pass
        if not os.fork():
            sys.exit()
        os.wait()
        """,
        tmp_path / "run.rgm",
    )
    assert [file.name for file in tmp_path.iterdir() if ".rgm" in file.name] == ["run.rgm"]
    assert load(tmp_path / "run.rgm").complete


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(tmp_path, run_python, method):
    run_python(
        """
        import multiprocessing, os, sys
        import regimeter
        profiler = None

        def work(number):
            global profiler
            if profiler is None:
                profiler = regimeter.GPUProfiler(path=f"{sys.argv[1]}/worker-{os.getpid()}.rgm")
            with profiler.profile("work", number=number):
                return number * 2

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[2])
            with context.Pool(2) as pool:
                assert pool.map(work, range(20)) == list(range(0, 40, 2))
                pool.close()
                pool.join()
        """,
        tmp_path,
        method,
    )
    runs = [load(file, recover=True) for file in tmp_path.glob("worker-*.rgm")]
    numbers = sorted(entry.metadata["number"] for run in runs for entry in run.get_entries())
    assert numbers == list(range(20))


def test_subprocesses_do_not_inherit_the_file(tmp_path, run_python):
    run_python(
        """
        import os, subprocess, sys
        import regimeter
        with regimeter.GPUProfiler(path=sys.argv[1]) as profiler:
            with profiler.profile("a"):
                done = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False)
        assert "run.rgm" not in done.stdout, done.stdout
        """,
        tmp_path / "run.rgm",
    )


def test_a_relative_path_is_in_the_folder_where_the_profiler_was_made(tmp_path, run_python):
    """Whatever folder the program goes to, forks in and closes all files in, as a daemon does."""
    done = run_python(
        """
        import os, sys
        import regimeter
        os.chdir(sys.argv[1])
        profiler = regimeter.GPUProfiler(path="run.rgm")
        with profiler.profile("before", device="cpu"):
            pass
        profiler.flush()
        os.mkdir("elsewhere")
        os.chdir("elsewhere")
        os.closerange(3, 4096)
        child = os.fork()
        with profiler.profile("child" if not child else "after", device="cpu"):
            pass
        profiler.close()
        if child:
            assert os.waitpid(child, 0)[1] == 0
            print(profiler.path, child)
        """,
        tmp_path,
    )
    path, child = done.stdout.split()
    assert path == str(tmp_path / "run.rgm")
    assert not list((tmp_path / "elsewhere").iterdir())
    for name, operations in (("run.rgm", ["before", "after"]), (f"run.rgm.{child}", ["child"])):
        run = load(tmp_path / name)
        assert [entry.operation for entry in run.get_entries()] == operations
        assert not codes(run)
