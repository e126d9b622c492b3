# SPDX-License-Identifier: Apache-2.0
"""A pool of buffers: memory that was given back is kept for a while and handed out again.

    from regimeter import ActiveMemoryPool

    with ActiveMemoryPool.with_defaults() as pool:
        buffer = pool.allocate(1 << 20)          # host memory; device=0 for a CUDA device
        array = numpy.frombuffer(buffer, "f4")
        ...
        del array
        pool.free(buffer)
        print(f"{pool.get_stats().hit_rate():.1f}%")

Every figure is counted or measured by this pool; docs/tuning.md says how. A buffer holds what its last user left.
"""

import math
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from .. import _core

NS = 1e-9
MIB = 1 << 20
LEAKS_SHOWN = 10
HOST = "host"


@dataclass(frozen=True, slots=True)
class ActivePoolConfig:
    """Bounds of a pool; each memory (the host's, each device's) has a pool of its own with these bounds.

    `max_pool_bytes` is idle memory that is kept at most, `max_buffers_per_class` idle buffers of one size class,
    `buffer_ttl_seconds` how long a buffer is kept idle, `min_pooled_size` the smallest request in bytes that is
    pooled. Where `enabled` is false every request goes to the system. ValueError for a negative bound.
    """

    enabled: bool = True
    max_pool_bytes: int = 512 * MIB
    max_buffers_per_class: int = 16
    buffer_ttl_seconds: float = 60.0
    min_pooled_size: int = 4096

    def __post_init__(self) -> None:
        """Refuse bounds that cannot be."""
        for name in ("max_pool_bytes", "max_buffers_per_class", "min_pooled_size"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} is a whole number of at least 0, not {value!r}")
        if not (math.isfinite(self.buffer_ttl_seconds) and 0 <= self.buffer_ttl_seconds <= 1e9):
            raise ValueError(f"buffer_ttl_seconds is 0 to 1e9, not {self.buffer_ttl_seconds!r}")


@dataclass(frozen=True, slots=True)
class Leak:
    """A buffer that was in use when its pool was closed: where, and the bytes that were asked for and granted."""

    memory: str
    id: int
    requested: int
    granted: int


@dataclass(frozen=True, slots=True)
class PoolStats:
    """What a pool did. `counts` is of each memory, `registered` of allocations that were only registered.

    The meaning of each count is in docs/tuning.md. A figure that nothing was measured for is nan or None.
    """

    counts: Mapping[str, Mapping[str, int]]
    registered: Mapping[str, int]
    _sums: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Add the memories up."""
        for counts in (*self.counts.values(), self.registered):
            for name, value in counts.items():
                self._sums[name] = self._sums.get(name, 0) + value

    def total(self, name: str) -> int:
        """Return a count over all memories and registered allocations; KeyError for a name that is none."""
        return self._sums[name]

    @property
    def hits(self) -> int:
        """Requests that a kept buffer served, registered ones included."""
        return self.total("hits")

    @property
    def misses(self) -> int:
        """Requests of a pooled size that no kept buffer served."""
        return self.total("misses")

    @property
    def reused_bytes(self) -> int:
        """Bytes that were asked for and served by kept buffers."""
        return self.total("hit_bytes")

    def hit_rate(self) -> float:
        """Return hits in percent of hits and misses, which are the requests of pooled size; nan before the first."""
        asked = self.hits + self.misses
        return 100.0 * self.hits / asked if asked else math.nan

    def fragmentation(self) -> float:
        """Return the share of the memory granted so far that was not asked for, 0 to 0.2; nan before the first."""
        granted = self.total("granted_bytes")
        return 1.0 - self.total("requested_bytes") / granted if granted else math.nan

    def time_saved_seconds(self) -> float | None:
        """Return how much longer the hits would have taken as misses: hits times the difference of the mean times.

        Derived from the times that this pool measured, per memory, of the requests alone: what the first use of fresh
        memory costs is not in it. Negative where misses were faster. None while there is no hit or no miss of the
        same memory to compare; registered allocations have no time.
        """
        saved = None
        for counts in self.counts.values():
            hits, misses = counts["hits"], counts["misses"]
            if hits and misses:
                saved = (saved or 0.0) + NS * (hits * (counts["miss_ns"] / misses) - counts["hit_ns"])
        return saved


class ActiveMemoryPool:
    """Pools of host memory and of the memory of CUDA devices, and the accounting of allocations made elsewhere.

    `clock` gives seconds that do not go back, for tests of what depends on age; None is the system's monotonic clock.
    All methods can be called from any thread.
    """

    def __init__(self, config: ActivePoolConfig | None = None, *, clock: Callable[[], float] | None = None) -> None:
        """Make an empty pool; a device is asked for at the first request for its memory."""
        self.config = config or ActivePoolConfig()
        self._clock = clock
        self._lock = threading.Lock()
        self._pools: dict[int | None, _core.BufferPool] = {}
        self._ledger = self._make("none")
        self._closed = False
        _alive.add(self)

    @classmethod
    def with_defaults(cls) -> Self:
        """Make a pool with the documented bounds."""
        return cls(ActivePoolConfig())

    # --- memory ----------------------------------------------------------------------------------------------------

    def allocate(self, size: int, device: int | str | None = None, *, stream: int = 0) -> _core.PoolBuffer:
        """Return a buffer of `size` bytes, content undefined.

        `device` is None for host memory, a CUDA ordinal or ``"cuda:1"``. `stream` is the handle of the stream that
        the buffer will be used in (0: the default stream), which matters when it is freed. Host memory has the buffer
        protocol and is aligned to 64 bytes; device memory has ``__cuda_array_interface__``. Raises MemoryError,
        ValueError for a size below 1, UnavailableError without a driver, Error when the device's memory is full.
        """
        return self._pool(_ordinal(device)).allocate(size, stream)

    def free(self, buffer: _core.PoolBuffer, *, stream: int | None = None) -> None:
        """Give a buffer back. Device memory is not handed out again before the work of `stream` so far is done.

        `stream` is that of the allocation unless given. ValueError when it was freed before or is another pool's,
        BufferError while arrays or memoryviews of it are alive, TypeError for what is no buffer of a pool.
        """
        if not isinstance(buffer, _core.PoolBuffer):
            raise TypeError(f"free() takes a buffer of this pool, not {type(buffer).__name__}")
        with self._lock:
            ours = any(buffer.pool is pool for pool in self._pools.values())
        if not ours:
            raise ValueError("this buffer belongs to another pool; free it there")
        self._tick(buffer.pool)
        if stream is None:
            buffer.free()
        else:
            buffer.free(stream)

    def evict_stale(self) -> int:
        """Give back to the system what has been idle for the time to live; return how many buffers."""
        return sum(self._tick(pool).evict_stale() for pool in self._all())

    def clear(self) -> int:
        """Give back to the system all that is idle; return how many buffers. Buffers in use are left alone."""
        return sum(self._tick(pool).clear() for pool in self._all())

    def close(self) -> tuple[Leak, ...]:
        """End the pool and return the buffers still in use, with a ResourceWarning when there are any.

        They stay valid until they are freed or collected. Closing twice is fine.
        """
        with self._lock:
            first, self._closed = not self._closed, True
        leaks = tuple(
            Leak(name, number, requested, granted)
            for name, pool in self._named().items()
            for number, requested, granted in pool.live()
        )
        for pool in self._all():
            pool.close()
        if leaks and first:
            total = sum(leak.requested for leak in leaks)
            warnings.warn(
                f"{len(leaks)} buffers of {total} bytes were in use when their pool was closed: "
                + ", ".join(f"{leak.requested} bytes ({leak.memory})" for leak in leaks[:LEAKS_SHOWN])
                + (", ..." if len(leaks) > LEAKS_SHOWN else ""),
                ResourceWarning,
                stacklevel=2,
            )
        return leaks

    def __enter__(self) -> Self:
        """Return the pool."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the pool."""
        self.close()

    # --- accounting ------------------------------------------------------------------------------------------------

    def register_allocation(self, size: int) -> int:
        """Count an allocation of `size` bytes that is made elsewhere; return its id.

        It is accounted as this pool would have served it, in size classes and bounds of its own, without memory.
        """
        return self._tick(self._ledger).register(size)

    def register_deallocation(self, allocation: int) -> None:
        """Count the end of a registered allocation. ValueError when it ended before or was never registered."""
        self._tick(self._ledger).deregister(allocation)

    def get_stats(self) -> PoolStats:
        """Return what the pool did so far."""
        return PoolStats({name: pool.counts() for name, pool in self._named().items()}, self._ledger.counts())

    def get_report(self) -> str:
        """Return the statistics as text."""
        stats = self.get_stats()
        lines = ["Memory pool" if self.config.enabled else "Memory pool (switched off)"]
        for name, counts in (*stats.counts.items(), ("registered only", stats.registered)):
            if counts["allocations"]:
                lines.append(_line(name, counts))
        if len(lines) == 1:
            return f"{lines[0]}: nothing was allocated"
        saved = stats.time_saved_seconds()
        asked = stats.hits + stats.misses
        lines.append(
            f"hit rate      {stats.hit_rate():.1f} % of {asked} requests"
            if asked
            else "hit rate      none of pooled size"
        )
        lines.append(f"rounding      {100 * stats.fragmentation():.1f} % of the memory granted was not asked for")
        if saved is None:
            lines.append("time saved    not known: no hit and miss of the same memory to compare")
        else:
            lines.append(f"time saved    {1e3 * saved:.3f} ms, derived: hits x (mean miss - mean hit), as measured")
        return "\n".join(lines)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _make(self, memory: int | str | None) -> _core.BufferPool:
        config = self.config
        return _core.BufferPool(
            memory,
            max_pool_bytes=config.max_pool_bytes,
            max_buffers_per_class=config.max_buffers_per_class if config.enabled else 0,
            buffer_ttl_ns=round(config.buffer_ttl_seconds / NS),
            min_pooled_size=config.min_pooled_size,
        )

    def _pool(self, device: int | None) -> _core.BufferPool:
        with self._lock:
            if self._closed:
                raise ValueError("the pool is closed")
            pool = self._pools.get(device)
            if pool is None:
                pool = self._pools[device] = self._make(device)
        return self._tick(pool)

    def _all(self) -> list[_core.BufferPool]:
        with self._lock:
            return [*self._pools.values(), self._ledger]

    def _named(self) -> dict[str, _core.BufferPool]:
        with self._lock:
            return {HOST if device is None else f"cuda:{device}": pool for device, pool in self._pools.items()}

    def _tick(self, pool: _core.BufferPool) -> _core.BufferPool:
        if self._clock is not None:
            pool.set_clock(round(self._clock() / NS))
        return pool


_alive: "weakref.WeakSet[ActiveMemoryPool]" = weakref.WeakSet()


def _go_on() -> None:
    """In a forked child."""
    for pool in list(_alive):
        pool._lock = threading.Lock()  # the one that another thread held would never be released


os.register_at_fork(after_in_child=_go_on)


def _ordinal(device: int | str | None) -> int | None:
    if device is None or isinstance(device, int):
        return device
    name, _, number = device.partition(":")
    if name == "cpu" and not number:
        return None
    if name == "cuda" and (not number or number.isdecimal()):
        return int(number or 0)
    raise ValueError(f"device is None, a CUDA ordinal, 'cpu' or 'cuda:N', not {device!r}")


def _line(name: str, counts: Mapping[str, int]) -> str:
    held = counts["live_bytes"] + counts["idle_bytes"]
    return (
        f"{name:<13} {counts['allocations']} requests: {counts['hits']} hits, {counts['misses']} misses, "
        f"{counts['unpooled']} not pooled; {counts['live_buffers']} in use, {counts['idle_buffers']} kept "
        f"({held / 1e6:.1f} MB now, {counts['peak_bytes'] / 1e6:.1f} MB at most); "
        f"given back: {counts['evicted_age']} by age, {counts['evicted_room']} for room"
    )
