# SPDX-License-Identifier: Apache-2.0
"""Who has the live page open: each is told of every look as a server-sent event, and at last of the end."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..report.html import as_json
from . import policy


class Watchers:
    """Tells looks by their number. A watcher is a thread that asks `events` for what to send."""

    def __init__(self) -> None:
        """Begin before the first look."""
        self.looks = 0
        self._changed = threading.Condition()
        self._watching = 0
        self._end: dict[str, Any] | None = None

    def tell(self) -> None:
        """Say that there was a look."""
        with self._changed:
            self.looks += 1
            self._changed.notify_all()

    def end(self, last: Callable[[], dict[str, Any]]) -> None:
        """Say that there are no more looks, and wait until that was sent, as long as it may take. last: what to say;
        called where somebody watches."""
        with self._changed:
            self._end = last() if self._watching else {}
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._watching, policy.LEAVE_S)

    def events(self) -> Iterator[bytes]:
        """Yield what is sent: an event `state` for each look, and at last `end`."""
        with self._changed:
            if self._watching >= policy.MOST_WATCHERS:
                problem = f"{policy.MOST_WATCHERS} are watching already; try later"
                yield _event("end", {"problem": problem})
                return
            self._watching += 1
        try:
            yield from self._told()
        finally:
            with self._changed:
                self._watching -= 1
                self._changed.notify_all()

    def _told(self) -> Iterator[bytes]:
        seen = -1
        while True:
            with self._changed:
                while self._end is None and self.looks == seen:
                    self._changed.wait()
                seen, last = self.looks, self._end
            if last is not None:
                yield _event("end", {"revision": seen, **last})
                return
            yield _event("state", {"revision": seen})


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {as_json(data)}\n\n".encode()
