# SPDX-License-Identifier: Apache-2.0
"""The one path from two sides to a verdict and an exit code, whatever door they came by.

    decision = decide("base.rgm", "new.rgm", Options(significance_threshold=3.0))
    sys.exit(decision.exit_code)

Python's functions, `regimeter compare`, `regimeter ab`, the pytest plugin and the pages all come here, so the same
files have the same verdict and the same exit code everywhere. Nothing is passed for want of data: where nothing could
be decided, `nothing_compared` says why and the exit code is NOT_COMPARABLE.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..system.quantities import finite
from .ab.in_turns import Neighbours, by_neighbours
from .ab.pairs import two_sides
from .ab.steadied import Steadied, steadied
from .environments import Difference, differences, mixed
from .family import compare_rows, compare_whole
from .floors import DEFAULTS, Floors, floors_of
from .options import Options
from .result import ChangeType, OperationComparison
from .side import COUNTED, Side
from .wholes import singles_of

# Exit codes; never a count.
PASS, REGRESSED, USAGE, INCONCLUSIVE, NOT_COMPARABLE, NO_BASELINE = 0, 1, 2, 3, 4, 5
ONE_SIDED = (ChangeType.NEW_OPERATION, ChangeType.REMOVED_OPERATION)
NO_VERDICT = (*ONE_SIDED, ChangeType.INVALID)
# Fields of a row that compare both sides.
COMPARING = (
    "change_ms", "change_percent", "low_percent", "high_percent", "p", "q", "rank_p", "detectable_percent", "needed",
    "memory_change_mb",
)  # fmt: skip
# What a report calls the outcome.
PASSED, FAILED, UNDECIDED, NOTHING, INCOMPARABLE = (
    "passed", "failed", "undecided", "nothing compared", "not comparable",
)  # fmt: skip


@dataclass
class Decision:
    """What was decided of two sides, and on what grounds.

    options: what was asked. policy: the thresholds that held. floors: how far two processes differ, and where that is
    known from. differences: of the environments, what forbids a comparison first. comparisons: a row an operation and
    metric, in the order of the baseline, then what is new. wholes: the single tests, rows of the same kind with p and
    q alike. facts: what holds for all rows: the common shift with its interval, the smallest detectable effect.
    warnings: what the reader should know of the inputs.
    """

    options: Options
    baseline: Side
    current: Side
    policy: dict[str, float]
    floors: Floors
    differences: tuple[Difference, ...]
    comparisons: list[OperationComparison]
    wholes: list[OperationComparison]
    facts: dict[str, Any]
    warnings: list[str]

    @property
    def incomparable(self) -> str:
        """In what the environments differ so that times cannot be compared, '' where nothing forbids it."""
        if self.options.force:
            return ""
        return "; ".join(one.words for one in self.differences if one.incomparable)

    @property
    def nothing_compared(self) -> str:
        """Why no verdict rests on data of both sides, '' when one does. A gate must not take this for a pass."""
        if self.incomparable:
            return f"not comparable: {self.incomparable}"
        if not self.comparisons:
            return "neither side has an operation with this metric"
        kinds = {row.change_type for row in self.comparisons}
        if kinds <= set(ONE_SIDED):
            if len(kinds) == 1:
                return f"{'the baseline' if ChangeType.NEW_OPERATION in kinds else 'the current side'} has no operation"
            return "no operation is on both sides"
        return "no operation has usable samples on both sides" if kinds <= set(NO_VERDICT) else ""

    @property
    def common_failure(self) -> bool:
        """Whether everything together got slower by at least the threshold, where that was taken out of the rows.

        Then no row need be slower than the others, and still the program is: a gate must not take that for a pass.
        The lower end of the interval counts, because sides that did not run in pairs may differ by their machines.
        """
        low = finite(self.facts.get("common_low"))
        limit = self.options.significance_threshold
        return bool(self.facts.get("common_removed")) and low is not None and 100 * low >= limit

    @property
    def failures(self) -> list[OperationComparison]:
        """The regressions that fail a gate, the largest first: large enough, and not accepted."""
        found = [row for row in self.comparisons if _fails(row)]
        return sorted(found, key=lambda row: -(row.change_percent or 0.0))

    @property
    def whole_failures(self) -> list[OperationComparison]:
        """The single tests that fail a gate: the whole got slower, or its peak memory grew, and nobody accepted it."""
        return [] if self.nothing_compared else [row for row in self.wholes if _fails(row)]

    @property
    def untold(self) -> list[OperationComparison]:
        """The rows that differ, and of which too few processes cannot tell the program from the machine."""
        return [row for row in (*self.comparisons, *self.wholes) if row.gates and row.reason == "machine"]

    @property
    def nothing_told(self) -> bool:
        """Whether no row that both sides have came to an end: what nobody could tell has not passed."""
        judged = [row for row in (*self.comparisons, *self.wholes) if row.gates and row.reason != "one_side"]
        return bool(judged) and not any(row.conclusive for row in judged)

    @property
    def fails(self) -> bool:
        """Whether something fails a gate that fails on regressions."""
        return bool(self.failures or self.whole_failures or self.common_failure)

    def get_exit_code(self, strict: bool | None = None) -> int:
        """Return the exit code of a gate: 0 pass, 1 regression, 3 undecided (`strict`), 4 nothing could be decided.

        strict: instead of what the options say. The single tests of the whole count like rows that gate. All operations
        together are one more row: see `common_failure`. What is invalid has no share, so it counts.
        """
        if self.options.fail_on == "never":
            return PASS
        if self.nothing_compared:
            return NOT_COMPARABLE
        rows = (*self.comparisons, *self.wholes)
        if self.fails or (self.options.fail_on == "any" and any(row.is_significant and row.gates for row in rows)):
            return REGRESSED
        undecided = any(
            not row.conclusive
            and ((row.gates and row.change_type is ChangeType.NO_CHANGE) or row.change_type is ChangeType.INVALID)
            for row in rows
        )
        return INCONCLUSIVE if undecided and (self.options.strict if strict is None else strict) else PASS

    @property
    def exit_code(self) -> int:
        """The exit code of the gate that the options describe."""
        return self.get_exit_code()

    @property
    def outcome(self) -> str:
        """What to call it: passed, failed, undecided, nothing compared or not comparable.

        It is what was found, also where `fail_on` is "never": a report that fails nothing must not say "passed" of a
        program that got slower.
        """
        if self.incomparable:
            return INCOMPARABLE
        if self.nothing_compared:
            return NOTHING
        if self.options.fail_on == "never" and self.fails:
            return FAILED
        if self.exit_code == PASS and (self.untold or self.nothing_told):
            return UNDECIDED
        return {PASS: PASSED, REGRESSED: FAILED, INCONCLUSIVE: UNDECIDED}[self.exit_code]


def _fails(row: OperationComparison) -> bool:
    return row.change_type is ChangeType.REGRESSION and row.gates and row.accepted is None


def decide(before: Any, after: Any, options: Options | None = None) -> Decision:
    """Return what can be said of two sides: each a path, a Run, a dictionary, a Side, or a list of these.

    FormatError for an unreadable file, OSError for an absent one, TypeError or ValueError for anything else.
    """
    options = options or Options()
    baseline, current = two_sides(before, after, paired=options.paired)
    options = _counted(options, baseline, current)
    unlike = differences(baseline.environments, current.environments)
    policy, floors = floors_of(options, baseline, current)
    taken: dict[str, Steadied] = {}
    beside: dict[str, Neighbours] = {}
    compared = current
    if options.paired:
        compared, beside = by_neighbours(baseline, current)
    if options.paired and options.steadied and not beside:
        compared, taken = steadied(baseline, compared, policy.get("least_pairs", DEFAULTS["least_pairs"]))
    rows, facts = compare_rows(baseline, compared, options, policy, floors)
    rows = [_beside_raw(row, taken) for row in rows]
    singles = singles_of(baseline, current, options.wholes, policy, paired=options.paired)
    wholes = [compare_whole(one, options, policy, floors) for one in singles]
    decision = Decision(options, baseline, current, policy, floors, unlike, rows, wholes, facts, [])
    if decision.incomparable:
        decision.comparisons = [_without_verdict(row) for row in rows]
        decision.wholes, decision.facts = [], {}
    decision.warnings = [*_warnings(decision), *_doubts(taken)]
    return decision


def _counted(options: Options, baseline: Side, current: Side) -> Options:
    """Return the options for sides whose instructions were counted: their times are those of an emulation."""
    counted = all(COUNTED[0] in side.metrics and "time" not in side.metrics for side in (baseline, current))
    return replace(options, metrics=COUNTED, wholes=()) if counted and options.metrics == ("time",) else options


def _beside_raw(row: OperationComparison, taken: Mapping[str, Steadied]) -> OperationComparison:
    """Return the row with its change as it was measured, where the machine's part was taken out."""
    found = taken.get(row.operation) if row.metric == "time" else None
    return (
        row
        if found is None or found.coefficient is None
        else replace(row, raw_percent=found.raw_percent, coefficient=found.coefficient)
    )


def _doubts(taken: Mapping[str, Steadied]) -> list[str]:
    """Return what is to be said where few operations differ together."""
    shifts = [one.shift_percent for one in taken.values() if one.shift_percent is not None]
    if not shifts:
        return []
    line = (
        f"all {len(shifts)} operations differ together, by {shifts[0]:+.1f} %: so few cannot tell whether the program "
        "or the machine did it, so it counts as doubt in each; `regimeter ab --in-turns`, or more pairs, would tell"
    )
    return [line]


def _without_verdict(row: OperationComparison) -> OperationComparison:
    """Return the row with the values of both sides and nothing that compares them."""
    if row.change_type in ONE_SIDED:
        return row
    nothing: dict[str, Any] = dict.fromkeys(COMPARING)
    return replace(
        row, change_type=ChangeType.INVALID, is_significant=False, conclusive=False, reason="environments", **nothing
    )


def _warnings(decision: Decision) -> list[str]:
    """Return what the reader should know of the inputs, why nothing was compared first."""
    nothing = decision.nothing_compared
    found = [f"nothing was compared: {nothing}"] if nothing else []
    for side in (decision.baseline, decision.current):
        found += [*side.warnings, *mixed(side.label, side.environments)]
    for name in sorted(decision.baseline.devices.keys() & decision.current.devices.keys()):
        places = [side.devices[name][1] for side in (decision.baseline, decision.current)]
        if places[0] != places[1]:
            found.append(f"{name!r} ran on {places[0]} in the baseline and on {places[1]} now")
    having = {row.metric for row in decision.comparisons}
    absent = [name for name in decision.options.metrics if name not in having]
    if absent and having:
        found.append(f"neither side has an operation with {' or '.join(absent)}: that was not compared")
    return found
