# SPDX-License-Identifier: Apache-2.0
"""Doubles of the vendor libraries (tests/fakes), built on demand and handed to programs through the environment."""

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
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
    """Return the folder of what was compiled from these very sources: of all test processes, and of later sessions."""
    state = hashlib.sha256()
    for path in sorted([*FOLDER.rglob("*.*"), *CSRC.rglob("*.h"), Path(__file__)]):
        state.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    folder = FOLDER.parent.parent / "build" / "doubles" / state.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@functools.cache
def library(name: str, *defines: str) -> Path:
    """Return the path of the double, compiled once, with macros defined where it has variants."""
    if name == "cupti_profiler":
        library("nvperf_host")  # lies beside it, as beside the real one
    target = build_folder() / f"lib{'' if name == 'nvperf_host' else 'fake_'}{'_'.join((name, *defines))}.so"
    _make(name, defines, target)
    return target


def _make(name: str, defines: tuple[str, ...], target: Path) -> None:
    with open(target.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _compile(name, defines, target)


def _compile(name: str, defines: tuple[str, ...], target: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    command = [compiler, "-std=gnu11", "-O1", "-g", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread"]
    command += ["-D_GNU_SOURCE", *(f"-D{define}" for define in defines), f"-I{FOLDER}", f"-I{CSRC}"]
    unfinished = target.with_suffix(".part")
    command += [str(FOLDER / f"{name}.c"), "-o", str(unfinished), f"-Wl,-soname,{target.name}", "-ldl", "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    os.replace(unfinished, target)


def under_its_name(name: str, real: str) -> Path:
    """Return a folder in which the double is the real library by name and soname, for programs that load it so."""
    folder = build_folder() / name
    folder.mkdir(exist_ok=True)
    _make(name, (), folder / real)
    return folder


def environment(**numbers: str) -> dict[str, str]:
    """Return variables that load the named doubles: ``environment(cuda="devices=2", nvml="")``."""
    made = {}
    for name, values in numbers.items():
        made[VARIABLES[name]] = str(library(name))
        if values:
            made[f"FAKE_{name.upper().removesuffix('_OLDER').removesuffix('_OLDEST')}"] = values
    return made
