# SPDX-License-Identifier: Apache-2.0
"""Which facts of an environment make two runs incomparable, which are named, and what keys are made of: one table.

A fact is INCOMPARABLE where times of unchanged code are other times because of it (other hardware, another unit,
another amount of work): runs that differ in it are not set against each other. It is NAMED where it may explain a
change, and every report says so. It is IGNORED where it only tells one process from the next.

Keys are digests of facts: `history` separates series and baselines, `noise` the floors between processes, `host` and
`device` the calibrations, `tuning_host` and `tuning_device` the decisions of the autotuner.
"""

import enum
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..system.description import LIBRARIES, RUNNER
from .environment import Environment, Gpu

KEYS = ("history", "noise", "host", "device", "tuning_host", "tuning_device")
KEY_DIGITS = 16
Stored = Environment | Mapping[str, Any]
Reader = Callable[[Environment], str | None]


class Severity(enum.Enum):
    """What a difference in a fact means for two runs."""

    INCOMPARABLE = "incomparable"
    NAMED = "named"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: its name in keys, what it is called in reports, what a difference means, the keys that it is part of.

    read: returns it as text, None where it is not known. why: one clause for the documentation.
    """

    name: str
    words: str
    severity: Severity
    keys: frozenset[str]
    read: Reader
    why: str


# --- reading ----------------------------------------------------------------------------------------------------


def _field(name: str) -> Reader:
    def read(environment: Environment) -> str | None:
        value = getattr(environment, name)
        return None if value is None else ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

    return read


def _units(environment: Environment) -> str:
    return environment.units or "as written by regimeter"


def _gpu_models(environment: Environment) -> str | None:
    if environment.gpus is None:
        return None
    names = {f"{gpu.model} (MIG)" if gpu.part and "MIG" not in str(gpu.model) else str(gpu.model)
             for gpu in environment.gpus}  # fmt: skip
    return ", ".join(sorted(names)) or "none"


def _of_gpus(read: Callable[[Gpu], object]) -> Reader:
    """Return a reader of a fact of every GPU: the distinct values, None where one is not known or there is no GPU."""

    def text(environment: Environment) -> str | None:
        found = [read(gpu) for gpu in environment.gpus or ()]
        if not found or any(value is None for value in found):
            return None
        return ", ".join(sorted({f"{value:g}" if isinstance(value, float) else str(value) for value in found}))

    return text


def _gpu_count(environment: Environment) -> str | None:
    return None if environment.gpus is None else str(len(environment.gpus))


def _driver_branch(environment: Environment) -> str | None:
    return None if environment.driver is None else environment.driver.partition(".")[0]


def _python_minor(environment: Environment) -> str | None:
    return None if environment.python is None else ".".join(environment.python.split(".")[:2])


def _library(name: str) -> Reader:
    def read(environment: Environment) -> str | None:
        return None if environment.libraries is None else environment.libraries.get(name, "not loaded")

    return read


# --- the table --------------------------------------------------------------------------------------------------

_STOPS, _NAMES, _PASSES = Severity.INCOMPARABLE, Severity.NAMED, Severity.IGNORED


def _fact(name: str, words: str, severity: Severity, keys: str, why: str, read: Reader | None = None) -> Fact:
    return Fact(name, words, severity, frozenset(keys.split()), read or _field(name), why)


FACTS = (
    _fact("units", "unit of the times", _STOPS, "", "one number in two units is two times", _units),
    _fact("measured", "what was measured", _STOPS, "", "a count is no time, and two tools count two processors"),
    _fact("layout", "layout of memory", _NAMES, "", "a count belongs to a layout"),
    _fact("work", "work (batch or shape)", _STOPS, "history", "another amount of work takes another time"),
    _fact("gpu", "GPU model", _STOPS, "history noise device tuning_device", "other hardware", _gpu_models),
    _fact("gpu_clocks", "GPU clocks", _STOPS, "history noise device",
          "application clocks that are set make every kernel as much slower", _of_gpus(lambda gpu: gpu.clocks)),
    _fact("cpu", "processor", _STOPS, "history noise host tuning_host", "other hardware"),
    _fact("virtual", "virtual machine", _NAMES, "", "its neighbours take time that nobody sees"),
    _fact("cores", "usable processors", _STOPS, "history noise host tuning_host",
          "libraries take as many threads as they may"),
    _fact("gpu_count", "number of GPUs", _NAMES, "history", "work may have been divided otherwise", _gpu_count),
    _fact("gpu_uuid", "GPU", _NAMES, "noise device tuning_device",
          "devices of one model differ by some percent", _of_gpus(lambda gpu: gpu.uuid)),
    _fact("gpu_part", "instances of the MIG device", _NAMES, "device", "a part of a GPU",
          _of_gpus(lambda gpu: gpu.part or "whole")),
    _fact("gpu_share", "share of the GPU in %", _STOPS, "history noise device", "MPS gives the program a part of it"),
    _fact("gpu_memory", "GPU memory", _NAMES, "device", "one name, two models", _of_gpus(lambda gpu: gpu.memory_bytes)),
    _fact("power_limit", "power limit in W", _NAMES, "history device",
          "a lower limit lowers clocks under load", _of_gpus(lambda gpu: gpu.power_limit_watts)),
    _fact("ecc", "ECC", _NAMES, "device", "correcting errors takes bandwidth", _of_gpus(lambda gpu: gpu.ecc)),
    _fact("capability", "compute capability", _PASSES, "device", "`gpu` says it", _of_gpus(lambda gpu: gpu.capability)),
    _fact("multiprocessors", "multiprocessors", _PASSES, "device",
          "`gpu` says it", _of_gpus(lambda gpu: gpu.multiprocessors)),
    _fact("clock_most", "highest clock in MHz", _NAMES, "device",
          "the ceiling of the model", _of_gpus(lambda gpu: gpu.clock_most_mhz)),
    _fact("memory_clock_most", "highest memory clock in MHz", _NAMES, "device",
          "the ceiling of the model", _of_gpus(lambda gpu: gpu.memory_clock_most_mhz)),
    _fact("driver", "GPU driver", _NAMES, "device tuning_device", "it compiles and launches kernels"),
    _fact("driver_branch", "branch of the GPU driver", _PASSES, "history noise", "`driver` names it", _driver_branch),
    _fact("driver_cuda", "CUDA of the driver", _NAMES, "device", "as the driver"),
    _fact("cuda", "CUDA runtime", _NAMES, "history device", "its libraries choose the kernels"),
    *(
        _fact(f"library {name}", name, _NAMES, f"history{' host' if name in ('numpy', 'torch') else ''}"
              f"{' device' if name == 'torch' else ''}", "it chooses the kernels and adds its own cost", _library(name))
        for name in LIBRARIES
    ),
    _fact("blas", "BLAS of NumPy", _NAMES, "history host", "it does the products"),
    _fact("blas_threads", "threads of the BLAS", _NAMES, "history", "they divide the products"),
    _fact("python", "Python", _NAMES, "host", "it runs the host's part"),
    _fact("python_minor", "minor version of Python", _PASSES, "history noise", "`python` names it", _python_minor),
    _fact("memory_bytes", "memory of the machine", _NAMES, "host", "another machine"),
    _fact("system", "system", _NAMES, "", "its scheduler and drivers"),
    _fact("host", "host", _NAMES, "noise", "another machine of the same kind"),
    _fact("runner", "runner", _NAMES, "history noise", f"a class of machine that {RUNNER} names"),
    _fact("kernel", "kernel of the system", _PASSES, "host", "`system` names it"),
    _fact("cpu_revision", "revision of the processor", _PASSES, "host", "microcode moves ceilings by less than 5 %"),
    _fact("processors", "numbers of the processors", _PASSES, "host", "which of equal processors it was"),
    _fact("caches", "caches in bytes", _PASSES, "host", "`cpu` says it"),
)  # fmt: skip


# --- keys -------------------------------------------------------------------------------------------------------


def facts_of(environments: Iterable[Stored], key: str = "history") -> dict[str, list[str]]:
    """Return the facts of which a key is made, of all processes of a run together. ValueError for another key."""
    if key not in KEYS:
        raise ValueError(f"no key is called {key!r}; there are {', '.join(KEYS)}")
    known = [Environment.of(one) for one in environments]
    facts = {fact.name: values_of(known, fact) for fact in FACTS if key in fact.keys}
    runner = os.environ.get(RUNNER)
    if runner and "runner" in facts and not facts["runner"]:
        facts["runner"] = [runner]
    return {name: values for name, values in facts.items() if values}


def key_of(facts: Mapping[str, Any]) -> str:
    """Return the key of the facts, 16 hexadecimal digits."""
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]


def values_of(environments: Iterable[Environment], fact: Fact) -> list[str]:
    """Return the values of a fact that some environments state, each once."""
    return sorted({value for one in environments if (value := fact.read(one)) is not None})
