# SPDX-License-Identifier: Apache-2.0
"""What a profiler is asked to record: its arguments, and where they say nothing what ``regimeter record`` was told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import counting, rates
from .kernels import Asked as Kernels


@dataclass(slots=True)
class Asked:
    """Arguments of GPUProfiler, which says what each is."""

    sample_rate: float
    seed: int
    track_memory: bool
    memory_interval_ms: float | None
    profile_kernels: Kernels
    telemetry: bool | float
    counters: bool | str | Mapping[str, Any]
    stalls: bool | int
    witness: bool
    stacks: bool | float
    allocations: bool | int
    structure: bool
    budget: str | float | None
    options: dict[str, int]
    states_cost: bool = False  # each second, also without a budget

    def fill(self, told: Mapping[str, Any]) -> None:
        """Take what `regimeter record` was told where the program says nothing else."""
        for name in ("track_memory", "profile_kernels", "telemetry", "counters", "stalls", "stacks", "allocations"):
            setattr(self, name, getattr(self, name) or told.get(name, False))
        if self.sample_rate == 1.0:
            self.sample_rate = told.get("sample_rate", 1.0)
        if self.memory_interval_ms is None:
            self.memory_interval_ms = told.get("memory_interval_ms")
        if self.budget is None:
            self.budget = told.get("budget")
        self.states_cost = bool(told.get("states_cost"))
        counts = counting.OPTION in told
        self.witness = self.witness and told.get("witness", True) and not counts
        self.structure = self.structure or (bool(told.get("structure")) and not counts)
        self.options = {name: told[name] for name in ("disk_budget_bytes",) if name in told} | self.options

    def session(self, scope_cost_ns: float, *, detailed: bool, counted: bool) -> dict[str, int]:
        """Return the options of the core's session. detailed: as enable_detailed_metrics, before instructions are
        counted; ValueError for what the core cannot be asked for."""
        session = {
            "seed": self.seed & 0x7FFF_FFFF_FFFF_FFFF,
            "sample_interval_ns": rates.memory_interval_ns(self.memory_interval_ms, self.track_memory, detailed),
            "stacks_interval_ns": 0 if counted else rates.stacks_interval_ns(self.stacks),
            **({} if self.witness else {"witness_interval_ns": 0}),
            **(counting.SESSION if counted else {}),
            **self.options,
        }
        period = rates.allocation_bytes(self.allocations)
        session.setdefault("allocations_bytes", period if session["stacks_interval_ns"] else 0)
        bounds_nothing = self.states_cost and self.budget is None
        budget_ppm = rates.budget_ppm("100%" if bounds_nothing else self.budget)
        return session | {"budget_ppm": budget_ppm, "scope_cost_ps": round(scope_cost_ns * 1e3)}
