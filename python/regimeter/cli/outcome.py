# SPDX-License-Identifier: Apache-2.0
"""What `regimeter record` makes of the files that the program left: one readable run, and what to say about it."""

import contextlib
import fcntl
import os
import re
import signal
import time
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from .. import _core
from ..capture import recording
from ..run.environment import drawn_bytes
from ..system.text import count
from .common import next_step, run_line
from .errors import CommandError
from .progress import step
from .supervise import Outcome

if TYPE_CHECKING:
    from ..public.run import Run

TOP = 5
NAMED_FILES = 12
SUFFIX = ".rgm"
FOREIGN = "is another file now, which was not written over"


@dataclass(slots=True)
class Recording:
    """The file of a recording, and after `finish` its run and what the program's other processes left beside it."""

    file: str
    kept: str | None = None
    before: dict[str, int] = field(default_factory=dict)
    others: list[tuple[str, str]] = field(default_factory=list)
    scoped: bool = False  # the program has recorded scopes
    recorded: bool = False  # there is a scope in the file, that of the program as a whole if no other
    lost: bool = False  # there may have been some, but none of them is in the file
    gone: str = ""  # what became of the file while the program ran, where it is not the recording any more
    unsaved: str = ""  # why the run could not be saved
    outcome: Outcome | None = None
    _run: "Run | None" = None
    _whole: "Run | None" = None

    @property
    def run(self) -> "Run":
        """The run, once finished."""
        assert self._run is not None
        return self._run

    @property
    def whole(self) -> "Run":
        """The run with what the program's forked and spawned processes did, once finished; the run where none did."""
        return self.run if self._whole is None else self._whole

    # --- before ------------------------------------------------------------------------------------------------

    @classmethod
    def reserve(cls, output: str | None, name: str) -> "Recording":
        """Make the file, as a sound recording of nothing, so that there is one whatever happens.

        CommandError when it cannot be written or is of another kind, BusyError when it is being written.
        """
        file = output if output is not None else _new_name(name)
        if os.path.isdir(file):
            raise CommandError(f"{file}: a directory; name a file in it with -o")
        session = _core.Profiler()
        session._open(file, {})
        text = session._take_warning()
        if session.path is None:
            if output is None:
                with contextlib.suppress(OSError):
                    os.unlink(file)
            reason = (text or "").partition(";")[0]
            raise CommandError(f"{reason}; choose another place with -o")
        session._stop()
        if os.path.getsize(file) == 0:
            reason = (session._take_warning() or f"cannot write {file}").partition(";")[0]
            os.unlink(file)
            raise CommandError(f"{reason}; choose another place with -o")
        return cls(file, text, recording.files_beside(file))

    # --- after -------------------------------------------------------------------------------------------------

    def finish(self, outcome: Outcome, command: list[str], name: str) -> None:
        """Read what the program left. A file without a scope gets one of the whole program; a cut one is saved anew.

        What the program itself has put at the recording's name is left to it.
        """
        from ..public.run import Run, load

        self.outcome = outcome
        self.gone = _became(self.file)
        nothing = Run._build([""], {}, "{}", "record", outcome.start_ns, outcome.end_ns, -1, True)
        with step(f"reading {self.file}"):
            try:
                found, sound = nothing if self.gone else load(self.file), True
            except (_core.FormatError, OSError):
                sound = False
                try:
                    found = load(self.file, recover=True)
                except (_core.FormatError, OSError) as error:
                    found, self.gone = nothing, f"cannot be read: {error}"
        self.recorded = len(found.spans) > 0
        self.scoped = self.recorded and not found.environment.get("stand_in")
        self.lost = not self.recorded and not found.complete
        if not self.recorded:
            found, sound = whole_program(found, outcome, command, name), False
        if not sound and (not self.gone or not os.path.exists(self.file)):
            try:
                found.save(self.file)
            except OSError as error:
                self.unsaved = error.strerror or str(error)
        self._run = found
        found_beside = [(path, *_describe_other(path)) for path in self._new_files()]
        self.others = [(path, text) for path, text, _ in found_beside if text]
        self._whole = _with_processes(found, [run for _, text, run in found_beside if text and run is not None])

    def _new_files(self) -> list[str]:
        return [
            path
            for path, changed in sorted(recording.files_beside(self.file).items())
            if self.before.get(path) != changed
        ]

    def print(self, out: TextIO, *, quiet: bool, html: str | None) -> None:
        """Print the summary's top lines and which file to open; only the latter when quiet."""
        from ..report.verdict import print_verdict
        from ..run.summary_text import print_summary

        assert self.outcome is not None
        if not quiet:
            print(file=out)
            print_verdict(self.whole, file=out)
            print_summary(self.run, TOP, file=out)
            print(file=out)
        kept = os.path.exists(self.file) and (not self.gone or os.path.getsize(self.file) > 0) and not self.foreign
        where = self.file if kept and not self.unsaved else "not saved"
        lines = [f"regimeter: {where}: {run_line(self.run)}"]
        lines += [f"regimeter: {line}" for line in self.losses()]
        if not quiet:
            lines += [f"regimeter: {line}" for line in self._remarks()]
            watched = drawn_bytes(self.run.environment) is not None
            page = ("memory", "memory.html") if watched else ("report", "report.html")
            files = [self.file] if self._whole is None or watched else [self.file, *(path for path, _ in self.others)]
            following = f"open {html} in a browser" if html else next_step(page[0], *files, "-o", page[1])
            lines.append(f"Next: {following}")
        print(*lines, sep="\n", file=out, flush=True)

    @property
    def foreign(self) -> bool:
        """Whether a file of another kind lies at the recording's name."""
        return self.gone == FOREIGN

    def losses(self) -> list[str]:
        """Say what of the recording is not in the file, in one line each; none where nothing is missing."""
        lines = [f"{self.file} {self.gone}; what the program had recorded there is lost"] if self.gone else []
        if self.unsaved:
            lines.append(f"the run could not be saved: {self.unsaved}")
        unwritten = sum(row["count"] for row in self.run.anomaly_list() if row["code"] == "unwritten_rows")
        if unwritten:
            lines.append(f"{unwritten:,} scopes, samples or device rows found no room on the disk; the file lacks them")
        return lines

    def _remarks(self) -> list[str]:
        from ..system.text import amount

        assert self.outcome is not None
        lines = []
        if self.kept:
            lines.append(self.kept)
        ended = _ending(self.outcome)
        if ended:
            missing = "" if self.run.complete or not self.recorded else "; its last 100 ms may be missing"
            lines.append(f"the program {ended}{missing}")
        if not self.scoped:
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
        from ..report.verdict import verdict_data
        from .show import document

        assert self.outcome is not None
        return document(self.run, self.file) | {
            "verdict": verdict_data(self.whole),
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


def whole_program(found: "Run", outcome: Outcome, command: list[str], name: str) -> "Run":
    """Return a run of one scope, the program from start to end, with its memory; anomalies of `found` are kept."""
    from ..public.run import Run
    from ..system.description import OF_THE_PROGRAM, describe, encode

    strings = ["", name, "MainThread"]
    details = [found.strings[detail] for detail in found.tables.anomalies.detail.tolist()]
    flags = _core.DEVICES.index("cpu") << 8 | (_core.FLAG_FAILED if outcome.failed else 0)
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
            "code": array("B", found.tables.anomalies.code.tolist()),
            "count": array("q", found.tables.anomalies.count.tolist()),
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


def _new_name(program: str) -> str:
    """Create a file that nobody else has: regimeter-PROGRAM-TIME.rgm in the current folder."""
    stem = re.sub(r"[^\w.-]+", "_", re.sub(r"\.pyw?$", "", program)).strip("._-")[:60] or "command"
    base = f"regimeter-{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in range(1, 1000):
        name = f"{base}{SUFFIX}" if number == 1 else f"{base}-{number}{SUFFIX}"
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            continue
        except OSError as error:
            raise CommandError(f"{name}: cannot be written: {error.strerror}; choose another place with -o") from None
        return name
    raise CommandError(f"{base}{SUFFIX}: exists a thousand times; choose another name with -o")


def _became(file: str) -> str:
    """Say what became of a recording's file where it is none any more, '' where it may be one."""
    from ..run.inputs import BLOCK_MAGIC, HEAD_BYTES, RUN_MAGIC

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
    return "" if head.startswith(RUN_MAGIC) or BLOCK_MAGIC.search(head) else FOREIGN


def _with_processes(run: "Run", others: "list[Run]") -> "Run | None":
    """Return the run with those of the program's other processes, None where there are none; ranks are no such."""
    from ..run.processes import merge_processes, program_of

    program, rank = program_of(run), run.environment.get("distributedInfo")
    mine = [one for one in others if program_of(one) == program and one.environment.get("distributedInfo") == rank]
    return merge_processes([run, *mine]) if mine and program is not None else None


def _describe_other(path: str) -> "tuple[str, Run | None]":
    """Say what another process or profiler of the program left, and its run where it can be read; one without a scope
    is removed, and '' returned."""
    from ..public.run import load

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
    if not len(found.spans) and not len(found.samples):
        with contextlib.suppress(OSError):
            os.unlink(path)
        return "", None
    state = "" if found.complete else ", not closed"
    if not len(found.spans):
        return f"{count(len(found.samples), 'sample')} of call stacks{state}{note}", found
    verdict = found.verdict()
    limit = f": {verdict.sentence.rstrip('.')}" if verdict and verdict.samples else ""
    return f"{count(len(found.spans), 'scope')} of process {found.lanes.process.max()}{state}{note}{limit}", found
