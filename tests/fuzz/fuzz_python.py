# SPDX-License-Identifier: Apache-2.0
"""Fuzz what Python reads: damaged files of each kind by the calls that a user opens them with (`make fuzz-python`).

    python tests/fuzz/fuzz_python.py CORPUS [ARGUMENTS OF LIBFUZZER]

The first byte of an input says which kind, the rest is the file. Files are made by what writes them, in the first
moment; of those that are JSON members and values are changed, so that what is read goes on behind the parser. Any error
but the documented ones ends the run, its input kept.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import atheris

with atheris.instrument_imports(include=["regimeter"]):
    import regimeter
    from regimeter.calibration import calibrate
    from regimeter.calibration.choice import read_calibration
    from regimeter.compare import ProfilerComparison, decide
    from regimeter.compare.sources import side_of
    from regimeter.suite.torch_compile import TorchCompileAnalyzer
    from regimeter.testing.storage import read_document
    from regimeter.tuning import store as tuning
    from regimeter.workloads.budgets import Budgets

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))
import small_calibration  # noqa: E402

# Damage has one of these, with a sentence; a warning is what is left out.
DOCUMENTED = (regimeter.Error, ValueError, OSError, pytest.UsageError)
WHO = {"device": "a device"}


class Kind(NamedTuple):
    """A kind of file. suffix: of its name. read: opens it as a user does."""

    name: str
    suffix: str
    read: Callable[[Path], object]


def read_run(path: Path) -> None:
    """Open a recording, an export or a trace, and look at it."""
    run = regimeter.load(path)
    run.get_summary()
    run.verdict()


def compare(path: Path) -> None:
    """Compare a file with itself."""
    decide(side_of(str(path), "baseline"), side_of(str(path), "current"))


KINDS = (
    Kind("export", ".json", read_run),
    Kind("compared", ".json", compare),
    Kind("comparison", ".json", lambda path: ProfilerComparison.load(path).to_text()),
    Kind("compile_log", ".log", lambda path: TorchCompileAnalyzer.from_trace(path).to_dict()),
    Kind("session", ".json", read_document),
    Kind("calibration", ".json", read_calibration),
    Kind("tuning", ".json", lambda path: tuning.parse(path.read_bytes(), WHO)),
    Kind("budgets", ".toml", Budgets.load),
    Kind("nsys", ".sqlite", read_run),
)


def make_seeds(folder: Path, corpus: Path) -> None:
    """Write one file of each kind with what writes them, and those that the tests have."""

    def keep(kind: str, number: int, data: bytes) -> None:
        index = next(place for place, one in enumerate(KINDS) if one.name == kind)
        (corpus / f"seed-{kind}-{number}").write_bytes(bytes([index]) + data)

    with regimeter.GPUProfiler() as profiler:
        for name in ("forward", "backward", "forward"):
            with profiler.profile(name, device="cpu"):
                sum(range(1000))
        profiler.export_json(str(folder / "export.json"))
    export = (folder / "export.json").read_bytes()
    keep("export", 0, export)
    keep("compared", 0, export)
    plain = {"results": {"forward": {"time_ms": [1.0, 2.0], "memory_peak_mb": 3.0}}}
    keep("compared", 1, json.dumps(plain).encode())
    keep(
        "comparison",
        0,
        regimeter.compare_profiling_runs(folder / "export.json", folder / "export.json").to_json().encode(),
    )
    for number, path in enumerate(sorted((ROOT / "tests/data/compile_logs").rglob("*.log"))):
        keep("compile_log", number, path.read_bytes()[:200_000])
    keep("calibration", 0, json.dumps(calibrate("cpu", quick=True, policy=small_calibration.SMALL).to_dict()).encode())
    tuning.write(folder / "tuning.json", WHO, [tuning.Decision("blur", 3, 128, "faster", 5, 0.8, 0.7, 0.9)])
    keep("tuning", 0, (folder / "tuning.json").read_bytes())
    keep("budgets", 0, (files("regimeter.workloads") / "budgets.toml").read_bytes())
    (folder / "test_one.py").write_text("def test_one(gpu_benchmark):\n    gpu_benchmark(sum, range(1000))\n")
    session = [sys.executable, "-m", "pytest", "-q", "--perf-save=one", f"--perf-storage={folder}", "test_one.py"]
    subprocess.run(session, cwd=folder, check=True, capture_output=True)
    keep("session", 0, next(folder.glob("*_one.json")).read_bytes())
    for number, path in enumerate(sorted((ROOT / "tests/data/traces").glob("*.sqlite"))):
        keep("nsys", number, path.read_bytes())


def change(value: Any, dice: random.Random, depth: int = 0) -> Any:
    """Change one member or value of a JSON document."""
    odd = (None, True, -1, 0, 1e300, float("nan"), 10**30, "", "x", [], {}, [[]], "\ud800", -(2**63), 2**63, 0.5)
    inside = isinstance(value, dict | list) and len(value) > 0 and (depth == 0 or dice.random() < 0.85)
    if not inside:
        return dice.choice(odd)
    key = dice.choice(list(value) if isinstance(value, dict) else range(len(value)))
    changed = dict(value) if isinstance(value, dict) else list(value)
    how = dice.random()
    if how < 0.1:
        del changed[key]
    elif how < 0.15 and isinstance(changed, list):
        changed.append(changed[key])
    elif how < 0.2 and isinstance(changed, dict):
        changed[dice.choice(["", "x", "format", "time_ms"])] = changed[key]
    else:
        changed[key] = change(value[key], dice, depth + 1)
    return changed


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """Return another input: a document with something changed, or bytes as libFuzzer changes them."""
    dice = random.Random(seed)
    if len(data) > 1 and dice.random() < 0.7:
        try:
            document = change(json.loads(data[1:]), dice)
            made = data[:1] + json.dumps(document).encode()
            return made if len(made) <= most else data[:most]
        except (ValueError, RecursionError):
            pass
    changed: bytes = atheris.Mutate(data, most)
    return changed


def main() -> None:
    """Make the seeds, then fuzz for as long as libFuzzer is told to."""
    corpus = Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="regimeter-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    make_seeds(folder, corpus)

    def one(data: bytes) -> None:
        if not data:
            return
        kind = KINDS[data[0] % len(KINDS)]
        path = folder / f"input{kind.suffix}"
        path.write_bytes(data[1:])
        try:
            kind.read(path)
        except DOCUMENTED as error:
            assert str(error), f"{kind.name}: an error that says nothing"

    try:
        atheris.Setup(sys.argv, one, custom_mutator=mutate)
        atheris.Fuzz()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
