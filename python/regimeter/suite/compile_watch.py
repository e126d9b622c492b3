# SPDX-License-Identifier: Apache-2.0
"""Compiles through torch.compile and notes what happens: graphs, breaks, recompiles, times, generated code.

A watch is a backend that hands graphs on to the real one, so each is compiled once, as it would be without. What dynamo
keeps is put back: its counters and lists as they were, and compiled code of functions that had none before is dropped.
"""

import contextlib
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from unittest import mock

from .compile_breaks import break_of, failed_guards, merged
from .compile_report import CompileBreak, FusedKernel, Recompile
from .generated_code import kernels_of

OPERATORS = ("call_function", "call_method", "call_module")
GENERIC = "generic_jump"


@dataclass(slots=True)
class Seen:
    """What one watch has seen so far."""

    graphs: int = 0
    operators: int = 0
    nodes: int = 0
    codes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Watch:
    """A compilation of one callable. ValueError for a backend or mode that torch does not know."""

    def __init__(self, torch: Any, backend: str, mode: str) -> None:
        self.seen = Seen()
        self._torch = torch
        self._inner = _backend(torch, backend, mode)
        self._inductor = backend == "inductor"
        self._began_us = 0.0
        self._utils = import_module("torch._dynamo.utils")

    def compile(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return the callable as torch.compile makes it; it is compiled when it is called."""
        self._began_us = time.time() * 1e6

        # A function, not a method: who wraps torch.compile and copies its arguments (Lightning) would copy this object.
        def backend(graph: Any, inputs: Any) -> Any:
            return self._compile(graph, inputs)

        compiled: Callable[..., Any] = self._torch.compile(fn, backend=backend)
        return compiled

    def _compile(self, graph: Any, inputs: Any) -> Any:
        self.seen.graphs += 1
        self.seen.operators += sum(node.op in OPERATORS for node in graph.graph.nodes)
        try:
            with self._noting_code():
                return self._inner(graph, inputs)
        except Exception as error:
            self.seen.errors.append(f"{type(error).__name__}: {error}")
            raise

    @contextlib.contextmanager
    def _noting_code(self) -> Iterator[None]:
        if not self._inductor:
            yield
            return
        metrics = import_module("torch._inductor.metrics")
        lowering = import_module("torch._inductor.graph").GraphLowering
        before = metrics.ir_nodes_pre_fusion
        with mock.patch.object(lowering, "save_output_code", self.seen.codes.append):
            yield
        self.seen.nodes += metrics.ir_nodes_pre_fusion - before

    def kernels(self) -> tuple[list[FusedKernel], int]:
        """Return the kernels that were generated, and the calls of library kernels."""
        found: list[FusedKernel] = []
        extern = 0
        names = self._torch._C._dispatch_get_all_op_names()
        ours = [name for name in names if name.startswith(("aten::", "prims::"))]  # others are named alike
        operators = {name.partition("::")[2].partition(".")[0] for name in ours}
        for code in dict.fromkeys(self.seen.codes):
            kernels, calls = kernels_of(code, operators)
            found += kernels
            extern += calls
        return found, extern

    def rows(self) -> list[Any]:
        """Return torch's own records of the frames that were compiled since."""
        metrics: list[Any] = getattr(self._utils, "get_compilation_metrics", list)()
        return [row for row in metrics if (getattr(row, "start_time_us", 0) or 0) >= self._began_us]

    def phases_ms(self) -> dict[str, float]:
        """Return how long parts of compiling took, one within the other."""
        names = {
            "frame": "entire_frame_compile_time_s", "backend": "backend_compile_time_s",
            "inductor": "inductor_compile_time_s", "code_generation": "code_gen_time_s",
        }  # fmt: skip
        rows = self.rows()
        return {name: 1e3 * sum(getattr(row, key, None) or 0.0 for row in rows) for name, key in names.items()}

    def recompiles(self) -> list[Recompile]:
        """Return the functions that were compiled again because a guard failed."""
        rows = self.rows()
        ours = {str(getattr(row, "compile_id", "")) for row in rows}
        found = []
        for row in rows:
            guard = failed_guards(getattr(row, "recompile_reason", None) or "", ours)
            if guard:
                found.append(Recompile(row.co_name, row.co_filename, row.co_firstlineno, guard))
        return found


def _backend(torch: Any, backend: str, mode: str) -> Callable[..., Any]:
    if backend == "inductor":
        known = import_module("torch._inductor").list_mode_options()
        if mode != "default" and mode not in known:
            raise ValueError(f"unknown mode {mode!r}; valid are: {', '.join(dict.fromkeys(('default', *known)))}")
        found: Callable[..., Any] = torch._TorchCompileInductorWrapper(mode, None, None)
        return found
    registry = import_module("torch._dynamo.backends.registry")
    known = registry.list_backends(())
    if backend not in known:
        raise ValueError(f"unknown backend {backend!r}; valid are: {', '.join(sorted({*known, 'inductor'}))}")
    looked_up: Callable[..., Any] = registry.lookup_backend(backend)
    return looked_up


class Dynamo:
    """What torch.compile keeps in this process, and what a stretch of watching adds to it.

    Entered, it takes note; left, it puts back. `breaks` are those since it was entered; `drop` forgets the compiled
    code of functions that had none before, so that they are compiled anew.
    """

    def __init__(self) -> None:
        self._utils = import_module("torch._dynamo.utils")
        self._convert = import_module("torch._dynamo.convert_frame")
        self._frames = import_module("torch._C._dynamo.eval_frame")
        # Backends that were asked for in this process, by which others tell that torch.compile is in use.
        self._backends: dict[int, Any] = getattr(import_module("torch._dynamo.eval_frame"), "cached_backends", {})
        self._ours: dict[int, Any] = {}
        self._theirs: dict[int, Any] = {}

    def __enter__(self) -> "Dynamo":
        self._counters = copy.deepcopy(self._utils.counters)
        self._reasons = len(self._utils.graph_break_reasons)
        self._asked = set(self._backends)
        self._hook = self._convert.register_bytecode_hook(self._compiled)
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()
        self.drop()
        self._utils.counters.clear()
        self._utils.counters.update(self._counters)
        del self._utils.graph_break_reasons[self._reasons :]
        for backend in self._backends.keys() - self._asked:
            del self._backends[backend]

    def drop(self) -> None:
        """Forget the code that was compiled for functions that had no compiled code before."""
        for code in self._ours.values():
            self._frames.reset_code(code)
        self._ours.clear()

    def _compiled(self, code: Any, _: Any) -> None:
        if id(code) in self._ours or id(code) in self._theirs:
            return
        had = self._frames._debug_get_cache_entry_list(code)
        (self._theirs if had else self._ours)[id(code)] = code
        return

    def breaks(self) -> list[CompileBreak]:
        """Return the breaks since entering, each place and reason once."""
        return merged(self._break(one) for one in self._utils.graph_break_reasons[self._reasons :])

    def _break(self, one: Any) -> CompileBreak:
        frame = one.user_stack[-1] if one.user_stack else None
        text = str(one.reason)
        if text.startswith(GENERIC) and frame is not None:
            text = self._explained(frame) or text
        if frame is None:
            return break_of(text, "", None, "")
        return break_of(text, frame.filename, frame.lineno, frame.name)

    def _explained(self, frame: Any) -> str:
        """Return torch's longer text about a branch, which it keeps apart."""
        place = f'File "{frame.filename}", line {frame.lineno},'
        texts = [str(text) for text in self._utils.counters.get("unimplemented", ())]
        about = [text for text in texts if "branching" in text]
        return next((text for text in about if place in text), about[0] if len(about) == 1 else "")
