# SPDX-License-Identifier: Apache-2.0
"""In which order suggestions are worth trying: what they save against the effort."""

from dataclasses import replace
from typing import TYPE_CHECKING

from .. import _core
from .suggestion import OptimizationSuggestion

if TYPE_CHECKING:
    pass


EFFORT = {"low": 1, "medium": 2, "high": 4}  # how many times the work of a low one; a judgement


def with_roadmap(found: list[OptimizationSuggestion]) -> list[OptimizationSuggestion]:
    """Return the suggestions with their place in the order of saved time by effort; merged ones have none."""
    open_ones = [i for i, one in enumerate(found) if one.merged_into is None]
    order = sorted(open_ones, key=lambda i: (-_worth(found[i]), i))
    places = {i: place for place, i in enumerate(order, 1)}
    return [replace(one, roadmap=places.get(i, 0)) for i, one in enumerate(found)]


def _worth(one: OptimizationSuggestion) -> float:
    weights = {name: float(_core.policy()[f"suggest_{name}_weight"]["default"]) for name in ("medium", "low")}
    return one.saved_high_ms * weights.get(one.confidence, 1.0) / EFFORT[one.effort]
