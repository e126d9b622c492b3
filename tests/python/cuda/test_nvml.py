# SPDX-License-Identifier: Apache-2.0
"""Telemetry through a double of NVML: readings, devices and CUDA's view of them, the verb, the environment."""

import json
import os
import subprocess
import sys
import textwrap

import fakes
import pytest
import warm
from needed import package
from places import ROOT
from published import check

from regimeter import _core
from regimeter.system import telemetry

GIB = 1 << 30


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    """Run a program with the double in place of NVML; the program sees ``telemetry`` and ``fake``."""
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "FAKE_NVML"):
        monkeypatch.delenv(name, raising=False)
    head = """
        import ctypes, json, os
        from regimeter.system import telemetry
        fake = ctypes.CDLL(os.environ["REGIMETER_LIBNVML"])
        fake.fake_nvml_get.restype = ctypes.c_longlong
        fake.fake_nvml_set.argtypes = [ctypes.c_char_p, ctypes.c_longlong]
    """

    def run(program, numbers="", *, old=False, **variables):
        made = fakes.environment(nvml=numbers) | {"REGIMETER_LIBCUDA": "off"} | variables
        if old:
            made["REGIMETER_LIBNVML"] = str(fakes.library("nvml", "FAKE_OLD"))
        for name, value in made.items():
            monkeypatch.setenv(name, value)
        code = textwrap.dedent(head) + textwrap.dedent(program)
        done = warm.program(tmp_path, code, os.environ, torch="import torch" in code)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def command():
    """Run the command in a process of its own, with the double."""

    def run(*words, numbers="", **variables):
        env = os.environ | fakes.environment(nvml=numbers) | {"REGIMETER_LIBCUDA": "off"} | variables
        return subprocess.run(
            [sys.executable, "-m", "regimeter", *words], env=env, capture_output=True, text=True, timeout=300
        )

    return run


# --- the list -------------------------------------------------------------------------------------------------------


def test_metrics_carry_their_unit_in_their_name():
    units = {"percent": "_percent", "bytes": "_bytes", "W": "_watts", "J": "_joules", "celsius": "_celsius"}
    units |= {"MHz": "_mhz", "bytes/s": "_bytes_per_second", "errors": "", "": "", "bits": "", "processes": ""}
    found = telemetry.metrics()
    for metric in found.values():
        assert metric.name.endswith(units[metric.unit]), metric
        assert metric.doc.endswith(".")
        assert metric.kind in ("gauge", "counter", "flags")
        assert metric.cost in ("cheap", "moderate", "expensive")
        assert metric.dcgm == "" or metric.dcgm.startswith("DCGM_FI_DEV_")
        assert metric.opentelemetry == "" or metric.opentelemetry.startswith("hw.")
    assert [name for name, metric in found.items() if metric.cost == "expensive"] == [
        "fan_speed_percent",
        "pcie_transmit_bytes_per_second",
        "pcie_receive_bytes_per_second",
        "compute_processes",
    ]


def test_opentelemetry_names_are_those_of_its_package():
    incubating = package("opentelemetry.semconv._incubating.metrics.hw_metrics")
    known = {value for name, value in vars(incubating).items() if name.isupper() and isinstance(value, str)}
    for metric in telemetry.metrics().values():
        assert not metric.opentelemetry or metric.opentelemetry in known


def test_the_document_describes_every_metric():
    document = ROOT / "docs/gpu/telemetry.md"
    rows = [line for line in document.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for metric in telemetry.metrics().values():
        (row,) = [row for row in rows if row.startswith(f"| `{metric.name}` ")]
        for part in (metric.unit, metric.kind, metric.cost, metric.dcgm, metric.opentelemetry):
            assert part in row, (metric.name, part)
    for name in _core.clock_reasons():
        assert any(row.startswith(f"| `{name}` ") for row in rows), name


def test_clock_reasons_have_names():
    assert telemetry.clock_reasons(0) == []
    assert telemetry.clock_reasons(0b100101) == ["idle", "sw_power_cap", "sw_thermal_slowdown"]
    assert telemetry.slowed_by(0b100101) == ["sw_power_cap", "sw_thermal_slowdown"]
    assert telemetry.clock_reasons(1 << 40) == ["bit 40"]


# --- readings -------------------------------------------------------------------------------------------------------


def test_what_a_device_says(scripted):
    out = scripted(
        """
        found = telemetry.read(0)
        print(json.dumps({name: [r.value, r.unit, r.reason] for name, r in found.items()}))
        assert fake.fake_nvml_get(b"expensive") == 0
        """,
        "clock_ns=1234567890",
    )
    found = json.loads(out)
    assert list(found) == list(telemetry.metrics())
    assert found["memory_used_bytes"] == [10 * GIB, "bytes", ""]
    assert found["power_instant_watts"] == [323.4, "W", ""]
    assert found["energy_joules"][0] == pytest.approx(1220 * 0.4)
    value, _, reason = found["compute_processes"]
    assert value is None
    assert reason.startswith("not asked")


def test_what_is_expensive_is_read_on_request(scripted):
    out = scripted(
        """
        found = telemetry.read(0, expensive=True)
        print(found["compute_processes"].value, found["pcie_receive_bytes_per_second"].value)
        print(found["fan_speed_percent"].reason)
        """
    )
    assert out.splitlines() == [
        "3.0 2500000.0",
        "nvmlDeviceGetFanSpeed answers NOT_SUPPORTED: this device does not offer it",
    ]


def test_an_old_driver_gives_reasons(scripted):
    out = scripted(
        """
        found = telemetry.read(0)
        print(json.dumps({name: r.reason for name, r in found.items() if not r.known}))
        print(json.dumps(telemetry.library()["missing"]))
        """,
        old=True,
    )
    reasons, missing = map(json.loads, out.splitlines())
    assert "too old" in reasons["power_instant_watts"]
    assert "too old" in reasons["memory_reserved_bytes"]
    assert "power_watts" not in reasons
    assert "nvmlDeviceGetFieldValues" in missing


def test_a_lost_device_has_reasons_only(scripted):
    out = scripted(
        """
        telemetry.devices()
        fake.fake_nvml_set(b"lost_device", 0)
        print({r.reason for r in telemetry.read("GPU-10000001-0a0b-0c0d-0e0f-101112131415").values() if not r.known})
        print(telemetry.devices()[0].reason)
        """,
        "devices=2",
    )
    asked, reason = out.splitlines()
    assert "not asked" in asked
    assert "LOST" not in asked
    assert reason == "the device was lost: it fell off the bus or cannot be reached"


def test_devices_that_are_not_there(scripted):
    out = scripted(
        """
        from regimeter import UnavailableError
        for which in (1, -1, 1 << 40, "GPU-1"):
            try:
                telemetry.read(which)
            except UnavailableError as error:
                print(error)
        try:
            telemetry.read(1.5)
        except TypeError:
            print("TypeError")
        """
    )
    lines = out.splitlines()
    assert lines[0] == "NVML: no device 1: CUDA sees 1 of 1 devices; look at CUDA_VISIBLE_DEVICES"
    assert len(lines) == 5
    assert lines[-1] == "TypeError"


def test_without_a_library_there_is_a_reason(run_python, monkeypatch):
    monkeypatch.setenv("REGIMETER_LIBNVML", "off")
    program = """
        from regimeter import UnavailableError; from regimeter.system import telemetry
        for call in (telemetry.devices, telemetry.library, lambda: telemetry.read(0)):
            try:
                call()
            except UnavailableError as error:
                print(error)
        print(telemetry.facts())
    """
    reason = "NVML: switched off by REGIMETER_LIBNVML=off"
    assert run_python(program).stdout.splitlines() == [reason] * 3 + [str({"reason": reason})]


def test_without_a_driver_nothing_is_looked_for(monkeypatch):
    monkeypatch.delenv("REGIMETER_LIBNVML", raising=False)
    monkeypatch.setattr("regimeter.system.gpus.DRIVERS", {"/nowhere/nvidiactl": "a driver"})
    monkeypatch.setattr(telemetry, "_facts", None)
    monkeypatch.setattr(_core, "telemetry_library", None)  # not called
    assert telemetry.facts() == {
        "reason": "NVML is not there: no GPU driver on this machine (/nowhere/nvidiactl are absent)"
    }


# --- CUDA's view ----------------------------------------------------------------------------------------------------

VISIBLE = [
    "0,1,2",
    "2,0",
    "",
    "-1",
    "1,-1,2",
    "1,7,2",
    "1,1",
    "0,1,0",
    " 1, 2",
    "1gpu,2ampere",
    "x,1",
    "0,,1",
    "GPU-10000002",
    "GPU-10000001-0a0b,GPU-10000000",
    "GPU-1000000",
    "GPU-",
    "GPU-10000001,GPU-77,GPU-10000000",
    "GPU-10000001,GPU-10000001-0a0b-0c0d-0e0f-101112131415",
    "GPU-10000001,0",
    "0,GPU-10000001",
]


def test_visible_devices_as_torch_reads_them(scripted):
    """Torch has rules of its own for counting devices without starting CUDA; both must agree."""
    package("torch")
    out = scripted(
        f"""
        import torch.cuda as cuda
        uuids = [device.uuid for device in telemetry.devices()]
        def theirs(text):
            visible = cuda._parse_visible_devices()
            if visible and isinstance(visible[0], str):
                return cuda._transform_uuid_to_ordinals(visible, uuids)
            inside = [i for i, number in enumerate(visible) if number >= len(uuids)]
            return visible[: inside[0]] if inside else visible
        def ours(text):
            seen = [device for device in telemetry.devices() if device.ordinal is not None]
            return [device.index for device in sorted(seen, key=lambda device: device.ordinal)]
        for text in {VISIBLE!r}:
            os.environ["CUDA_VISIBLE_DEVICES"] = text
            assert ours(text) == list(theirs(text)), (text, ours(text), theirs(text))
        del os.environ["CUDA_VISIBLE_DEVICES"]
        assert ours(None) == [0, 1, 2]
        print("same")
        """,
        "devices=3",
    )
    assert out == "same\n"


def test_readings_follow_the_ordinal(scripted):
    program = """
        (device,) = [device for device in telemetry.devices() if device.ordinal == 0]
        print(device.uuid[:12], device.mapping, sep="|")
        """
    assert scripted(program, "devices=3", CUDA_VISIBLE_DEVICES="2") == (
        "GPU-10000002|assumed: CUDA's default order is not known to NVML\n"
    )
    assert scripted(program, "devices=3", CUDA_VISIBLE_DEVICES="2", CUDA_DEVICE_ORDER="PCI_BUS_ID") == (
        "GPU-10000002|order of the PCI bus\n"
    )
    used = {"REGIMETER_LIBCUDA": str(fakes.library("nvml"))}
    assert scripted(program, "devices=3,cuda_ready=1", **used) == "GPU-10000002|UUID from the CUDA driver\n"


def test_mig_devices(scripted):
    out = scripted(
        """
        for device in telemetry.devices():
            print(device.part, device.ordinal, device.gpu_instance)
        found = telemetry.read(0)
        print(found["memory_total_bytes"].value, found["power_limit_watts"].value)
        print(found["gpu_utilization_percent"].reason)
        """,
        "mig=1",
        CUDA_VISIBLE_DEVICES="MIG-20000000-0001",
    )
    assert out.splitlines() == [
        "False None None",
        "True None 7",
        "True 0 8",
        f"{10.0 * GIB} 700.0",
        "nvmlDeviceGetUtilizationRates answers NOT_SUPPORTED: this device does not offer it",
    ]


# --- against NVIDIA's own Python package ----------------------------------------------------------------------------


def test_nvidia_s_package_reads_the_same_from_the_double(run_python, tmp_path, monkeypatch):
    """The double is written with our declarations; NVIDIA's package reads it with its own."""
    package("pynvml")
    (tmp_path / "libnvidia-ml.so.1").symlink_to(fakes.library("nvml"))
    program = """
        import pynvml as nv
        from regimeter.system import telemetry
        nv.nvmlInit()
        device = nv.nvmlDeviceGetHandleByIndex(0)
        found = {name: reading.value for name, reading in telemetry.read(0, expensive=True).items()}
        memory = nv.nvmlDeviceGetMemoryInfo(device, version=nv.nvmlMemory_v2)
        assert found["memory_used_bytes"] == memory.used and found["memory_reserved_bytes"] == memory.reserved
        assert found["memory_free_bytes"] == memory.free and found["memory_total_bytes"] == memory.total
        rates = nv.nvmlDeviceGetUtilizationRates(device)
        assert found["gpu_utilization_percent"] == rates.gpu and found["memory_utilization_percent"] == rates.memory
        values = nv.nvmlDeviceGetFieldValues(
            device, [nv.NVML_FI_DEV_POWER_INSTANT, (nv.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, 0xFFFFFFFF)]
        )
        assert [v.nvmlReturn for v in values] == [0, 0]
        assert found["power_instant_watts"] == values[0].value.uiVal / 1e3
        assert found["nvlink_transmit_bytes"] == values[1].value.ullVal * 1024
        assert values[1].valueType == nv.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
        assert found["clock_sm_mhz"] == nv.nvmlDeviceGetClockInfo(device, nv.NVML_CLOCK_SM)
        assert found["temperature_gpu_celsius"] == nv.nvmlDeviceGetTemperature(device, nv.NVML_TEMPERATURE_GPU)
        reasons = nv.nvmlDeviceGetCurrentClocksEventReasons(device)
        assert reasons & nv.nvmlClocksEventReasonSwPowerCap and found["clock_reasons"] == reasons
        assert telemetry.devices()[0].bus == nv.nvmlDeviceGetPciInfo(device).busId
        assert telemetry.devices()[0].uuid == nv.nvmlDeviceGetUUID(device)
        print("same")
    """
    monkeypatch.delenv("REGIMETER_LIBNVML", raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("REGIMETER_LIBCUDA", "off")
    monkeypatch.setenv("FAKE_NVML", "clock_ns=98765432")
    assert run_python(program).stdout == "same\n"


# --- the verb and the environment -----------------------------------------------------------------------------------


def test_the_verb_prints_values_and_reasons(command):
    out = command("telemetry", "--expensive", numbers="devices=2").stdout
    assert out.count("Scripted GPU") == 2
    assert "clock_reasons                   sw_power_cap" in out
    assert "compute_processes               3 processes" in out
    assert "fan_speed_percent               nvmlDeviceGetFanSpeed answers NOT_SUPPORTED" in out


def test_the_verb_as_json(command):
    words = ("telemetry", "--json", "--count", "3", "--interval", "10ms", "--device", "1")
    document = check(json.loads(command(*words, numbers="devices=2").stdout))
    assert document["format"] == "regimeter.telemetry"
    assert [device["ordinal"] for device in document["devices"]] == [1]
    assert len(document["samples"]) == 3
    times = [sample["unix_ns"] for sample in document["samples"]]
    assert times == sorted(times)
    sample = document["samples"][0]
    assert sample["values"]["power_limit_watts"] == 700.0
    assert set(sample["values"]) | set(sample["unavailable"]) == set(telemetry.metrics())


def test_the_verb_says_why_it_cannot(command, refused):
    found = command("telemetry", REGIMETER_LIBNVML="off")
    assert found.returncode == 1
    assert found.stderr == "regimeter: NVML: switched off by REGIMETER_LIBNVML=off\n"
    found = command("telemetry", numbers="devices=2", CUDA_VISIBLE_DEVICES="")
    assert found.returncode != 0
    assert "CUDA sees none of 2 devices" in found.stderr
    assert "no device 7" in command("telemetry", "--device", "7").stderr
    for words in (["--count", "0"], ["--interval", "1ms"], ["--interval", "soon"]):
        refused(["telemetry", *words], "expected")


def test_doctor_has_a_line(command, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('not here')")  # the real one takes seconds, and is not asked

    def line(**variables):
        checks = json.loads(command("doctor", "--json", PYTHONPATH=str(tmp_path), **variables).stdout)["checks"]
        return next(check for check in checks if check["name"] == "telemetry")

    found = line(numbers="devices=2")
    assert found["state"] == "ok"
    assert "driver 580.65.06" in found["detail"]
    assert "2 devices: Scripted GPU" in found["detail"]
    found = line(numbers="fail_call=1,fail_result=18")
    assert found["state"] == "missing"
    assert "LIB_RM_VERSION_MISMATCH" in found["detail"]
    found = line(REGIMETER_LIBNVML=str(fakes.library("nvml", "FAKE_OLD")))
    assert found["state"] == "limited"
    assert "nvmlDeviceGetMigMode" in found["remedy"]


def test_the_environment_of_a_run_names_the_devices(scripted):
    out = scripted(
        """
        import regimeter
        with regimeter.GPUProfiler() as profiler:
            with profiler.profile("a", device="cpu"):
                pass
        print(json.dumps(profiler.run().environment["gpus"]))
        print(fake.fake_nvml_get(b"inits"), fake.fake_nvml_get(b"expensive"))
        """,
        "devices=2,fail_call=25,fail_result=4",  # 25: the modes
        CUDA_VISIBLE_DEVICES="1",
    )
    document, counts = out.splitlines()
    found = json.loads(document)
    assert found["driver"] == "580.65.06"
    (device,) = found["devices"]
    assert device["uuid"].startswith("GPU-10000001")
    assert device["power_limit_watts"] == 700.0
    assert device["clock_sm_max_mhz"] == 1990.0
    assert device["pcie_generation"] == 5.0
    assert "persistence_mode" not in device
    assert device["unavailable"]["persistence_mode"] == (
        "nvmlDeviceGetPersistenceMode answers NO_PERMISSION: this user may not read it"
    )
    assert counts == "1 0"


def test_facts_stop_when_their_time_is_up(scripted):
    out = scripted(
        """
        from regimeter import _core
        (device,) = _core.telemetry_facts(15.0)
        print(sum(name in device for name in ("memory_bytes", "pcie_width")), device["unavailable"]["pcie_width"])
        """,
        "sleep_ns=10000000",
    )
    assert out == "1 not asked: the facts before it took too long\n"


@pytest.mark.parametrize(("device", "visible", "says"), [(1, "", ""), (2, "", "it sees: 0, 1"), (1, "0", "it sees: 0")])
def test_a_device_that_is_not_there_is_named(device, visible, says, run_python):
    program = """
        import sys, warnings
        from regimeter import GPUProfiler
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with GPUProfiler(device_id=int(sys.argv[1])) as profiler:
                about = profiler.run().environment["device"]
        assert about["device_id"] == int(sys.argv[1])
        assert [str(w.message) for w in caught] == [about["device_id_reason"]] * bool(about["device_id_reason"])
        print(about["device_id_reason"])
    """
    found = fakes.environment(nvml="devices=2") | {"REGIMETER_LIBCUDA": "off"}
    if visible:
        found["CUDA_VISIBLE_DEVICES"] = visible
    said = run_python(program, str(device), env=found).stdout.strip()
    assert says in said
    assert bool(said) == bool(says)
