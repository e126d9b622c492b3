# SPDX-License-Identifier: Apache-2.0
"""The API of the specification: names, arguments, defaults, switches."""

import dataclasses
import inspect
import math
import random
import subprocess
import sys

import pytest
from entries import names

import regimeter
from regimeter import GPUProfiler, ProfileEntry, ProfileSummary, Run, get_profiler
from regimeter.capture import stated
from regimeter.profiler import RECORD_VARIABLE

# --- names, arguments, defaults -------------------------------------------------------------------------------


def test_every_public_name_is_there():
    assert sorted(regimeter.__all__) == sorted(dir(regimeter))
    for name in regimeter.__all__:
        assert getattr(regimeter, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(regimeter, "no_such_name")  # noqa: B009


def test_constructor_has_the_documented_arguments_and_defaults():
    parameters = inspect.signature(GPUProfiler).parameters
    documented = {"enabled": True, "device_id": 0, "enable_detailed_metrics": True}
    assert list(parameters)[:3] == list(documented)
    assert {name: parameters[name].default for name in documented} == documented
    assert parameters["path"].default is None
    assert parameters["sample_rate"].default == 1.0


@pytest.mark.parametrize(
    ("method", "defaults"),
    [
        ("profile", {"device": "gpu"}),
        ("profile_function", {"operation": None, "device": "gpu"}),
        ("get_bottlenecks", {"top_n": 5}),
        ("print_summary", {"top_n": 10}),
        ("print_bottlenecks", {"top_n": 5}),
        ("get_entries", {}),
        ("get_summary", {}),
        ("reset", {}),
        ("enable", {}),
        ("disable", {}),
    ],
)
def test_methods_have_the_documented_defaults(method, defaults):
    found = inspect.signature(getattr(GPUProfiler, method)).parameters
    assert {name: found[name].default for name in defaults} == defaults


def test_get_profiler_has_the_documented_arguments():
    assert list(inspect.signature(get_profiler).parameters)[:3] == ["enabled", "device_id", "enable_detailed_metrics"]


ENTRY = [
    "operation",
    "start_time",
    "end_time",
    "duration_ms",
    "device",
    "backend",
    "gpu_time_ms",
    "cpu_time_ms",
    "transfer_time_ms",
    "overhead_ms",
    "memory_allocated_mb",
    "memory_peak_mb",
    "gpu_utilization",
    "memory_bandwidth_gb_s",
]
SUMMARY = [
    "operation",
    "call_count",
    "total_time_ms",
    "avg_time_ms",
    "min_time_ms",
    "max_time_ms",
    "std_dev_ms",
    "total_gpu_time_ms",
    "total_cpu_time_ms",
    "avg_memory_mb",
    "avg_gpu_utilization",
]


@pytest.mark.parametrize(("kind", "documented"), [(ProfileEntry, ENTRY), (ProfileSummary, SUMMARY)])
def test_dataclasses_have_the_documented_fields(kind, documented):
    found = [field.name for field in dataclasses.fields(kind)]
    assert [name for name in found if name in documented] == documented


def test_an_entry_holds_what_was_declared_and_measured(profiler):
    with profiler.profile("work", device="cpu", size=1024):
        sum(range(1000))
    (entry,) = profiler.get_entries()
    assert (entry.operation, entry.device, entry.metadata) == ("work", "cpu", {"size": 1024})
    assert entry.end_time > entry.start_time
    assert entry.duration_ms == pytest.approx((entry.end_time - entry.start_time) * 1e3, abs=1e-5)
    assert entry.cpu_time_ms == entry.duration_ms
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.operation = "other"


def test_start_time_is_on_the_clock_of_time_monotonic(profiler):
    import time

    before = time.monotonic()
    with profiler.profile("work"):
        inside = time.monotonic()
    after = time.monotonic()
    (entry,) = profiler.get_entries()
    assert before - 1e-3 <= entry.start_time <= inside + 1e-3
    assert inside - 1e-3 <= entry.end_time <= after + 1e-3


def test_duration_is_at_least_what_was_slept(profiler):
    import time

    with profiler.profile("sleep") as scope:
        time.sleep(0.02)
    assert scope.duration_ms >= 19.9
    assert profiler.get_entries()[0].duration_ms >= 19.9


def test_importing_regimeter_imports_neither_numpy_nor_torch():
    code = (
        "import sys, regimeter; regimeter.GPUProfiler; p = regimeter.GPUProfiler()\n"
        "with p.profile('a'): pass\n"
        "p.close()\n"
        "bad = {'numpy', 'torch', 'rich', 'jinja2', 'pyarrow', 'cupy'} & set(sys.modules)\n"
        "sys.exit(repr(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- the singleton --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("fresh_global")
def test_get_profiler_returns_one_profiler():
    assert get_profiler() is get_profiler()
    assert get_profiler().enabled


@pytest.mark.usefixtures("fresh_global")
def test_get_profiler_applies_what_is_given_and_leaves_the_rest():
    profiler = get_profiler(enabled=False, device_id=1, enable_detailed_metrics=False)
    assert (profiler.enabled, profiler.device_id, profiler.enable_detailed_metrics) == (False, 1, False)
    get_profiler()
    assert (profiler.enabled, profiler.device_id) == (False, 1)
    get_profiler(enabled=True)
    assert (profiler.enabled, profiler.device_id) == (True, 1)
    get_profiler(False, 0, True)
    assert (profiler.enabled, profiler.device_id, profiler.enable_detailed_metrics) == (False, 0, True)
    get_profiler(sample_rate=0.5)
    assert profiler.sample_rate == 0.5


@pytest.mark.usefixtures("fresh_global")
def test_one_per_cent_of_requests():
    choice = random.Random(7)
    recorded = 0
    for _ in range(2000):
        wanted = choice.random() < 0.01
        recorded += wanted
        profiler = get_profiler(enabled=wanted)
        with profiler.profile("request"):
            with profiler.profile("query"):
                pass
    assert 0 < recorded < 200
    assert get_profiler().get_summary()["request"].call_count == recorded
    assert get_profiler().get_summary()["query"].call_count == recorded


@pytest.mark.usefixtures("fresh_global")
def test_get_profiler_refuses_a_bad_rate_and_stays_as_it_was():
    profiler = get_profiler(sample_rate=0.25)
    with pytest.raises(ValueError, match="sample rate"):
        get_profiler(sample_rate=math.nan)
    assert profiler.sample_rate == 0.25
    assert profiler.enabled


@pytest.mark.usefixtures("fresh_global")
def test_module_level_profile_uses_the_singleton():
    with regimeter.profile("block", "cpu", batch=3):
        pass
    (entry,) = get_profiler().get_entries()
    assert (entry.operation, entry.device, entry.metadata) == ("block", "cpu", {"batch": 3})


@pytest.mark.usefixtures("fresh_global")
def test_the_singleton_writes_where_the_variable_says(monkeypatch, tmp_path):
    monkeypatch.setenv(RECORD_VARIABLE, str(tmp_path / "run.rgm"))
    profiler = get_profiler()
    with profiler.profile("a"):
        pass
    profiler.close()
    assert len(regimeter.load(tmp_path / "run.rgm").spans) == 1


# --- switches -------------------------------------------------------------------------------------------------


def test_disabled_records_nothing_and_costs_no_state(make_profiler):
    profiler = make_profiler(enabled=False)
    decorated = profiler.profile_function("f")(lambda: 5)
    for _ in range(100):
        with profiler.profile("a", device="cpu", x=1) as scope:
            assert not scope.recording
            scope.annotate(y=2)
        assert decorated() == 5
    assert scope.duration_ms is None
    assert profiler.get_entries() == []
    assert profiler.get_summary() == {}
    assert profiler.stats()["records"] == 0


def test_enable_and_disable_at_run_time(profiler):
    decorated = profiler.profile_function("f")(lambda: None)
    for wanted in (True, False, True):
        profiler.enable() if wanted else profiler.disable()
        assert profiler.enabled is wanted
        with profiler.profile("a"):
            pass
        decorated()
    summary = profiler.get_summary()
    assert (summary["a"].call_count, summary["f"].call_count) == (2, 2)


def test_enable_and_disable_one_operation(profiler):
    decorated = profiler.profile_function("noise", device="cpu")(lambda: None)
    profiler.disable("noise")
    assert profiler.enabled
    for device in ("gpu", "cpu", "cuda", "rocm"):
        with profiler.profile("noise", device=device):
            with profiler.profile("signal"):
                pass
    decorated()
    assert set(names(profiler)) == {"signal"}
    assert all(entry.parent is None for entry in profiler.get_entries())
    profiler.enable("noise")
    decorated()
    assert profiler.get_summary()["noise"].call_count == 1


def test_a_block_open_at_disable_is_still_recorded(profiler):
    with profiler.profile("outer"):
        profiler.disable()
        with profiler.profile("inner"):
            pass
    assert names(profiler) == ["outer"]


def test_reset_forgets_everything(profiler):
    with profiler.profile("before"):
        pass
    profiler.get_entries()
    profiler.reset()
    assert profiler.get_entries() == []
    assert profiler.get_summary() == {}
    assert profiler.run().anomaly_list() == []
    with profiler.profile("after"):
        pass
    assert names(profiler) == ["after"]


def test_reset_inside_open_blocks(profiler):
    with profiler.profile("outer"):
        with profiler.profile("early"):
            pass
        profiler.reset()
        with profiler.profile("late"):
            pass
    assert sorted(names(profiler)) == ["late", "outer"]
    late = next(entry for entry in profiler.get_entries() if entry.operation == "late")
    assert profiler.get_entries()[late.parent].operation == "outer"


def test_results_grow_with_what_is_recorded(profiler):
    with profiler.profile("a"):
        pass
    first = profiler.run()
    assert profiler.run() is first
    with profiler.profile("a"):
        pass
    assert len(first.spans) == 1
    assert len(profiler.run().spans) == 2


def test_a_closed_profiler_keeps_its_results_and_records_no_more(profiler):
    with profiler.profile("a"):
        pass
    profiler.close()
    profiler.close()
    profiler.enable()
    assert not profiler.enabled
    with profiler.profile("b"):
        pass
    assert names(profiler) == ["a"]
    assert profiler.run().complete


def test_devices_are_asked_by_one_thread_at_a_time(make_profiler, monkeypatch):
    asked = []

    def describe(profiler, stats):
        asked.append(profiler._lock.locked())
        return described(profiler, stats)

    profiler = make_profiler()
    described = stated.describe
    monkeypatch.setattr(stated, "describe", describe)
    profiler._go_on()  # as where a program's profiler takes over the one of `regimeter record`
    profiler.run()
    profiler.close()
    assert asked == [True] * 3


def test_the_profiler_is_a_context_manager():
    with GPUProfiler() as profiler:
        with profiler.profile("a"):
            pass
    assert not profiler.enabled
    assert names(profiler) == ["a"]


def test_bottlenecks_come_by_exclusive_time(profiler):
    """Which of the three is the slowest is the machine's affair; around is so in inclusive time."""
    import time

    with profiler.profile("around"):
        with profiler.profile("slow"):
            time.sleep(0.02)
        with profiler.profile("slower"):
            time.sleep(0.06)
    summary = profiler.get_summary()
    expected = sorted(summary, key=lambda name: -summary[name].exclusive_time_ms)
    assert [found.operation for found in profiler.get_bottlenecks()] == expected
    assert [found.operation for found in profiler.get_bottlenecks(top_n=2)] == expected[:2]
    assert summary["around"].total_time_ms > max(summary[name].total_time_ms for name in ("slow", "slower"))
    assert profiler.get_bottlenecks(0) == []


def test_two_profilers_do_not_see_each_other(make_profiler):
    one, two = make_profiler(), make_profiler()
    with one.profile("a"):
        with two.profile("b"):
            with one.profile("c"):
                pass
    assert names(one) == ["a", "c"]
    assert names(two) == ["b"]
    assert one.get_entries()[1].parent == 0
    assert two.get_entries()[0].parent is None


def test_many_profilers_one_after_another(make_profiler):
    for number in range(50):
        profiler = make_profiler(enable_detailed_metrics=False)
        with profiler.profile("a", number=number):
            pass
        assert profiler.get_entries()[0].metadata == {"number": number}
        profiler.close()


class Counting(GPUProfiler):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.asked = 0

    def get_entries(self):
        self.asked += 1
        return super().get_entries()


def test_a_subclass(make_profiler):
    profiler = make_profiler(kind=Counting)
    with profiler.profile("a"):
        pass
    assert names(profiler) == ["a"]
    assert profiler.asked == 1
    assert isinstance(profiler.run(), Run)


def test_a_subclass_that_forgets_to_call_its_base():
    class Broken(GPUProfiler):
        def __init__(self):
            pass

    broken = Broken()
    assert not broken.enabled
    for call in (broken.get_entries, broken.reset, broken.stats, broken.flush):
        with pytest.raises((RuntimeError, AttributeError)):
            call()
    with broken.profile("a"):
        pass
    broken.enabled = True
    assert not broken.enabled
