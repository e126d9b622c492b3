# SPDX-License-Identifier: Apache-2.0
"""What compiles while a program runs, told by the functions that samples are in."""

from pathlib import Path

import pytest
from verdicts import verdict
from warm import record

from regimeter import load
from regimeter.suggest.verdict import Verdict

# A function for each number, which PyTorch's tracer goes through each time anew.
TRACED = """import torch
def made(number):
    def work(x):
        for at in range(12):
            x = torch.where(x > at, x * number, x + at).clamp(0, 9)
        return x
    return work
x = torch.ones(3)
for number in range(25):
    torch.compile(made(number), backend="eager")(x)
"""
# A library that compiles in this file, and asks the program's own function what to.
LIBRARY = """import {module}
def traced():
    return sum(at * at for at in range(300_000))
def work():
    for _ in range(30):
        {module}.{function}(traced)
work()
"""
BUILD = """def {function}(function):
    return function(), sum(at * at for at in range(300_000))
"""


def test_what_the_tracer_of_pytorch_takes_is_compiling(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = verdict(load(record(tmp_path, TRACED, "--no-structure")))
    shares = {one.cause: one.share for one in found.causes}
    assert shares["compile"] > 0.5 * (1 - shares.get("imports", 0.0)), found.why
    (compiling,) = (one for one in found.causes if one.cause == "compile")
    assert compiling.place.startswith("<module> (program.py:")


def built(folder: Path, module: str, function: str) -> Verdict:
    """Return the verdict of a program that spends its time in this function of an installed package."""
    packages = folder / "lib/python3/site-packages"
    file = packages / f"{module.replace('.', '/')}.py"
    file.parent.mkdir(parents=True)
    file.write_text(BUILD.format(function=function))
    names = {"module": module, "function": function}
    code = f"import sys\nsys.path.insert(0, {str(packages)!r})\n" + LIBRARY.format(**names)
    return verdict(load(record(folder, code)))


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("jax._src.interpreters.partial_eval", "trace_to_jaxpr_dynamic"),
        ("numba.core.compiler", "compile_extra"),
        ("cupy.cuda.compiler", "compile_with_cache"),
    ],
)
def test_lines_that_are_traced_for_it_are_part_of_it(tmp_path: Path, module: str, function: str) -> None:
    found = built(tmp_path, module, function)
    assert (found.cause, found.causes[0].share) == ("compile", pytest.approx(1, abs=0.2)), found.why
    assert "TORCH_LOGS" in found.next


def test_what_runs_a_function_as_it_stands_compiles_nothing(tmp_path: Path) -> None:
    assert built(tmp_path, "jax._src.interpreters.partial_eval", "trace_to_jaxpr_nounits").cause == "python"
