# SPDX-License-Identifier: Apache-2.0
"""``regimeter doctor``: what can be measured on this machine, and what is wrong with a recording or a trace."""

import argparse
import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

from .. import _core
from .._core import FormatError, UnavailableError, __version__
from ..run import cost
from ..system import gpus, libraries, telemetry
from ..system.processors import cpu_model, usable_processors
from ..system.text import amount, count, printable
from .common import next_step, print_document
from .runs import load_run, run_line

if TYPE_CHECKING:
    from ..public.run import Run
    from .common import Verbs

DAMAGED = 1
# Extra of the package -> (module that it brings, what it is for).
EXTRAS = {
    "rich": ("rich", "progress in a terminal"),
    "arrow": ("pyarrow", "export to Arrow and Parquet"),
    "isal": ("isal", "fast reading of gzip"),
    "zstd": ("zstandard", "reading of zstd"),
}
MARKS = {"ok": "ok  ", "limited": "part", "missing": "none"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a measurement needs: `state` is ok, limited or missing; `remedy` is '' where none is needed."""

    name: str
    state: str
    detail: str
    remedy: str = ""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("doctor", parents=[common])
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="recording or trace to verify; without it, this machine"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check the machine (always 0), or a recording: 0 sound, 1 damaged or unfinished, 2 unreadable."""
    if arguments.file is not None:
        return _verify(arguments)
    checks = check_machine()
    if arguments.json:
        print_document({"format": "regimeter.doctor", "version": 1, "checks": [asdict(check) for check in checks]})
        return 0
    _print_checks(checks)
    if not arguments.quiet:
        print(f"\nNext: {next_step('selftest', 'overhead')} measures what a scope costs here")
    return 0


def _print_checks(checks: list[Check], file: TextIO | None = None) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f"{MARKS[check.state]}  {check.name:{width}}  {printable(check.detail)}", file=file)
        if check.remedy:
            print(f"      {'':{width}}  -> {check.remedy}", file=file)


# --- the machine ------------------------------------------------------------------------------------------------


def check_machine() -> list[Check]:
    """Return what a measurement on this machine can and cannot rely on."""
    return [
        _python(),
        _clock(),
        _cores(),
        _memory_sampler(),
        _cost(),
        _numpy(),
        _driver(),
        _kernels(),
        _nvml(),
        *_torch(),
        *(_extra(extra, *EXTRAS[extra]) for extra in EXTRAS),
    ]


def _python() -> Check:
    detail = f"{platform.python_implementation()} {platform.python_version()}, regimeter {__version__}"
    return Check("python", "ok", detail)


def _clock() -> Check:
    return Check("clock", "ok", _core.clock_name())


def _cores() -> Check:
    usable, present = usable_processors(), os.cpu_count() or 0
    load = os.getloadavg()[0]
    detail = f"{usable} of {present} usable, {cpu_model()}, load {load:.1f}"
    if load > usable:
        return Check(
            "cores", "limited", detail, "more runs than there are cores: times will scatter; wait or use taskset"
        )
    return Check("cores", "ok", detail)


def _memory_sampler() -> Check:
    resident = _core.host_memory()["resident"]
    if resident < 0:
        return Check(
            "host memory", "missing", "/proc/self/statm cannot be read", "mount /proc, or go without memory figures"
        )
    return Check("host memory", "ok", f"resident set by sampling and per scope (now {amount(resident)})")


def _cost() -> Check:
    return Check("own cost", "ok", f"{cost.scope_cost_ns():.0f} ns an enabled scope with warm caches")


def _numpy() -> Check:
    try:
        import numpy
    except ImportError as error:
        return Check("numpy", "missing", str(error), "pip install numpy")
    return Check("numpy", "ok", numpy.__version__)


def _driver() -> Check:
    reason = gpus.reason()
    if not gpus.possible():
        remedy = "device time needs a GPU and its driver; host time and memory are measured without"
        return Check("device time", "missing", reason, remedy)
    return Check("device time", "ok", f"{reason}: by events, from when the program uses the device")


def _nvml() -> Check:
    if not gpus.nvml_possible():
        return Check("telemetry", "missing", str(telemetry.facts()["reason"]), "it needs an NVIDIA GPU and its driver")
    try:
        about, found = telemetry.library(), telemetry.devices()
    except UnavailableError as error:
        reason, _, remedy = str(error).partition("; ")
        return Check("telemetry", "missing", reason, remedy or "check the driver with nvidia-smi")
    seen = [device for device in found if device.ordinal is not None]
    names = ", ".join(sorted({str(device.name) for device in seen}))
    detail = f"NVML {about['version']}, driver {about['driver']} ({about['origin']}), {count(len(seen), 'device')}"
    if not seen:
        return Check("telemetry", "limited", f"{detail} visible of {len(found)}", "look at CUDA_VISIBLE_DEVICES")
    if about["missing"]:
        return Check("telemetry", "limited", f"{detail}: {names}", f"an older driver: no {', '.join(about['missing'])}")
    return Check("telemetry", "ok", f"{detail}: {names}")


def _kernels() -> Check:
    libraries.search_wheels()
    found = _core.Profiler._cupti()
    if found["reason"]:
        remedy = "kernel tracing (profile_kernels=True) needs an NVIDIA GPU, its driver and CUPTI"
        return Check("kernels", "missing", found["reason"], remedy)
    detail = f"CUPTI {found['version']} of CUDA {found['cuda']}, {found['origin']}: {found['path']}"
    if os.environ.get("NSYS_PROFILING_SESSION_ID"):
        return Check("kernels", "limited", detail, "Nsight Systems is running and has CUPTI; trace without it")
    return Check("kernels", "ok", detail)


def _torch() -> list[Check]:
    if find_spec("torch") is None:
        remedy = "only for programs that use it: pip install 'regimeter[torch]'"
        return [Check("torch", "missing", "not installed", remedy)]
    try:
        import torch
    except Exception as error:  # a torch built for another system fails in its own ways
        return [Check("torch", "missing", f"cannot be imported: {error}", "install torch anew")]
    found = Check("torch", "ok", str(torch.__version__))
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        why, remedy = "this torch is built without CUDA", "device memory needs a build of torch with CUDA, and a GPU"
    elif not torch.cuda.is_available():
        why, remedy = "torch finds no CUDA device", "check the driver with nvidia-smi, and CUDA_VISIBLE_DEVICES"
    else:
        names = ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
        return [found, Check("device memory", "ok", f"torch's allocator on {names}, with track_memory=True")]
    return [found, Check("device memory", "missing", why, remedy)]


def _extra(extra: str, module: str, purpose: str) -> Check:
    try:
        return Check(module, "ok", f"{version(module)}: {purpose}")
    except PackageNotFoundError:
        return Check(module, "missing", f"not installed: no {purpose}", f"pip install 'regimeter[{extra}]'")


# --- a recording ------------------------------------------------------------------------------------------------


def _verify(arguments: argparse.Namespace) -> int:
    problem = None
    try:
        loaded = load_run(arguments.file, quiet=arguments.quiet)
    except FormatError as error:
        problem = str(error)
        try:
            loaded = load_run(arguments.file, recover=True, quiet=arguments.quiet)
        except FormatError:
            raise error from None
        if loaded.source == "export":
            raise
    if len(loaded.tables.files):
        from .doctor_trace import verify  # with NumPy, which `doctor` itself goes without, to tell that it is missing

        return verify(loaded, arguments)
    anomalies = loaded.anomaly_list()
    sound = problem is None and loaded.complete
    if arguments.json:
        print_document(_finding(arguments.file, loaded, sound, problem))
        return 0 if sound else DAMAGED
    print(f"{arguments.file}: {'sound' if sound else 'damaged' if problem else 'unfinished'}; {run_line(loaded)}")
    if problem:
        print(f"  {printable(problem)}")
    for row in anomalies:
        print(f"  {row['count']:,} {row['code']}: {printable(row['detail'])}")
    if not anomalies:
        print("  no anomaly: nothing was dropped, repaired or doubted")
    if not arguments.quiet:
        steps = ("show", arguments.file) if not problem else ("recover", arguments.file, "-o", "recovered.rgm")
        print(f"Next: {next_step(*steps)}")
    sys.stdout.flush()
    return 0 if sound else DAMAGED


def _finding(file: str, loaded: "Run", sound: bool, problem: str | None) -> dict[str, Any]:
    return {
        "format": "regimeter.doctor",
        "version": 1,
        "file": file,
        "sound": sound,
        "complete": loaded.complete,
        "problem": problem,
        "intact": f"{count(len(loaded.spans), 'span')}, {count(len(loaded.memory), 'memory row')}",
        "scopes": len(loaded.entries),
        "anomalies": loaded.anomaly_list(),
    }
