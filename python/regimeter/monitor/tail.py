# SPDX-License-Identifier: Apache-2.0
"""A recording while it is written: what has come since the last look, as a run of its own.

Only what is new is read. Names, call sites, threads and clock anchors of before are kept and put in front of it, so
that the new part can be read alone; scopes are recorded when they end, so each is in one part.
"""

import os
import struct
import tempfile
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from .._core import ANOMALY_CODES, FormatError
from ..public.run import load
from ..run import blocks as of
from .steps import Steps

if TYPE_CHECKING:
    from ..public.run import Run

COUNTER = struct.Struct("<Qq")
TOLD = frozenset((of.RECORDS, of.PRESSURES, of.VALUES))  # what a part is made of
ANCHORS = 64  # of the last, a second apart; times between two of them are linear
MOST_BYTES = 64 << 20  # of one part; more waits for the next look
MOST_TEXTS = 8 << 20  # bytes of dictionaries that are kept whole; of later ones metadata is left out


class Tail:
    """Reads what is appended to a recording."""

    def __init__(self, path: str) -> None:
        """Begin at the beginning of the file, which may not be there yet."""
        self.path = path
        self.behind = False  # the last part was as long as one may be: there is more
        self.anew = False  # the last part is the first of another file than the parts before it
        self.steps = np.empty(0, np.int64)  # durations of the steps of which the last call has shown the end
        self._steps = Steps(self._run)
        self._identity: tuple[int, int, bytes] | None = None
        self._begin()

    def _begin(self) -> None:
        self._offset = 0
        self._told = False  # anything to count; a file without was only reserved for the recording
        self._ended = False
        self._steps.begin()
        self._head = b""
        self._environment = b""
        self._first_anchor = b""
        self._dictionaries: list[bytes] = []
        self._texts = 0  # their bytes
        self.anomalies: dict[str, int] = {}  # totals so far, by code
        self._anchors: deque[bytes] = deque(maxlen=ANCHORS)

    def read(self) -> "Run | None":
        """Return what has come since the last call, None where nothing has. OSError where the file cannot be read."""
        self.anew, self.steps = False, self.steps[:0]
        try:
            with open(self.path, "rb") as file:
                identity = of.identity(file.fileno())
                if identity != self._identity or os.fstat(file.fileno()).st_size < self._offset:
                    self.anew = self._told
                    self._identity = identity  # another file stands there now
                    self._begin()
                file.seek(self._offset)
                new = file.read(MOST_BYTES)
        except FileNotFoundError:
            return None
        before = self._offset
        frames = self._take(new)
        self._told |= bool(frames)
        self.behind = len(new) == MOST_BYTES and self._offset > before
        part = self._run(frames) if frames else None
        self.steps = self._steps.take(part, frames, ended=self._ended)
        return part

    def _take(self, new: bytes) -> list[bytes]:
        """Keep what later parts need, and return the frames of this one."""
        at = 0
        if not self._head:
            if len(new) < of.FILE_HEAD:
                return []
            self._head, at = new[: of.FILE_HEAD], of.FILE_HEAD
        frames: list[bytes] = []
        while len(new) - at >= of.BLOCK_HEAD.size and new[at : at + 4] == of.MAGIC:
            _, kind, _, _, _, length, _, _ = of.BLOCK_HEAD.unpack_from(new, at)
            end = at + of.BLOCK_HEAD.size + (length + 7) // 8 * 8
            if end > len(new):
                break  # not all of it is written yet
            frame, at = new[at:end], end
            if kind in of.DICTIONARIES:
                self._keep(kind, frame)
            elif kind == of.ENVIRONMENT:
                self._environment = frame
            elif kind == of.ANCHOR:
                self._first_anchor = self._first_anchor or frame
                self._anchors.append(frame)
            elif kind in TOLD:
                frames.append(frame)
            elif kind == of.COUNTERS:
                self._count(frame)
            self._ended = kind == of.END
        self._offset += at
        return frames

    def _keep(self, kind: int, frame: bytes) -> None:
        """Keep texts that later parts may name. A program whose metadata differs from call to call has ever more of
        it, and no figure is made of that."""
        if kind == of.STRINGS and self._texts > MOST_TEXTS:
            frame = of.without_metadata(frame, self._head)
        self._dictionaries.append(frame)
        self._texts += len(frame)

    def _count(self, frame: bytes) -> None:
        """Keep totals of anomalies as the recorder counts them."""
        _, rows = struct.unpack_from("<II", frame, of.BLOCK_HEAD.size)
        for row in range(min(rows, (len(frame) - of.BLOCK_HEAD.size - 8) // COUNTER.size)):
            code, total = COUNTER.unpack_from(frame, of.BLOCK_HEAD.size + 8 + row * COUNTER.size)
            if code < len(ANOMALY_CODES):
                self.anomalies[ANOMALY_CODES[code]] = total

    def _run(self, frames: list[bytes]) -> "Run | None":
        anchors = [] if self._first_anchor in self._anchors else [self._first_anchor]
        parts = [self._head, self._environment, *anchors, *self._anchors, *self._dictionaries, *frames]
        with tempfile.TemporaryDirectory(prefix="regimeter-") as folder:
            path = os.path.join(folder, "part.rgm")
            with open(path, "wb") as file:
                file.writelines(parts)
            try:
                return load(path, recover=True)
            except FormatError:  # damage on the way: the recording itself is read at its end
                return None
