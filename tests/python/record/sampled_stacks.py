# SPDX-License-Identifier: Apache-2.0
"""What tests of samples of stacks share: their frames, and counts of them."""

from collections import Counter
from collections.abc import Callable

from regimeter import Run, _core

# Threads of this process that are no matter of the test: what is counted is without them.
OTHERS: set[int] = set()


def frames_of(run: Run, stack: int) -> list[tuple[str, str, int]]:
    """Return a stack's function, file and line, innermost first."""
    stacks, found = run.tables.stacks, []
    while stack >= 0:
        found.append((run.string(stacks.function[stack]), run.string(stacks.file[stack]), int(stacks.line[stack])))
        stack = int(stacks.parent[stack])
    return found


def count(
    run: Run, what: Callable[[list[tuple[str, str, int]], str], object], *, inside: bool = False
) -> Counter[object]:
    """Count samples by what is made of their frames and their state. inside: those of scopes alone, for what the
    recorder does at begin and end may take long."""
    cache: dict[int, list[tuple[str, str, int]]] = {}
    counted: Counter[object] = Counter()
    samples = run.samples
    for thread, stack, state, span in zip(
        samples.thread.tolist(), samples.stack.tolist(), samples.state.tolist(), samples.span.tolist(), strict=True
    ):
        if thread not in OTHERS and (span >= 0 or not inside):
            if stack not in cache:
                cache[stack] = frames_of(run, stack)
            counted[what(cache[stack], _core.SAMPLE_STATES[state])] += 1
    return counted


def found_most(found: Counter[object]) -> object:
    return found.most_common(1)[0][0]
