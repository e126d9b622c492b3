# SPDX-License-Identifier: Apache-2.0
"""How far two processes of one program differ: which figure stands for that, and where it is known from.

In this order: what the caller gives; what `regimeter calibrate noise` measured where both sides ran; what is inferred
from what both sides saw of their machines; a default for the kind of machine that the files name. Where a side has
several processes, the core takes what they differ by where that is more (csrc/compare/differences.c). All but the
first grow with the spread of the samples and are held against the other operations, because a machine that changes
does so within processes, too, and to all operations.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from ..run.environment import Environment
from . import noise_floor
from .machines import FOLLOWS, machines_of

if TYPE_CHECKING:
    from .options import Options
    from .side import Side

GIVEN, MEASURED, INFERRED, VIRTUAL, BARE, UNSTATED = (
    "given", "measured", "inferred", "virtual", "bare", "unstated",
)  # fmt: skip
KINDS = (VIRTUAL, BARE)
# What is said of a kind of machine.
BECAUSE = {
    GIVEN: "as given",
    MEASURED: "measured here by `regimeter calibrate noise`",
    INFERRED: "inferred from what both sides saw of their machines",
    VIRTUAL: "a default for virtual machines, whose neighbours nobody sees",
    BARE: "a default for machines that are not virtual",
    UNSTATED: "a default for files that do not say what they were measured on",
}
DEFAULTS = {name: float(row["default"]) for name, row in _core.compare_policy().items()}


@dataclass(frozen=True, slots=True)
class Floors:
    """How far two processes of one program differ. by_operation: where it is known of an operation; the policy's holds
    for the others. source: one of BECAUSE. machines: what both sides saw of theirs, '' where that is not known."""

    by_operation: Mapping[str, float]
    source: str = UNSTATED
    machines: str = ""

    @property
    def inferred(self) -> bool:
        """Whether the figure is widened by what the samples and the other operations show."""
        return self.source in (MEASURED, INFERRED, *KINDS)

    @property
    def because(self) -> str:
        """Where the figure is from."""
        return BECAUSE.get(self.source, self.source)


def floors_of(options: "Options", baseline: "Side", current: "Side") -> tuple[dict[str, float], Floors]:
    """Return the thresholds that hold, and how far two processes differ."""
    policy, given = options.thresholds(), options.run_floor
    if isinstance(given, Mapping):
        return policy, Floors(dict(given), GIVEN)
    if given is not None:
        return {**policy, "run_floor": float(given)}, Floors({}, GIVEN)
    if "run_floor" in policy:
        return policy, Floors({}, GIVEN)
    environments = [*baseline.environments, *current.environments]
    kind = kind_of(environments)
    if kind == UNSTATED:
        return policy, Floors({}, UNSTATED)
    policy = {**default_of(kind, policy), **policy}
    seen = machines_of(baseline, current)
    words, apart = (seen.words, seen.apart) if seen else ("", 0.0)
    measured = noise_floor.known(environments)
    if measured is not None:  # it holds what the machine as a whole did between launches, too
        known = {name: math.hypot(value, FOLLOWS * apart) for name, value in noise_floor.by_operation(measured).items()}
        policy |= {"run_floor": math.hypot(float(measured["overall"]), FOLLOWS * apart), "speed_floor": apart}
        return policy, Floors(known, MEASURED, words)
    if seen is None:
        return policy, Floors({}, kind)
    # What slows all operations is seen now, so that what is left of it is what a machine of its own has.
    policy |= {
        "run_floor": math.hypot(policy["run_floor"], FOLLOWS * apart),
        "speed_floor": math.hypot(default_of(BARE, policy)["speed_floor"], apart),
    }
    return policy, Floors({}, INFERRED, words)


def default_of(kind: str, policy: Mapping[str, float]) -> dict[str, float]:
    """Return the thresholds that stand for how much two processes differ on a kind of machine."""
    default = {**DEFAULTS, **policy}
    return {
        "run_floor": default[f"{kind}_floor"],
        "speed_floor": default[f"{kind}_speed"],
        "lone_floor": default[f"{kind}_lone"],
        "floor_df": default["inferred_df"],
    }


def kind_of(environments: "Sequence[Mapping[str, Any]]") -> str:
    """Return the kind of machine: a virtual one as soon as one side says so, or names a machine without saying."""
    known = [one for one in map(Environment.of, environments) if one.host or one.virtual is not None]
    if not known:
        return UNSTATED
    return BARE if all(one.virtual is False for one in known) else VIRTUAL
