# SPDX-License-Identifier: Apache-2.0
"""Telemetry on a device: against NVIDIA's own Python package, and for plausibility: ``make test-gpu``."""

import json
import os
import subprocess
import sys
import time

import pytest

from regimeter import UnavailableError
from regimeter.system import telemetry

from . import hardware


def _devices() -> list[telemetry.Device]:
    try:
        return [device for device in telemetry.devices() if device.ordinal is not None]
    except UnavailableError:
        return []


DEVICES = _devices()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not DEVICES, reason="NVML finds no device that CUDA sees")]


@pytest.fixture(scope="module")
def nv():
    """NVIDIA's package, initialised."""
    package = pytest.importorskip("pynvml")
    package.nvmlInit()
    yield package
    package.nvmlShutdown()


@pytest.fixture(params=DEVICES, ids=lambda device: str(device.uuid))
def device(request):
    return request.param


@pytest.fixture
def theirs(nv, device):
    if device.part:
        pytest.skip("a MIG device: the package is asked for whole ones here")
    return nv.nvmlDeviceGetHandleByUUID(device.uuid)


def value(device: telemetry.Device, name: str) -> float:
    found = telemetry.read(device.ordinal)[name]
    if not found.known:
        pytest.skip(f"{name}: {found.reason}")
    return found.value


def torch_with_cuda():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device")
    return torch


# --- against the package --------------------------------------------------------------------------------------------


def test_identity(nv, device, theirs):
    text = nv.nvmlDeviceGetPciInfo(theirs).busId
    assert device.bus == (text.decode() if isinstance(text, bytes) else text)
    assert device.name == nv.nvmlDeviceGetName(theirs)
    assert telemetry.library()["driver"] == nv.nvmlSystemGetDriverVersion()


def test_what_does_not_change_is_the_same(nv, device, theirs):
    memory = nv.nvmlDeviceGetMemoryInfo(theirs)
    assert value(device, "memory_total_bytes") == memory.total
    assert value(device, "power_limit_watts") == nv.nvmlDeviceGetEnforcedPowerLimit(theirs) / 1e3
    facts = next(one for one in telemetry.facts()["devices"] if one["uuid"] == device.uuid)
    assert facts["clock_sm_max_mhz"] == nv.nvmlDeviceGetMaxClockInfo(theirs, nv.NVML_CLOCK_SM)
    for name, call in (
        ("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth"),  # a virtual machine does not tell
        ("ecc_mode", "nvmlDeviceGetEccMode"),
        ("persistence_mode", "nvmlDeviceGetPersistenceMode"),
    ):
        try:
            expected = getattr(nv, call)(theirs)
        except nv.NVMLError:
            assert name in facts["unavailable"]
        else:
            assert facts[name] == (expected[0] if isinstance(expected, list | tuple) else expected)


@pytest.mark.parametrize(
    ("name", "call", "per_unit", "slack"),
    [
        ("temperature_gpu_celsius", lambda nv, d: nv.nvmlDeviceGetTemperature(d, nv.NVML_TEMPERATURE_GPU), 1, 3),
        ("clock_memory_mhz", lambda nv, d: nv.nvmlDeviceGetClockInfo(d, nv.NVML_CLOCK_MEM), 1, 0),
        ("energy_joules", lambda nv, d: nv.nvmlDeviceGetTotalEnergyConsumption(d), 1e3, 2000),
        ("ecc_uncorrected_errors", lambda nv, d: nv.nvmlDeviceGetTotalEccErrors(d, 1, 0), 1, 0),
        ("performance_state", lambda nv, d: nv.nvmlDeviceGetPerformanceState(d), 1, 0),
        ("pcie_replays", lambda nv, d: nv.nvmlDeviceGetPcieReplayCounter(d), 1, 0),
    ],
)
def test_readings_lie_between_two_of_the_package(nv, device, theirs, name, call, per_unit, slack):
    try:
        before = call(nv, theirs) / per_unit
    except nv.NVMLError as error:
        assert not telemetry.read(device.ordinal)[name].known, error
        return
    ours = value(device, name)
    after = call(nv, theirs) / per_unit
    assert min(before, after) - slack <= ours <= max(before, after) + slack


def test_what_is_not_offered_is_not_offered_to_the_package_either(nv, device, theirs):
    calls = {
        "fan_speed_percent": nv.nvmlDeviceGetFanSpeed,
        "gpu_utilization_percent": nv.nvmlDeviceGetUtilizationRates,
        "energy_joules": nv.nvmlDeviceGetTotalEnergyConsumption,
        "power_watts": nv.nvmlDeviceGetPowerUsage,
    }
    found = telemetry.read(device.ordinal, expensive=True)
    for name, call in calls.items():
        try:
            call(theirs)
        except nv.NVMLError:
            assert not found[name].known, name
        else:
            assert found[name].known, (name, found[name].reason)


# --- plausibility ---------------------------------------------------------------------------------------------------


def test_values_are_plausible(device):
    found = {name: one.value for name, one in telemetry.read(device.ordinal, expensive=True).items() if one.known}
    print({name: one.reason for name, one in telemetry.read(device.ordinal).items() if not one.known})
    assert found, "nothing at all is known"
    for name, shown in found.items():
        if name.endswith("_percent") and name != "fan_speed_percent":
            assert 0 <= shown <= 100, name
    if "power_limit_watts" in found:
        for name in {"power_watts", "power_instant_watts", "power_average_watts"} & set(found):
            assert 0 < found[name] <= 1.2 * found["power_limit_watts"], name
    assert found["memory_used_bytes"] + found["memory_free_bytes"] <= found["memory_total_bytes"]
    if "temperature_gpu_celsius" in found:
        assert 0 < found["temperature_gpu_celsius"] < 120


def test_energy_grows_and_agrees_with_power(device):
    first, begin = value(device, "energy_joules"), time.monotonic()
    powers = []
    while time.monotonic() - begin < 2.0:
        found = telemetry.read(device.ordinal)
        powers.append(next(found[n].value for n in ("power_instant_watts", "power_watts") if found[n].known))
        time.sleep(0.05)
    joules, seconds = value(device, "energy_joules") - first, time.monotonic() - begin
    assert joules >= 0
    # The sensor may see a part of the time only: a factor of two is what an idle device has been seen to be off by.
    with hardware.claim("energy grows by power times time, within a factor of two"):
        assert 0.5 * min(powers) <= joules / seconds <= 2 * max(powers)


def test_memory_of_torch_is_in_what_is_used(device):
    torch = torch_with_cuda()
    size = 1 << 30
    held = torch.ones(size, dtype=torch.uint8, device=f"cuda:{device.ordinal}")
    torch.cuda.synchronize(device.ordinal)
    assert value(device, "memory_used_bytes") >= torch.cuda.memory_allocated(device.ordinal) >= size
    del held


def test_the_ordinal_is_torch_s(device):
    torch = torch_with_cuda()
    torch.cuda.init()
    uuid = str(torch.cuda.get_device_properties(device.ordinal).uuid)
    found = next(one for one in telemetry.devices() if one.ordinal == device.ordinal)
    assert found.uuid.removeprefix("GPU-") == uuid.removeprefix("GPU-") or found.part
    assert found.part or found.mapping == "UUID from the CUDA driver"


def test_load_is_seen(device):
    torch = torch_with_cuda()
    a = torch.ones(4096, 4096, device=f"cuda:{device.ordinal}")
    begin = time.monotonic()
    best = 0.0
    while time.monotonic() - begin < 3.0:
        for _ in range(20):
            a = (a @ a).clamp_(0, 1)
        torch.cuda.synchronize(device.ordinal)
        best = max(best, value(device, "gpu_utilization_percent"))
    with hardware.claim("products show as utilisation"):
        assert best > 50


def test_what_the_calls_cost_is_shown(device, capsys):
    """Costs are printed, not asserted: they decide about the cost classes of the list."""
    rounds = 20
    begin = time.perf_counter()
    for _ in range(rounds):
        telemetry.read(device.ordinal)
    cheap = (time.perf_counter() - begin) / rounds
    begin = time.perf_counter()
    telemetry.read(device.ordinal, expensive=True)
    with capsys.disabled():
        print(f"\n{device.name}: a reading {cheap * 1e3:.2f} ms, with what is expensive", end=" ")
        print(f"{(time.perf_counter() - begin) * 1e3:.1f} ms, NVML initialised in", end=" ")
        print(f"{telemetry.library()['init_ns'] / 1e6:.1f} ms")


def test_a_forked_child_can_read():
    code = """
import os
from regimeter.system import telemetry
telemetry.devices()
child = os.fork()
if child == 0:
    os._exit(0 if telemetry.read(0)["memory_total_bytes"].known else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_the_verb(device):
    words = ["telemetry", "--json", "--device", str(device.ordinal)]
    out = subprocess.run(
        [sys.executable, "-m", "regimeter", *words], env=dict(os.environ), capture_output=True, text=True, check=True
    ).stdout
    (sample,) = json.loads(out)["samples"]
    assert set(sample["values"]) | set(sample["unavailable"]) == set(telemetry.metrics())
