# SPDX-License-Identifier: Apache-2.0
"""What the log of one process says that torch.compile did, from its records or messages."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .compile_breaks import break_of, failed_guards
from .compile_log import Record, encodable, whole
from .compile_report import CompileBreak, CompiledFrame, FusedKernel, Recompile
from .generated_code import kernels_of

MOST_WARNINGS = 100
MOST_NESTED = 1000  # phases that have begun
SECONDS = {"frame": "entire_frame_compile_time_s", "backend": "backend_compile_time_s",
           "inductor": "inductor_compile_time_s", "code_generation": "code_gen_time_s"}  # fmt: skip
PHASES = {"_compile.compile_inner": "frame", "OutputGraph.call_user_compiler": "backend"}  # as texts name them
UNFINISHED = "the log ends before it was compiled"
BREAK, AGAIN, START, CALL, TIMES = (
    " in user code at ", "Recompiling function ", "Step 1: torchdynamo start tracing ",
    "Step 2: calling compiler function ", "TorchDynamo compilation metrics:",
)  # fmt: skip
STACK, TRACEBACK = "\nUser code traceback:", "\nTraceback (most recent call last):"
MOST_DIGITS, MOST_TIME = 9, 1e18
_REASON = re.compile(r"(?:Graph Break )?Reason: ")
_FRAME = re.compile(r'^  File "(.+)", line \d+, in (.+)$', re.M)
_TIME = re.compile(r"^(\S+?),?[ \t]+(\d{1,12}\.\d{1,9})$", re.M)
_VERSION = re.compile(r'"pytorch_version": "([^"\\]{1,80})"')
_CACHE = re.compile(r"(\w+)_cache_(hit|miss|bypass)")
_OPERATOR = re.compile(r"\btorch\.ops\.(?:aten|prims)\.(\w+)")


@dataclass(slots=True)
class ProcessLog:
    """What is known so far. told: what a text has lines of; structured: whether it is a trace, which has all."""

    file: str
    pid: int | None
    rank: int | None = None
    structured: bool = False
    torch_version: str = ""
    backends: set[str] = field(default_factory=set)
    frames: dict[str, CompiledFrame] = field(default_factory=dict)
    breaks: list[CompileBreak] = field(default_factory=list)
    recompiles: dict[str, Recompile] = field(default_factory=dict)
    graphs: int = 0
    phases_ms: dict[str, float] = field(default_factory=dict)
    events_ms: dict[str, float] = field(default_factory=dict)
    caches: dict[str, dict[str, int]] = field(default_factory=dict)
    codes: dict[int, tuple[list[FusedKernel], int]] = field(default_factory=dict)
    operators: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    told: set[str] = field(default_factory=set)
    _strings: dict[int | None, str] = field(default_factory=dict)
    _begun: dict[int, list[tuple[str, float]]] = field(default_factory=dict)

    def tells(self, kind: str) -> bool:
        """Tell whether things of a kind are in the log where there were any: a text has what was asked for."""
        return self.structured or kind in self.told

    @property
    def compile_time_ms(self) -> float | None:
        """Of frames, and of backward graphs that were compiled later; None where the log does not tell."""
        if "frame" not in self.phases_ms:
            return None
        return self.phases_ms["frame"] + self.phases_ms.get("backward", 0.0)

    def add(self, record: Record) -> None:
        """Take up a record or message."""
        self.rank = record.rank if self.rank is None else self.rank
        if record.header is None:
            self._message(record)
            return
        self.structured = True
        known = _KNOWN.get(record.kind)
        if known is not None:
            known(self, record)
        elif cache := _CACHE.fullmatch(record.kind):
            uses = self.caches.setdefault(cache[1], {"hit": 0, "miss": 0, "bypass": 0})
            uses[cache[2]] += 1
        elif record.kind.endswith("_graph"):
            self.operators.update(_OPERATOR.findall(record.text))

    # --- a trace ------------------------------------------------------------------------------------------------------

    def _string(self, record: Record) -> None:
        found = (record.header or {}).get("str")
        if not isinstance(found, list) or len(found) != 2 or whole(found[1]) is None:
            raise ValueError("str is no name with its number")
        self._strings[found[1]] = encodable(found[0])

    def _version(self, record: Record) -> None:
        found = _VERSION.search(record.text)
        self.torch_version = found[1] if found else self.torch_version

    def _started(self, record: Record) -> None:
        stack = _dict(record).get("stack")
        last = stack[-1] if isinstance(stack, list) and stack and isinstance(stack[-1], dict) else {}
        place = self._strings.get(whole(last.get("filename")), "")
        self._start(record.compile_id, encodable(last.get("name")), place, whole(last.get("line")))

    def _start(self, compile_id: str, function: str, place: str, line: int | None) -> None:
        """Note a frame, once, however often it is begun anew."""
        if compile_id not in self.frames:
            error = UNFINISHED if self.structured else ""
            self.frames[compile_id] = CompiledFrame(compile_id, 0, function, place, line, error=error)
            self._name_again(compile_id)

    def _name_again(self, compile_id: str) -> None:
        frame, again = self.frames.get(compile_id), self.recompiles.get(compile_id)
        if frame is not None and again is not None:
            self.recompiles[compile_id] = Recompile(frame.function, frame.location, frame.line_number, again.guard)

    def _measured(self, record: Record) -> None:
        """Note what torch measured of a frame; the numbers are its own."""
        found = _dict(record)
        backward = record.kind == "bwd_compilation_metrics"
        times = {name: _ms(found.get(key), 1e3) for name, key in SECONDS.items()}
        if backward:
            times |= {"backward": _ms(found.get("duration_us"), 1e-3)}
        for name, ms in times.items():
            if ms is not None:
                self.phases_ms[name] = self.phases_ms.get(name, 0.0) + ms
        if times["inductor"] is not None:
            self.backends.add("inductor")
        place = encodable(found.get("co_name")), encodable(found.get("co_filename")), whole(found.get("co_firstlineno"))
        frame = self.frames.get(record.compile_id) or CompiledFrame(record.compile_id, 0, *place)
        if backward:
            self.frames[record.compile_id] = replace(
                frame, backward_ms=(frame.backward_ms or 0.0) + (times["backward"] or 0.0)
            )
            return
        self.frames[record.compile_id] = replace(
            frame,
            time_ms=times["frame"], backend_ms=times["backend"], inductor_ms=times["inductor"],
            operators=whole(found.get("graph_op_count")), guards=whole(found.get("guard_count")), error=_failure(found),
        )  # fmt: skip
        self._name_again(record.compile_id)

    def _broken(self, record: Record) -> None:
        """Note a break: of a trace or a text, which say the same."""
        _, path, line = _at(record.text, BREAK)
        reason, _, stack = record.text.partition("\n")[2].lstrip("\n").partition(STACK)
        frames = _FRAME.findall(stack.partition(TRACEBACK)[0])
        function = frames[-1][1] if frames else self._function(record.compile_id)
        self.breaks.append(break_of(_REASON.sub("", reason.rstrip(), count=1), path, line, function))

    def _function(self, compile_id: str) -> str:
        frame = self.frames.get(compile_id)
        return frame.function if frame is not None else ""

    def _guarded(self, record: Record) -> None:
        guard = failed_guards(_reasons(record.text))
        if guard:
            self.recompiles[record.compile_id] = Recompile("", "", None, guard)
            self._name_again(record.compile_id)

    def _graph(self, _: Record) -> None:
        self.graphs += 1

    def _code(self, record: Record) -> None:
        self.backends.add("inductor")
        self.codes[hash(record.text)] = kernels_of(record.text, self.operators)

    def _event(self, record: Record) -> None:
        """Add up how long torch's phases took; one that does not end adds nothing."""
        for event in _events(record.text):
            name, at, kind = encodable(event.get("name")), _ms(event.get("ts"), 1e-3), event.get("ph")
            begun = self._begun.setdefault(whole(event.get("tid")) or 0, [])
            if at is None or not name:
                continue
            if kind == "B" and len(begun) < MOST_NESTED:
                begun.append((name, at))
            elif kind == "E" and any(name == one for one, _ in begun):
                while begun[-1][0] != name:
                    begun.pop()
                took = at - begun.pop()[1]
                self.events_ms[name] = self.events_ms.get(name, 0.0) + max(0.0, took)

    # --- a text -------------------------------------------------------------------------------------------------------

    def _message(self, record: Record) -> None:
        text = record.text
        if record.kind == "graph_breaks":
            self.told.add("graph_breaks")
            self._broken(record)
        elif record.kind in ("recompiles", "recompiles_verbose"):
            self.told.add("recompiles")
            self._again(record)
        elif text.startswith(START):
            self.told.add("dynamo")
            _, name_and_path, line = _at(text, START)
            name, _, path = name_and_path.partition(" ")
            self._start(record.compile_id, name, path, line)
        elif text.startswith(CALL):
            self.told.add("dynamo")
            self.graphs += 1
            self.backends.add(text.removeprefix(CALL))
        elif text.startswith(TIMES):
            self.events_ms = {name: 1e3 * float(seconds) for name, seconds in _TIME.findall(text)}
            self.phases_ms = {PHASES[name]: ms for name, ms in self.events_ms.items() if name in PHASES}
        elif record.level in ("W", "E", "C") and len(self.warnings) < MOST_WARNINGS:
            self.warnings.append(text.partition("\n")[0])

    def _again(self, record: Record) -> None:
        first, _, rest = record.text.partition("\n")
        name, path, line = _at(first.removeprefix(AGAIN), " in ")
        guard = failed_guards("\n".join(one.strip().removeprefix("- ") for one in rest.splitlines()[1:]))
        self.recompiles.setdefault(record.compile_id, Recompile(name, path, line, guard))


_KNOWN: Mapping[str, Callable[[ProcessLog, Record], None]] = {
    "str": ProcessLog._string,
    "torch_version": ProcessLog._version,
    "dynamo_start": ProcessLog._started,
    "compilation_metrics": ProcessLog._measured,
    "bwd_compilation_metrics": ProcessLog._measured,
    "dynamo_graph_break_reason": ProcessLog._broken,
    "recompile_reasons": ProcessLog._guarded,
    "dynamo_output_graph": ProcessLog._graph,
    "inductor_output_code": ProcessLog._code,
    "chromium_event": ProcessLog._event,
}


def _dict(record: Record) -> dict[str, Any]:
    """Return what a header holds of a record. ValueError where that is something else."""
    found = (record.header or {}).get(record.kind)
    if not isinstance(found, dict):
        raise ValueError(f"{record.kind} is no object")
    return found


def _events(text: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a payload. ValueError or RecursionError where it is none."""
    found = json.loads(text)
    yield from (one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict))


def _reasons(text: str) -> str:
    """Return the lines of a payload: one reason as it is, or a list of them."""
    return "\n".join(encodable(one) for one in json.loads(text)) if text.startswith("[") else text


def _at(text: str, words: str) -> tuple[str, str, int]:
    """Return what stands before some words on the first line, and the file and line after them. ValueError without."""
    head, _, place = text.partition("\n")[0].partition(words)
    path, _, number = place.rpartition(":")
    if not path or not number.isdecimal() or len(number) > MOST_DIGITS:
        raise ValueError("a message without its place")
    return head, path, int(number)


def _ms(value: object, factor: float) -> float | None:
    """Return a time in ms, None where a log holds none."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST_TIME
    return float(value) * factor if fits else None  # type: ignore[arg-type]


def _failure(found: Mapping[str, Any]) -> str:
    """Return why a frame was not compiled, on one line, '' where it was."""
    lines = [line.strip() for line in encodable(found.get("fail_reason")).splitlines()]
    said = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    kind = encodable(found.get("fail_type"))
    return f"{kind}: {said}" if kind and said else kind or said
