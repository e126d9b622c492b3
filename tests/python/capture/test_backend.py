# SPDX-License-Identifier: Apache-2.0
"""Which library a block used: judged by what its code handles, without touching it."""

import contextlib
import functools
import gc
import sys
import types
import weakref

import numpy as np
import pytest
from needed import package

from regimeter.capture import backend
from regimeter.run import cost

torch = package("torch")


@pytest.fixture
def detecting(make_profiler):
    return make_profiler(memory_interval_ms=0)


def only(profiler):
    (entry,) = profiler.get_entries()
    return entry.backend


def test_a_block_that_uses_no_library(detecting):
    with detecting.profile("a"):
        sum(range(10))
    assert only(detecting) == "cpu"


def test_numpy_functions(detecting):
    with detecting.profile("a"):
        np.ones(3).sum()
    assert only(detecting) == "numpy"


def test_numpy_arrays_alone(detecting):
    array = np.ones(3)
    with detecting.profile("a"):
        array.sum()
    assert only(detecting) == "numpy"


def test_torch_functions(detecting):
    with detecting.profile("a"):
        torch.ones(3).sum()
    assert only(detecting) == "torch"


def test_torch_tensors_alone(detecting):
    tensor = torch.ones(3)
    with detecting.profile("a"):
        tensor + tensor
    assert only(detecting) == "torch"


def test_torch_wins_over_numpy(detecting):
    tensor = torch.ones(3)
    with detecting.profile("a"):
        np.asarray(tensor)
    assert only(detecting) == "torch"


def test_a_model(detecting):
    model, batch = torch.nn.Linear(3, 3), [1.0, 2.0, 3.0]
    with detecting.profile("a"):
        model(torch.tensor(batch))
    with detecting.profile("b"):
        model.zero_grad()
    assert {entry.backend for entry in detecting.get_entries()} == {"torch"}


def test_what_stands_outside_the_block_does_not_count(detecting):
    array = np.ones(3)
    with detecting.profile("a"):
        sum(range(3))
    array.sum()
    torch.ones(3)
    assert only(detecting) == "cpu"


def test_what_is_merely_imported_does_not_count(detecting):
    assert "torch" in sys.modules
    with detecting.profile("a"):
        pass
    assert only(detecting) == "cpu"


def helper():
    return deeper()


def deeper():
    return torch.ones(3)


def test_functions_called_in_the_block(detecting):
    with detecting.profile("a"):
        helper()
    assert only(detecting) == "torch"


def test_closures(detecting):
    model = torch.nn.Linear(2, 2)

    def step():
        return model(torch.ones(2))

    with detecting.profile("a"):
        step()
    assert only(detecting) == "torch"


def test_partials_and_lambdas(detecting):
    step = functools.partial(np.add, 1)
    with detecting.profile("partial"):
        step(2)
    other = lambda: np.add(1, 2)  # noqa: E731
    with detecting.profile("lambda"):
        other()
    assert {e.operation: e.backend for e in detecting.get_entries()} == {"partial": "numpy", "lambda": "numpy"}


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(2, 2)

    def step(self):
        return self.model(torch.ones(2))

    def idle(self):
        return 5


def test_methods_of_objects_that_hold_a_model(detecting):
    trainer = Trainer()
    with detecting.profile("a"):
        trainer.step()
    assert only(detecting) == "torch"


def test_decorated_functions(detecting):
    @detecting.profile_function("numpy")
    def of_numpy():
        return np.ones(3)

    @detecting.profile_function("torch")
    def of_torch():
        return helper()

    @detecting.profile_function("cpu")
    def of_nothing():
        return 5

    np_outside = np.ones(3)
    of_numpy(), of_torch(), of_nothing()
    del np_outside
    assert {e.operation: e.backend for e in detecting.get_entries()} == {
        "numpy": "numpy",
        "torch": "torch",
        "cpu": "cpu",
    }


def test_bound_methods_of_builtin_types(detecting):
    add = torch.ones(3).add
    with detecting.profile("a"):
        add(1)
    assert only(detecting) == "torch"


def test_containers(detecting):
    batch = {"x": torch.ones(3)}
    rows = [np.ones(3)]
    with detecting.profile("dict"):
        len(batch)
    with detecting.profile("list"):
        len(rows)
    assert {e.operation: e.backend for e in detecting.get_entries()} == {"dict": "torch", "list": "numpy"}


def test_coroutines_and_generators(detecting):
    import asyncio

    @detecting.profile_function("coroutine")
    async def coroutine():
        return np.ones(3)

    @detecting.profile_function("generator")
    def generator():
        yield torch.ones(3)

    asyncio.run(coroutine())
    list(generator())
    found = {e.operation: e.backend for e in detecting.get_entries()}
    assert found == {"coroutine": "numpy", "generator": "torch"}


def test_blocks_whose_frame_is_not_their_own_are_not_guessed_at(detecting):
    with contextlib.ExitStack() as stack:
        stack.enter_context(detecting.profile("a"))
        np.ones(3)
    assert only(detecting) == "unknown"


def test_it_is_off_without_detailed_metrics(profiler):
    with profiler.profile("a"):
        np.ones(3)
    assert only(profiler) == "unknown"
    profiler.set_detailed_metrics(True)
    for _ in range(2):
        with profiler.profile("b"):
            np.ones(3)
    assert {e.backend for e in profiler.get_entries() if e.operation == "b"} == {"numpy"}


def test_a_library_that_is_used_later_is_found(detecting):
    for number in range(20):
        with detecting.profile("a"):
            if number >= 3:
                values = np.ones(3)
                values.sum()
    assert detecting.get_summary()["a"].backend == "numpy"


# --- the program is left alone --------------------------------------------------------------------------------


def hostile_kind():
    touched = []

    class Meta(type):
        def __getattribute__(cls, name):
            touched.append(("class", name))
            return super().__getattribute__(name)

        def __instancecheck__(cls, instance):
            touched.append("instancecheck")
            return False

    class Hostile(metaclass=Meta):
        def __getattribute__(self, name):
            touched.append(name)
            raise RuntimeError(name)

        def __getattr__(self, name):
            touched.append(name)
            raise RuntimeError(name)

        __class__ = property(lambda self: touched.append("__class__"))
        __call__ = __bool__ = __len__ = __iter__ = __eq__ = __hash__ = __getattribute__

    touched.clear()
    return Hostile, touched


def test_a_hostile_object_is_not_touched(detecting):
    kind, touched = hostile_kind()
    value = object.__new__(kind)
    touched.clear()
    with detecting.profile("direct"):
        value  # noqa: B018
    holder = types.SimpleNamespace(value=value, many=[value], named={"k": value})
    with detecting.profile("held"):
        holder  # noqa: B018
    items = [value]
    with detecting.profile("listed"):
        items  # noqa: B018

    def closure():
        return value

    with detecting.profile("closed over"):
        closure()
    assert touched == []
    assert detecting.run().anomaly_list() == []


def test_lazy_objects_stay_lazy(detecting):
    loaded = []

    class Lazy:
        def __getattr__(self, name):
            loaded.append(name)
            return getattr(np, name)

        @property
        def __class__(self):
            loaded.append("__class__")
            return np.ndarray

        @property
        def value(self):
            loaded.append("value")

    lazy = Lazy()
    with detecting.profile("a"):
        lazy  # noqa: B018
    assert loaded == []


def test_lazy_modules_stay_lazy(detecting, monkeypatch):
    module = types.ModuleType("lazy_module")
    loaded = []
    module.__getattr__ = loaded.append
    monkeypatch.setitem(sys.modules, "lazy_module", module)
    with detecting.profile("a"):
        module  # noqa: B018
    assert loaded == []


def test_variables_of_the_block_are_let_go(detecting):
    """Looking at a frame's variables must not keep alive what the program deletes."""

    class Big:
        pass

    for _ in range(8):
        big = Big()
        gone = weakref.ref(big)
        with detecting.profile("a"):
            big  # noqa: B018
        del big
        gc.collect()
        assert gone() is None


def test_locals_of_the_program_are_left_alone(detecting):
    value = 1
    before = locals()
    before["added"] = 5
    with detecting.profile("a"):
        value += 1
    assert before["added"] == 5
    assert locals()["value"] == 2


def test_a_failing_look_is_counted_and_harmless(make_profiler, monkeypatch):
    def fail(*_):
        raise RuntimeError("inside the look")

    monkeypatch.setattr(backend, "detect", fail)
    profiler = make_profiler()
    with profiler.profile("a"):
        pass
    with pytest.raises(KeyError) as caught:
        with profiler.profile("b"):
            raise KeyError("x")
    assert caught.value.__context__ is None
    assert len(profiler.get_entries()) == 2
    assert {row["code"]: row["count"] for row in profiler.run().anomaly_list()} == {"internal": 2}


@pytest.mark.parametrize("found", [None, "torch", 99, -5, 2**70, object()])
def test_a_nonsense_answer_is_harmless(make_profiler, monkeypatch, found):
    monkeypatch.setattr(backend, "detect", lambda *_: found)
    profiler = make_profiler()
    with profiler.profile("a"):
        pass
    assert only(profiler) == "unknown"


def test_blocks_at_module_and_class_level(detecting):
    namespace = {"profiler": detecting, "np": np}
    exec("with profiler.profile('module'):\n    np.ones(3)\n", namespace)
    exec("class A:\n    with profiler.profile('class'):\n        x = np.ones(3)\n", namespace)
    assert {e.operation: e.backend for e in detecting.get_entries()} == {"module": "numpy", "class": "numpy"}


def test_deep_and_cyclic_calls_end(detecting):
    def ping(n):
        return n and pong(n - 1)

    def pong(n):
        return n and ping(n - 1)

    with detecting.profile("a"):
        ping(3)
    assert only(detecting) == "cpu"


def test_the_cost_of_a_scope_is_measured_once():
    first = cost.scope_cost_ns()
    assert first > 0
    assert cost.scope_cost_ns() is first
    described = cost.describe({"per_scope_ns": 50.0}, 8, 2, 1000)
    assert described["total_ns"] == 500.0
    assert described["share"] == 0.5
    assert cost.describe({"per_scope_ns": 50.0}, 0, 0, 0)["share"] is None
    stated = {"per_scope_ns": 50.0, "service_cpu_ns": 100, "parts_ns": {"looks": 40, "starting": 1000, "unknown": "x"}}
    described = cost.describe(stated, 10, 0, 1000)
    assert described["total_ns"] == 1640.0
    assert described["share"] == 0.64  # starting comes before the run
