# SPDX-License-Identifier: Apache-2.0
"""Small training programs as traces by hand: what a host thread launched, and what the device did. Times in us."""

import json
from typing import Any

from traces import fast_import

from regimeter import Run

A100 = {"deviceProperties": [{"id": 0, "name": "A100", "totalGlobalMem": 40_000_000_000, "computeMajor": 8}]}
TUNED = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_tensor16x8x16"


class Program:
    """Events of a trace; `host` is the time of the host thread, `device` that of the stream."""

    def __init__(self, **head: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self.head = {"schemaVersion": 1, **A100, **head}
        self.host = 0.0
        self.device = 0.0
        self.correlation = 0

    def event(self, category: str, name: str, start: float, duration: float, *, device: int = -1, **args: Any) -> None:
        """Add a complete event; device: ordinal of a device event, whose stream is in args."""
        place = {"pid": device, "tid": args.get("stream", 7)} if device >= 0 else {"pid": 100, "tid": 1}
        row = {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration, **place, "args": args}
        self.events.append(row)

    def op(self, name: str, duration: float = 0, category: str = "cpu_op", **args: Any) -> "_Op":
        """Add a host event of a length; as a context, one around what happens inside, and `duration` more."""
        return _Op(self, category, name, duration, args)

    def launch(
        self,
        kernel: str,
        duration: float,
        *,
        call: str = "cudaLaunchKernel",
        cost: float = 5,
        wait: bool = False,
        category: str = "kernel",
        stream: int = 7,
        delay: float = 0,
        device: int = 0,
        **args: Any,
    ) -> float:
        """Launch device work; it starts when the stream is free. wait: the call returns when the work is done.

        Returns the end of the work. delay: time before it that the stream stays empty.
        """
        self.correlation += 1
        start = max(self.host + cost / 2, self.device) + delay
        end = start + duration
        cost = max(cost, end - self.host) if wait else cost
        self.event("cuda_runtime", call, self.host, cost, correlation=self.correlation)
        self.event(
            category, kernel, start, duration, device=device, correlation=self.correlation, stream=stream, **args
        )
        self.host += cost
        if stream == 7:
            self.device = end
        return end

    def copy(self, name: str, duration: float, size: int, **more: Any) -> float:
        """Launch a copy."""
        return self.launch(
            name, duration, category="gpu_memcpy", call=more.pop("call", "cudaMemcpyAsync"), bytes=size, **more
        )

    def sync(self, call: str = "cudaStreamSynchronize", cost: float = 2) -> None:
        """Wait for the device."""
        end = max(self.host, self.device) + cost
        self.event("cuda_runtime", call, self.host, end - self.host)
        self.host = end

    def call(self, name: str, duration: float) -> None:
        """Make a call of the runtime that launches nothing."""
        self.event("cuda_runtime", name, self.host, duration)
        self.host += duration

    def kernels(self, count: int = 10, duration: float = 1000, name: str = TUNED, **args: Any) -> "Program":
        """Launch kernels that keep the device busy."""
        for i in range(count):
            self.launch(f"{name}_{i % 3}", duration, **args)
        return self

    def run(self, *, wait: bool = True) -> Run:
        """Import the trace, after a last wait for the device."""
        if wait:
            self.sync("cudaDeviceSynchronize")
        events = sorted(self.events, key=lambda row: (row["ts"], -row.get("dur", 0)))
        return fast_import(json.dumps({**self.head, "traceEvents": events}).encode(), "program.json")


class _Op:
    def __init__(self, program: Program, category: str, name: str, duration: float, args: dict[str, Any]) -> None:
        self.program, self.category, self.name, self.args = program, category, name, args
        self.start, self.duration = program.host, duration
        self.row = len(program.events)
        program.event(category, name, self.start, duration, **args)
        program.host += duration

    def __enter__(self) -> "_Op":
        return self

    def __exit__(self, *_: object) -> None:
        self.program.events[self.row]["dur"] = self.program.host + 1 - self.start
        self.program.host += 1


def tuned() -> Run:
    """A program with nothing to complain of: the device works all the time, the host is far ahead."""
    return Program().kernels(30).run()
