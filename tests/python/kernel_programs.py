# SPDX-License-Identifier: Apache-2.0
"""Programs that use a device through the doubles of the CUDA driver and of CUPTI, and what their runs hold."""

import os
import subprocess
import sys
import textwrap

import fakes
import numpy as np
import warm

from regimeter import _core

# A program that uses the device: `launch` queues a kernel, `copy` a transfer from the host.
DEVICE = """
import ctypes, os
cuda = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    assert result == 0, (name, result)
def made(name, *arguments):
    handle = ctypes.c_void_p()
    call(name, ctypes.byref(handle), *arguments)
    return handle
call("cuInit", 0)
call("cuCtxSetCurrent", made("cuDevicePrimaryCtxRetain", 0))
module = made("cuModuleLoadData", b"")
def launch(name=b"_Z4gemmPf", stream=None):
    function = made("cuModuleGetFunction", module, name)
    call("cuLaunchKernel", function, 4, 2, 1, 256, 1, 1, 1024, stream, None, None)
memory = ctypes.c_uint64()
call("cuMemAlloc_v2", ctypes.byref(memory), 1 << 16)
host = ctypes.create_string_buffer(1 << 16)
def copy():
    call("cuMemcpyHtoDAsync_v2", memory, host, 1 << 16, None)
"""


def run_program(
    tmp_path, code, *, cuda="kernel_ns=40000", cupti="", arguments=(), status=0, started=False, **variables
):
    """Run a program with the doubles in `tmp_path`; return its output, or what it left when `status` is not 0.

    arguments: of the interpreter, before the program. started: by a start of its own, else from a warm process.
    """
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(DEVICE) + textwrap.dedent(code), encoding="utf-8")
    environment = {
        **os.environ,
        **fakes.environment(cuda=cuda, cupti=cupti),
        "REGIMETER_LIBHIP": "off",
        **variables,
    }
    if started or status:
        command = [sys.executable, *arguments, str(script)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
    elif arguments:
        assert arguments[:2] == ["-m", "regimeter"]
        done = warm.command(tmp_path, *arguments[2:], script, variables=environment)
    else:
        done = warm.program(tmp_path, script.read_text(encoding="utf-8"), environment)
    assert done.returncode == status, done.stderr
    return done


def kind_rows(run, kind):
    return np.flatnonzero(run.spans.kind == _core.SPAN_KINDS.index(kind))


def scopes_of(run, row):
    """Names of the scopes around the launch of a piece of device work, innermost first."""
    names = []
    row = run.spans.launch[row]
    while row >= 0:
        names.append(run.strings[run.spans.name[row]])
        row = run.spans.parent[row]
    return names[1:]


def inferred(run, row):
    """Whether the launch of a piece of device work got its scope by time, from another thread."""
    return bool(run.spans.flags[run.spans.launch[row]] & _core.FLAG_INFERRED)
