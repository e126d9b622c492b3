# SPDX-License-Identifier: Apache-2.0
"""Promises of the package as a whole: public names, the stub of the C core, and no leak at any of its entries."""

import ast
import gc
import importlib
import itertools
import subprocess
import sys
from array import array
from pathlib import Path

import numpy as np
import pytest
from leaks import leak_of

import regimeter
from regimeter import FormatError, GPUProfiler, Run, _core, load
from regimeter.capture import streams

STUB = Path(regimeter.__file__).with_name("_core.pyi")


# --- names ----------------------------------------------------------------------------------------------------


def test_public_names_come_from_where_the_package_says():
    for name, home in regimeter._HOME.items():
        assert getattr(regimeter, name) is getattr(importlib.import_module(f"regimeter.{home}"), name)
    assert set(regimeter._HOME) == set(regimeter.__all__)


def test_public_names_are_documented():
    for name in regimeter.__all__:
        value = getattr(regimeter, name)
        if callable(value):
            assert value.__doc__, name
    for kind in (GPUProfiler, Run):
        for name in dir(kind):
            if not name.startswith("_"):
                assert getattr(kind, name).__doc__, f"{kind.__name__}.{name}"


def stub_members(body):
    """Name -> node of what a stub's body declares."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return found


@pytest.fixture(scope="module")
def stub():
    return stub_members(ast.parse(STUB.read_text()).body)


def test_the_stub_names_what_the_core_has(stub):
    public = {name for name in vars(_core) if not name.startswith("__")} | {"__version__"}
    declared = {name for name in stub if not name.startswith("_") or name == "__version__"}
    assert public - set(stub) == set()
    # Table types of the stub describe the columns; at run time there is one Table.
    missing = {name for name in declared - public if not name.endswith("Table")}
    assert missing == set()


@pytest.mark.parametrize("kind", ["Profiler", "Run", "Table", "Column", "Scope", "IdleScope", "ProfiledFunction"])
def test_the_stub_names_the_members_of_a_type(stub, kind):
    runtime = {name for name in vars(getattr(_core, kind)) if not name.startswith("__")}
    declared = {name for name in stub_members(stub[kind].body) if not name.startswith("__")}
    assert declared == runtime


def test_the_stub_names_the_columns(stub):
    for name, described in {**_core.schema()["run"], **_core.schema()["results"]}.items():
        kind = stub["".join(word.capitalize() for word in name.split("_")) + "Table"]
        declared = set(stub_members(kind.body))
        assert {column["name"] for column in described["columns"]} <= declared


def test_functions_of_the_core_have_signatures():
    import inspect

    for name in ("schema", "policy", "options", "host_memory", "clock_name", "allocations", "die_with_parent"):
        assert inspect.signature(getattr(_core, name)) is not None
        assert getattr(_core, name).__doc__


def test_the_core_can_be_imported_twice():
    code = (
        "import sys, regimeter._core as one\n"
        "import regimeter\n"
        "del sys.modules['regimeter._core'], regimeter._core  # else modules would take the one or the other\n"
        "p = regimeter.GPUProfiler()\n"
        "with p.profile('a'): pass\n"
        "assert len(p.run().spans) == 1\n"
        "p.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- leaks ----------------------------------------------------------------------------------------------------


def refused(error, call, *args, **keywords):
    with pytest.raises(error):
        call(*args, **keywords)


def functions_of_the_core():
    return {
        "schema": _core.schema,
        "policy": _core.policy,
        "options": _core.options,
        "host_memory": _core.host_memory,
        "clock_name": _core.clock_name,
        "allocations": _core.allocations,
        "die_with_parent": lambda: (_core.die_with_parent(0), refused(TypeError, _core.die_with_parent, "x")),
        "kernels": lambda: (_core.kernels(), _core.workloads()),
        "kernel refused": lambda: refused(ValueError, _core.compile_kernel, "x", "sm_90"),
        "workload": lambda: _core.run_workload(
            "conv2d", parameters={"width": 8}, inputs={"kernel": array("f", [1] * 9)}
        ),
        "workload timed": lambda: _core.run_workload(
            "dot_product", parameters={"n": 50}, backend="c", threads=1, warmup=0, iterations=2, calls=1
        ),
        "workload inputs": lambda: (
            _core.workload_inputs("conv2d", {"width": 8}),
            refused(ValueError, _core.workload_inputs, "conv2d", {"width": -1}),
            refused(TypeError, _core.workload_inputs, "conv2d", 3),
        ),
        "workload refused": lambda: (
            refused(ValueError, _core.run_workload, "conv2d", backend="x"),
            refused(ValueError, _core.run_workload, "conv2d", 0, backend="c"),
            refused(ValueError, _core.run_workload, "x"),
            refused(ValueError, _core.run_workload, "conv2d", parameters={"x": 1}),
            refused(ValueError, _core.run_workload, "conv2d", inputs={"kernel": b"1"}),
            refused(TypeError, _core.run_workload, "conv2d", parameters={"side": "x"}),
            refused(TypeError, _core.run_workload, "conv2d", inputs=[1]),
        ),
    }


def entries_of_scopes(profiler, idle):
    def scope_block():
        with profiler.profile("a", device="cpu", b=[1, {"c": 2.5}]) as scope:
            scope.annotate(d="e")
            scope.duration_ms, scope.operation, scope.device, scope.recording  # noqa: B018

    return {
        "scope": scope_block,
        "scope of a name made here": lambda: profiler.profile("".join(["a", "b"])).__exit__(None, None, None),
        "scope refused": lambda: (
            refused(TypeError, profiler.profile, 5),
            refused(ValueError, profiler.profile, "a", "x"),
        ),
        "scope as decorator": lambda: profiler.profile("a")(len)([]),
        "many keywords": lambda: profiler.profile("a", **{f"k{n}": n for n in range(100)}),
        "idle scope": lambda: idle.profile("a", b=1).__enter__().__exit__(None, None, None),
    }


def entries_of_functions(profiler, decorated):
    return {
        "decorate": lambda: profiler.profile_function("a")(lambda: None)(),
        "decorated call": decorated,
        "decorated method": type("A", (), {"method": decorated})().method,
        "decorated repr": lambda: (repr(decorated), decorated.__reduce__(), decorated.__func__),
    }


def entries_of_a_profiler(profiler):
    return {
        "switch": lambda: (profiler.disable("off"), profiler.enable("off")),
        "enabled": lambda: setattr(profiler, "enabled", profiler.enabled),
        "sampling": lambda: (profiler._set_sampling(1.0), refused(ValueError, profiler._set_sampling, 2.0)),
        "probes": lambda: profiler._set_probes(None, None, False),
        "sampler": lambda: profiler._sampler(0),
        "device timing": lambda: profiler._device_timing(True, streams.find, streams.handle),
        "device state": lambda: (profiler._device_drain(), profiler._device_state()),
        "stream given": lambda: profiler.profile("a", stream=object()),
        "warm": lambda: profiler._warm(10),
        "control group": lambda: profiler._control_group("/sys/fs/cgroup"),
        "stats": lambda: (profiler._stats(), profiler._skipped(), profiler.path, profiler._session_id),
        "warning": profiler._take_warning,
        "environment": lambda: profiler._environment('{"a": 1}'),
        "flush": profiler._flush,
        "reset": profiler._reset,
        "snapshot": lambda: (profiler._snapshot(Run), refused(TypeError, profiler._snapshot, int)),
    }


def entries_of_sessions(folder):
    def session():
        with GPUProfiler(path=folder / "session.rgm", enable_detailed_metrics=False, track_memory=True) as one:
            with one.profile("a", b=1):
                pass
            one.flush()
            one.run()
            one.reset()

    return {
        "session": session,
        "session refused": lambda: (
            refused(TypeError, GPUProfiler, no_such=1),
            refused(ValueError, GPUProfiler, path=folder / "run.json"),
        ),
    }


def entries_of_runs(run, folder):
    run.save(folder / "run.rgm")
    (folder / "bad.rgm").write_bytes((folder / "run.rgm").read_bytes()[:-9])
    run.export_json(folder / "run.json")
    try:
        recovers = bool(load(folder / "bad.rgm", recover=True))
    except FormatError:
        recovers = False
    columns = {"start_ns": array("q", [1]), "duration_ns": array("q", [1]), "name": array("I", [1])}

    def build(spans=columns):
        return Run._build(["", "a"], {"spans": spans, "lanes": {"name": array("I", [0])}}, "{}", "x", 0, 1, -1, True)

    def columns_of():
        for name in run.spans.columns:
            getattr(run.spans, name)
            memoryview(run.spans.column(name)).tolist()
            np.asarray(run.summary.column("share"))
        own = run.summarise({})
        for name in own.columns:
            getattr(own, name)

    return {
        "build": lambda: build().get_summary(),
        "build refused": lambda: (
            refused(ValueError, build, columns | {"name": array("I", [9])}),
            refused(KeyError, build, {"x": array("q", [1])}),
            refused(TypeError, build, {"start_ns": 5}),
        ),
        "save and load": lambda: (run.save(folder / "again.rgm"), load(folder / "again.rgm").get_entries()),
        "load refused": lambda: (
            refused(FormatError, load, folder / "bad.rgm"),
            refused(FileNotFoundError, load, folder / "absent"),
        ),
        "load JSON": lambda: load(folder / "run.json").get_entries(),
        "load recover": lambda: load(folder / "bad.rgm", recover=True) if recovers else None,
        "columns": columns_of,
        "tables": lambda: ([run.table(n) for n in _core.schema()["run"]], refused(KeyError, run.table, "x")),
        "table": lambda: (repr(run.spans), dir(run.spans), run.spans.table_name, run.spans.run, len(run.spans)),
        "column": lambda: (run.spans.column("kind").unit, refused(KeyError, run.spans.column, "x")),
        "strings": lambda: (run.strings, run.string(1), refused(IndexError, run.string, 10**6)),
        "facts": lambda: (run.source, run.start_ns, run.end_ns, run.start_unix_ns, run.complete, run.environment_json),
        "results": lambda: (run.entries, run.summary, run.summarise({"percentile_tail": 0.9})),
        "results refused": lambda: refused(ValueError, run.summarise, {"x": 1}),
        "arrow": lambda: run.spans.__arrow_c_stream__(),
    }


def entry_points(folder):
    """Name -> a call of one entry of the C core, failures included; and what they may keep no reference to."""
    profiler = GPUProfiler(enable_detailed_metrics=False, memory_interval_ms=0)
    with profiler.profile("outer", a=1):
        with profiler.profile("inner"):
            pass
    run = profiler.run()
    decorated = profiler.profile_function("decorated")(lambda *_: None)
    functions = entries_of_functions(profiler, decorated)
    idle = GPUProfiler(False)
    calls = functions_of_the_core() | entries_of_scopes(profiler, idle) | functions | entries_of_a_profiler(profiler)
    calls |= entries_of_sessions(folder) | entries_of_runs(run, folder)
    method = functions["decorated method"]
    return calls, (profiler, idle, run, decorated, method, decorated.__func__, Run, GPUProfiler)


@pytest.mark.slow
def test_no_entry_of_the_core_leaks(tmp_path):
    calls, held = entry_points(tmp_path)
    profiler, idle, *_ = held
    try:
        # What a recording keeps, it keeps on purpose.
        leaks = {name: found for name, call in calls.items() if (found := leak_of(call, profiler.reset, held))}
    finally:
        profiler.close()
        idle.close()
    assert leaks == {}


def test_no_entry_of_the_core_leaks_memory_of_its_own(tmp_path):
    """What malloc holds over many rounds of every entry point; what a recording keeps is forgotten in between.

    A leak is there each time; the interpreter's table of interned strings takes some megabytes more in one of them.
    """
    calls, (profiler, idle, *_) = entry_points(tmp_path)
    fast = [call for name, call in calls.items() if name not in ("session", "session refused", "warm")]

    def held_after(count):
        for _ in range(count):
            for call in fast:
                call()
            profiler.reset()
        gc.collect()
        return _core.host_memory()

    try:
        found = [held_after(rounds) for rounds in (30, 50, 50, 50)]
    finally:
        profiler.close()
        idle.close()
    if found[0]["malloc_known"]:
        assert min(now["malloc_in_use"] - old["malloc_in_use"] for old, now in itertools.pairwise(found)) < 600_000
    assert found[-1]["resident"] - found[0]["resident"] < 30_000_000


def test_sessions_leave_no_memory(tmp_path):
    def sessions(count):
        for number in range(count):
            with GPUProfiler(path=tmp_path / f"{number % 2}.rgm" if number % 3 else None) as profiler:
                with profiler.profile("a"):
                    pass
                profiler.get_summary()

    sessions(20)
    gc.collect()
    before = _core.host_memory()
    sessions(60)
    gc.collect()
    after = _core.host_memory()
    assert after["resident"] - before["resident"] < 30_000_000
