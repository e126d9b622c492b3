# SPDX-License-Identifier: Apache-2.0
"""Calibrations of devices whose clock is scripted: rates, judgements, identity, reasons."""

import json
import os
import textwrap

import fakes
import pytest
import warm

from regimeter import calibrate

DEVICE = """
import ctypes, json, os, sys
from regimeter import GPUCalibrator, UnavailableError, calibrate, detect_gpu_specs
cuda = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
def takes(name, ns):
    cuda.fake_cuda_kernel(name, None, ctypes.c_longlong(ns))
"""


@pytest.fixture
def on_device(tmp_path):
    """Run a program with doubles whose clock moves by the queued work alone; return what it printed as JSON."""

    def run(code, *, cuda="follow=0,paper=0", double="cuda", nvml=None, **variables):
        chosen = {double: cuda, "nvrtc": ""} | ({} if nvml is None else {"nvml": nvml})
        environment = {**os.environ, **fakes.environment(**chosen), "REGIMETER_LIBHIP": "off", **variables}
        if nvml is None:
            environment.setdefault("REGIMETER_LIBNVML", "off")
        done = warm.program(tmp_path, DEVICE + textwrap.dedent(code), environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


BUFFER = 4 * 52_428_800  # a quick calibration takes four times the second-level cache of the double

TIMED = """
takes(b"rgm_copy", 140_000)
takes(b"rgm_triad", 140_000)
takes(b"rgm_fma_fp32", 40_000_000)
takes(b"rgm_empty", 2_500)
"""


def test_rates_of_a_device_are_judged_by_its_datasheet(on_device):
    code = """
    imported = "torch" in sys.modules
    found = calibrate("cuda").to_dict()
    takes(b"rgm_triad", 280_000)
    parts = GPUCalibrator().run_calibration(force=True)
    print(json.dumps([imported, found, parts, detect_gpu_specs(0).memory_bandwidth_gbps]))
    """
    imported, found, parts, bandwidth = on_device(TIMED + textwrap.dedent(code))
    assert not imported  # what measures is there without it
    ceilings = found["ceilings"]
    assert ceilings == found["single"]
    assert (found["device"], found["name"]) == ("cuda:0", "NVIDIA H100 80GB HBM3")
    assert ceilings["memory_copy"]["value"] == pytest.approx(2 * BUFFER / 140e-6, rel=1e-6)  # 89 % of 3350 GB/s
    assert not ceilings["memory_copy"]["suspect"]
    assert ceilings["memory_triad"]["value"] == pytest.approx(3 * BUFFER / 140e-6, rel=1e-6)  # 134 %
    assert ceilings["memory_triad"]["suspect"]
    assert ceilings["compute_fp32"]["value"] == pytest.approx(132 * 8 * 256 * 64 * 256 / 40e-3, rel=1e-6)
    assert ceilings["compute_fp32"]["suspect"]  # next to nothing
    assert ceilings["shortest_kernel"]["value"] == 2500
    assert ceilings["dispatch_torch"]["reason"]
    assert any(text.startswith("outside of what the datasheet figures allow: ") for text in found["warnings"])
    assert found["peaks"]["source"] == "datasheet"
    assert bandwidth == 3350
    assert parts["max_bandwidth_util"] == pytest.approx(2 * BUFFER / 140e-6 / 3350e9, rel=1e-6)
    assert parts["bandwidth_threshold"] == pytest.approx(0.6 * parts["max_bandwidth_util"])
    assert parts["reasons"] == {}


def test_an_unknown_device_is_judged_by_its_attributes(on_device):
    found = on_device(
        TIMED + 'print(json.dumps([calibrate("cuda").to_dict(), GPUCalibrator().run_calibration(), '
        "detect_gpu_specs(0).source]))",
        cuda="follow=0",
    )
    calibration, run, source = found
    assert calibration["peaks"]["source"] == source == "derived"
    assert calibration["peaks"]["bytes_per_s"] == pytest.approx(2 * 1593e6 * 5120 / 8)
    assert run["max_bandwidth_util"] is None
    assert run["flops_threshold"] is None
    assert "no datasheet of Paper GPU 0" in run["reasons"]["max_bandwidth_util"]


def test_an_older_driver_loses_its_graphs_only(on_device):
    found = on_device('print(json.dumps(calibrate("cuda").to_dict()))', double="cuda_older")["ceilings"]
    assert "cuGraphInstantiateWithFlags" in found["graph_node"]["reason"]
    assert found["shortest_kernel"]["value"] > 0


def test_every_fact_of_a_device_is_in_its_identity(on_device):  # D12
    code = """
    first = calibrate("cuda").measured_at
    from regimeter.calibration import measure
    measure.forget()
    print(json.dumps([first, calibrate("cuda").measured_at, calibrate("cuda").identity]))
    """
    first, again, facts = on_device(code)
    assert first == again  # kept
    assert {"gpu", "gpu_uuid", "gpu_part", "gpu_memory", "capability", "multiprocessors"} <= set(facts)
    assert {"driver_cuda", "library torch", "regimeter"} <= set(facts)
    later, _, other = on_device(code, cuda="follow=0,multiprocessors=100,version=12080,memory_bytes=4294967296,paper=1")
    assert later > first
    changed = {name for name in facts if facts[name] != other[name]}
    assert {"gpu", "gpu_memory", "multiprocessors", "driver_cuda"} <= changed


def test_without_a_driver_or_a_compiler_the_reason_is_said(on_device):
    code = """
    said = []
    for device in ("cuda:3", "cuda"):
        try:
            calibrate(device)
        except UnavailableError as error:
            said.append(str(error))
    print(json.dumps(said))
    """
    absent, without = on_device(code, REGIMETER_LIBNVRTC="off")
    assert "no CUDA device 3" in absent
    assert "switched off" in without or "NVRTC" in without


def test_a_device_that_others_use_is_marked_and_refused_when_strict(on_device):
    code = """
    try:
        calibrate("cuda", strict=True)
    except UnavailableError as error:
        text = str(error)
    found = calibrate("cuda")
    print(json.dumps([text, found.warnings, found.state, found.identity]))
    """
    text, warnings, state, facts = on_device(code, nvml="")
    assert "computed on NVIDIA H100 80GB HBM3" in text
    assert any(line.startswith("shared: ") for line in warnings)
    assert state["shared"] is True
    assert state["during"]["clock_sm_mhz"] > 0
    assert facts["driver"]
    assert {"power_limit", "ecc", "gpu_part", "clock_most", "memory_clock_most"} <= set(facts)


@pytest.mark.parametrize("name", ["tpu", "cuda:", "cuda:-1", "cuda:x", "CPU", "", None, 3])
def test_other_devices_are_refused(name):
    with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'cuda:N'"):
        calibrate(name)
