# SPDX-License-Identifier: Apache-2.0
"""The runs that are served: files of folders and single files, and what clients have sent.

A client names a run by its id or its name, which are looked up among what is listed; no path is ever made of what a
client says. Files behind links that lead out of a folder are not listed, and not opened if they come to lead out.
"""

import hashlib
import json
import os
import re
import secrets
import stat
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import _core
from ..run import inputs
from ..run.nsys import is_nsys
from ..system.files import atomic_writer
from .problems import Problem

MOST_FILES = 5_000
DEEPEST = 6  # folders below the one that is served
MOST_TAGS = 32
_KEY = re.compile(r"[0-9a-f]{16}")
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
TAG_WORDS = "A tag has letters, digits, '_', '.' and '-', at most 64, a letter or digit first"
RANK_FILE = re.compile(r"(?:rank|worker)[-_ ]?\d+", re.IGNORECASE)
_FORMAT = re.compile(rb'"format"\s*:\s*"(regimeter\.[\w.]{1,60})"')
UNSERVED = {"snapshot": "a memory snapshot", "timeline": "a memory timeline"}
RECORDING = "recording"
KINDS = {"run": RECORDING, "trace": "trace", "sqlite": "nsys export", "export": "profile"}
MEMORY, COMPILE, RANKS = "memory report", "compile report", "ranks of a job"
DOCUMENTS = {b"regimeter.suite.memory": MEMORY, b"regimeter.suite.compile": COMPILE}
OF_A_FILE = {b"regimeter.memory": "what `regimeter memory FILE` said of another file; serve that file itself"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One run: `name` is how people know it, `revision` changes when the file does."""

    id: str
    name: str
    path: Path
    kind: str
    bytes: int
    modified_ns: int
    uploaded: bool = False

    @property
    def revision(self) -> tuple[str, int, int]:
        """What tells a file from what it was before."""
        return os.fspath(self.path), self.modified_ns, self.bytes


class Shelf:
    """The runs of folders and files.

    roots: what is served, in the order in which it is listed. keep: a folder where uploads and tags stay; without it
    they go with the server. FileNotFoundError for a root that is not there.
    """

    def __init__(self, roots: Iterable[str | os.PathLike[str]], keep: str | os.PathLike[str] | None = None) -> None:
        self.roots = [Path(os.path.realpath(root, strict=True)) for root in roots]
        self._temporary = None if keep else tempfile.TemporaryDirectory(prefix="regimeter-serve-")
        self.kept = Path(os.path.realpath(keep if keep else self._temporary.name))  # type: ignore[union-attr]
        self.uploads = self.kept / "uploads"
        self.uploads.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._kinds: dict[tuple[str, int, int], tuple[str, str]] = {}
        self.left_out: list[tuple[str, str]] = []  # of the last look: the name of a file that is no run, and why
        self._last: dict[str, Entry] = {}
        self._tags: dict[str, list[str]] = _read_names(self.kept / "tags.json")
        self._names: dict[str, str] = {key: names[0] for key, names in _read_names(self._names_file).items()}

    @property
    def _names_file(self) -> Path:
        return self.kept / "names.json"

    def close(self) -> None:
        """Remove what goes with the server."""
        if self._temporary is not None:
            self._temporary.cleanup()

    @property
    def single(self) -> bool:
        """Whether it serves one file, whose page is the first page."""
        return len(self.roots) == 1 and not self.roots[0].is_dir()

    # --- what is there ----------------------------------------------------------------------------------------------

    def entries(self) -> list[Entry]:
        """Return what is served now, files before what was uploaded."""
        found: dict[str, Entry] = {}
        left_out: list[tuple[str, str]] = []
        for root in self.roots:
            for entry in self._entries_of(root, left_out):
                found.setdefault(entry.id, entry)
        self.left_out = left_out
        for entry in self._uploaded():
            found.setdefault(entry.id, entry)
        self._last = found
        return list(found.values())

    def find(self, name: str | None) -> Entry:
        """Return the run of an id or name; without one, the only one. Problem where that is none or not clear."""
        known = self._last.get(name or "")
        if (
            known is not None
            and known.kind != RANKS
            and (again := self._entry(known.path, known.name, known.uploaded and known.id))
        ):
            return again
        entries = self.entries()
        if not name:
            given = [entry for entry in entries if not entry.uploaded] if self.single else entries
            if len(given) == 1:
                return given[0]
            if not entries:
                raise Problem(404, "there is no run here: add one, or start the server with another folder")
            raise Problem(404, f"run: name one of the {len(entries)} runs, as /api/runs lists them")
        for entry in entries:
            if name in (entry.id, entry.name):
                return entry
        raise Problem(404, "there is no run of that id or name; /api/runs lists them")

    def check(self, entry: Entry) -> None:
        """Problem where what the entry names has come to lie elsewhere since it was listed."""
        real = Path(os.path.realpath(entry.path))
        if not any(real == root or root in real.parents for root in (*self.roots, self.uploads)):
            raise Problem(404, f"{entry.name}: the file is no longer there")

    def _entries_of(self, root: Path, left_out: list[tuple[str, str]]) -> Iterator[Entry]:
        """Yield what is served of a root; left_out: takes the other files, each with the reason."""
        if not root.is_dir():
            if entry := self._entry(root, root.name):
                yield entry
            else:
                left_out.append((_shown(root.name), self._why_not(root)))
            return
        several = len(self.roots) > 1
        for path, files in _files_of(root):
            relative = path.relative_to(root).as_posix()
            prefix = "/".join(part for part in ((root.name if several else ""), relative) if part not in ("", "."))
            if job := self._job(path, prefix, files):
                yield job
            for file in files:
                name = f"{prefix}/{file.name}" if prefix else file.name
                if entry := self._entry(file, name):
                    yield entry
                else:
                    left_out.append((_shown(name), self._why_not(file)))

    def _why_not(self, path: Path) -> str:
        try:
            facts = path.stat()
        except OSError as error:
            return error.strerror or "it cannot be opened"
        return self._kind(path, facts)[1] if stat.S_ISREG(facts.st_mode) else "no regular file"

    def _entry(self, path: Path, name: str, uploaded: str | bool = "") -> Entry | None:
        try:
            facts = path.stat()
        except OSError:
            return None
        if not stat.S_ISREG(facts.st_mode):
            return None
        kind, _ = self._kind(path, facts)
        if not kind:
            return None
        key = str(uploaded or _id(os.fspath(path)))
        return Entry(key, _shown(name), path, kind, facts.st_size, facts.st_mtime_ns, bool(uploaded))

    def _job(self, folder: Path, name: str, files: list[Path]) -> Entry | None:
        """Return a folder of the ranks of one job as one run."""
        ranks = [path for path in files if RANK_FILE.search(path.name)]
        if not name or len(ranks) < 2 or len(ranks) < len(files):
            return None
        facts = [path.stat() for path in ranks]
        size, modified = sum(one.st_size for one in facts), max(one.st_mtime_ns for one in facts)
        return Entry(_id(os.fspath(folder)), _shown(f"{name}/"), folder, RANKS, size, modified)

    def _kind(self, path: Path, facts: os.stat_result) -> tuple[str, str]:
        key = (os.fspath(path), facts.st_mtime_ns, facts.st_size)
        with self._lock:
            known = self._kinds.get(key)
        if known is None:
            known = recognised(path)
            with self._lock:
                if len(self._kinds) > 4 * MOST_FILES:
                    self._kinds.clear()
                self._kinds[key] = known
        return known

    # --- what clients bring -----------------------------------------------------------------------------------------

    def _uploaded(self) -> Iterator[Entry]:
        with self._lock:
            names = dict(self._names)
        for key, name in names.items():
            if _KEY.fullmatch(key) and (entry := self._entry(self.uploads / key, name, uploaded=key)):
                yield entry

    def new_upload(self) -> tuple[str, Path]:
        """Return the id of an upload to come, and where it is written."""
        key = secrets.token_hex(8)
        return key, self.uploads / f"{key}.part"

    def add(self, key: str, part: Path, name: str) -> Entry:
        """List an upload that is whole. Problem where it is nothing that can be served."""
        if not kind_of(part):
            raise Problem(422, f"{name}: {inputs.EXPECTED}")
        path = self.uploads / key
        os.replace(part, path)
        with self._lock:
            self._names[key] = name
            self._write(self._names_file, {one: [text] for one, text in self._names.items()})
        found = self._entry(path, name, uploaded=key)
        if found is None:
            raise Problem(404, f"{name}: the file is no longer there")
        return found

    def why_kept(self, entry: Entry, *, allowed: bool) -> str:
        """Return why a run is not deleted, "" where it is: what was uploaded, others only where that is allowed."""
        if not entry.uploaded and not allowed:
            return f"{entry.name}: was not uploaded; files are deleted only by `serve --allow-delete`"
        return f"{entry.name}: a folder; delete its files one by one" if entry.kind == RANKS else ""

    def remove(self, entry: Entry, *, allowed: bool) -> None:
        """Delete a run. Problem where it is kept, or its folder cannot be written to."""
        if why := self.why_kept(entry, allowed=allowed):
            raise Problem(403, why)
        self.check(entry)
        try:
            entry.path.unlink(missing_ok=True)
        except OSError as error:
            raise Problem(403, f"{entry.name}: cannot be deleted: {error.strerror}") from None
        with self._lock:
            self._names.pop(entry.id, None)
            self._tags.pop(entry.id, None)
            self._write(self._names_file, {one: [text] for one, text in self._names.items()})
            self._write(self.kept / "tags.json", self._tags)

    def tags(self, entry: Entry) -> list[str]:
        """Return the tags of a run, in order."""
        with self._lock:
            return list(self._tags.get(entry.id, ()))

    def tag(self, entry: Entry, tag: str, *, on: bool) -> list[str]:
        """Set or take away a tag and return what there is then. Problem for text that is none."""
        if not TAG.fullmatch(tag):
            raise Problem(422, TAG_WORDS)
        with self._lock:
            found = {*self._tags.get(entry.id, ()), tag} if on else {*self._tags.get(entry.id, ())} - {tag}
            if len(found) > MOST_TAGS:
                raise Problem(422, f"tag: a run has at most {MOST_TAGS} tags")
            tags = {key: tags for key, tags in (self._tags | {entry.id: sorted(found)}).items() if tags}
            self._write(self.kept / "tags.json", tags)
            self._tags = tags
            return sorted(found)

    def _write(self, path: Path, names: dict[str, list[str]]) -> None:
        try:
            with atomic_writer(path) as file:
                json.dump(names, file)
        except OSError as error:
            remedy = "start the server with --keep and a folder that can be written to"
            raise Problem(403, f"{path.name} cannot be written: {error.strerror}; {remedy}") from None


def is_young(entry: Entry) -> bool:
    """Whether the file was written to a moment ago."""
    return inputs.is_young(entry.modified_ns)


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return what a file is as people call it, told by its content; "" for nothing that is served."""
    return recognised(path)[0]


def recognised(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return what a file is as people call it, by its content, and ""; or "" and why it is nothing that is served."""
    try:
        head = inputs.peek(path)
    except OSError as error:
        return "", error.strerror or "it cannot be opened"
    except _core.Error as error:
        return "", str(error).removeprefix(f"{os.fspath(path)}: ")
    found = inputs.kind_of(head)
    stated = _FORMAT.search(head[:4096]) if found == "export" else None
    if stated and stated[1] in DOCUMENTS:
        return DOCUMENTS[stated[1]], ""
    if stated and not any(key in head for key in inputs.EXPORT_KEYS):
        return "", OF_A_FILE.get(stated[1], f"a document of {stated[1].decode()}, which holds no run")
    if found == "trace" and not _is_trace(head):
        return "", "no event of a trace in its first 64 kB"
    if found == "sqlite" and not _is_nsys(path):
        return "", "a SQLite file, but no export of Nsight Systems"
    if found in UNSERVED:
        return "", f"{UNSERVED[found]}: `regimeter memory FILE` reads it"
    if found in KINDS:
        return KINDS[found], ""
    return "", "an empty file" if not head else "no recording, trace or profile"


def _is_trace(head: bytes) -> bool:
    return inputs.has_event(head) or any(key in head for key in inputs.TRACE_KEYS)


def _is_nsys(path: str | os.PathLike[str]) -> bool:
    """Whether a SQLite file is an export; of a packed one that is not known before it is read."""
    with open(path, "rb") as file:
        packed = not file.read(len(inputs.SQLITE_MAGIC)).startswith(inputs.SQLITE_MAGIC)
    return packed or is_nsys(os.fspath(path))


def _files_of(root: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Yield folders with their files, none of which leads out of the root; hidden ones are left out."""
    left = MOST_FILES
    for folder, folders, names in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if depth < DEEPEST else []
        files = [Path(folder, name) for name in sorted(names) if not name.startswith(".")]
        within = [path for path in files if root in Path(os.path.realpath(path)).parents][:left]
        left -= len(within)
        yield Path(folder), within
        if left <= 0:
            return


def _id(path: str) -> str:
    return hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()


def _shown(name: str) -> str:
    """Return a name that can be written as UTF-8."""
    return name.encode("utf-8", "replace").decode()


def _read_names(path: Path) -> dict[str, list[str]]:
    """Return what was kept; nothing where the file is missing or damaged."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: [str(text) for text in texts] for key, texts in found.items() if isinstance(texts, list) and texts}
