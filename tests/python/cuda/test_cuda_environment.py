# SPDX-License-Identifier: Apache-2.0
"""Whether CUDA can be used: without a driver, on doubles of it, with one that fails, in a forked child."""

import json

import fakes
import pytest

from regimeter.system import gpus

ASK = """
    import dataclasses, json, os, sys
    from regimeter import initialize_cuda_environment, is_cuda_available
    before = dict(os.environ)
    found = initialize_cuda_environment()
    assert is_cuda_available() is bool(found) is found.available
    assert dict(os.environ) == before
    assert "torch" not in sys.modules and "numpy" not in sys.modules
    print(json.dumps(dataclasses.asdict(found)))
"""


def ask(run_python, **variables):
    done = run_python(ASK, env=variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(gpus.driver_files() != [], reason="a GPU driver is on this machine")
def test_without_a_driver_it_is_not_and_the_reason_is_said(run_python):
    found = ask(run_python, REGIMETER_LIBCUDA="off", REGIMETER_LIBHIP="off")
    assert found["available"] is False
    assert found["reason"].startswith("no GPU driver on this machine")
    assert found["devices"] == []


def test_a_library_that_is_none_has_its_reason(run_python, tmp_path):
    found = ask(run_python, REGIMETER_LIBCUDA=str(tmp_path / "libcuda.so.1"))
    assert found["available"] is False
    assert "libcuda.so.1" in found["reason"]


def test_devices_are_those_of_the_driver(run_python):
    found = ask(run_python, **fakes.environment(cuda="devices=2,version=12040", nvml="devices=2,driver=550"))
    assert found["available"] is True
    assert found["reason"] == ""
    assert [device["ordinal"] for device in found["devices"]] == [0, 1]
    assert all(device["model"] and device["capability"] and device["memory_bytes"] for device in found["devices"])
    assert (found["cuda"], found["driver"]) == ("12.4", "550.65.06")
    assert ask(run_python, **fakes.environment(cuda=""), REGIMETER_LIBNVML="off")["driver"] is None


@pytest.mark.parametrize(
    ("numbers", "said"), [("devices=0", "CUDA_ERROR_NO_DEVICE"), ("fail_cuInit=999", "cuInit failed")]
)
def test_a_driver_that_has_nothing_or_fails_has_its_reason(run_python, numbers, said):
    found = ask(run_python, **fakes.environment(cuda=numbers))
    assert found["available"] is False
    assert said in found["reason"]
    assert found["devices"] == []


@pytest.mark.skipif(gpus.driver_files() != [], reason="a GPU driver is on this machine")
def test_a_toolkits_copy_of_the_driver_is_left_alone(run_python, tmp_path):
    """It may belong to another kernel driver, and then torch finds no device either."""
    copy = tmp_path / "compat" / "libcuda.so.1"
    copy.parent.mkdir()
    copy.symlink_to(fakes.under_its_name("cuda", "libcuda.so.1") / "libcuda.so.1")
    program = """
        from regimeter import GPUProfiler
        with GPUProfiler(profile_kernels=True) as profiler:
            print(profiler.kernels_reason)
    """
    done = run_python(program, env={"CUDA_HOME": str(tmp_path), "CUDA_PATH": str(tmp_path)})
    assert "libcuda.so.1 was not found" in done.stdout, done.stderr


def test_a_child_that_was_forked_afterwards_says_so(run_python):
    program = """
        import os
        from regimeter import initialize_cuda_environment, is_cuda_available
        assert is_cuda_available()
        child = os.fork()
        if not child:
            found = initialize_cuda_environment()
            os._exit(0 if not found and "fork" in found.reason else 1)
        assert os.waitpid(child, 0)[1] == 0
        print("ok")
    """
    done = run_python(program, env=fakes.environment(cuda=""))
    assert done.stdout.strip() == "ok", done.stderr
