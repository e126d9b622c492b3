# SPDX-License-Identifier: Apache-2.0
"""What other processes took: how long threads of this process were ready to run while others had the processor.

Linux tells it in /proc/self/task/ID/schedstat: ns on a processor, ns ready and waiting for one. A library's workers
count like the calling thread: where one of them is taken off its processor, all of the others wait for it.

The processor time of a thread is that of its own clock. That of the process, and schedstat, know of another thread that
is running only what it had at its last tick, some milliseconds ago: a worker of a short product would not be in it.
"""

import functools
import os
import threading
import time

from .descriptors import Kept
from .processors import allowed_processors

MOST_THREADS = 256  # more would take longer to ask than most calls take
PER_THREAD = 6  # CPUCLOCK_SCHED with CPUCLOCK_PERTHREAD_MASK: the low bits of a thread's clock, clock_getcpuclockid(3)
BUSY_SHARE = 0.2  # of the busiest thread's processor time, from which on a thread is one of those that worked

Times = dict[int, tuple[int, int]]  # thread -> ns on a processor, ns ready


class Watch:
    """The times of all threads of this process; each thread of the program uses one of its own."""

    def __init__(self) -> None:
        self._pid = 0
        self._files: dict[int, Kept] = {}

    def __del__(self) -> None:
        self._close()

    def read(self) -> Times:
        """Return the times of all threads, {} where the system does not tell them."""
        if self._pid != os.getpid():
            self._close()
            self._pid = os.getpid()
        try:
            threads = [int(name) for name in os.listdir("/proc/self/task")]
        except (OSError, ValueError):
            return {}
        if len(threads) > MOST_THREADS:
            threads = [threading.get_native_id()]
        for gone in self._files.keys() - set(threads):
            self._files.pop(gone).close()
        return {thread: found for thread in threads if (found := self._read_one(thread)) is not None}

    def ready_ns(self) -> int:
        """Return how long the calling thread was ready without a processor so far, 0 where it is not told."""
        if self._pid != os.getpid():
            self._close()
            self._pid = os.getpid()
        found = self._read_one(threading.get_native_id())
        return found[1] if found else 0

    def _read_one(self, thread: int) -> tuple[int, int] | None:
        try:
            file = self._files.get(thread)
            if file is None:
                file = self._files[thread] = Kept(f"/proc/self/task/{thread}/schedstat")
            fields = file.read().split()
            return time.clock_gettime_ns((~thread << 3) | PER_THREAD), int(fields[1])
        except (OSError, ValueError, IndexError):
            return None

    def _close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()


_own = threading.local()


def watch() -> Watch:
    """Return the watch of the calling thread."""
    found: Watch | None = getattr(_own, "watch", None)
    if found is None:
        found = _own.watch = Watch()
    return found


def stolen_ns(before: Times, after: Times, wall_ns: int) -> int:
    """Return how long the thread that lost most was ready without a processor, of those that worked in between.

    The calling thread always counts; another one where it worked for BUSY_SHARE of what the busiest did, because a
    thread that only wakes up now and then keeps nobody waiting.
    """
    own = threading.get_native_id()
    rows = {
        thread: (cpu - before.get(thread, (0, 0))[0], ready - before.get(thread, (0, 0))[1])
        for thread, (cpu, ready) in after.items()
    }
    busiest = max((cpu for cpu, _ in rows.values()), default=0)
    lost = [ready for thread, (cpu, ready) in rows.items() if thread == own or cpu >= BUSY_SHARE * busiest]
    # What one thread lost another may have worked through: no less time is left than all processors need for it.
    possible = wall_ns - sum(cpu for cpu, _ in rows.values()) // processors()
    return max(0, min(max(lost, default=0), possible))


@functools.cache
def processors() -> int:
    """Return how many processors this process may use."""
    return len(allowed_processors())


def cpu_ns(before: Times, after: Times) -> int:
    """Return the processor time of all threads that are there in between; of one that began then, all."""
    return sum(cpu - before.get(thread, (0, 0))[0] for thread, (cpu, _) in after.items())
