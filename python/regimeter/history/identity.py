# SPDX-License-Identifier: Apache-2.0
"""The key of an environment: runs of one key have the same machine class, software and work, and may be compared.

Runs of different runners in one series are told apart by nothing else: no statistic rescues a mixed history.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

from .schema import json_of

# A name for the class of machine, where what is measured of it does not tell machines apart.
RUNNER = "REGIMETER_RUNNER"
# Facts by the names that recordings, traces and documents have for them; of the device, the environment, the trace.
FACTS = {
    "cpu": ("cpu",),
    "cores": ("cores",),
    "driver": ("driver", "driver_version", "cuda_driver_version"),
    "cuda": ("cuda", "cuda_version", "cuda_runtime_version"),
    "clocks": ("clocks", "clock_policy", "clocks_policy"),
    "power_cap": ("power_cap_w", "power_limit_w", "power_limit"),
    "runner": ("runner",),
}
WORK = ("batch_size", "batch", "shape", "shapes", "dtype")


def facts_of(environments: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts that make up the key, of all processes of a run together."""
    found: dict[str, set[str]] = {}
    for environment in environments:
        for name, value in _facts(environment):
            found.setdefault(name, set()).add(value if isinstance(value, str) else json_of(value))
    facts: dict[str, Any] = {name: sorted(values) for name, values in sorted(found.items())}
    runner = os.environ.get(RUNNER)
    if runner:
        facts["runner"] = [runner]
    return facts


def key_of(facts: Mapping[str, Any]) -> str:
    """Return the key of the facts, 16 hexadecimal digits."""
    return hashlib.sha256(json_of(facts).encode()).hexdigest()[:16]


def _facts(environment: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    trace, device = _mapping(environment.get("trace")), _mapping(environment.get("device"))
    for name, keys in FACTS.items():
        for place in (device, environment, trace):
            value = next((place[key] for key in keys if place.get(key) not in (None, "", {}, [])), None)
            if value is not None:
                yield name, value
                break
    listed = trace.get("deviceProperties") or environment.get("devices")
    for one in listed if isinstance(listed, list) else (device,):
        if isinstance(one, Mapping) and one.get("name"):
            yield "device", str(one["name"])
    version = environment.get("python")
    if isinstance(version, str):
        yield "python", ".".join(version.split(".")[:2])
    for library, release in _mapping(environment.get("libraries")).items():
        yield f"library {library}", str(release)
    work = {key: _mapping(environment.get("metadata")).get(key, environment.get(key)) for key in WORK}
    if any(value is not None for value in work.values()):
        yield "work", {key: value for key, value in work.items() if value is not None}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
