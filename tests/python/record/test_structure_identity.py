# SPDX-License-Identifier: Apache-2.0
"""What a program computes, holds and writes is the same with its structure recorded."""

import copy
import gc
import io
import pickle
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import structure_programs  # noqa: E402
from torch import nn  # noqa: E402

from regimeter import GPUProfiler  # noqa: E402


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a is b or a == b


@pytest.fixture
def recorder():
    with GPUProfiler(structure=True) as profiler:
        yield profiler


@pytest.mark.parametrize("program", structure_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_computes_the_same(program):
    torch.manual_seed(7)
    bare = program()
    torch.manual_seed(7)
    with GPUProfiler(structure=True) as profiler:
        recorded = program()
    assert same(bare, recorded)
    run = profiler.run()
    roles = {run.string(each) for each in np.unique(run.spans.category)}
    assert {"step", "forward", "backward", "optimizer", "zero_grad"} <= roles
    flags = run.spans.flags
    assert not (flags & 0b110).any()  # all have ended, on the thread where they began
    assert run.tables.anomalies.count.sum() == 0


def test_torch_is_as_before_when_the_profiler_is_closed():
    places = [
        (torch.nn.Module, "__call__"), (torch.nn.Module, "zero_grad"), (torch.optim.Optimizer, "zero_grad"),
        (torch.optim.Optimizer, "profile_hook_step"), (torch.optim.SGD, "step"), (torch.autograd, "backward"),
        (torch.autograd, "grad"), (torch, "save"), (torch.nn.utils, "clip_grad_norm_"), (torch.Tensor, "item"),
        (torch.Tensor, "cpu"), (torch.Tensor, "tolist"), (torch.utils.data.DataLoader, "__iter__"),
        (torch.utils.data.dataloader._BaseDataLoaderIter, "__next__"),
    ]  # fmt: skip
    structure_programs.linear()
    before = [vars(owner).get(name) for owner, name in places]
    finders, callbacks = list(sys.meta_path), list(gc.callbacks)
    with GPUProfiler(structure=True):
        structure_programs.linear()
        inside = [vars(owner).get(name) for owner, name in places]
        assert not any(a is b for a, b in zip(before, inside, strict=True))
        assert not torch.nn.modules.module._has_any_global_hook()
    assert all(a is b for a, b in zip(before, [vars(owner).get(name) for owner, name in places], strict=True))
    assert sys.meta_path == finders
    assert gc.callbacks == callbacks


def test_modules_and_optimizers_are_stored_as_before(recorder):
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    unused = pickle.dumps(model), set(vars(model[0])), set(vars(optimizer))
    model(torch.ones(1, 3))
    assert (pickle.dumps(model), set(vars(model[0])), set(vars(optimizer))) == unused
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    again = copy.deepcopy(model)
    assert same(again.state_dict(), model.state_dict())
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    assert same(torch.load(file)["model"], model.state_dict())
    assert pickle.loads(pickle.dumps(optimizer)).param_groups[0]["lr"] == 0.1


def test_tensors_of_subclasses_are_asked_nothing(recorder):
    class Noting(torch.Tensor):
        asked: list[str] = []  # noqa: RUF012

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            cls.asked.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    model = nn.Linear(3, 2)
    model(torch.ones(1, 3).as_subclass(Noting))
    assert Noting.asked == ["linear"]


def test_a_mode_sees_no_more_calls(recorder):
    class Noting(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            asked.append(function)
            return function(*args, **(kwargs or {}))

    asked = []
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    value = torch.ones(1, 3)
    with Noting():
        model(value)
    assert [each.__name__ for each in asked] == ["linear", "relu"]


def test_modules_that_die_are_forgotten(recorder):
    import weakref

    model = nn.Linear(3, 2)
    model(torch.ones(1, 3)).sum().backward()
    gone = weakref.ref(model)
    del model
    assert gone() is None
