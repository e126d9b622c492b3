# SPDX-License-Identifier: Apache-2.0
"""The build with a compiler alone is that of CMakeLists.txt, and gives a package that works."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from places import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import build_site

CMAKE = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")


def test_the_same_sources():
    layers = re.search(r"set\(layers ([a-z ]+)\)", CMAKE)[1].split()
    assert sorted((*layers, "python")) == sorted(build_site.LAYERS)
    assert "file(GLOB_RECURSE core_sources CONFIGURE_DEPENDS ${core_globs})" in CMAKE  # both look into the rooms
    sources = [path for layer in build_site.LAYERS for path in (ROOT / "csrc" / layer).rglob("*.c")]
    assert len({build_site.object_stem(path) for path in sources}) == len(sources)


def test_the_same_files_with_flags_of_their_own():
    variables = {
        f"${{{name}}}": value.split() for name, value in re.findall(r"set\((fast_flags|loop_options) ([^)]*)\)", CMAKE)
    }
    found = {}
    for files, given in re.findall(
        r"set_source_files_properties\(([^)]*?)\s+PROPERTIES COMPILE_OPTIONS \"([^\"]*)\"", CMAKE
    ):
        flags = [flag for word in given.split(";") for flag in variables.get(word, [word])]
        found |= {path: flags for path in files.split() if path.startswith("csrc/")}
    assert found == build_site.OPTIONS
    wide = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "csrc").rglob("*.c")
        if path.stem.endswith(build_site.WIDE)
    }
    assert wide == {path for path, flags in found.items() if {"-mavx2", "-mavx512f"} & set(flags)}


def test_kernels_are_embedded_byte_by_byte(tmp_path):
    build_site.embed_kernels(tmp_path / "kernels.c")
    text = (tmp_path / "kernels.c").read_text()
    arrays = dict(re.findall(r"char (\w+)\[\] = \{\n(.*?)\};", text, re.S))
    files = {f"text_{path.stem}": path for path in (ROOT / "csrc/workloads/kernels").glob("*.cu")}
    files["rgm_kernel_header"] = ROOT / "csrc/workloads/device/kernel.cuh"
    assert set(arrays) == set(files)
    for name, path in files.items():
        assert bytes(int(byte, 16) for byte in re.findall("0x(..),", arrays[name])) == path.read_bytes() + b"\0"


def test_what_is_missing_is_told(tmp_path):
    command = [sys.executable, str(ROOT / "tools" / "build_site.py"), str(tmp_path / "site")]
    environment = {**os.environ, "CC": "no-such-compiler"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "no C compiler (no-such-compiler) on PATH" in done.stderr


def objects_made(folder):
    """Put what the build of the package has compiled where the compiler below finds it.

    All but the first file of each folder of csrc: with that one the commands are tried.
    """
    folder.mkdir()
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}-*"
    for layer in build_site.LAYERS:
        for source in sorted((ROOT / "csrc" / layer).rglob("*.c"))[1:]:
            for made in ROOT.glob(f"build/{tag}/CMakeFiles/*_core.dir/{source.relative_to(ROOT)}.o"):
                if made.stat().st_mtime > source.stat().st_mtime:
                    (folder / f"{build_site.object_stem(source)}.part").symlink_to(made)


COMPILER = """#!/bin/sh
for word in "$@"; do
    [ "$before" = -o ] && out=$word
    before=$word
done
made={folder}/${{out##*/}}
[ ! -e "$made" ] || exec {cp} "$made" "$out"
exec {gcc} "$@" -O0
"""


@pytest.mark.slow
def test_the_package_works_without_cmake_and_ninja(tmp_path):
    """Compiled anew is a file of each folder, without optimisation; everything where no build of the package is."""
    tools = tmp_path / "bin"
    tools.mkdir()
    found = {name: shutil.which(name) for name in ("gcc", "as", "ld", "cp")}
    for name, place in found.items():
        if place is None:
            pytest.skip(f"no {name}")
        if name != "cp":
            (tools / name).symlink_to(place)
    objects_made(tmp_path / "made")
    (tools / "cc").write_text(COMPILER.format(folder=tmp_path / "made", cp=found["cp"], gcc=found["gcc"]))
    (tools / "cc").chmod(0o755)
    environment = {**os.environ, "PATH": str(tools)}
    command = [sys.executable, str(ROOT / "tools" / "build_site.py"), str(tmp_path / "site")]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=600)
    modules = list((tmp_path / "site").rglob("*.py"))
    assert [module.name for module in modules if not Path(cache_from_source(module)).exists()] == []
    code = "import regimeter, regimeter._core as c; print(c.__file__, regimeter.__version__, len(c.kernels()))"
    environment["PYTHONPATH"] = str(tmp_path / "site")
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    file, version, kernels = out.stdout.split()
    assert Path(file).parent == tmp_path / "site" / "regimeter"
    assert version == build_site.version()
    assert int(kernels) > 5
