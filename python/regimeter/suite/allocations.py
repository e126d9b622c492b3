# SPDX-License-Identifier: Apache-2.0
"""Every allocation of a stretch of time: how much was live when, what was live at the peak, whose it was and who asked.

On the host the allocations are those that torch.profiler records, of every storage and of what operators allocate
within; on a device those of the allocator's history. What was there before is known from `Ownership`.
"""

import bisect
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import _core
from ..report.memory_run import frames_of
from ..system.arrays import np
from .ownership import ACTIVATIONS, CATEGORIES, TEMPORARIES, UNKNOWN, Ownership

if TYPE_CHECKING:
    from ..public.run import Run

ALLOC, FREE = (_core.MEMORY_ACTIONS.index(name) for name in ("alloc", "free"))
OPERATOR, PYTHON = (_core.SPAN_KINDS.index(kind) for kind in ("cpu_op", "python"))
INACTIVE = _core.BLOCK_STATES.index("inactive")
BACKWARD = "autograd::engine::evaluate_function"
SKEW_NS = 50_000  # between the program's clock and that of the trace
BEFORE, NEVER = 0, 1 << 62
FRAMES, TOP, MOST_POINTS = 8, 20, 4_000


@dataclass(slots=True)
class Block:
    """One allocation. Times in ns since the epoch: BEFORE where it was there already, NEVER where it was not freed.

    operator: the outermost below the program's code. backward: it was asked for within a backward pass.
    """

    address: int
    size: int
    begin_ns: int
    freed_ns: int = NEVER
    category: str = ""
    operator: str = ""
    stack: tuple[str, ...] = ()
    backward: bool = False


@dataclass(slots=True)
class Allocations:
    """Blocks between begin_ns and end_ns, in order of time; those that were there before come first.

    allocated_bytes, freed_bytes: of the blocks that were allocated in this stretch, as they were recorded. backwards:
    when parts of backward passes began.
    """

    begin_ns: int
    end_ns: int
    blocks: list[Block] = field(default_factory=list)
    allocated_bytes: int = 0
    freed_bytes: int = 0
    events: int = 0
    backwards: list[int] = field(default_factory=list)

    # --- levels -----------------------------------------------------------------------------------------------------

    def levels(self) -> tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
        """Return times in ns since the epoch and live bytes from each on; the first is the beginning."""
        changes = [(self.begin_ns, 0)]
        for block in self.blocks:
            changes.append((max(block.begin_ns, self.begin_ns), block.size))
            if block.freed_ns != NEVER:
                changes.append((block.freed_ns, -block.size))
        changes.sort(key=lambda change: change[0])  # at one time in the order of the blocks: allocated, then freed
        times, sizes = (np.array(column, dtype=np.int64) for column in zip(*changes, strict=True))
        return times, np.cumsum(sizes)

    def peak(self) -> tuple[int, int]:
        """Return when most was live, in ns since the epoch, and how much, in bytes."""
        times, levels = self.levels()
        at = int(np.argmax(levels))
        return int(times[at]), int(levels[at])

    def level_at(self, moments: Sequence[int]) -> list[int]:
        """Return the live bytes at moments in ns since the epoch."""
        times, levels = self.levels()
        places = np.searchsorted(times, np.asarray(moments, dtype=np.int64), side="right") - 1
        return [int(levels[max(0, at)]) for at in places]

    def points(self) -> list[tuple[float, int]]:
        """Return (ms since the beginning, live bytes), of many the extremes; the peak is among them."""
        times, levels = self.levels()
        chosen = np.arange(len(times))
        if len(times) > MOST_POINTS:
            parts = np.array_split(chosen, MOST_POINTS // 2)
            ends = [part[[int(np.argmin(levels[part])), int(np.argmax(levels[part]))]] for part in parts]
            chosen = np.unique(np.concatenate([*ends, [len(times) - 1]]))
        return [((int(times[at]) - self.begin_ns) / 1e6, int(levels[at])) for at in chosen.tolist()]

    # --- what was live ----------------------------------------------------------------------------------------------

    def live_at(self, moment: int) -> list[Block]:
        """Return the blocks that live at a moment; one that is freed at it no longer does."""
        return [block for block in self.blocks if block.begin_ns <= moment < block.freed_ns]

    def by_category(self, moment: int) -> dict[str, int]:
        """Return the live bytes of each category."""
        found = dict.fromkeys(CATEGORIES, 0)
        for block in self.live_at(moment):
            found[block.category] += block.size
        return found

    def top(self, moment: int, most: int = TOP) -> list[dict[str, Any]]:
        """Return who asked for what lives at a moment, most bytes first: {bytes, count, category, operator, stack}."""
        found: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
        for block in self.live_at(moment):
            row = found.setdefault((block.category, block.operator, block.stack), [0, 0])
            row[0] += block.size
            row[1] += 1
        ordered = sorted(found.items(), key=lambda item: -item[1][0])[:most]
        return [
            {"bytes": size, "count": count, "category": category, "operator": operator, "stack": list(stack)}
            for (category, operator, stack), (size, count) in ordered
        ]

    def histogram(self) -> list[dict[str, int]]:
        """Return how many blocks were allocated of each size class: {up_to_bytes, count, bytes}, powers of two."""
        counts: Counter[int] = Counter()
        sizes: Counter[int] = Counter()
        for block in self.blocks:
            if block.begin_ns != BEFORE:
                upto = 1 << (max(1, block.size) - 1).bit_length()
                counts[upto] += 1
                sizes[upto] += block.size
        return [{"up_to_bytes": upto, "count": counts[upto], "bytes": sizes[upto]} for upto in sorted(counts)]

    # --- whose it is ------------------------------------------------------------------------------------------------

    def own(self, owners: Ownership, device: int = -1) -> None:
        """Add what was there before, and give each block its category."""
        before = [
            Block(one.address, one.size, BEFORE, NEVER if one.freed_ns is None else one.freed_ns, one.category)
            for one in owners.before
            if one.device == device
        ]
        self.blocks[:0] = before
        places: dict[int, list[Block]] = {}
        for block in self.blocks:
            places.setdefault(block.address, []).append(block)
        for moment, address, category in owners.marks:
            held = _held(places.get(address, ()), moment)
            if held is not None and held.category in ("", UNKNOWN):
                held.category = category
        for block in self.blocks:
            block.category = block.category or self._use(block)

    def _use(self, block: Block) -> str:
        """Return what a block is that nobody owns: by whether a backward pass began while it lived."""
        at = bisect.bisect_right(self.backwards, block.begin_ns)
        if not block.backward and at < len(self.backwards) and self.backwards[at] < block.freed_ns:
            return ACTIVATIONS
        return TEMPORARIES if block.freed_ns != NEVER else UNKNOWN


def _held(blocks: Sequence[Block], moment: int) -> Block | None:
    """Return the block of an address that lives at a moment, by clocks that differ a little."""
    fitting = [one for one in blocks if one.begin_ns <= moment + SKEW_NS and one.freed_ns >= moment - SKEW_NS]
    return fitting[-1] if fitting else None


# --- where they come from -----------------------------------------------------------------------------------------


def of_run(run: "Run", begin_ns: int, end_ns: int, *, stacks: bool, device: int = -1) -> Allocations:
    """Return the allocations of a device (-1: the host) in a trace or a snapshot of torch's allocator.

    ValueError where events do not say when they were recorded.
    """
    found = Allocations(begin_ns, end_ns)
    memory = run.memory
    at_device = memory.device < 0 if device < 0 else memory.device == device
    rows = np.flatnonzero(np.isin(memory.action, (ALLOC, FREE)) & at_device)
    if run.start_unix_ns is None:
        if len(rows) or device < 0:
            raise ValueError("the trace does not say when it was recorded")
        return found
    shift = run.start_unix_ns - run.start_ns
    rows = rows[np.argsort(memory.time_ns[rows], kind="stable")]
    if device >= 0:  # the history began before the stretch
        rows = rows[memory.time_ns[rows] + shift >= begin_ns - SKEW_NS]
    living: dict[int, Block] = {}
    callers = _Callers(run, FRAMES if stacks else 0)
    columns = (memory.action, memory.address, memory.bytes, memory.time_ns, memory.span, memory.stack)
    for action, address, size, time, span, asked in zip(*(column[rows].tolist() for column in columns), strict=True):
        found.events += 1
        if action == ALLOC:
            operator, stack, backward = callers.of(span) if asked < 0 else ("", callers.of_stack(asked), False)
            block = Block(address, size, time + shift, operator=operator, stack=stack, backward=backward)
            living[address] = block
            found.blocks.append(block)
            found.allocated_bytes += size
        elif (held := living.pop(address, None)) is not None:
            # Torch may also tell of a block that was there before, with the size of one that it saw at this address
            # in an earlier profile: its table forgets only what is freed while it looks.
            found.freed_bytes += held.size
            held.freed_ns = time + shift
    found.backwards = _backwards(run, shift)
    return found


def live_before(run: "Run", device: int, begin_ns: int) -> int:
    """Return the bytes that lived on a device before the first event of a snapshot's history from a moment on."""
    levels = run.analyse("memory_levels")
    times = levels.time_ns + (run.start_unix_ns or 0) - run.start_ns
    earlier = np.flatnonzero((levels.device == device) & (times < begin_ns - SKEW_NS))
    if len(earlier):
        return int(levels.live[earlier[-1]])
    at = np.flatnonzero(levels.device == device)
    if len(at):
        event = int(levels.event[at[0]])
        sign = {ALLOC: 1, FREE: -1}.get(int(run.memory.action[event]), 0)
        return int(levels.live[at[0]]) - sign * int(run.memory.bytes[event])
    return sum(size for _, size in held_blocks(run, device))


def held_blocks(run: "Run", device: int) -> list[tuple[int, int]]:
    """Return (address, bytes asked for) of the blocks that a device's allocator held when a snapshot was taken."""
    blocks = run.tables.blocks
    at = np.flatnonzero((blocks.device == device) & (blocks.state != INACTIVE))
    return list(zip(blocks.address[at].tolist(), blocks.requested[at].tolist(), strict=True))


def _backwards(run: "Run", shift: int) -> list[int]:
    names = [number for number, text in enumerate(run.strings) if text.startswith(BACKWARD)]
    starts = run.spans.start_ns[np.isin(run.spans.name, names)]
    return sorted((starts + shift).tolist())


class _Callers:
    """The operator and the Python functions around a span; each span is looked at once."""

    def __init__(self, run: "Run", frames: int) -> None:
        self._frames = frames
        self._parents = run.spans.parent.tolist()
        self._kinds = run.spans.kind.tolist()
        self._names = run.spans.name.tolist()
        self._run = run
        self._known: dict[int, tuple[str, tuple[str, ...], bool]] = {-1: ("", (), False)}
        self._stacks: dict[int, tuple[str, ...]] = {}

    def of_stack(self, stack: int) -> tuple[str, ...]:
        """Return the innermost functions of a row of `stacks`, written as torch.profiler writes them."""
        if stack not in self._stacks:
            frames = itertools.islice(frames_of(self._run, stack), self._frames)
            self._stacks[stack] = tuple(f"{file}({line}): {function}" for function, file, line in frames)
        return self._stacks[stack]

    def of(self, span: int) -> tuple[str, tuple[str, ...], bool]:
        """Return the outermost operator below Python code, the innermost functions, and whether it is of a backward."""
        if span not in self._known:
            self._known[span] = self._find(span)
        return self._known[span]

    def _find(self, span: int) -> tuple[str, tuple[str, ...], bool]:
        operator, backward, below, at = "", False, True, span
        frames: list[str] = []
        while at >= 0:
            kind, name = self._kinds[at], self._run.string(self._names[at])
            if kind == OPERATOR and name.startswith(BACKWARD):
                backward = True
            elif kind == OPERATOR and below:
                operator = name
            elif kind == PYTHON:
                below = False
                if len(frames) < self._frames and not name.startswith("<built-in"):
                    frames.append(name)
            at = self._parents[at]
        return operator, tuple(frames), backward
