# SPDX-License-Identifier: Apache-2.0
"""The peak of this process's resident set: of all, of the time since it was begun anew, and without what is set apart.

The system keeps one peak and begins it anew on request. Who asks for that must not take the peak before from others,
so all of this package ask here.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

STATUS = "/proc/self/status"
RESET = "/proc/self/clear_refs"


class _Seen:
    """Peaks in bytes that the system has been made to forget, and the one that it could not."""

    __slots__ = ("apart", "before", "since")

    def __init__(self) -> None:
        self.before = 0  # of the process
        self.since = 0  # of the time since `begin`
        self.apart = 0  # up to here the system's peak may be that of what was set apart


_seen = _Seen()


def _renew() -> None:
    """In a forked child, whose peak the system begins anew."""
    global _seen
    _seen = _Seen()


os.register_at_fork(after_in_child=_renew)


def resident() -> tuple[int, int] | None:
    """Return the resident set and the system's peak of it in bytes, None where the system does not tell."""
    found = {}
    try:
        with open(STATUS, encoding="ascii", errors="replace") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if key in ("VmRSS", "VmHWM"):
                    found[key] = int(value.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return (found["VmRSS"], found["VmHWM"]) if len(found) == 2 else None


def begin() -> bool:
    """Begin the peak of `since` anew; False where the system does not."""
    now = peak()
    if not _reset():
        return False
    _seen.before, _seen.since, _seen.apart = now or _seen.before, 0, 0
    return True


def since() -> int | None:
    """Return the largest resident set since `begin`; None as for `peak`."""
    return _largest(_seen.since)


def peak() -> int | None:
    """Return the largest resident set of the process so far.

    None where the system does not tell, or where its peak is that of what was set apart and it cannot forget it.
    """
    return _largest(_seen.before)


def _largest(known: int) -> int | None:
    now = resident()
    return None if now is None or now[1] <= _seen.apart else max(now[1], known)


@contextmanager
def set_apart() -> Iterator[None]:
    """Keep what this package itself takes inside, and gives back, out of the peaks; also what others take meanwhile."""
    before = resident()
    try:
        yield
    finally:
        after = resident()
        if before is not None and after is not None and after[1] > before[1]:
            _forget(before[1], after[1])


def _forget(before: int, after: int) -> None:
    if before > _seen.apart:  # or it is not the program's
        _seen.before, _seen.since = max(_seen.before, before), max(_seen.since, before)
    _seen.apart = 0 if _reset() else after


def _reset() -> bool:
    try:
        with open(RESET, "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return False
    return True
