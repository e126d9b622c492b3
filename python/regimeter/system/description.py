# SPDX-License-Identifier: Apache-2.0
"""What a run is recorded on: machine, process and libraries, as the dictionary of JSON values that a file keeps.

`regimeter.run.environment.Environment.of` reads it. Nothing is imported for this: a library is described when the
program has already loaded it.
"""

import functools
import json
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

from .. import _core
from . import blas, gpus
from .memory import process_memory, total_memory
from .processors import allowed_processors, cpu_model, cpu_revision, is_virtual, usable_processors

# Libraries whose version is part of the environment when they are loaded.
LIBRARIES = ("numpy", "torch", "cupy", "jax", "triton")
# The variables of the environment that are kept, and no others. MPS_SHARE: where NVIDIA's MPS gives this process a
# part of each device; nothing that the driver tells says so. RUNNER: a name for the class of machine, where what is
# measured of it does not tell machines apart.
RANK, WORLD_SIZE, MPS_SHARE, RUNNER = _core.ENVIRONMENT_VARIABLES
# What depends on the program, its interpreter and what it has loaded: another process cannot know it.
OF_THE_PROGRAM = (
    "python", "executable", "package_folders", "process_memory", "libraries", "blas", "blas_threads", "cuda",
)  # fmt: skip
# Folders of packages by their names (csrc/analysis/home.c).
INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python")


def describe() -> dict[str, Any]:
    """Return the environment of this process."""
    return {
        "executable": sys.executable,
        **_packages(),
        "command": list(sys.orig_argv),
        "directory": _working_directory(),
        "pid": os.getpid(),
        "process_memory": process_memory(),
        **_job(),
        **describe_machine(),
    }


def _job() -> dict[str, Any]:
    """Return rank and world size as traces of torch name them, where torchrun or another launcher states both."""
    stated = {"rank": os.environ.get(RANK, ""), "world_size": os.environ.get(WORLD_SIZE, "")}
    if not all(text.isascii() and text.isdigit() for text in stated.values()):
        return {}
    return {"distributedInfo": {name: int(text) for name, text in stated.items()}}


def _packages() -> dict[str, list[str]]:
    """Return the folders that packages were installed into besides the interpreter's own (pip install --target).

    Not the one that the program itself lies in, or is run from, whatever was installed there. A program may put
    anything on `sys.path`; the interpreter itself puts absolute paths there.
    """
    directory = _working_directory() or ""
    script = getattr(sys.modules.get("__main__"), "__file__", None) or next(iter(sys.argv), "")
    own = {directory, os.path.dirname(os.path.normpath(os.path.join(directory, str(script))))}
    entries: list[object] = [*sys.path]
    folders = [os.path.normpath(entry) for entry in entries if isinstance(entry, str) and os.path.isabs(entry)]
    found = [
        folder
        for folder in dict.fromkeys(folders)
        if not any(part in f"{folder}/" for part in INSTALLED) and folder not in own and _has_packages(folder)
    ]
    return {"package_folders": found} if found else {}


def _has_packages(folder: str) -> bool:
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        return False


def describe_machine() -> dict[str, Any]:
    """Return what two processes of one program share: machine, set-up and libraries."""
    about = {
        "host": platform.node(),
        "platform": _platform(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "cpu": cpu_model(),
        "cpu_revision": cpu_revision(),
        "virtual": is_virtual(),
        "cores": usable_processors(),
        "processors": allowed_processors(),
        "caches": _caches(),
        "memory_bytes": total_memory(),
        "gpus": _gpus(),
        "libraries": loaded_libraries(),
        "blas": blas.name(),
        "blas_threads": blas.threads(),
        "cuda": _cuda_runtime(),
        "gpu_share": os.environ.get(MPS_SHARE) or None,
        "runner": os.environ.get(RUNNER) or None,
    }
    return {name: value for name, value in about.items() if value is not None}


def _platform() -> str:
    """Return `platform.platform()`, which starts another program to ask for a word that Linux does not put in it."""
    about = os.uname()
    if about.sysname != "Linux":
        return platform.platform()
    library = "".join(platform.libc_ver())
    return "-".join((about.sysname, about.release, about.machine, *(("with", library) if library else ())))


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # removed under the process
        return None


@functools.cache
def _caches() -> list[int]:
    return [int(row["bytes"]) for row in _core.host_caches()]


def _gpus() -> dict[str, Any]:
    """Return identity and set-up of the GPUs: none where no driver is on this machine, else what NVML tells."""
    from . import telemetry  # 5 ms, for which those who compare descriptions do not wait

    found = telemetry.facts()
    if "devices" not in found and gpus.absent():
        return {"devices": [], **found}
    return found


def loaded_libraries() -> dict[str, str]:
    """Return the versions of the known libraries that the program has imported."""
    found = {}
    for name in LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            found[name] = str(version)
    return found


def _cuda_runtime() -> str | None:
    """Return the version of the CUDA runtime that torch was built with, None without such a torch."""
    version = getattr(getattr(sys.modules.get("torch"), "version", None), "cuda", None)
    return version if isinstance(version, str) else None


def encode(environment: Mapping[str, Any]) -> str:
    """Return the environment as JSON text; what JSON cannot hold becomes text."""
    return json.dumps(environment, default=str, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
