# SPDX-License-Identifier: Apache-2.0
"""The --perf-* options as values; what is wrong with one is a UsageError before the first test."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .._core import UnavailableError, compare_policy
from ..compare.side import COUNTED
from ..system import callgrind, quantities
from .gate import metric

REPORTS = ("github", "junit", "html", "markdown", "json", "csv", "text")
DEFAULT_STORAGE = ".regimeter/perf"
DEFAULT_PERCENT = 5.0
COUNTED_PERCENT = 100 * compare_policy()["count_tolerance"]["default"]
NEVER = "never"
MOST_LAUNCHES = 1000


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for. fails: percent by metric; report_only: no regression fails the session.

    noise: percent by which two processes of one program differ, where launches do not tell; None for what
    `regimeter calibrate noise` measured here, else the policy's 1 %. count: instructions are counted in place of times,
    in `launches` layouts of memory. unmeasured: nothing is to be measured, whatever there is to compare with.
    """

    compare: tuple[str, ...] = ()
    fails: dict[str, float] | None = None
    report_only: bool = False
    save: str | None = None
    autosave: bool = False
    storage: str = DEFAULT_STORAGE
    json: Path | None = None
    update: bool = False
    reports: tuple[tuple[str, Path | None], ...] = ()
    missing: str = "pass"
    launches: int = 1
    noise: float | None = None
    unmeasured: bool = False
    count: bool = False

    def threshold(self, name: str) -> float:
        """Return the percentage from which a change of a metric matters."""
        default = 0.0 if name == "launches" else COUNTED_PERCENT if name in COUNTED else DEFAULT_PERCENT
        return default if self.fails is None else self.fails.get(name, default)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that are compared where a test does not say."""
        return COUNTED if self.count else ("time", "device_time") if self.fails is None else tuple(self.fails)


def read(config: pytest.Config) -> Options:
    """Return the options of a session. UsageError names the option and what it takes."""
    fails, report_only = _fails(config.getoption("perf_compare_fail"))
    missing = config.getoption("perf_missing_baseline")
    count = _count(config)
    asked = config.getoption("perf_launches") or str(callgrind.LAYOUTS if count else 1)
    launches = _number(asked, "--perf-launches", MOST_LAUNCHES)
    if config.getoption("perf_only") and config.getoption("perf_skip"):
        raise pytest.UsageError("--perf-only and --perf-skip leave nothing to run")
    json = config.getoption("perf_json")
    save = config.getoption("perf_save")
    if save is not None and not save.strip():
        raise pytest.UsageError("--perf-save takes a name, as in --perf-save main")
    update = config.getoption("perf_update_baseline")
    compare = tuple(config.getoption("perf_compare") or ())
    if missing != "pass" and not compare:
        raise pytest.UsageError(
            "--perf-missing-baseline says what --perf-compare does without a baseline: give that too"
        )
    return Options(
        compare=compare or (("last",) if update else ()),
        fails=fails,
        report_only=report_only,
        save=save,
        autosave=config.getoption("perf_autosave"),
        storage=config.getoption("perf_storage") or os.path.join(str(config.rootpath), DEFAULT_STORAGE),
        json=None if json is None else _path(config, json),
        update=update,
        reports=_reports(config, config.getoption("perf_report")),
        missing=missing,
        launches=launches,
        noise=_noise(config.getoption("perf_noise")),
        unmeasured=config.getoption("perf_disable") or config.getoption("perf_skip"),
        count=count,
    )


def effort(config: pytest.Config) -> dict[str, Any]:
    """Return what the options say about how long to measure."""
    try:
        longest = quantities.seconds(config.getoption("perf_max_time"), bare="s")
    except ValueError as error:
        raise pytest.UsageError(f"--perf-max-time: {error}") from None
    rounds = _number(config.getoption("perf_min_rounds"), "--perf-min-rounds", 1000)
    return {"max_seconds": longest, "min_rounds": rounds}


def _number(text: str, option: str, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= most:
        raise pytest.UsageError(f"{option} takes a number from 1 to {most}, got {text!r}")
    return number


def _count(config: pytest.Config) -> bool:
    if config.getoption("perf_count") is None:
        return False
    try:
        callgrind.version()
    except UnavailableError as error:
        raise pytest.UsageError(f"--perf-count: {str(error).replace('--count', '--perf-count')}") from None
    return True


def _noise(text: str | None) -> float | None:
    try:
        return None if text is None else quantities.percent(text)
    except ValueError as error:
        raise pytest.UsageError(f"--perf-noise: {error}") from None


def _fails(given: list[str] | None) -> tuple[dict[str, float] | None, bool]:
    if not given:
        return None, False
    fails = {}
    for text in given:
        if text == NEVER:
            continue
        name, _, limit = text.partition(":")
        try:
            fails[metric(name)] = quantities.percent(limit)
        except ValueError as error:
            raise pytest.UsageError(
                f"--perf-compare-fail={text}: {error}; write METRIC:PERCENT as time:5% or never"
            ) from None
    return fails or None, NEVER in given


def _reports(config: pytest.Config, given: list[str] | None) -> tuple[tuple[str, Path | None], ...]:
    found: list[tuple[str, Path | None]] = []
    for text in ",".join(given or ()).split(","):
        style, _, path = text.partition(":")
        if not text:
            continue
        if style not in REPORTS:
            raise pytest.UsageError(f"--perf-report={text}: valid are github and {', '.join(REPORTS[1:])} with :FILE")
        if style != "github" and not path:
            raise pytest.UsageError(f"--perf-report={text}: say where to write it, as {style}:FILE")
        found.append((style, _path(config, path) if path else None))
    return tuple(found)


def _path(config: pytest.Config, text: str) -> Path:
    return Path(config.invocation_params.dir) / os.path.expanduser(text)
