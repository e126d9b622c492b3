# SPDX-License-Identifier: Apache-2.0
"""profile_function: functions and methods, recorded and otherwise left as they were."""

import copy
import functools
import gc
import inspect
import pickle
import sys
import threading
import typing
import weakref

import pytest
from entries import names

from regimeter import GPUProfiler

shared = GPUProfiler(enabled=False, enable_detailed_metrics=False)
shared.close()


@shared.profile_function
def module_level(x):
    """Doc of it."""
    return x + 1


# --- decorating -----------------------------------------------------------------------------------------------


def test_plain_decorator_takes_the_qualified_name(profiler):
    @profiler.profile_function
    def work(x):
        return x * 2

    assert work(3) == 6
    assert names(profiler) == [work.__qualname__]
    assert work.__qualname__.endswith("<locals>.work")


@pytest.mark.parametrize("spelling", ["none", "name", "device", "all", "keywords"])
def test_decorator_with_arguments(profiler, spelling):
    decorator = {
        "none": lambda: profiler.profile_function(),
        "name": lambda: profiler.profile_function("op"),
        "device": lambda: profiler.profile_function(device="cpu"),
        "all": lambda: profiler.profile_function("op", "cpu"),
        "keywords": lambda: profiler.profile_function(operation="op", device="cpu"),
    }[spelling]()
    work = decorator(lambda x: x * 2)
    assert work(3) == 6
    (entry,) = profiler.get_entries()
    assert entry.operation == ("op" if spelling in ("name", "all", "keywords") else work.__qualname__)
    assert entry.device == ("gpu" if spelling in ("none", "name") else "cpu")


def test_the_documented_example_of_repeated_calls(profiler):
    @profiler.profile_function(operation="decorated", device="gpu")
    def work(x):
        return x * 2 + 1

    assert [work(x) for x in range(5)] == [1, 3, 5, 7, 9]
    assert profiler.get_summary()["decorated"].call_count == 5


def test_a_decorated_function_looks_like_its_original(profiler):
    def work(a: int, /, b: str = "x", *args: float, c: bool, **rest: object) -> list:
        """What it does."""
        return [a, b, args, c, rest]

    work.extra = 5
    done = profiler.profile_function(work)
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        assert getattr(done, name) == getattr(work, name)
    assert done.extra == 5
    assert done.__wrapped__ is work
    assert inspect.signature(done) == inspect.signature(work)
    assert done(1, "y", 2.0, c=True, d=None) == [1, "y", (2.0,), True, {"d": None}]
    assert callable(done)
    assert "work" in repr(done)


def test_annotations_are_the_functions_until_they_are_set(profiler):
    def work(a: int) -> str:
        return str(a)

    done = profiler.profile_function(work)
    assert typing.get_type_hints(done) == {"a": int, "return": str}
    done.__annotations__ = {"a": float}
    assert typing.get_type_hints(done) == done.__annotations__ == {"a": float}
    assert typing.get_type_hints(work) == {"a": int, "return": str}
    del done.__annotations__
    assert typing.get_type_hints(done) == {"a": int, "return": str}
    profiled = profiler.profile_function(len)
    assert not hasattr(profiled, "__annotations__"), "as of a function of C"


def test_arguments_and_errors_of_a_call_are_the_functions_own(profiler):
    @profiler.profile_function("work")
    def work(a, *, b=1):
        raise KeyError(a, b)

    with pytest.raises(KeyError) as caught:
        work(1, b=2)
    assert caught.value.args == (1, 2)
    assert caught.value.__context__ is None
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        work()
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        work(1, c=1)
    assert [entry.failed for entry in profiler.get_entries()] == [True] * 3


def test_it_runs_exactly_once_a_call(profiler):
    calls = []
    work = profiler.profile_function("work")(calls.append)
    for number in range(100):
        work(number)
        if number == 50:
            profiler.disable()
    assert calls == list(range(100))
    assert profiler.get_summary()["work"].call_count == 51


def test_methods(profiler):
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @profiler.profile_function("method")
        def scale(self, x):
            return self.factor * x

        @classmethod
        @profiler.profile_function("class inner")
        def make_inner(cls, factor):
            return cls(factor)

        @profiler.profile_function("class outer")
        @classmethod
        def make_outer(cls, factor):
            return cls(factor)

        @profiler.profile_function("static")
        @staticmethod
        def plain(x):
            return x + 1

        @property
        @profiler.profile_function("property")
        def doubled(self):
            return self.factor * 2

        @profiler.profile_function
        def named(self):
            return self

    class Child(Model):
        def scale(self, x):
            return super().scale(x) + 1

    model = Model.make_inner(3)
    assert Model.make_outer(4).factor == 4
    assert isinstance(Child.make_outer(5), Child)
    assert model.scale(2) == 6
    assert Model.scale(model, 2) == 6
    assert Child(2).scale(2) == 5
    assert (Model.plain(1), model.plain(2)) == (2, 3)
    assert model.doubled == 6
    assert model.named() is model
    bound = model.scale
    assert bound(x=1) == 3
    assert bound.__self__ is model
    assert inspect.signature(bound) == inspect.signature(lambda x: x)
    summary = profiler.get_summary()
    assert {name: s.call_count for name, s in summary.items()} == {
        "method": 4,
        "class inner": 1,
        "class outer": 2,
        "static": 2,
        "property": 1,
        Model.named.__qualname__: 1,
    }


def test_class_methods_keep_their_kind(profiler):
    assert isinstance(profiler.profile_function(classmethod(lambda cls: cls)), classmethod)
    assert isinstance(profiler.profile_function("name")(staticmethod(lambda: 1)), staticmethod)


def test_other_callables(profiler):
    class Layer:
        def __call__(self, x):
            return x + 1

    assert profiler.profile_function("lambda")(lambda x: x)(5) == 5
    assert profiler.profile_function("object")(Layer())(5) == 6
    assert profiler.profile_function("partial")(functools.partial(pow, 2))(3) == 8
    assert profiler.profile_function("builtin")(len)([1, 2]) == 2
    assert profiler.profile_function("method")("abc".upper)() == "ABC"
    assert profiler.profile_function("class")(dict)(a=1) == {"a": 1}
    assert profiler.profile_function("profiled")(profiler.profile_function("inner")(abs))(-1) == 1
    assert names(profiler) == ["lambda", "object", "partial", "builtin", "method", "class", "profiled", "inner"]


@pytest.mark.parametrize("make", [lambda: functools.partial(pow, 2), lambda: type("Layer", (), {"__call__": len})()])
def test_callables_without_a_name_get_their_type_s(profiler, make):
    function = make()
    done = profiler.profile_function(function)
    assert done.__wrapped__ is function
    with pytest.raises(TypeError):
        done()
    assert names(profiler) == [type(function).__qualname__]


def test_recursion(profiler):
    @profiler.profile_function("factorial")
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    assert factorial(20) == 2432902008176640000
    summary = profiler.get_summary()["factorial"]
    assert (summary.call_count, summary.recursive_count) == (20, 19)
    assert summary.total_time_ms == pytest.approx(max(entry.duration_ms for entry in profiler.get_entries()))


def test_nesting_with_scopes(profiler):
    @profiler.profile_function("inner")
    def inner():
        with profiler.profile("leaf"):
            pass

    with profiler.profile("outer"):
        inner()
    assert [(e.operation, e.depth, e.parent) for e in profiler.get_entries()] == [
        ("outer", 0, None),
        ("inner", 1, 0),
        ("leaf", 2, 1),
    ]


@pytest.mark.parametrize("options", [{"enable_detailed_metrics": True}, {"track_memory": True}, {"sample_rate": 0.999}])
def test_every_slow_path_gives_result_and_error(make_profiler, options):
    profiler = make_profiler(**options)

    @profiler.profile_function("work")
    def work(x):
        if x < 0:
            raise ValueError(x)
        return x

    for number in range(40):
        assert work(number) == number
        with pytest.raises(ValueError) as caught:
            work(-1)
        assert caught.value.__context__ is None
    summary = profiler.get_summary()["work"]
    assert summary.call_count + summary.skipped_count == 80
    assert abs(summary.failed_count - summary.call_count / 2) <= 4


def test_threads(profiler):
    @profiler.profile_function("work")
    def work(x):
        return x

    def many():
        for number in range(2000):
            assert work(number) == number

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert profiler.get_summary()["work"].call_count == 8000


def test_closing_the_profiler_inside_a_call(profiler):
    @profiler.profile_function("work")
    def work():
        profiler.close()
        return 5

    assert work() == 5
    assert work() == 5
    (entry,) = profiler.get_entries()
    assert entry.open


# --- as objects -----------------------------------------------------------------------------------------------


def test_pickled_and_copied_by_reference():
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(module_level, protocol)) is module_level
    assert copy.copy(module_level) is module_level
    assert copy.deepcopy([module_level]) == [module_level]


def test_attributes_weak_references_and_hash(profiler):
    done = profiler.profile_function("f")(lambda: None)
    done.note = "kept"
    assert done.note == "kept"
    assert {done: 1}[done] == 1
    gone = weakref.ref(done)
    assert gone() is done
    del done
    gc.collect()
    assert gone() is None


def test_a_decorated_function_in_a_cycle_is_collected(profiler):
    class Owner:
        pass

    def use():
        owner = Owner()
        owner.method = profiler.profile_function("f")(lambda: owner)
        assert owner.method() is owner
        return weakref.ref(owner)

    gone = use()
    gc.collect()
    assert gone() is None


def test_references_are_balanced(profiler):
    value = object()
    work = profiler.profile_function("work")(lambda x, y=None: x)
    work(value, y=value)
    before = sys.getrefcount(value)
    for _ in range(1000):
        work(value)
        work(value, y=value)
    assert sys.getrefcount(value) == before


def test_the_type_cannot_be_made_by_hand(profiler):
    done = profiler.profile_function("f")(len)
    with pytest.raises(TypeError):
        type(done)()
    with pytest.raises(TypeError):
        type(profiler.profile("a"))()


# --- known gaps -----------------------------------------------------------------------------------------------


def test_a_scope_as_decorator_made_while_disabled(profiler):
    def function():
        return 1

    profiler.disable()
    with pytest.warns(RuntimeWarning, match="profile_function"):
        work = profiler.profile("work")(function)
    assert work is function
    profiler.enable()
    work()
    assert names(profiler) == []
