# SPDX-License-Identifier: Apache-2.0
"""When torch arrives, and which torch is left alone; steps of programs made of scopes alone."""

import gc
import importlib
import sys
import types

import pytest

from regimeter import GPUProfiler, _core
from regimeter.capture.structure.arrival import Arrival
from regimeter.capture.structure.attachment import refusal


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A module `late_arrival` to be imported, which notes that it runs."""
    (tmp_path / "late_arrival.py").write_text("import sys\nvalue = 3\nif 'late_fails' in sys.modules: 1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "late_arrival"
    sys.modules.pop("late_arrival", None)


def test_it_acts_after_the_import(package):
    seen = []
    arrival = Arrival(package, lambda module: seen.append(module.value))
    finders = list(sys.meta_path)
    arrival.wait()
    assert seen == []
    module = importlib.import_module(package)
    assert seen == [3]
    assert sys.meta_path == finders
    assert "exec_module" not in vars(module.__spec__.loader)


def test_an_import_that_fails_may_be_tried_again(package, monkeypatch):
    seen = []
    arrival = Arrival(package, seen.append)
    arrival.wait()
    monkeypatch.setitem(sys.modules, "late_fails", types.ModuleType("late_fails"))
    with pytest.raises(ZeroDivisionError):
        importlib.import_module(package)
    assert seen == []
    monkeypatch.delitem(sys.modules, "late_fails")
    module = importlib.import_module(package)
    assert seen == [module]


def test_what_is_there_already_is_told_at_once(package):
    module = importlib.import_module(package)
    seen = []
    Arrival(package, seen.append).wait()
    assert seen == [module]


def test_who_does_not_wait_any_longer_is_told_nothing(package):
    seen = []
    arrival = Arrival(package, seen.append)
    arrival.wait()
    arrival.stop()
    importlib.import_module(package)
    assert seen == []


def make(version):
    torch = types.ModuleType("torch")
    torch.__version__ = version
    names = {"nn": "Module", "optim": "Optimizer", "autograd": "backward"}
    for name, has in names.items():
        setattr(torch, name, types.SimpleNamespace(**{has: object()}))
    torch.utils = types.SimpleNamespace(data=types.SimpleNamespace(DataLoader=object()))
    return torch


@pytest.mark.parametrize(
    ("version", "said"),
    [("2.4.0", ""), ("2.13.0+cpu", ""), ("3.0.0a0+git", ""), ("2.3.1", "older than 2.4"), ("1.13", "older than 2.4"),
     ("0.fake", "older than 2.4")],
)  # fmt: skip
def test_versions(version, said):
    reason = refusal(make(version))
    assert said in reason
    assert bool(said) == bool(reason)


def test_a_torch_without_its_parts():
    torch = make("2.6")
    del torch.optim
    assert "has no torch.nn.Module" in refusal(torch)
    torch.__spec__ = types.SimpleNamespace(_initializing=True)
    assert refusal(torch) == "torch is only half imported"


def test_without_torch_garbage_is_found(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with GPUProfiler(structure=True) as profiler:
        gc.collect()
    run = profiler.run()
    assert run.string(run.spans.category[0]) == "gc"
    assert run.environment["structure"]["reason"] == "the program has not imported torch"


ROLE = {
    "d": ("next", "data_wait"), "i": ("iter", "data_wait"), "f": ("Net", "module"), "b": ("backward", "backward"),
    "z": ("zero", "zero_grad"), "o": ("SGD", "optimizer"), "p": ("Adam", "optimizer"), "s": ("save", "checkpoint"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("program", "steps"),
    [
        ("fbo fbo fbo", ["fbo", "fbo", "fbo"]),
        ("i dzfbo s dzfbo s d s", ["dzfbo", "dzfbo"]),
        ("zfbfbfbo zfbfbfbo", ["zfbfbfbo"] * 2),
        ("dfb dfb dfbo dfb dfb dfbo", ["dfbdfbdfbo"] * 2),
        ("i dfbo dfbo d i df df d i dfbo", ["dfbo", "dfbod", "df", "dfd", "dfbo"]),
        ("zfbo zfbp zfbo zfbp", ["zfbozfbp"] * 2),
        ("fbofbofbofbofbofbp" * 3, ["fbofbofbofbofbofbp"] * 3),
        ("fbo" * 40 + "fbp" + "fbo" * 2, ["fbo"] * 40 + ["fbpfbo", "fbo"]),
        ("fbofbo fbpfbp", ["fbo"] * 2 + ["fbp"] * 2),
        ("i df df df d", ["df"] * 3),
        ("fffff", ["f"] * 5),
        ("fb fb fb", ["fb"] * 3),
        ("dfb dfb", ["dfb"] * 2),
        ("s s", []),
    ],
)
def test_steps_of(program, steps):
    with GPUProfiler(memory_interval_ms=0) as profiler:
        for letter in program.replace(" ", ""):
            name, role = ROLE[letter]
            with profiler._role_scope(name, _core.ROLES.index(role)):
                pass
    run = profiler.run()
    letters = {name: letter for letter, (name, _) in ROLE.items()}
    found = {}
    for i in range(len(run.spans)):
        name, step = run.string(run.spans.name[i]), int(run.spans.step[i])
        if name in letters and letters[name] not in "is" and step >= 0:
            found[step] = found.get(step, "") + letters[name]
    assert [found[step] for step in sorted(found)] == steps
    parents = {int(run.spans.parent[i]) for i in range(len(run.spans)) if run.string(run.spans.name[i]) in letters}
    rows = {i for i in range(len(run.spans)) if run.string(run.spans.category[i]) == "step"}
    assert len(rows) == len(steps)
    assert rows <= parents


def test_steps_stay_within_scopes_of_the_program():
    with GPUProfiler(memory_interval_ms=0) as profiler:
        for _ in range(2):
            with profiler.profile("epoch", device="cpu"):
                for letter in "fbofbo":
                    name, role = ROLE[letter]
                    with profiler._role_scope(name, _core.ROLES.index(role)):
                        pass
    run = profiler.run()
    spans = run.spans
    steps = [i for i in range(len(spans)) if run.string(spans.category[i]) == "step"]
    assert len(steps) == 4
    for step in steps:
        epoch = spans.parent[step]
        assert run.string(spans.name[epoch]) == "epoch"
        assert spans.start_ns[step] + spans.duration_ns[step] <= spans.start_ns[epoch] + spans.duration_ns[epoch]
