# SPDX-License-Identifier: Apache-2.0
"""Budgets against what was measured: each that fails is one sentence."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..system import quantities
from .gate import Budget


@dataclass(slots=True)
class Figures:
    """What budgets are compared with; a figure that is absent has its reason in `unavailable`.

    values: seconds by 'time' and 'device_time', bytes by 'memory', counts by 'launches' and 'syncs'. basis: what a
    time is, in words. leak: looks for a leak by calling the code again, None where it cannot be called again.
    """

    values: dict[str, float] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    basis: str = "the test"
    memory_source: str = ""
    waits: tuple[str, ...] = ()
    leak: Callable[[], str] | None = None


def check(budgets: Iterable[Budget], figures: Figures) -> tuple[list[str], list[str]]:
    """Return the sentences of the budgets that fail, and notes on those that could not be checked."""
    failures, notes = [], []
    for budget in budgets:
        reason = _missing(budget, figures)
        if reason is None:
            sentence = CHECKS[budget.name](budget, figures)
            if sentence:
                failures.append(f"{budget.name}: {sentence}")
        elif budget.when == "available":
            notes.append(f"{budget.name} was not checked: {reason}")
        else:
            failures.append(
                f"{budget.name} cannot be checked: {reason} (when='available' lets the test pass without the check)"
            )
    return failures, notes


def needs_trace(budgets: Iterable[Budget]) -> bool:
    """Tell whether a budget asks for what only a traced call can tell."""
    return any(budget.name in ("limit_launches", "no_host_sync") for budget in budgets)


def _missing(budget: Budget, figures: Figures) -> str | None:
    """Return why the budget cannot be checked, None when it can."""
    if budget.name == "no_leak":
        return None if figures.leak else "the code has to be called again and again, which gpu_benchmark does"
    name = NEEDS.get(budget.name, budget.metric)
    return None if name in figures.values else figures.unavailable.get(name, "it was not measured")


NEEDS = {"limit_memory": "memory", "limit_launches": "launches", "no_host_sync": "syncs"}


def _time(budget: Budget, figures: Figures) -> str:
    value = figures.values[budget.metric]
    what = "on the device " if budget.metric == "device_time" else ""
    over = value > budget.limit
    return f"{figures.basis} took {quantities.time_text(value)} {what}and may take {budget.text}" if over else ""


def _memory(budget: Budget, figures: Figures) -> str:
    value = figures.values["memory"]
    if value <= budget.limit:
        return ""
    return f"the peak was {quantities.size_text(value)} ({figures.memory_source}) and may be {budget.text}"


def _launches(budget: Budget, figures: Figures) -> str:
    value = figures.values["launches"]
    return (
        f"one call launched {value:,.0f} pieces of device work and may launch {budget.text}"
        if value > budget.limit
        else ""
    )


def _sync(budget: Budget, figures: Figures) -> str:
    value = figures.values["syncs"]
    named = f" ({', '.join(figures.waits[:3])})" if figures.waits else ""
    times = "once" if value == 1 else f"{value:,.0f} times"
    return f"the host waited for the device {times}{named} in one call" if value else ""


def _leak(budget: Budget, figures: Figures) -> str:
    assert figures.leak is not None
    return figures.leak()


CHECKS: dict[str, Callable[[Budget, Figures], str]] = {
    "limit_time": _time,
    "limit_memory": _memory,
    "limit_launches": _launches,
    "no_host_sync": _sync,
    "no_leak": _leak,
}
