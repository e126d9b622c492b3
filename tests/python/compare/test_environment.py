# SPDX-License-Identifier: Apache-2.0
"""What a run was measured on: recorded on doubles of the vendors' libraries, read by everything that compares runs."""

import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import fakes
import pytest
import warm
from plugin_session import run as run_session
from shared import once
from traces import trace_path

from regimeter import ProfilerComparison, compare_profiling_runs, load
from regimeter.calibration.choice import choose
from regimeter.cli import main
from regimeter.compare import noise_floor
from regimeter.compare.environments import differences
from regimeter.run.environment import SECTIONS, Environment, Gpu, environments_of
from regimeter.run.identity import FACTS, KEYS, Severity, facts_of, key_of
from regimeter.system import cache, gpus

pytest_plugins = ["pytester"]
# Numbers of the doubles: an A100 with a driver of branch 550, an H100 with one of branch 570.
A100, H100 = "model=1,driver=550", "model=2,driver=570"
RECORDS = """
import os
if "BOUND_TO" in os.environ:
    os.sched_setaffinity(0, {int(os.environ["BOUND_TO"])})
import numpy
from regimeter import GPUProfiler
with GPUProfiler(path="run.rgm", enable_detailed_metrics=False) as profiler:
    for number in range(40):
        with profiler.profile("work", device="cpu"):
            sum(range(2000))
    profiler.export_json("run.json")
"""


def run_recorder(folder, variables):
    done = warm.program(folder, RECORDS, {**os.environ, **variables})
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Recorded:
    """One recording in both of its forms."""

    folder: Path

    @property
    def rgm(self) -> Path:
        return self.folder / "run.rgm"

    @property
    def json(self) -> Path:
        return self.folder / "run.json"

    @property
    def environment(self) -> Environment:
        return Environment.of(load(self.rgm).environment)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """Return a function that records a small program on an NVML double with these numbers, '' for no library."""

    def recorded(numbers, *, name="", **variables):
        key = (numbers, name, *sorted(variables.items()))

        def make(folder):
            env = fakes.environment(nvml=numbers) if numbers else {"REGIMETER_LIBNVML": "off"}
            run_recorder(folder, {**env, **variables})

        return Recorded(once(tmp_path_factory, f"environment-{zlib.crc32(repr(key).encode())}", make))

    return recorded


def found_between(before, after):
    return {row.fact: row for row in differences([load(before.rgm).environment], [load(after.rgm).environment])}


# --- what a recording says --------------------------------------------------------------------------------------


def test_a_recording_names_its_gpus_and_their_set_up(record):
    found = record("devices=2,model=1,driver=550").environment
    assert [gpu.model for gpu in found.gpus] == ["NVIDIA A100-SXM4-80GB"] * 2
    assert [gpu.ordinal for gpu in found.gpus] == [0, 1]
    assert found.driver == "550.65.06"
    assert found.gpus[0].power_limit_watts == 700
    assert found.gpus[0].clocks == "not set"
    assert found.cores
    assert found.cpu
    assert found.python
    assert found.host
    assert found.libraries["numpy"]
    assert found.blas
    assert found.blas_threads
    assert found.unknown == {}


def test_both_forms_of_a_recording_say_the_same(record):
    for numbers in (A100, "", "application_mhz=1410"):
        made = record(numbers)
        assert Environment.of(load(made.json).environment) == made.environment
        assert Environment.of(json.loads(made.json.read_text())["environment"]) == made.environment
        typed = made.environment
        assert Environment.of(typed) is typed


@pytest.mark.skipif(gpus.driver_files() != [], reason="a GPU driver is on this machine")
def test_without_a_gpu_the_recording_says_that_there_is_none(record):
    stored = load(record("").rgm).environment["gpus"]
    assert stored["devices"] == []
    assert stored["reason"]
    assert record("").environment.gpus == ()
    assert facts_of([record("").environment])["gpu"] == ["none"]


def test_what_the_library_does_not_tell_is_unknown_with_its_reason(record):
    made = record("fail_call=1,fail_result=999")  # nvmlInit fails
    found = made.environment
    assert found.gpus is None
    assert "999" in found.unknown["gpu"] or "nvmlInit" in found.unknown["gpu"]
    (row,) = (row for row in found_between(made, record(A100)).values() if row.fact == "GPU model")
    assert not row.incomparable
    assert row.before == found.unknown["gpu"][:80] or row.before.endswith("…")
    assert row.after == "NVIDIA A100-SXM4-80GB"


def test_traces_and_nsys_say_it_in_their_own_form():
    torch = Environment.of(load(trace_path("a100_memcpy_2023.json")).environment)
    assert {gpu.model for gpu in torch.gpus} == {"NVIDIA A100-SXM4-40GB"}
    nsys = Environment.of(load(trace_path("nsys_h100_2gpu_1s.sqlite")).environment)
    assert nsys.gpus is None  # a part of an export, without its table of GPUs
    assert nsys.driver == "580.95.05"
    assert nsys.driver_cuda == "13.0"
    assert nsys.cpu is None  # Nsight says "unknown"
    (row,) = (row for row in differences([torch], [nsys]) if row.fact == "GPU model")
    assert (row.before, row.after, row.incomparable) == ("NVIDIA A100-SXM4-40GB", "not stated", False)
    other = Environment.of(load(trace_path("h100_2026_04_writer_mock.json")).environment)
    assert next(row for row in differences([torch], [other]) if row.fact == "GPU model").incomparable
    assert (other.driver_cuda, other.cuda) == ("13.0", "12.9")


@pytest.mark.parametrize(
    "stored",
    [
        {"gpus": 7, "cores": "two", "cpu": 3, "libraries": [], "trace": [], "units": 1, "nsys": "x", "python": None},
        {"gpus": {"devices": [{"name": None}]}},
        {"gpus": {"devices": [1, None, []]}, "cores": 1e300, "caches": [1, "x"], "memory_bytes": float("nan")},
        {"trace": {"deviceProperties": [{}, {"name": 5}], "cuda_driver_version": "x", "pytorch_version": 2}},
        {"gpus": {"devices": [{"name": "A", "power_limit_watts": True, "ecc_mode": "on", "ordinal": -0.5}]}},
    ],
)
def test_what_has_another_form_is_unknown_and_breaks_nothing(stored):
    found = Environment.of(stored)
    assert found.cores is None
    assert found.caches is None
    assert found.driver_cuda is None
    for key in KEYS:
        key_of(facts_of([found], key))
    differences([found], [stored])


# --- what makes runs incomparable -------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.5, "x", ["x"], None])
def test_a_section_that_is_no_object_is_left_out(record, tmp_path, capsys, value):
    """A damaged or foreign file; what is said of the rest needs none of them."""
    document = json.loads(record("").json.read_text())
    document["environment"] |= dict.fromkeys(SECTIONS, value)
    (tmp_path / "odd.json").write_text(json.dumps(document))
    assert main(["show", str(tmp_path / "odd.json"), "--json"]) == 0
    capsys.readouterr()
    assert load(tmp_path / "odd.json").verdict() is not None


def test_another_model_is_incomparable_and_another_driver_is_named(record):
    found = found_between(record(A100), record(H100))
    assert found["GPU model"].incomparable
    assert found["GPU model"].words == "GPU model: baseline NVIDIA A100-SXM4-80GB, current NVIDIA H100 80GB HBM3"
    assert not found["GPU driver"].incomparable
    assert set(found) == {"GPU model", "GPU driver"}
    assert found_between(record(A100), record(A100, name="again")) == {}


@pytest.mark.parametrize("form", ["rgm", "json"])
def test_python_and_the_command_end_with_4(record, capsys, form):
    before, after = (str(getattr(record(numbers), form)) for numbers in (A100, H100))
    assert compare_profiling_runs(before, after).exit_code == 4
    assert compare_profiling_runs(before, before).exit_code == 0
    assert main(["compare", before, after]) == 4
    assert "GPU model" in capsys.readouterr().err
    assert main(["compare", before, after, "--force", "--fail-on", "never"]) == 0
    assert "GPU model" in capsys.readouterr().out


def test_the_pytest_gate_does_not_compare_them(pytester, monkeypatch):
    pytester.makepyfile("def test_step(gpu_benchmark):\n    gpu_benchmark(lambda: sum(range(1000)))")
    monkeypatch.setenv("REGIMETER_LIBNVML", fakes.environment(nvml="")["REGIMETER_LIBNVML"])
    said = []
    for numbers, words in ((A100, "--perf-save=main"), (A100, "--perf-compare=main"), (H100, "--perf-compare=main")):
        monkeypatch.setenv("FAKE_NVML", numbers)
        result = run_session(pytester, words, apart=True)
        said.append(result.stdout.str())
    assert int(result.ret) == 4, said[-1]
    assert "GPU model: baseline NVIDIA A100-SXM4-80GB, current NVIDIA H100 80GB HBM3" in said[-1]
    assert "GPU model" not in said[0] + said[1]


def test_changing_the_model_in_an_exported_file_makes_it_incomparable(record, tmp_path, capsys):
    made = record("devices=2,model=1")
    document = json.loads(made.json.read_text())
    for device in document["environment"]["gpus"]["devices"]:
        device["name"] = "NVIDIA H200"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(document))
    assert compare_profiling_runs(str(made.json), str(other)).exit_code == 4
    assert compare_profiling_runs(str(made.json), document).exit_code == 4
    assert main(["compare", str(made.json), str(other)]) == 4
    capsys.readouterr()


def test_clocks_that_were_set_are_incomparable_with_clocks_that_were_not(record):
    found = found_between(record(""), record("application_mhz=1410"))
    assert found["GPU model"].incomparable  # none, and one
    row = found_between(record("application_mhz=1980"), record("application_mhz=1410"))["GPU clocks"]
    assert (row.before, row.after, row.incomparable) == ("not set", "set to 1410 MHz", True)


def test_fewer_processors_are_incomparable(record, tmp_path):
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("one processor")
    run_recorder(tmp_path, {"REGIMETER_LIBNVML": "off", "BOUND_TO": str(allowed[0])})
    row = found_between(record(""), Recorded(tmp_path))["usable processors"]
    assert (row.after, row.incomparable) == ("1", True)


def test_what_one_side_does_not_state_is_named_and_forbids_nothing(record, capsys, tmp_path):
    made = record(A100)
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps({"entries": [{"operation": "work", "duration_ms": 1.0}] * 40}))
    rows = differences([{}], [load(made.rgm).environment])
    assert {row.fact for row in rows} == {"GPU model", "GPU clocks", "processor", "usable processors"}
    assert {row.before for row in rows} == {"not stated"}
    assert not any(row.incomparable for row in rows)
    assert main(["compare", str(plain), str(made.json)]) in (0, 1)
    said = " ".join(capsys.readouterr().out.split())  # lines are as wide as the terminal
    assert "GPU model: baseline not stated, current NVIDIA A100-SXM4-80GB" in said
    assert differences([{}], [{}]) == ()
    assert differences([], [load(made.rgm).environment]) == ()  # samples without a machine


def test_other_units_are_incomparable(record):
    made = record(A100)
    document = json.loads(made.json.read_text())
    other = {**document, "units": {**document["units"], "*_ms": "microseconds"}}
    comparison = ProfilerComparison(document, other)
    rows = differences(comparison.baseline.environments, comparison.current.environments)
    assert [(row.fact, row.incomparable) for row in rows] == [("unit of the times", True)]


def test_a_side_that_is_mixed_says_so(record):
    sides = [str(record(A100).rgm), str(record(H100).rgm)]
    warnings = ProfilerComparison(sides, sides).warnings
    assert any("its inputs differ in GPU model: NVIDIA A100" in text for text in warnings)


# --- keys -------------------------------------------------------------------------------------------------------


def test_keys_follow_the_gpu_the_driver_and_the_clocks(record):
    first, again, other = record(A100), record(A100, name="again"), record(H100)
    keys = {name: [key_of(facts_of([made.environment], name)) for made in (first, again, other)] for name in KEYS}
    for name in ("history", "noise", "device", "tuning_device"):
        assert keys[name][0] == keys[name][1] != keys[name][2], name
    for name in ("host", "tuning_host"):
        assert len(set(keys[name])) == 1, name
    branch, clocks = record("model=1,driver=560"), record("model=1,driver=550,application_mhz=1410")
    for made in (branch, clocks):
        assert key_of(facts_of([made.environment])) != keys["history"][0]
        assert key_of(facts_of([made.environment], "noise")) != keys["noise"][0]
    with pytest.raises(ValueError, match="no key is called"):
        facts_of([first.environment], "nothing")


def test_kept_noise_floors_are_those_of_the_same_gpu(record, tmp_path, monkeypatch):
    monkeypatch.setenv("REGIMETER_CACHE", str(tmp_path))
    environment = load(record(A100).rgm).environment
    path = noise_floor.keep(noise_floor.NoiseFloor({"work": 0.03}, {"work": 0.04}, 20, environment))
    assert Path(path).parent == tmp_path / "noise"
    assert noise_floor.known([environment])["overall"] == 0.03
    assert noise_floor.known([environment, load(record(A100, name="again").rgm).environment])["overall"] == 0.03
    assert noise_floor.known([load(record(H100).rgm).environment]) is None
    assert noise_floor.known([environment, load(record(H100).rgm).environment]) is None
    Path(path).write_text('{"format": "regimeter.noise", "overall": "x"')
    assert noise_floor.known([environment]) is None
    monkeypatch.setenv("REGIMETER_CACHE", "off")
    assert noise_floor.known([environment]) is None
    with pytest.raises(cache.NoCacheError):
        noise_floor.keep(noise_floor.NoiseFloor({"work": 0.03}, {"work": 0.04}, 20, environment))


def test_the_history_keeps_gpus_apart(record, tmp_path):
    pytest.importorskip("sqlalchemy")
    from regimeter.compare.sources import side_of
    from regimeter.history import open_history, resolve_baseline
    from regimeter.history.errors import NoBaselineError

    history = open_history(tmp_path / "history.db")
    first = history.add(side_of(str(record(A100).rgm), "a"))
    second = history.add(side_of(str(record(A100, name="again").rgm), "b"))
    other = history.add(side_of(str(record(H100).json), "c"))
    assert first.environment == second.environment != other.environment
    assert len(history.runs(environment=first.environment)) == 2
    last = resolve_baseline("last", history, environments=[load(record(A100).rgm).environment])
    assert last.label.startswith("last")
    with pytest.raises(NoBaselineError, match="of the environment"):
        resolve_baseline("last", history, environments=[load(record("model=2,driver=550").rgm).environment])


def test_the_name_of_a_runner_is_a_fact(record, monkeypatch):
    named = record("", REGIMETER_RUNNER="big").environment
    assert facts_of([named])["runner"] == ["big"]
    monkeypatch.setenv("REGIMETER_RUNNER", "small")
    assert facts_of([named])["runner"] == ["big"]
    assert facts_of([record("").environment])["runner"] == ["small"]


def test_a_share_of_the_gpu_is_a_fact(record):
    """Ceilings and times of a client of MPS are those of its share, and neither of another nor of the whole."""
    whole, half, third = (
        record(H100, **({"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": share} if share else {})).environment
        for share in ("", "50", "33")
    )
    for key in ("history", "noise", "device"):
        assert facts_of([half], key)["gpu_share"] == ["50"]
        assert "gpu_share" not in facts_of([whole], key)
    found = [(row.before, row.after, row.incomparable) for row in differences([half], [third])]
    assert found == [("50", "33", True)]
    assert [row.fact for row in differences([whole], [half])] == ["share of the GPU in %"]


def test_ceilings_are_chosen_by_the_gpu_of_the_recording(record):
    assert choose(load(record(H100).rgm)).device == "NVIDIA H100 80GB HBM3"
    assert choose(load(record(H100).json)).source == "datasheet"
    assert [gpu.model for one in environments_of(load(record(A100).rgm)) for gpu in one.gpus] == [
        "NVIDIA A100-SXM4-80GB"
    ]


# --- the table --------------------------------------------------------------------------------------------------


def test_every_field_is_a_fact_and_every_fact_is_part_of_something():
    read = " ".join(fact.name for fact in FACTS)
    assert len({fact.name for fact in FACTS}) == len(FACTS)
    assert len({fact.words for fact in FACTS}) == len(FACTS)
    for fact in FACTS:
        assert fact.severity is not Severity.IGNORED or fact.keys, fact.name
        assert fact.keys <= set(KEYS), fact.name
        assert fact.read(Environment()) is None or fact.name in ("units", "measured")
    for name in Environment.__slots__:
        assert name in (*read.split(), "libraries", "gpus", "unknown"), name
    assert Gpu().clocks is None


def test_one_folder_for_all_that_is_kept(monkeypatch):
    monkeypatch.setenv("REGIMETER_CACHE", "/x")
    assert cache.cache_folder("noise") == Path("/x/noise")
    monkeypatch.setenv("REGIMETER_CACHE", "off")
    with pytest.raises(cache.NoCacheError, match="switched off"):
        cache.cache_folder("noise")
    monkeypatch.delenv("REGIMETER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/y")
    assert cache.cache_folder("noise") == Path("/y/regimeter/noise")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/z")
    assert cache.cache_folder("noise") == Path("/z/.cache/regimeter/noise")
    monkeypatch.delenv("HOME")
    with pytest.raises(cache.NoCacheError, match="no HOME"):
        cache.cache_folder("noise")


# --- is there a GPU ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [gpus.NVIDIA, gpus.TEGRA, gpus.WSL, gpus.AMD])
def test_each_driver_counts_everywhere(path, monkeypatch):
    from regimeter.compare.ab import device

    for name in (*gpus.EVENT_LIBRARIES, gpus.NVML_LIBRARY):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(gpus.os.path, "exists", lambda asked: asked == path)
    assert gpus.possible()
    assert device.present()
    assert gpus.nvml_possible() is (path != gpus.AMD)
    assert gpus.reason() == f"{gpus.DRIVERS[path]} is on this machine"
    monkeypatch.setattr(gpus.os.path, "exists", lambda asked: False)
    assert not gpus.possible()
    assert not gpus.nvml_possible()
    assert not device.present()
    assert gpus.reason().startswith("no GPU driver on this machine")
    monkeypatch.setenv("REGIMETER_LIBCUDA", "off")
    assert not gpus.possible()
    monkeypatch.setenv("REGIMETER_LIBCUDA", "/somewhere")
    assert gpus.possible()
    assert not gpus.nvml_possible()
    monkeypatch.setenv("REGIMETER_LIBNVML", "off")
    assert gpus.nvml_possible()  # its loader says why not
