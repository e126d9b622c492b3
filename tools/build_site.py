# SPDX-License-Identifier: Apache-2.0
"""Build the package into a folder for PYTHONPATH with a C compiler alone: no cmake, ninja or pip, no network.

    python3 tools/build_site.py build/gpu/site

For machines that bring a Python, its headers and cc, and nothing else. The interpreter that runs this is the one that
the extension is built for. Objects that are newer than their source, every header and this file are kept.
CMakeLists.txt is the build; what it says of flags and of sources is repeated here, and a test loads the result.
"""

import argparse
import compileall
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = (
    "base",
    "model",
    "capture",
    "cuda",
    "io",
    "analysis",
    "suggest",
    "compare",
    "workloads",
    "calibrate",
    "python",
)
FLAGS = ["-std=c11", "-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-pthread", "-D_GNU_SOURCE", "-w"]
FAST = ["-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"]
LOOPS = ["-O3", "-ffp-contract=fast", "-Wno-psabi"]
# Files with flags of their own; those for wide vectors on x86-64 only.
WIDE = ("_avx2", "_avx512")
OPTIONS = {
    "csrc/io/trace/trace_parse_avx2.c": ["-mavx2", "-mbmi", "-mbmi2"],
    "csrc/calibrate/loops_portable.c": LOOPS,
    "csrc/calibrate/loops_avx2.c": [*LOOPS, "-mavx2", "-mfma"],
    "csrc/calibrate/loops_avx512.c": [*LOOPS, "-mavx512f", "-mfma"],
    "csrc/workloads/fast_portable.c": FAST,
    "csrc/workloads/fast_avx2.c": [*FAST, "-mavx2", "-mfma"],
}
ON_X86 = platform.machine().lower() in ("x86_64", "amd64")


def version() -> str:
    """Return the version that pyproject.toml states."""
    found = re.search(r'^version = "([0-9.]+)', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    if found is None:
        raise SystemExit("build_site: no version in pyproject.toml")
    return found[1]


def byte_array(file: Path) -> str:
    """Return the bytes of a file and a terminating zero as the inside of a C initialiser."""
    data = file.read_bytes() + b"\0"
    return "".join(
        "    " + "".join(f"0x{byte:02x}," for byte in data[i : i + 32]) + "\n" for i in range(0, len(data), 32)
    )


def embed_kernels(target: Path) -> None:
    """Write the device kernels as C arrays, as cmake/embed_kernels.cmake does."""
    kernels = sorted((ROOT / "csrc/workloads/kernels").glob("*.cu"))
    arrays = "".join(f"static const char text_{k.stem}[] = {{\n{byte_array(k)}}};\n" for k in kernels)
    rows = "".join(f'    {{"{k.stem}", text_{k.stem}}},\n' for k in kernels)
    header = byte_array(ROOT / "csrc/workloads/device/kernel.cuh")
    text = (
        f'#include "workloads/kernels.h"\n\n{arrays}\nconst char rgm_kernel_header[] = {{\n{header}}};\n'
        f"const rgm_kernel_source rgm_kernel_sources[] = {{\n{rows}}};\n"
        "const size_t rgm_kernel_sources_count = sizeof rgm_kernel_sources / sizeof *rgm_kernel_sources;\n"
    )
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def strip_page(web: Path) -> None:
    """Write what pages carry, as CMakeLists.txt does."""
    command = [
        sys.executable,
        str(ROOT / "cmake/strip_web.py"),
        str(ROOT / "python/regimeter/web"),
        str(web / "page_parts.json"),
    ]
    subprocess.run(command, check=True)


def find_compiler() -> list[str]:
    """Return the command of a C compiler, or leave with what is missing."""
    named = os.environ.get("CC")
    for command in [named] if named else ["cc", "gcc", "clang"]:
        words = shlex.split(command)
        if words and shutil.which(words[0]):
            return words
    raise SystemExit(f"build_site: no C compiler ({named or 'cc, gcc, clang'}) on PATH; CC names one")


def find_headers() -> list[str]:
    """Return the include options for Python.h, or leave with what is missing."""
    folders = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    if not any((Path(folder) / "Python.h").exists() for folder in folders):
        raise SystemExit(f"build_site: Python.h is not in {' or '.join(sorted(folders))}; install python3-dev, or use "
                         "another interpreter (GPU_PYTHON)")  # fmt: skip
    return [f"-I{folder}" for folder in sorted(folders)]


def object_stem(source: Path) -> str:
    """Return what a source's object is called: its folders below csrc and its name."""
    within = source.relative_to(ROOT / "csrc") if source.is_relative_to(ROOT / "csrc") else Path(source.name)
    return "-".join(within.with_suffix("").parts)


def compile_all(compiler: list[str], objects: Path, jobs: int) -> list[Path]:
    """Compile what is not current; return the objects."""
    generated = objects / "kernel_sources.c"
    embed_kernels(generated)
    sources = [source for layer in LAYERS for source in sorted((ROOT / "csrc" / layer).rglob("*.c"))] + [generated]
    headers = [file.stat().st_mtime for file in (ROOT / "csrc").rglob("*.h")]
    newest = max([*headers, Path(__file__).stat().st_mtime, (ROOT / "pyproject.toml").stat().st_mtime])
    common = [*FLAGS, f"-I{ROOT / 'csrc'}", *find_headers(), f'-DRGM_VERSION_STRING="{version()}"']

    def compile_one(source: Path) -> Path:
        target = objects / f"{object_stem(source)}.o"
        if target.exists() and target.stat().st_mtime > max(newest, source.stat().st_mtime):
            return target
        own = OPTIONS.get(source.relative_to(ROOT).as_posix(), []) if source.is_relative_to(ROOT) else []
        more = own if ON_X86 or not source.stem.endswith(WIDE) else []
        partial = target.with_suffix(".part")
        command = [*compiler, *common, *more, "-c", str(source), "-o", str(partial)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"build_site: {shlex.join(command)}\n{done.stderr}")
        partial.replace(target)
        return target

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(compile_one, sources))


def main() -> int:
    """Build."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="folder to write, for PYTHONPATH")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    compiler = find_compiler()
    tag = sysconfig.get_config_var("SOABI")
    objects = arguments.site.parent / f"objects-{tag}"
    objects.mkdir(parents=True, exist_ok=True)
    made = compile_all(compiler, objects, max(1, arguments.jobs))
    package = arguments.site / "regimeter"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python/regimeter", package, ignore=shutil.ignore_patterns("__pycache__"))
    strip_page(package / "web")
    module = package / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = [*compiler, "-shared", "-pthread", *map(str, made), "-o", str(module), "-lm", "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"build_site: linking failed\n{done.stderr}")
    # Where nothing may be written at run time, by PYTHONDONTWRITEBYTECODE or the folder, each start would compile it.
    compileall.compile_dir(package, quiet=2)
    print(f"built {module}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
