# SPDX-License-Identifier: Apache-2.0
"""Where sessions are kept: a folder of files, or a database through regimeter.history.

A saved session is one JSON document: name, commit, environment and the samples of every test by launch. A storage
saves documents and finds them again by reference.
"""

import contextlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, unquote, urlsplit

import pytest

from .document import COMMIT, MOST_READ, REMEDY, Document, check, split

FILE = re.compile(r"(\d{4,})_(.+)\.json")


class Storage(Protocol):
    """What the plugin asks of a storage."""

    def save(self, document: Document) -> str:
        """Keep a document under its name; return what to call it to people and in --perf-compare."""

    def find(self, reference: str) -> list[Document]:
        """Return the documents of a reference, newest first; none where nothing fits."""


def open_storage(uri: str) -> Storage:
    """Return the storage of a URI: a folder or file://, sqlite:///FILE, postgresql://. UsageError otherwise."""
    scheme = urlsplit(uri).scheme if "://" in uri else ""
    if scheme in ("", "file"):
        return FileStorage(Path(os.path.expanduser(unquote(uri[len("file://") :]) if scheme else uri)))
    kind = scheme.partition("+")[0]
    if kind not in ("sqlite", "postgresql"):
        raise pytest.UsageError(f"--perf-storage={uri}: valid are a folder, file://, sqlite:/// and postgresql://")
    return _database(uri)


def _database(uri: str) -> Storage:
    try:
        from .storage_database import DatabaseStorage  # the extra `history`
    except ImportError as error:
        raise pytest.UsageError(f"--perf-storage: {error}; a folder needs nothing") from None
    return DatabaseStorage(uri)


class FileStorage:
    """A folder with one file a session: 0001_NAME.json, 0002_NAME.json, ...

    A reference is 'last', a name, a number, the beginning of a commit, or a path;
    ':N' behind one asks for the newest N.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, document: Document) -> str:
        """Write the document under the next free number; a reader never sees half of it."""
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, default=str)
        self.folder.mkdir(parents=True, exist_ok=True)
        name = quote(str(document["name"]), safe="")[:200]
        handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            number = max((number for number, _, _ in self._files()), default=0)
            while True:
                number += 1
                target = self.folder / f"{number:04d}_{name}.json"
                # Another session may take the number meanwhile, under this name or another.
                if any(taken == number for taken, _, _ in self._files()):
                    continue
                with contextlib.suppress(FileExistsError):
                    os.link(temporary, target)
                    return str(target)
        finally:
            os.unlink(temporary)

    def find(self, reference: str) -> list[Document]:
        """Return the documents of a reference, newest first. UsageError for a file that is no saved session."""
        wanted, count = split(reference)
        path = Path(os.path.expanduser(wanted))
        if wanted.endswith(".json") or os.sep in wanted:
            # A branch's name may look like a path; a file that is there wins.
            if path.is_file():
                return [read_document(path)]
            if wanted.endswith(".json"):
                return []
        files = sorted(self._files(), reverse=True)
        asked = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 20 else 0
        paths = [path for number, name, path in files if wanted in ("last", name) or asked == number]
        if paths:
            return [read_document(path) for path in paths[:count]]
        found: list[Document] = []
        if COMMIT.fullmatch(wanted):
            for _, _, path in files[:MOST_READ]:
                document = read_document(path)
                if str(document.get("commit") or "").startswith(wanted):
                    found.append(document)
                if len(found) == count:
                    break
        return found

    def _files(self) -> list[tuple[int, str, Path]]:
        try:
            entries = list(self.folder.iterdir())
        except OSError:
            return []
        matches = ((FILE.fullmatch(path.name), path) for path in entries)
        return [(int(match[1]), unquote(match[2]), path) for match, path in matches if match]


def read_document(path: Path) -> Document:
    """Return a saved session. UsageError, with file, place and remedy, for a file that is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise pytest.UsageError(f"{path} cannot be read as a saved session: {what}; {REMEDY}") from None
    check(document, str(path))
    document["file"] = str(path)
    return document  # type: ignore[no-any-return]
