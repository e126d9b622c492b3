# SPDX-License-Identifier: Apache-2.0
"""Doubles of the vendor libraries (tests/fakes), built on demand and handed to programs through the environment."""

import contextlib
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "fakes"
CSRC = FOLDER.parent.parent / "csrc"
# Double -> the variable that names a library to load instead of the real one.
VARIABLES = {
    "cuda": "REGIMETER_LIBCUDA",
    "cuda_older": "REGIMETER_LIBCUDA",
    "cuda_oldest": "REGIMETER_LIBCUDA",
    "cuda_host": "REGIMETER_LIBCUDA",
    "cupti": "REGIMETER_LIBCUPTI",
    "nvml": "REGIMETER_LIBNVML",
    "nvrtc": "REGIMETER_LIBNVRTC",
    "hip": "REGIMETER_LIBHIP",
    "cupti_profiler": "REGIMETER_LIBCUPTI",
    "cupti_125": "REGIMETER_LIBCUPTI",
    "cupti_132": "REGIMETER_LIBCUPTI",
    "gpm": "REGIMETER_LIBNVML",
}


@functools.cache
def build_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="regimeter-fakes-"))


@functools.cache
def library(name: str, *defines: str) -> Path:
    """Return the path of the double, compiled once per test process, with macros defined where it has variants."""
    if name == "cupti_profiler":
        library("nvperf_host")  # lies beside it, as beside the real one
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    target = build_folder() / f"lib{'' if name == 'nvperf_host' else 'fake_'}{'_'.join((name, *defines))}.so"
    command = [compiler, "-std=gnu11", "-O1", "-g", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread"]
    command += ["-D_GNU_SOURCE", *(f"-D{define}" for define in defines), f"-I{FOLDER}", f"-I{CSRC}"]
    command += [str(FOLDER / f"{name}.c"), "-o", str(target), f"-Wl,-soname,{target.name}", "-ldl", "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


def under_its_name(name: str, real: str) -> Path:
    """Return a folder in which the double has the name of the real library, for programs that load it by that."""
    folder = build_folder() / name
    folder.mkdir(exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / real).symlink_to(library(name))
    return folder


def environment(**numbers: str) -> dict[str, str]:
    """Return variables that load the named doubles: ``environment(cuda="devices=2", nvml="")``."""
    made = {}
    for name, values in numbers.items():
        made[VARIABLES[name]] = str(library(name))
        if values:
            made[f"FAKE_{name.upper().removesuffix('_OLDER').removesuffix('_OLDEST')}"] = values
    return made
