# SPDX-License-Identifier: Apache-2.0
"""Saved sessions as runs of regimeter.history: SQLite or PostgreSQL.

Samples become the samples of a run, labelled with the session's name, so that every verb of the history knows them.
What else a record says (clock, rounds, workers) travels with the run's environment.
"""

from datetime import datetime
from typing import Any

import pytest

from ..compare.side import Side
from ..history import Commit, HistoryError, open_history
from .document import COMMIT, FORMAT, MOST_READ, VERSION, Document, check, split

RECORDS = "perf_tests"
SESSION = "perf_session"  # which may be saved as several runs


class DatabaseStorage:
    """A database of runs. A reference is 'last', a name, a run's number, or the beginning of a commit."""

    def __init__(self, uri: str) -> None:
        try:
            self._history = open_history(uri)
        except (HistoryError, OSError, ValueError, RuntimeError) as error:
            raise pytest.UsageError(f"--perf-storage: {error}") from None

    def save(self, document: Document) -> str:
        """Write the session as a run; duets, which have no baseline, keep no samples. OSError when it cannot."""
        side = Side(str(document["name"]))
        records = []
        for record in document["tests"]:
            records.append({**record, "metrics": {}, "old": {}})
            for metric, launches in record["metrics"].items() if record.get("kind") != "duet" else ():
                for launch in launches:
                    side.metric(metric).add(record["operation"], launch)
        side.environments.append({**document["environment"], RECORDS: records, SESSION: document.get("session", "")})
        commit = Commit(commit=document["commit"], branch=document["branch"], dirty=document["dirty"])
        try:
            run = self._history.add(side, commit, label=str(document["name"]))
        except HistoryError as error:
            raise OSError(str(error)) from error
        return f"run {run.id} ({run.label}) in {self._history.where}"

    def find(self, reference: str) -> list[Document]:
        """Return the sessions of a reference, newest first; runs that no session saved are none."""
        wanted, count = split(reference)
        try:
            runs = self._history.runs(limit=MOST_READ)
            named = [run for run in runs if wanted in ("last", run.label) or wanted == str(run.id)]
            if not named and COMMIT.fullmatch(wanted):
                named = self._history.runs(commit=wanted, limit=MOST_READ)
            found: list[Document] = []
            for run in named:
                document = self._document(run)
                if document is not None:
                    found.append(document)
                if len(found) == count:
                    break
        except HistoryError as error:
            raise pytest.UsageError(f"--perf-storage: {error}") from None
        return found

    def _document(self, run: Any) -> Document | None:
        side = self._history.side(run)
        environment: dict[str, Any] = dict(side.environments[0]) if side.environments else {}
        records = environment.pop(RECORDS, None)
        if not isinstance(records, list):
            return None
        for record in records:
            for metric, samples in side.metrics.items():
                if record["operation"] in samples.launches:
                    launches = [[float(value) for value in launch] for launch in samples.launches[record["operation"]]]
                    record["metrics"][metric] = launches
        created = run.created_at
        document: Document = {
            "format": FORMAT,
            "version": VERSION,
            "session": environment.pop(SESSION, ""),
            "name": run.label,
            "created": created.isoformat(timespec="seconds") if isinstance(created, datetime) else str(created),
            "commit": run.commit,
            "branch": run.branch,
            "dirty": run.dirty,
            "environment": environment,
            "tests": records,
            "file": f"run {run.id} ({run.label})",
        }
        check(document, document["file"])
        return document
