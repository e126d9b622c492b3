# SPDX-License-Identifier: Apache-2.0
"""Runs that stay loaded: by path, time and size of their file, within a bound of memory, the last used ones."""

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import _core
from ..calibration.ceiling import Calibration
from ..calibration.choice import device_names
from ..public.run import Run
from ..run import inputs, ranks
from ..suite.timeline_data import TimelineGenerator
from .options import Options
from .problems import Problem, unreadable
from .shelf import COMPILE, MEMORY, RANKS, RECORDING, Entry, Shelf, is_young

if TYPE_CHECKING:
    from ..suggest.verdict import Verdict

READ_BYTES = 1 << 20
# Of what is loaded, for each byte of its tables: the tables, results and indices that requests make of them.
RESULTS_FACTOR = 2.5
STRING_BYTES = 120
LEAST_BYTES = 1 << 20
MOST_MADE = 12  # results that are kept; active times of a threshold that few ask for go first


@dataclass(eq=False)
class Loaded:
    """What a file holds: a run, or a document. A run never changes, and several threads may compute its analyses at
    once; what is kept of it is made once."""

    entry: Entry
    run: Run | None
    document: dict[str, Any] | None
    given: Calibration | None = None
    tiles_above: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _making: dict[str, threading.Lock] = field(default_factory=dict)
    _made: dict[str, Any] = field(default_factory=dict)

    def active_times(self, min_duration_us: float) -> dict[str, Any]:
        """Return what ``regimeter timeline --json`` prints, which takes a look at every span."""
        made: dict[str, Any] = self._once(
            f"active {min_duration_us}",
            lambda: TimelineGenerator(min_duration_us).from_run(self.need_run()).to_dict(),
        )
        return made

    @property
    def verdict(self) -> "Verdict | None":
        """What limits the run."""
        found: Verdict | None = self._once("verdict", lambda: self.need_run().verdict())
        return found

    @property
    def ceilings(self) -> Calibration | None:
        """The calibration that the server was given, unless the run says that it is of other devices."""
        names = device_names(self.need_run()) if self.given else []
        return None if self.given is None or (names and names != [self.given.name]) else self.given

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what is kept under a name; the first who asks makes it, others wait for that."""
        with self._lock:
            if name in self._made:
                return self._made[name]
            making = self._making.setdefault(name, threading.Lock())
        with making:
            with self._lock:
                if name in self._made:
                    return self._made[name]
            made = make()
            with self._lock:
                self._making.pop(name, None)
                while len(self._made) >= MOST_MADE:
                    del self._made[next(kept for kept in self._made if kept.startswith("active"))]
                self._made[name] = made
            return made

    @cached_property
    def bytes(self) -> int:
        """About how much memory it takes, with what is computed from it."""
        if self.run is None:
            return max(LEAST_BYTES, 8 * self.entry.bytes)
        tables = 0
        for name, described in _core.schema()["run"].items():
            table = self.run.table(name)
            tables += sum(getattr(table, column["name"]).nbytes for column in described["columns"])
        return max(LEAST_BYTES, int(tables * RESULTS_FACTOR) + STRING_BYTES * len(self.run.strings))

    def need_run(self) -> Run:
        """Return the run. Problem where the file holds a report and no spans."""
        if self.run is None:
            raise Problem(422, f"{self.entry.name}: a {self.entry.kind}, which holds no spans")
        return self.run


class LoadedRuns:
    """Loads what is asked for once, and forgets what was not used for longest where memory passes `cache_bytes`."""

    def __init__(self, shelf: Shelf, options: Options) -> None:
        self.shelf = shelf
        self.options = options
        self._lock = threading.Lock()
        self._loaded: OrderedDict[tuple[str, int, int], Loaded] = OrderedDict()
        self._loading: dict[tuple[str, int, int], threading.Lock] = {}
        self._digests: dict[tuple[str, int, int], str] = {}

    def get(self, entry: Entry) -> Loaded:
        """Return what the entry names. Problem where it cannot be read."""
        key = entry.revision
        with self._lock:
            if key in self._loaded:
                self._loaded.move_to_end(key)
                return self._loaded[key]
            one_at_a_time = self._loading.setdefault(key, threading.Lock())
        with one_at_a_time:
            with self._lock:
                known = self._loaded.get(key)
            if known is None:
                self.shelf.check(entry)
                try:
                    known = read(entry)
                    known.given, known.tiles_above = self.options.ceilings, self.options.tiles_above
                finally:
                    with self._lock:
                        self._loading.pop(key, None)
                self._keep(key, known)
        return known

    def digest(self, entry: Entry) -> str:
        """Return a hash of what the file holds; of a folder, of what its files are. Problem where it cannot be read."""
        with self._lock:
            known = self._digests.get(entry.revision)
        if known is None:
            self.shelf.check(entry)
            known = _digest(entry)
            with self._lock:
                if len(self._digests) > 10_000:
                    self._digests.clear()
                self._digests[entry.revision] = known
        return known

    @property
    def held_bytes(self) -> int:
        """About how much memory all that is loaded takes."""
        with self._lock:
            return sum(one.bytes for one in self._loaded.values())

    def _keep(self, key: tuple[str, int, int], loaded: Loaded) -> None:
        with self._lock:
            for old in [known for known in self._loaded if known[0] == key[0]]:
                del self._loaded[old]  # what the file was before
            self._loaded[key] = loaded
            total = sum(one.bytes for one in self._loaded.values())
            while total > self.options.cache_bytes and len(self._loaded) > 1:
                _, dropped = self._loaded.popitem(last=False)
                total -= dropped.bytes


def read(entry: Entry) -> Loaded:
    """Read what the entry names. Problem where it cannot be read."""
    path = os.fspath(entry.path)
    try:
        if entry.kind in (MEMORY, COMPILE):
            return Loaded(entry, None, json.loads(entry.path.read_bytes()))
        return Loaded(entry, _named(entry, path), None)
    except (OSError, MemoryError, ValueError, _core.Error) as error:
        raise unreadable(error, path, entry.name) from None


def _named(entry: Entry, path: str) -> Run:
    """Read a run that calls its files as clients know them, and so do all its views."""
    if entry.kind != RANKS:
        # The last block of a recording that is being written may be there in part.
        return inputs.read(Run, path, False, entry.kind == RECORDING and is_young(entry), entry.name)
    files = ranks.find_files(path) or []
    return ranks.read(Run, path, files, False, {file: entry.name + os.path.basename(file) for file in files})


def _digest(entry: Entry) -> str:
    found = hashlib.blake2b(digest_size=16)
    try:
        if entry.kind == RANKS:
            for path in sorted(entry.path.iterdir()):
                facts = path.stat()
                found.update(f"{path.name}\0{facts.st_mtime_ns}\0{facts.st_size}\0".encode(errors="replace"))
            return found.hexdigest()
        with open(entry.path, "rb") as file:
            while piece := file.read(READ_BYTES):
                found.update(piece)
    except OSError as error:
        raise unreadable(error, os.fspath(entry.path), entry.name) from None
    return found.hexdigest()
