# SPDX-License-Identifier: Apache-2.0
"""What limits each run of the list, as one sentence: a thread reads one run after another to find out."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from .live import document_data
from .loaded import LoadedRuns
from .problems import Problem
from .shelf import MOST_FILES, Entry, is_young

MOST_BYTES = 256 << 20  # of a file that is read before anybody opens it
UNREADABLE = "cannot be read: "
LARGE = "not read yet: a large file, open it"


@dataclass(frozen=True, slots=True)
class Known:
    """What was found of a file as it was then."""

    revision: tuple[str, int, int]
    sentence: str
    complete: bool


class Sentences:
    """The sentences by run. `ask` names what is wanted; the thread ends with `stop`."""

    def __init__(self, loaded: LoadedRuns) -> None:
        self.loaded = loaded
        self._known: dict[str, Known] = {}
        self._wanted: dict[str, Entry] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def ask(self, entries: Iterable[Entry]) -> dict[str, str]:
        """Return the known sentences by id; what is not known, or of a file that has changed, is found out."""
        with self._changed:
            found = {entry.id: self._known[entry.id] for entry in entries if entry.id in self._known}
            for entry in entries:
                if entry.id not in found or found[entry.id].revision != entry.revision:
                    self._wanted[entry.id] = entry
            if self._wanted and self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._find_out, name="regimeter-sentences", daemon=True)
                self._thread.start()
            self._changed.notify()
        return {key: known.sentence for key, known in found.items()}

    def is_written(self, entry: Entry) -> bool:
        """Whether a recording was not closed when it was looked at, and its file changed only just now."""
        with self._changed:
            known = self._known.get(entry.id)
        return known is not None and not known.complete and is_young(entry)

    def stop(self) -> None:
        """End the thread after the run that it is reading."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _find_out(self) -> None:
        while True:
            with self._changed:
                while not self._wanted and not self._stopped:
                    self._changed.wait()
                if self._stopped:
                    return
                entry = self._wanted.pop(next(iter(self._wanted)))
            known = self._look(entry)
            with self._changed:
                if len(self._known) > 2 * MOST_FILES:
                    self._known.clear()
                self._known[entry.id] = known

    def _look(self, entry: Entry) -> Known:
        if entry.bytes > MOST_BYTES:
            return Known(entry.revision, LARGE, not is_young(entry))
        try:
            loaded = self.loaded.get(entry)
            if loaded.document is not None:
                return Known(entry.revision, str(document_data(loaded.document, entry)["limit"]["sentence"]), True)
            verdict, complete = loaded.verdict, loaded.need_run().complete
        except Problem as problem:
            return Known(entry.revision, UNREADABLE + problem.detail.removeprefix(f"{entry.name}: "), True)
        return Known(entry.revision, verdict.sentence if verdict else "nothing that can be judged", complete)
