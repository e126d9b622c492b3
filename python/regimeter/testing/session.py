# SPDX-License-Identifier: Apache-2.0
"""A session of pytest with benchmarks: gathers records, judges them at the end, saves, reports."""

import datetime
import time
import uuid
from typing import Any

import pytest

from ..report.comparison import render
from ..report.comparison_github import publish
from ..system.description import describe_machine
from ..system.files import atomic_writer, write_json
from ..system.git import commit_of
from . import counts, junit, launches, options, summary
from .document import FORMAT, VERSION, Document, once
from .judgement import Judgement, judge
from .options import Options
from .records import Record
from .storage import Storage, open_storage

FAILED, UNDECIDED = int(pytest.ExitCode.TESTS_FAILED), int(pytest.ExitCode.USAGE_ERROR)


class PerfSession:
    """What the plugin knows of a session; one a process, made when an option or a record needs it."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.options: Options = options.read(config)
        self.child = launches.child()
        counts.begin(self.child)
        self.worker = hasattr(config, "workerinput")
        self.records: dict[str, list[Record]] = {}
        self.judged: Judgement | None = None
        self.code = 0  # of the gate: 0, FAILED, or UNDECIDED where nothing could be decided
        self.partial = ""  # why the session is not whole
        self.lines: list[str] = []
        self.began = time.monotonic()
        self.number = uuid.uuid4().hex  # tells its documents from those of other sessions
        self._storage: Storage | None = None
        self._baseline: list[Document] | None = None

    # --- the baseline ------------------------------------------------------------------------------------------

    @property
    def storage(self) -> Storage:
        """The storage of the options."""
        if self._storage is None:
            self._storage = open_storage(self.options.storage)
        return self._storage

    @property
    def baseline(self) -> list[Document]:
        """The documents that --perf-compare names, read once."""
        if self._baseline is None:
            found = [one for name in self.options.compare for one in self.storage.find(name)]
            self._baseline, again = once(found)
            self.lines += [
                f"Warning: {name} is a session that the baseline already has: it counts once" for name in again
            ]
        return self._baseline

    def has_baseline(self, test: str) -> bool:
        """Tell whether the baseline knows a test."""
        return any(record.get("test") == test for document in self.baseline for record in document["tests"])

    # --- the session -------------------------------------------------------------------------------------------

    def add(self, test: str, records: list[Record]) -> None:
        """Take the records of a test that passed; of a test that ran twice, the last."""
        self.records[test] = records

    def drop(self, test: str) -> None:
        """Forget a test that failed after all."""
        self.records.pop(test, None)

    @property
    def all_records(self) -> list[Record]:
        """The records of all tests, in their order."""
        return [record for records in self.records.values() for record in records]

    def finish(self, session: pytest.Session, lost: list[str]) -> int:
        """Judge, save and report; return what the session ends with for it, 0 when it passes. lost: workers that went
        down."""
        if self.child is not None:
            launches.write(self.child, self.all_records)
            return 0
        self.partial = _partial(session, lost)
        records = self.all_records
        wanted = self.options
        if wanted.count and not self.partial:
            counted, problems = launches.count(self.config, records, wanted.launches, time.monotonic() - self.began)
            self.records = {test: [one for one in counted if one.test == test] for test in self.records}
            records = self.all_records
            self.lines += [f"Warning: {problem}" for problem in problems]
        elif wanted.launches > 1 and not self.partial:
            took = time.monotonic() - self.began
            problems = launches.repeat(self.config, records, wanted.launches - 1, took)
            self.lines += [f"Warning: {problem}" for problem in problems]
        today = datetime.datetime.now(datetime.UTC).date()
        environment = _environment() | (counts.environment(wanted.launches) if wanted.count else {})
        documents = self.baseline if wanted.compare else []
        judged = self.judged = judge(records, documents, wanted, environment, today)
        if not wanted.compare and judged.missing:
            judged.missing.clear()
        self.code = self._code(judged)
        self._save(environment, judged)
        junit.add(self.config, self._properties(judged))
        self._report(judged)
        return self.code

    @property
    def failed(self) -> bool:
        """Whether the gate, or what it was to write, failed."""
        return self.code != 0

    def _code(self, judged: Judgement) -> int:
        if self.options.report_only:
            return 0
        update = self.options.update
        if judged.undecided and not update:
            return UNDECIDED
        unjudged = bool(judged.missing) and self.options.missing == "fail" and not update
        old = [row for row in judged.failures if not (update and not row.pairs)]
        return FAILED if old or unjudged or (judged.shifted and not update) else 0

    def _properties(self, judged: Judgement) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        homes = {record.operation: record.test for record in self.all_records}
        for row in judged.comparison.comparisons if judged.comparison else ():
            threshold = judged.thresholds.get((row.operation, row.metric), 0.0)
            test = homes[row.operation]
            found.setdefault(test, []).extend(junit.verdict_properties(row, test, threshold))
        return found

    # --- saving and reporting ----------------------------------------------------------------------------------

    def _save(self, environment: dict[str, Any], judged: Judgement) -> None:
        wanted = self.options
        records = [record for record in self.all_records if record.metrics]
        document = self._document("", records, environment, judged) if records else None
        if wanted.json is not None:
            self._write_json(self._document("", records, environment, judged))
        if self.partial and (wanted.save or wanted.autosave or wanted.update):
            self.lines.append(f"Nothing was saved: {self.partial}, and part of a session is no baseline")
            return
        if document is None:
            if wanted.save or wanted.autosave or wanted.update:
                self.lines.append("Nothing was saved: no benchmark passed")
            return
        names = [wanted.save] if wanted.save else []
        if wanted.autosave:
            names.append(str(document["branch"] or "autosave"))
        for name in names:
            self._keep({**document, "name": name}, "Saved")
        if wanted.update:
            self._update(document, judged)

    def _update(self, document: Document, judged: Judgement) -> None:
        """Save the baseline anew: this session's tests, and those of the old one that did not run."""
        name = next((str(old["name"]) for old in self.baseline if old.get("name")), self.options.compare[0])
        ran = {one["operation"] for one in document["tests"]}
        kept = [one for old in self.baseline[:1] for one in old["tests"] if one["operation"] not in ran]
        name = "main" if name == "last" else name
        self._keep({**document, "name": name, "tests": document["tests"] + kept}, "Baseline updated")
        slower = [row.operation for row in judged.failures if not row.pairs]
        if slower:
            self.lines.append(f"The new baseline takes over {len(slower)} regressions: {', '.join(slower[:10])}")

    def _keep(self, document: Document, what: str) -> None:
        try:
            self.lines.append(f"{what}: {self.storage.save(document)}")
        except OSError as error:
            self.code = self.code or FAILED
            self.lines.append(f"ERROR: {document['name']!r} was not saved: {error}")

    def _document(self, name: str, records: list[Record], environment: dict[str, Any], judged: Judgement) -> Document:
        document: Document = {
            "format": FORMAT,
            "version": VERSION,
            "session": self.number,
            "name": name,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            **_commit(str(self.config.rootpath)),
            "environment": environment,
            "tests": [record.to_dict() for record in records],
        }
        return document

    def _write_json(self, document: Document) -> None:
        judged, target = self.judged, self.options.json
        assert judged is not None
        assert target is not None
        document["comparison"] = None if judged.comparison is None else judged.comparison.to_dict()
        document["missing"], document["not_run"] = judged.missing, judged.not_run
        document["failed"], document["exit_code"], document["partial"] = self.failed, self.code, self.partial
        try:
            write_json(target, document, default=str, end="\n")
            self.lines.append(f"Written: {target}")
        except OSError as error:
            self.code = self.code or FAILED
            self.lines.append(f"ERROR: {target} was not written: {error}")

    def _report(self, judged: Judgement) -> None:
        for style, path in self.options.reports:
            if judged.comparison is None:
                self.lines.append(f"No {style} report: no benchmark was compared")
                continue
            try:
                self._publish(judged.comparison, style, path)
            except OSError as error:
                self.code = self.code or FAILED
                self.lines.append(f"ERROR: the {style} report was not written: {error}")

    def _publish(self, comparison: Any, style: str, path: Any) -> None:
        if style == "github":
            # The runner reads commands from the beginning of a line of standard output.
            self.lines += publish(comparison, None if path is None else str(path)).splitlines()
            return
        with atomic_writer(path) as out:
            out.write(render(comparison, style))
        self.lines.append(f"Written: {path}")

    # --- showing -----------------------------------------------------------------------------------------------

    def show(self, write: Any) -> None:
        """Write the section; write: a terminal reporter."""
        records = self.all_records
        judged = self.judged
        if judged is None or not (records or self.lines or judged.undecided):
            return
        write.section("perf", sep="=")
        for line in summary.results(records) if records else ():
            write.line(line)
        if self.options.compare and not self.baseline and any(record.metrics for record in records):
            for line in ["", *summary.no_baseline(self.options)]:
                write.line(line)
        if (self.options.compare and self.baseline) or judged.duets:
            self._show_verdicts(write, judged)
        elif self.failed or judged.undecided:
            write.line(summary.headline(judged, self.code, self.partial), red=True, bold=True)
        elif not self.options.compare and not self.options.save and records and not self.options.autosave:
            write.line("")
            write.line(
                "Not compared. pytest --perf-save main keeps these figures, pytest --perf-compare=main compares."
            )
        for line in [*summary.disturbances(records), *self.lines]:
            write.line(line)

    def _show_verdicts(self, write: Any, judged: Judgement) -> None:
        write.line("")
        colour = {"red": True} if self.failed or self.partial else {"green": True}
        write.line(summary.headline(judged, self.code, self.partial), bold=True, **colour)
        for line in [*summary.verdicts(judged), *summary.evidence(judged)]:
            write.line(line)
        for document in self.baseline if self.options.compare else ():
            commit = str(document.get("commit") or "")[:10]
            place = document.get("file") or document.get("name")
            write.line(f"Baseline: {place} ({', '.join(filter(None, (commit, str(document.get('created')))))})")
        if self.failed and judged.failures and self.options.compare:
            write.line(
                "Accept one: @pytest.mark.gpu_perf(accept='reason', until='YYYY-MM-DD'); "
                "all of them: pytest --perf-update-baseline"
            )


def _partial(session: pytest.Session, lost: list[str]) -> str:
    """Return why some of the session's tests did not run to their end, '' when all did."""
    if session.exitstatus == pytest.ExitCode.INTERRUPTED:
        return "the session was interrupted"
    if session.exitstatus == pytest.ExitCode.INTERNAL_ERROR:
        return "the session ended with an error inside pytest"
    if lost:
        return f"the session lost {len(lost)} of its workers ({lost[0]})"
    stopped = session.shouldfail or session.shouldstop
    return f"the session ended early ({stopped if isinstance(stopped, str) else 'it was stopped'})" if stopped else ""


def _environment() -> dict[str, Any]:
    return describe_machine()


def _commit(folder: str) -> dict[str, Any]:
    """Return commit, branch and whether files differ from it; None each where nothing is known."""
    found = commit_of(folder)
    return {"commit": found.commit, "branch": found.branch, "dirty": found.dirty}


def told(records: list[dict[str, Any]]) -> list[tuple[str, object]]:
    """Return what is known of a test as it ends, for its user_properties; the verdict follows with the session's."""
    found: list[tuple[str, object]] = [(junit.TEST_PROPERTY, records[0]["test"])]
    for values in records:
        record = Record.from_dict(values)
        head = junit.head_of(record.operation, record.test)
        found += [(f"{head}{name}", record.typical(name)) for name in record.metrics]
        found += [(f"{head}{name}.unavailable", reason) for name, reason in record.unavailable.items()]
    return found
