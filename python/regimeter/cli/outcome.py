# SPDX-License-Identifier: Apache-2.0
"""What `regimeter record` makes of the files that the program left: one readable run, and what to say about it.

Imported when the program has ended: what reads and shows a run takes longer to import than Python to start.
"""

import contextlib
import fcntl
import os
import signal
from array import array
from typing import Any, TextIO

from .. import _core
from ..capture import recording
from ..public.run import Run, load
from ..report.verdict import print_verdict, verdict_data
from ..run.environment import drawn_bytes
from ..run.inputs import HEAD_BYTES, is_recording
from ..run.processes import merge_processes, program_of, with_scope
from ..run.summary_text import print_summary
from ..system.description import OF_THE_PROGRAM, describe, encode
from ..system.text import amount, count, duration
from .common import next_step
from .progress import step
from .reservation import Reservation
from .runs import run_line
from .supervise import Outcome

TOP = 5
NAMED_FILES = 12
ENDING_NS = 100_000_000  # what a program does in less time after it has closed its profiler is to end
UNWRITTEN_NS = 1_000_000_000  # a recording is written ten times a second
FOREIGN = "is another file now, which was not written over"


class Recording:
    """The run of a recording whose program has ended, and what the program's other processes left beside it.

    A file without a scope gets one of the whole program; a cut one is saved anew. What the program itself has put at
    the recording's name is left to it.
    """

    def __init__(self, reserved: Reservation, outcome: Outcome, command: list[str], name: str) -> None:
        self.file, self.kept, self.outcome = reserved.file, reserved.kept, outcome
        self.unsaved = ""  # why the run could not be saved
        self.gone = _became(self.file)  # what became of the file while the program ran, where it is no recording now
        found, sound = self._read()
        self.recorded = len(found.spans) > 0  # there is a scope in the file, that of the program as a whole if no other
        self.scoped = self.recorded and not found.environment.get("stand_in")  # the program has recorded scopes
        self.lost = not self.recorded and not found.complete  # there may have been some, but none is in the file
        if not self.recorded:
            found, sound = whole_program(found, outcome, command, name), False
        if not sound and (not self.gone or not os.path.exists(self.file)):
            try:
                found.save(self.file)
            except OSError as error:
                self.unsaved = error.strerror or str(error)
        self.run = found
        changed = recording.files_beside(self.file)
        new = [path for path in sorted(changed) if reserved.before.get(path) != changed[path]]
        found_beside = [(path, *_describe_other(path)) for path in new]
        self.others = [(path, text) for path, text, _ in found_beside if text]
        beside = [(path, run) for path, text, run in found_beside if text and run is not None]
        self.launched = _launched(found, beside)  # recordings of programs that this one has only started: ranks
        self._whole = _joined(self.launched) if self.launched else _with_processes(found, [run for _, run in beside])

    def _read(self) -> tuple[Run, bool]:
        """Return the run in the file, one of nothing where there is none, and whether it is there as it should be."""
        nothing = Run._build([""], {}, "{}", "record", self.outcome.start_ns, self.outcome.end_ns, -1, True)
        if self.gone:
            return nothing, True
        with step(f"reading {self.file}"):
            try:
                return load(self.file), True
            except (_core.FormatError, OSError):
                pass
            try:
                return load(self.file, recover=True), False
            except (_core.FormatError, OSError) as error:
                self.gone = f"cannot be read: {error}"
                return nothing, False

    @property
    def whole(self) -> Run:
        """The run with what the program's forked and spawned processes did; the run where none did.

        Of a program that has only started others, their runs as one: what it did itself was to wait for them.
        """
        return self.run if self._whole is None else self._whole

    @property
    def listed(self) -> Run:
        """The run whose operations are listed: of a program that has only started others, theirs."""
        return self.whole if self.launched else self.run

    def print(self, out: TextIO, *, quiet: bool, html: str | None) -> None:
        """Print the summary's top lines and which file to open; only the latter when quiet."""
        if not quiet:
            print(file=out)
            if self.seen:
                print_verdict(self.whole, file=out)
            print_summary(self.listed, TOP, file=out)
            print(file=out)
        lines = [f"regimeter: {self.file if self.saved else 'not saved'}: {run_line(self.run)}"]
        lines += [f"regimeter: {line}" for line in self.losses()]
        if not quiet:
            lines += [f"regimeter: {line}" for line in self._remarks()]
            watched = drawn_bytes(self.run.environment) is not None
            page = ("memory", "memory.html") if watched else ("report", "report.html")
            files = [self.file] if self._whole is None or watched else [self.file, *(path for path, _ in self.others)]
            if not self.saved:
                files = files[1:]
            if self.launched and self._whole is not None:
                files = self.launched
            if html:
                lines.append(f"Next: open {html} in a browser")
            elif files:
                lines.append(f"Next: {next_step(page[0], *files, '-o', page[1])}")
        print(*lines, sep="\n", file=out, flush=True)

    @property
    def saved(self) -> bool:
        """Whether the run is in the file."""
        kept = os.path.exists(self.file) and (not self.gone or os.path.getsize(self.file) > 0)
        return kept and not self.foreign and not self.unsaved

    @property
    def seen(self) -> bool:
        """Whether anything is known of what the program did: what it had recorded is there, or another process did."""
        return not self.gone or self._whole is not None

    @property
    def foreign(self) -> bool:
        """Whether a file of another kind lies at the recording's name."""
        return self.gone == FOREIGN

    def losses(self) -> list[str]:
        """Say what of the recording is not in the file, in one line each; none where nothing is missing."""
        lines = [f"{self.file} {self.gone}; what the program had recorded there is lost"] if self.gone else []
        if self.unsaved:
            lines.append(f"the run could not be saved: {self.unsaved}")
        counted = {row["code"]: row["count"] for row in self.run.anomaly_list()}
        unwritten = counted.get("unwritten_rows", 0)
        if unwritten:
            lines.append(f"{unwritten:,} scopes, samples or device rows found no room on the disk; the file lacks them")
        elif counted.get("journal_failed") and not self.run.complete:
            lines.append("the recording found no room on the disk, or a limit on file sizes; the file lacks its end")
        return lines

    def _remarks(self) -> list[str]:
        lines = []
        if self.kept:
            lines.append(self.kept)
        ended = _ending(self.outcome)
        if ended:
            missing = "" if self.run.complete or not self.recorded else "; its last 100 ms may be missing"
            lines.append(f"the program {ended}{missing}")
        early_ns = self.outcome.end_ns - self.run.end_ns
        if self.recorded and not self.run.complete and early_ns > UNWRITTEN_NS:
            lines.append(
                f"the recording ends {duration(early_ns / 1e6)} before the program did: "
                "that became another program, or no more could be written"
            )
        if not self.scoped and not self.launched:
            peak = self.run.get_bottlenecks(1)[0].peak_memory_mb
            if peak is not None:
                lines.append(f"largest resident set seen: {amount(peak * 1e6)}")
            lines.append(
                "no scope of the program had reached the file when it ended; the run is the program as a whole"
                if self.lost or self.gone
                else "the program recorded no scope of its own; mark its parts with "
                '`with regimeter.profile("name", device="cpu"): ...`'
            )
        lines += [f"also {path}: {text}" for path, text in self.others[:NAMED_FILES]]
        if len(self.others) > NAMED_FILES:
            lines.append(f"and {len(self.others) - NAMED_FILES} more files {self.file}.*")
        return lines

    def document(self, html: str | None) -> dict[str, Any]:
        """Return the closing lines as a JSON-ready dictionary."""
        from .show import document  # 15 ms, for --json alone

        return document(self.listed, self.file) | {
            "verdict": verdict_data(self.whole) if self.seen else None,
            "format": "regimeter.record",
            "html": html,
            "exit_code": None if self.outcome.killed_by else self.outcome.code,
            "killed_by": self.outcome.killed_by or None,
            "scoped": self.scoped,
            "losses": self.losses(),
            "other_files": [path for path, _ in self.others],
        }


def _ending(outcome: Outcome) -> str:
    if outcome.killed_by:
        try:
            return f"was ended by {signal.Signals(outcome.killed_by).name}"
        except ValueError:
            return f"was ended by signal {outcome.killed_by}"
    return f"ended with exit code {outcome.code}" if outcome.code else ""


def whole_program(found: Run, outcome: Outcome, command: list[str], name: str) -> Run:
    """Return a run of one scope, the program from start to end, with its memory; anomalies of `found` are kept."""
    flags = _core.DEVICES.index("cpu") << 8 | (_core.FLAG_FAILED if outcome.failed else 0)
    if len(found.samples):  # its profiler recorded, and no scope: that of the program goes around what was sampled
        return with_scope(found, name, flags)
    strings = ["", name, "MainThread"]
    anomalies = found.tables.anomalies
    details = [found.string(detail) for detail in anomalies.column("detail").tolist()]
    sampled = outcome.samples
    memory = {"time_ns": sampled.time_ns, "bytes": sampled.bytes, "device": array("h", [-1]) * len(sampled.bytes)}
    tables: dict[str, dict[str, Any]] = {
        "spans": {
            "start_ns": array("q", [outcome.start_ns]),
            "duration_ns": array("q", [outcome.end_ns - outcome.start_ns]),
            "name": array("I", [1]),
            "lane": array("I", [0]),
            "flags": array("I", [flags]),
        },
        "lanes": {"name": array("I", [2]), "process": array("q", [outcome.pid]), "thread": array("q", [outcome.pid])},
        "memory": memory if sampled.bytes else {},
        "anomalies": {
            "code": array("B", anomalies.column("code").tolist()),
            "count": array("q", anomalies.column("count").tolist()),
            "detail": array("I", (len(strings) + i for i in range(len(details)))),
        },
    }
    # What the program is and has loaded is not known here, unless it recorded.
    here = {name: value for name, value in describe().items() if name not in OF_THE_PROGRAM}
    environment = here | found.environment | {"command": command, "pid": outcome.pid}
    # Nothing ran inside the program; what the supervisor used beside it is all there is.
    environment["cost"] = {"per_scope_ns": 0.0, "service_cpu_ns": outcome.supervisor_cpu_ns}
    run: Run = Run._build(
        strings + details, tables, encode(environment), "record", outcome.start_ns, outcome.end_ns,
        outcome.start_unix_ns, True,
    )  # fmt: skip
    return run


# --- files ----------------------------------------------------------------------------------------------------


def _became(file: str) -> str:
    """Say what became of a recording's file where it is none any more, '' where it may be one."""
    try:
        with open(file, "rb") as opened:
            head = opened.read(HEAD_BYTES)
    except FileNotFoundError:
        folder = os.path.dirname(os.path.abspath(file))
        return "was removed while the program ran" + ("" if os.path.isdir(folder) else ", and its folder")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not head:
        return "is empty: the program emptied it, or its disk has no room"
    return "" if is_recording(head) else FOREIGN


def _with_processes(run: Run, others: list[Run]) -> Run | None:
    """Return the run with those of the program's other processes, None where there are none; ranks are no such."""
    program, rank = program_of(run), run.environment.get("distributedInfo")
    mine = [one for one in others if program_of(one) == program and one.environment.get("distributedInfo") == rank]
    return merge_processes([run, *mine]) if mine and program is not None else None


def _launched(run: Run, beside: list[tuple[str, Run]]) -> list[str]:
    """Return the recordings of the programs, and of their processes, that one which only starts others has started."""
    launched = any(other.environment.get("recorded_program", {}).get("launched") for _, other in beside)
    return [path for path, _ in beside] if launched and not run.environment.get("distributedInfo") else []


def _joined(files: list[str]) -> Run | None:
    """Return the recordings of ranks as one run, None where they cannot be read together."""
    try:
        return load(files)
    except (_core.FormatError, OSError, ValueError):
        return None


def _tells_nothing(found: Run) -> bool:
    """Return whether a further recording has nothing in it, or the end of a program that has closed its profiler."""
    follows = found.environment.get("stand_in") == recording.AGAIN
    if follows and max(found.lanes.column("device").tolist(), default=-1) < 0:
        # The scope of the program leaves out how long beginning and ending the recording took.
        return max(found.spans.column("duration_ns").tolist(), default=found.duration_ns) < ENDING_NS
    return not len(found.spans) and not len(found.samples)


def _describe_other(path: str) -> tuple[str, Run | None]:
    """Say what another process or profiler of the program left, and its run where it can be read; one without a scope
    is removed, and '' returned."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "still being written", None
    except OSError:
        return "", None
    try:
        found, note = load(path), ""
    except _core.FormatError:
        try:
            found, note = load(path, recover=True), f"; {next_step('recover', path, '-o', 'OUT')} keeps what is intact"
        except _core.FormatError:
            return "unreadable", None
    if _tells_nothing(found):
        with contextlib.suppress(OSError):
            os.unlink(path)
        return "", None
    state = "" if found.complete else ", not closed"
    if not len(found.spans):
        return f"{count(len(found.samples), 'sample')} of call stacks{state}{note}", found
    verdict = found.verdict()
    told = verdict and verdict.samples and verdict.confidence != "low"
    limit = f": {verdict.sentence.rstrip('.')}" if verdict and told else ""
    return f"{count(len(found.spans), 'scope')} of process {found.lanes.process.max()}{state}{note}{limit}", found
