# SPDX-License-Identifier: Apache-2.0
"""The structure that is found in programs that use torch."""

import gc
import json
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import structure_programs  # noqa: E402
from torch import nn  # noqa: E402

import regimeter  # noqa: E402
from regimeter import GPUProfiler, _core  # noqa: E402


class Found:
    """The scopes of a run with their role, in order of start, without collections of garbage."""

    def __init__(self, run):
        spans = run.spans
        self.run = run
        self.rows = [
            (run.string(spans.name[i]), run.string(spans.category[i]), i)
            for i in range(len(spans))
            if run.string(spans.category[i]) != "gc"
        ]

    def names(self, role):
        return [name for name, has, _ in self.rows if has == role]

    def within(self, role, name):
        """Names and roles of the scopes directly in the first scope of that role and name."""
        row = next(i for found, has, i in self.rows if has == role and found == name)
        return [(found, has) for found, has, i in self.rows if self.run.spans.parent[i] == row]

    def steps(self, *roles):
        """For each step what is in it, of these roles."""
        steps = self.run.spans.step
        count = int(steps.max()) + 1
        return [[name for name, has, i in self.rows if has in roles and steps[i] == k] for k in range(count)]


def found_in(program, **options):
    with GPUProfiler(structure=True, **options) as profiler:
        program()
    return Found(profiler.run())


def loader(rows=8, batch=4, **options):
    data = torch.utils.data.TensorDataset(torch.randn(rows, 6), torch.randint(0, 3, (rows,)))
    return torch.utils.data.DataLoader(data, batch_size=batch, **options)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 5), nn.Linear(5, 5)])
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


def supervised(epochs=1, evaluate=False, **options):
    net, loss = Net(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(epochs):
        for x, y in loader(**options):
            optimizer.zero_grad()
            loss(net(x), y).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        if evaluate:
            with torch.no_grad():
                for x, _ in loader(**options):
                    net(x)


def test_a_training_loop():
    found = found_in(supervised)
    assert found.names("step") == ["training step"] * 2
    assert found.rows[0][:2] == ("DataLoader.__iter__", "data_wait")
    assert found.within("step", "training step") == [
        ("DataLoader.__next__", "data_wait"), ("Optimizer.zero_grad", "zero_grad"), ("Net", "forward"),
        ("CrossEntropyLoss", "forward"), ("backward", "backward"), ("clip_grad_norm_", "grad_clip"),
        ("SGD.step", "optimizer"),
    ]  # fmt: skip
    assert found.within("forward", "Net") == [("layers.0", "module"), ("layers.1", "module"), ("head", "module")]
    named = [name for name, _ in Net().named_modules()]
    assert set(found.names("module")) <= set(named)
    parts = [name for name, role in found.within("backward", "backward") if role == "backward"]
    assert parts == [f"{name} backward" for name in ("CrossEntropyLoss", "head", "Net", "layers.1", "Net", "layers.0")]


def test_backward_is_booked_on_the_module_that_made_it():
    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            with profiler.profile("here", device="cpu"):
                return gradient

    class Block(nn.Module):
        def forward(self, x):
            return Slow.apply(x) * 2

    model = nn.Sequential(nn.Linear(4, 4), Block(), nn.Linear(4, 4))
    with GPUProfiler(structure=True) as profiler:
        model(torch.ones(2, 4)).sum().backward()
    run = profiler.run()
    row = next(i for i in range(len(run.spans)) if run.string(run.spans.name[i]) == "here")
    around = run.spans.parent[row]
    assert (run.string(run.spans.name[around]), run.string(run.spans.category[around])) == ("1 backward", "backward")


def test_every_epoch_and_iterations_that_do_not_train():
    found = found_in(lambda: supervised(epochs=2, evaluate=True))
    assert found.names("step") == (["training step"] * 2 + ["iteration"] * 2) * 2
    assert all(each == ["Net"] for each in found.steps("forward")[2:4])


def test_steps_fill_the_analyses():
    found = found_in(lambda: supervised(epochs=3))
    rows = found.run.analyse("step_times")
    assert list(rows.step) == list(range(6))
    starts = [found.run.spans.start_ns[i] for _, role, i in found.rows if role == "step"]
    assert list(rows.start_ns) == starts


def test_accumulated_gradients_are_one_step():
    found = found_in(structure_programs.accumulation)
    assert [each.count("backward") for each in found.steps("backward")][:3] == [4, 4, 4]
    assert found.names("step").count("training step") == 3


def test_optimizers_that_step_in_turns_share_a_step():
    found = found_in(structure_programs.adversaries)
    assert found.steps("optimizer") == [["Adam.step", "Adam.step #2"]] * 3


def test_an_optimizer_that_calls_for_the_loss_itself_makes_a_step():
    found = found_in(structure_programs.closures)
    assert found.steps("optimizer") == [["LBFGS.step", "LBFGS.step #2"]] * 3
    assert found.names("step") == ["training step"] * 3


def test_models_beside_each_other_have_names_of_their_own():
    found = found_in(structure_programs.adversaries)
    assert {"0", "1", "Sequential #2.0", "Sequential #2.2"} <= set(found.names("module"))


def test_a_loop_without_an_optimizer():
    net = Net()

    def predict():
        with torch.no_grad():
            for x, _ in loader():
                net(x).tolist()

    found = found_in(predict)
    assert found.names("step") == ["iteration"] * 2
    assert found.names("sync") == []  # the values are in main memory


def test_a_loop_without_a_loader():
    net = Net()

    def predict():
        for _ in range(3):
            net(torch.ones(1, 6))

    assert found_in(predict).names("step") == ["iteration"] * 3


class OfDevice(torch.Tensor):
    """A tensor that says it is of a device."""

    is_cpu = False
    __torch_function__ = torch._C._disabled_torch_function_impl


def test_a_wait_names_its_line():
    def program():
        value = torch.ones(1).as_subclass(OfDevice)
        value.item()  # this line
        value.item()

    found = found_in(program)
    lines = [
        json.loads(found.run.string(found.run.spans.metadata[i]))["line"] for _, role, i in found.rows if role == "sync"
    ]
    first = program.__code__.co_firstlineno
    assert lines == [first + 2, first + 3]
    assert found.names("sync")[0] == f"Tensor.item (test_structure.py:{first + 2})"


def test_checkpoints_and_garbage(tmp_path):
    def program():
        torch.save({"a": 1}, tmp_path / "x.pt")
        gc.collect()

    with GPUProfiler(structure=True) as profiler:
        program()
    run = profiler.run()
    rows = [(run.string(run.spans.name[i]), run.string(run.spans.category[i])) for i in range(len(run.spans))]
    assert ("torch.save", "checkpoint") in rows
    assert ("gc generation 2", "gc") in rows


def test_scopes_close_whatever_is_raised():
    class Raising(nn.Module):
        def __init__(self, error):
            super().__init__()
            self.error = error
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            self.inner(x)
            raise self.error

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("backward")

    class Optimizer(torch.optim.SGD):
        def step(self, closure=None):
            raise ValueError("step")

    def program():
        for error in (ValueError("no"), KeyboardInterrupt(), SystemExit(3)):
            with pytest.raises(type(error)):
                Raising(error)(torch.ones(1, 2))
        model = nn.Linear(2, 2)
        with pytest.raises(ValueError, match="backward"):
            Broken.apply(model(torch.ones(1, 2))).sum().backward()
        with pytest.raises(ValueError, match="step"):
            Optimizer(model.parameters(), lr=0.1).step()

    found = found_in(program)
    flags = {name: int(found.run.spans.flags[i]) & 0b111 for name, role, i in found.rows if role != "step"}
    assert flags["Raising"] == 1
    assert flags["inner"] == 0
    assert flags["backward"] == 1
    assert flags["Optimizer.step"] == 1
    assert not any(value & 0b110 for value in flags.values())


def test_threads_have_their_own():
    def work():
        net(torch.ones(3, 6)).sum().backward()

    net = Net()

    def program():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    found = found_in(program)
    assert found.names("forward") == ["Net"] * 4
    lanes = [
        int(found.run.spans.lane[i]) for name, role, i in found.rows if role == "backward" and name == "head backward"
    ]
    assert len(set(lanes)) == 4
    assert not (found.run.spans.flags & 0b110).any()


def test_workers_that_fork(tmp_path):
    with GPUProfiler(structure=True, path=tmp_path / "run.rgm") as profiler:
        supervised(num_workers=2)
    found = Found(regimeter.load(tmp_path / "run.rgm"))
    assert found.names("data_wait").count("DataLoader.__next__") == 3  # with the one that ends the loop
    assert found.names("step") == ["training step"] * 2
    assert profiler.stats()["lost"] == 0


def test_a_module_that_came_later():
    class Late(nn.Module):
        def __init__(self):
            super().__init__()
            self.early = nn.Linear(2, 2)

        def forward(self, x):
            if not hasattr(self, "late"):
                self.late = nn.Linear(2, 2)
            return self.late(self.early(x))

    model = Late()

    def program():
        for _ in range(2):
            model(torch.ones(1, 2))

    assert found_in(program).names("module") == ["early", "late"] * 2


def test_marks_keep_to_their_share():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with GPUProfiler(structure=True) as profiler:
        marks = profiler._structure.marks
        marks._credit = -1e18
        for credit in (-1e18, 1e18, -1e18, -1e18):
            net(torch.ones(1, 2)).sum().backward()
            marks._credit = credit
            marks._settle()
            marks.passes["passes"] -= 1
    found = Found(profiler.run())
    passes = [i for name, role, i in found.rows if role == "backward" and name == "backward"]
    parts = [sum(found.run.spans.parent == row) for row in passes]
    assert [part > 0 for part in parts] == [True, False, True, False]
    assert found.run.environment["structure"]["backward"] == {"passes": 4, "by_module": 2}


def test_disabled_is_disabled():
    with GPUProfiler(structure=True) as profiler:
        profiler.enabled = False
        supervised()
        gc.collect()
    assert len(profiler.run().spans) == 0


def test_the_second_profiler_says_why_not():
    with GPUProfiler(structure=True) as first, GPUProfiler(structure=True) as second:
        supervised()
    assert first.run().environment["structure"]["reason"] == ""
    assert "another profiler" in second.run().environment["structure"]["reason"]
    assert len(second.run().spans) == 0


def test_every_role_has_its_place():
    assert _core.ROLES[1:] == (
        "step", "data_wait", "forward", "module", "backward", "optimizer", "zero_grad", "grad_clip", "sync", "copy",
        "checkpoint", "compile", "gc",
    )  # fmt: skip
    with GPUProfiler() as profiler, pytest.raises(ValueError, match="no role"):
        profiler._role_scope("x", len(_core.ROLES))


def test_files_keep_it(tmp_path):
    with GPUProfiler(structure=True, path=tmp_path / "run.rgm") as profiler:
        supervised()
    live, stored = profiler.run(), regimeter.load(tmp_path / "run.rgm")
    for column in ("start_ns", "duration_ns", "parent", "step"):
        assert np.array_equal(getattr(live.spans, column), getattr(stored.spans, column))
    assert Found(live).rows == Found(stored).rows
