# SPDX-License-Identifier: Apache-2.0
"""What workloads there are, and their sizes: the documented ones, or others by the names of the parameters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core

Arrays = dict[str, NDArray[Any]]
# The documented descriptions, with the sizes as they are.
DESCRIPTIONS = {
    "ar_forecast": "{points} points, AR({order}), {steps} steps ahead",
    "lstm_cell_forward": "batch={batch}, input={inputs}, hidden={hidden}",
    "pixel_entropy": "{height}x{width} image, window={window}",
    "conv2d": "{height}x{width} image, {side}x{side} kernel",
    "image_segmentation": "{height}x{width} image, threshold={threshold}",
    "dendritic_integration": "{neurons} neurons, {dendrites} dendrites, {inputs} inputs",
    "vector_add": "{n} elements",
    "matrix_multiply": "{m}x{k} x {k}x{n}",
    "dot_product": "{n} elements",
}
# What a sweep scales together unless it is told otherwise.
SCALED = {
    "ar_forecast": ("steps",),
    "lstm_cell_forward": ("batch",),
    "pixel_entropy": ("height", "width"),
    "conv2d": ("height", "width"),
    "image_segmentation": ("height", "width"),
    "dendritic_integration": ("neurons",),
    "vector_add": ("n",),
    "matrix_multiply": ("m", "n", "k"),
    "dot_product": ("n",),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its documented value, its bounds (inclusive), whether it is a whole number, what it is."""

    value: float
    least: float
    most: float
    whole: bool
    doc: str


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload: what it computes, of what its operations are, its parameters and the types of its buffers."""

    name: str
    doc: str
    unit: str
    parameters: dict[str, Parameter]
    buffers: dict[str, dict[str, str]]

    def sizes(self, given: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return all parameters, the given ones in place of the documented; ValueError for one that cannot be."""
        for name, value in (given or {}).items():
            if name not in self.parameters:
                raise ValueError(f"{self.name} has no parameter {name!r}; it has: {', '.join(self.parameters)}")
            known = self.parameters[name]
            if not known.least <= value <= known.most or (known.whole and value != int(value)):
                kind = "a whole number" if known.whole else "a number"
                raise ValueError(
                    f"{self.name}: {name} is {value:g}; {kind} from {known.least:g} to {known.most:g} is needed"
                )
        return {name: float((given or {}).get(name, known.value)) for name, known in self.parameters.items()}

    def describe(self, sizes: Mapping[str, float]) -> str:
        """Return the workload with its sizes in words."""
        return DESCRIPTIONS[self.name].format(**{name: f"{value:.10g}" for name, value in sizes.items()})

    def label(self, sizes: Mapping[str, float]) -> str:
        """Return the name, with the sizes that are not the documented ones."""
        other = [f"{n}={v:.10g}" for n, v in sizes.items() if v != self.parameters[n].value]
        return f"{self.name} ({', '.join(other)})" if other else self.name

    def inputs(self, sizes: Mapping[str, float]) -> Arrays:
        """Return the documented inputs as flat arrays."""
        made = _core.workload_inputs(self.name, dict(sizes))["inputs"]
        return {name: np.frombuffer(data, self.buffers[name]["dtype"]) for name, data in made.items()}

    def work(self, sizes: Mapping[str, float]) -> tuple[float, float]:
        """Return operations and unavoidable bytes, both by definition."""
        made = _core.workload_inputs(self.name, dict(sizes))
        return float(made["operations"]), float(made["bytes"])


def workloads() -> dict[str, Workload]:
    """Return the nine workloads by name."""
    return {
        name: Workload(
            name,
            row["doc"],
            row["unit"],
            {key: Parameter(**value) for key, value in row["parameters"].items()},
            row["buffers"],
        )
        for name, row in _core.workloads().items()
    }


def choose(names: str | Iterable[str] | None) -> list[Workload]:
    """Return the workloads of these names, all without; ValueError for a name that there is not."""
    known = workloads()
    wanted = list(known) if names is None else [names] if isinstance(names, str) else list(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            near = get_close_matches(str(name), known, cutoff=0.4)
            raise ValueError(
                f"no workload is called {name!r}; {'similar' if near else 'there are'}: {', '.join(near or known)}"
            )
    return [known[name] for name in wanted]


def sizes_for(chosen: Iterable[Workload], given: Mapping[str, float] | None) -> dict[str, dict[str, float]]:
    """Return the sizes of each workload: a size is for those that have a parameter of its name, or for one as NAME.k.

    ValueError for a size that no workload has.
    """
    chosen = list(chosen)
    own: dict[str, dict[str, float]] = {workload.name: {} for workload in chosen}
    for key, value in (given or {}).items():
        name, dot, parameter = key.rpartition(".")
        having = [w for w in chosen if (not dot or w.name == name) and parameter in w.parameters]
        if not having:
            valid = sorted({parameter for workload in chosen for parameter in workload.parameters})
            raise ValueError(f"none of the chosen workloads has a size {key!r}; there are: {', '.join(valid)}")
        for workload in having:
            own[workload.name][parameter] = float(value)
    return {workload.name: workload.sizes(own[workload.name]) for workload in chosen}
