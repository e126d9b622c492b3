# SPDX-License-Identifier: Apache-2.0
"""Every kernel through the real compilers, without a device: NVRTC for all architectures, nvcc where a toolkit is."""

import os
import re
import shutil
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fakes
import nvrtc_place
import pytest
from needed import need
from places import ROOT
from workload_worker import worker

from regimeter import _core

FILES = _core.kernels()
NUMBERS = [75, 80, 90, 100]
# Machine code for NVIDIA devices, in the ELF header.
EM_CUDA = 190


def entries(file):
    return [row["name"] for row in FILES[file]["calibration"]] or [file]


@pytest.fixture(scope="module")
def variables(tmp_path_factory):
    place = nvrtc_place.find()
    need("nvrtc", place)
    return {"REGIMETER_LIBNVRTC": str(place), "REGIMETER_CACHE": str(tmp_path_factory.mktemp("kernels"))}


@pytest.fixture(scope="module")
def compiler(variables):
    with worker(variables) as made:
        yield made


def pairs():
    return [(file, number) for file, row in FILES.items() for number in NUMBERS if number >= row["lowest_capability"]]


def test_files_and_lists_agree():
    """Every file in the folder is a row, and every row of the workloads is a file."""
    folder = ROOT / "csrc" / "workloads" / "kernels"
    if folder.exists():  # a source tree, not an installed package alone
        assert {path.stem for path in folder.glob("*.cu")} == set(FILES)
    assert set(_core.workloads()) <= set(FILES)


def code_sizes(image):
    """Bytes of code of every kernel in an ELF file, by its section headers."""
    offset, width, count, names = (struct.unpack_from("<Q", image, 40) + struct.unpack_from("<HHH", image, 58))[:4]
    headers = [struct.unpack_from("<IIQQQQ", image, offset + i * width) for i in range(count)]
    texts = headers[names][4]
    found = {}
    for name, kind, _, _, _, size in headers:
        text = image[texts + name : image.index(b"\0", texts + name)].decode()
        if kind == 1 and text.startswith(".text."):
            found[text.removeprefix(".text.")] = size
    return found


def ends():
    """The oldest and the newest architecture of each file; nvcc below takes one between them."""
    return [
        (file, number) for file, row in FILES.items() for number in (max(row["lowest_capability"], 75), NUMBERS[-1])
    ]


@pytest.mark.parametrize(("file", "number"), ends())
def test_machine_code(compiler, file, number):
    image = compiler.run("compile_kernel", file, f"sm_{number}", cached=False)
    assert image[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", image, 18)[0] == EM_CUDA
    sizes = code_sizes(image)
    assert sorted(sizes) == sorted(entries(file))
    # A loop that measures a peak must not wait for its own instructions.
    if file.startswith(("arithmetic", "packed", "tensor")):
        assert max(sizes.values()) < 4096


@pytest.mark.parametrize(("file", "number"), pairs())
def test_ptx(compiler, file, number):
    image = compiler.run("compile_kernel", file, f"compute_{number}", cached=False)
    text = image.rstrip(b"\0").decode()
    assert image.endswith(b"\0")
    assert f".target sm_{number}" in text
    assert sorted(re.findall(r"\.visible \.entry (\w+)\(", text)) == sorted(entries(file))
    # What a kernel keeps in memory of its own is what a compiler could not keep in registers.
    assert ".local" not in text


@pytest.mark.parametrize("file", [file for file, row in FILES.items() if row["lowest_capability"] > 75])
def test_an_older_device_is_refused_with_the_reason(compiler, file):
    lowest = FILES[file]["lowest_capability"]
    with pytest.raises(RuntimeError, match=f"UnavailableError: {file} needs compute capability {lowest // 10}"):
        compiler.run("compile_kernel", file, "sm_75")


def test_wrong_arguments_are_named(compiler):
    with pytest.raises(RuntimeError, match='ValueError: there is no kernel file "nothing"'):
        compiler.run("compile_kernel", "nothing", "sm_90")
    with pytest.raises(RuntimeError, match='ValueError: "gfx942" is no architecture'):
        compiler.run("compile_kernel", "conv2d", "gfx942")
    with pytest.raises(RuntimeError, match=r"UnavailableError: NVRTC .* cannot compile for sm_999"):
        compiler.run("compile_kernel", "conv2d", "sm_999")


def test_tensor_cores_are_used(compiler):
    """The instruction is in the PTX, once for each of the eight products under way."""
    for file, needle in [("tensor_sm75", "m16n8k8"), ("tensor_sm80", "m16n8k16"), ("tensor_sm89", "e4m3.e4m3")]:
        text = compiler.run("compile_kernel", file, "compute_90").decode()
        assert len(re.findall(rf"mma\.sync\.aligned\.\S*{re.escape(needle)}", text)) % 8 == 0
        assert needle in text


def test_copies_are_sixteen_bytes_wide(compiler):
    text = compiler.run("compile_kernel", "bandwidth", "compute_90").decode()
    copy = text[text.index(".entry rgm_copy") : text.index(".entry rgm_triad")]
    loads = re.findall(r"ld\.global(?:\.nc)?\.v4", copy)
    assert len(loads) >= 5  # four at a time, and the rest one by one
    assert len(re.findall(r"st\.global\.v4", copy)) == len(loads)


def test_many_processes_and_threads_share_one_cache(variables, tmp_path):
    """Each compiles or finds the same bytes, and nothing is left lying about."""
    variables = variables | {"REGIMETER_CACHE": str(tmp_path)}

    def one(number):
        with worker(variables) as here:
            return [here.run("compile_kernel", file, "sm_90") for file in ("vector_add", "latency", "dot_product")]

    with ThreadPoolExecutor(4) as pool:
        images = list(pool.map(one, range(4)))
    assert all(image == images[0] for image in images)
    names = sorted(os.listdir(tmp_path / "cubin"))
    assert len(names) == 3
    assert all(name.endswith(".cubin") for name in names)
    for name in names:  # spoilt on disk, made anew
        (tmp_path / "cubin" / name).write_bytes(b"spoilt")
    assert one(0) == images[0]


def test_without_a_compiler_the_reason_is_told():
    with worker({"REGIMETER_LIBNVRTC": "off"}) as here:
        with pytest.raises(RuntimeError, match="UnavailableError: NVRTC: switched off by REGIMETER_LIBNVRTC=off"):
            here.run("compile_kernel", "conv2d", "sm_90")


def test_a_slow_compiler_lets_other_threads_run(run_python, monkeypatch):
    for key, value in fakes.environment(nvrtc="slow_ms=1500").items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("REGIMETER_CACHE", "off")
    program = """
        import threading
        from regimeter import _core
        done = threading.Event()
        def compile():
            try:
                _core.compile_kernel("conv2d", "sm_90")
            finally:
                done.set()
        thread = threading.Thread(target=compile)
        thread.start()
        turns = 0
        while not done.is_set():
            turns += 1
        thread.join()
        print(turns)
    """
    assert int(run_python(program).stdout) > 1000


def test_our_declarations_are_nvidias(variables, tmp_path):
    """Values and shapes of calls, by the compiler, against the header that comes with the library."""
    header = Path(variables["REGIMETER_LIBNVRTC"]).parent.parent / "include" / "nvrtc.h"
    need("nvrtc", header.exists(), f"no {header}")
    names = {"SUCCESS": "NVRTC_SUCCESS"}
    source = '#include <nvrtc.h>\n#include "cuda/compile/nvrtc.h"\n'
    for name in ["SUCCESS", "OUT_OF_MEMORY", "INVALID_OPTION", "COMPILATION", "BUILTIN_OPERATION_FAILURE"]:
        theirs = names.get(name, f"NVRTC_ERROR_{name}")
        source += f'_Static_assert((int)RGM_NVRTC_{name} == (int){theirs}, "{name}");\n'
    # Their pointers and enumerations become ours; what is left to differ is the number and kind of arguments.
    source += """
        #define nvrtcProgram rgm_nvrtc_program
        #define nvrtcResult rgm_nvrtc_result
        void check(rgm_nvrtc *table);
        void check(rgm_nvrtc *table) {
        #define TAKE(capability, result, member, symbol, parameters) table->member = (void *)0;
            RGM_NVRTC_SYMBOLS(TAKE)
        }
    """
    prototypes = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    for symbol, member in re.findall(r'(\w+), "(nvrtc\w+)"', (ROOT / "csrc/cuda/compile/nvrtc.h").read_text()):
        found = re.search(rf"\w[\w *]*\b{member}\s*\(([^)]*)\)", prototypes)
        assert found, member
        types = [re.sub(r"\w+$", "", part.strip()).strip() for part in found[1].split(",")]
        source += f"static __typeof__(((rgm_nvrtc *)0)->{symbol}) p_{symbol};\n"
        result = "const char *" if "String" in member else "rgm_nvrtc_result"
        source += f"static {result} (*t_{symbol})({', '.join(types)});\n"
        source += f"void c_{symbol}(void);\nvoid c_{symbol}(void) {{ p_{symbol} = t_{symbol}; (void)p_{symbol}; }}\n"
    file = tmp_path / "compare.c"
    file.write_text(source)
    command = ["cc", "-std=c11", "-fsyntax-only", "-Werror=incompatible-pointer-types", "-Werror=int-conversion"]
    command += [f"-I{ROOT / 'csrc'}", f"-I{header.parent}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- nvcc -----------------------------------------------------------------------------------------------------


def nvcc():
    found = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    need("nvcc", found)
    return found


@pytest.mark.parametrize("file", FILES)
def test_nvcc_takes_the_kernels_too(file, tmp_path):
    """Strictly; and no kernel spills registers or takes more shared memory than a block may have without asking."""
    source = ROOT / "csrc" / "workloads" / "kernels" / f"{file}.cu"
    command = [nvcc(), "-cubin", "-arch=sm_90", "-Xptxas=-v", "-Werror=all-warnings", f"-I{source.parent.parent}"]
    command += ["-o", str(tmp_path / "out.cubin"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    reports = re.findall(r"(\d+) bytes spill stores", done.stderr)
    assert reports == ["0"] * len(entries(file))
    assert all(int(size) <= 48 * 1024 for size in re.findall(r"(\d+) bytes smem", done.stderr))
