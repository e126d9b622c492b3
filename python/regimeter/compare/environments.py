# SPDX-License-Identifier: Apache-2.0
"""In what the environments of both sides differ, and whether that forbids comparing them.

Times of another device, in another unit or of another amount of work are no times of the same thing: those
differences block. Another driver, library, host or clock policy may explain a change: those are told.

The key of an environment stands for its class of machine, software and work: runs of one key may be put into one
series. Runs of different runners in one series are told apart by nothing else: no statistic rescues a mixed history.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

UNKNOWN = "not stated"
LONGEST = 80
# A name for the class of machine, where what is measured of it does not tell machines apart.
RUNNER = "REGIMETER_RUNNER"
# Facts by the names that recordings, traces and documents have for them: of the device, the environment, the trace.
ALIASES = {
    "cpu": ("cpu",),
    "cores": ("cores",),
    "driver": ("driver", "driver_version", "cuda_driver_version"),
    "cuda": ("cuda", "cuda_version", "cuda_runtime_version"),
    "clocks": ("clocks", "clock_policy", "clocks_policy"),
    "power_cap": ("power_cap_w", "power_limit_w", "power_limit"),
    "runner": ("runner",),
}
WORK = ("batch_size", "batch", "shape", "shapes", "dtype")


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact in which two sides differ, both values as text, and whether the sides cannot be compared because of it."""

    fact: str
    before: str
    after: str
    incomparable: bool

    @property
    def words(self) -> str:
        """The difference in one line."""
        return f"{self.fact}: baseline {self.before}, current {self.after}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary of JSON values."""
        return {"fact": self.fact, "before": self.before, "after": self.after, "incomparable": self.incomparable}


def differences(before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]) -> tuple[Difference, ...]:
    """Return in what two lists of environments, one for each input, differ; what makes them incomparable first.

    What only one side states is no difference.
    """
    sides = [list(before), list(after)]
    found = []
    for fact in FACTS:
        old, new = (_values(side, fact.read) for side in sides)
        if old and new and old != new:
            found.append(Difference(fact.what, _text(old), _text(new), fact.blocks))
    found += _libraries(sides)
    return tuple(sorted(found, key=lambda row: not row.incomparable))


def mixed(label: str, environments: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each blocking fact in which the inputs of one side differ among themselves."""
    known = list(environments)
    if len(known) < 2:
        return []
    lines = []
    for fact in FACTS:
        if not fact.blocks:
            continue
        values = [tuple(fact.read(one)) for one in known]
        if len(set(filter(None, values))) > 1:
            lines.append(
                f"{label}: its inputs differ in {fact.what}: {_text(sorted({v for one in values for v in one}))}"
            )
    return lines


# --- what an environment says -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fact:
    what: str
    read: Callable[[Mapping[str, Any]], list[str]]
    blocks: bool


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _trace(environment: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(environment.get("trace"))


def _device(environment: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(environment.get("device"))


def _first(*values: Any) -> list[str]:
    """Return the first value that is stated, as text in a list."""
    for value in values:
        if value is not None and value != "" and value != {} and value != []:
            return [_json(value)]
    return []


def _json(value: Any) -> str:
    """Return a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _device_names(environment: Mapping[str, Any]) -> list[str]:
    listed = _trace(environment).get("deviceProperties") or environment.get("devices")
    if isinstance(listed, list):
        names = [str(one["name"]) for one in listed if isinstance(one, Mapping) and one.get("name")]
        if names:
            return sorted(set(names))
    return _first(_device(environment).get("name"))


def _stated_work(environment: Mapping[str, Any]) -> dict[str, Any]:
    stated = _mapping(environment.get("metadata"))
    named = {key: stated.get(key, environment.get(key)) for key in WORK}
    return {key: value for key, value in named.items() if value is not None}


def _work(environment: Mapping[str, Any]) -> list[str]:
    """Return what was worked on, where the recording says so: batch size and shapes."""
    inner = _mapping(_trace(environment).get("metadata")).get("current_task")
    return _first(_stated_work(environment), _mapping(inner).get("shape"))


def _units(environment: Mapping[str, Any]) -> list[str]:
    units = _mapping(environment.get("units"))
    return [f"{name} = {unit}" for name, unit in sorted(units.items())] or ["as written by regimeter"]


def _first_of(*keys: str) -> Callable[[Mapping[str, Any]], list[str]]:
    """Return a reader of the first of some keys, of the device first, then of the environment, then of the trace."""

    def read(environment: Mapping[str, Any]) -> list[str]:
        places = (_device(environment), environment, _trace(environment))
        return _first(*(place.get(key) for place in places for key in keys))

    return read


FACTS = (
    _Fact("unit of the times", _units, True),
    _Fact("device", _device_names, True),
    _Fact("work (batch or shape)", _work, True),
    _Fact("device uuid", _first_of("uuid"), False),
    _Fact("driver", _first_of(*ALIASES["driver"]), False),
    _Fact("CUDA", _first_of(*ALIASES["cuda"]), False),
    _Fact("clock policy", _first_of(*ALIASES["clocks"]), False),
    _Fact("power cap", _first_of(*ALIASES["power_cap"]), False),
    _Fact("Python", _first_of("python"), False),
    _Fact("processor", _first_of(*ALIASES["cpu"]), False),
    _Fact("cores", _first_of(*ALIASES["cores"]), False),
    _Fact("memory of the machine", _first_of("memory_bytes"), False),
    _Fact("system", _first_of("platform"), False),
    _Fact("host", _first_of("host"), False),
)


def _values(side: list[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], list[str]]) -> list[str]:
    return sorted({value for environment in side for value in read(environment)})


def _libraries(sides: list[list[Mapping[str, Any]]]) -> list[Difference]:
    """Return a difference for each library whose versions differ; one that only one side has loaded counts."""
    stated = [
        [_mapping(one.get("libraries")) for one in side if isinstance(one.get("libraries"), Mapping)] for side in sides
    ]
    if not all(stated):
        return []
    names = sorted({str(name) for side in stated for libraries in side for name in libraries})
    found = []
    for name in names:
        versions = [sorted({str(one[name]) for one in side if name in one}) for side in stated]
        if versions[0] != versions[1]:
            before, after = (_text(one or ["not loaded"]) for one in versions)
            found.append(Difference(name, before, after, incomparable=False))
    return found


def _text(values: Iterable[str]) -> str:
    text = ", ".join(values) or UNKNOWN
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


# --- the key ----------------------------------------------------------------------------------------------------


def facts_of(environments: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts that make up the key, of all processes of a run together."""
    found: dict[str, set[str]] = {}
    for environment in environments:
        for name, value in _key_facts(environment):
            found.setdefault(name, set()).add(value)
    facts: dict[str, Any] = {name: sorted(values) for name, values in sorted(found.items())}
    runner = os.environ.get(RUNNER)
    if runner:
        facts["runner"] = [runner]
    return facts


def key_of(facts: Mapping[str, Any]) -> str:
    """Return the key of the facts, 16 hexadecimal digits."""
    return hashlib.sha256(_json(facts).encode()).hexdigest()[:16]


def _key_facts(environment: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, keys in ALIASES.items():
        for value in _first_of(*keys)(environment):
            yield name, value
    for value in _device_names(environment):
        yield "device", value
    version = environment.get("python")
    if isinstance(version, str):
        yield "python", ".".join(version.split(".")[:2])
    for library, release in _mapping(environment.get("libraries")).items():
        yield f"library {library}", str(release)
    work = _stated_work(environment)
    if work:
        yield "work", _json(work)
