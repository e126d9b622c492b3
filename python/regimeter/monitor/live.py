# SPDX-License-Identifier: Apache-2.0
"""The live page of a monitor: made of what is known now, once for each look however many have it open."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..report.document import Section
from ..report.html import as_json, render_html
from .answers import DATA, EVENTS
from .page import monitor_data

if TYPE_CHECKING:
    from .page import Seen
    from .watchers import Watchers


class LivePage:
    """Makes the page and its data. seen: returns what is known now."""

    def __init__(self, seen: "Callable[[], Seen]", watchers: "Watchers") -> None:
        self._seen, self._watchers = seen, watchers
        self._lock = threading.Lock()
        self._kept: tuple[int, Section] | None = None

    def data(self) -> bytes:
        """Return what the page shows, as JSON."""
        return as_json(self._document()).encode("utf-8", "replace")

    def page(self) -> bytes:
        """Return the page."""
        return render_html(self._document()).encode("utf-8", "replace")

    def last(self) -> Section:
        """Return what the page shows for good: nothing more will come."""
        return monitor_data(self._seen())

    def _document(self) -> Section:
        with self._lock:
            looks = self._watchers.looks
            if self._kept is None or self._kept[0] != looks:
                live = {"events": EVENTS, "data": DATA, "revision": looks}
                self._kept = looks, monitor_data(self._seen()) | {"live": live}
            return self._kept[1]
