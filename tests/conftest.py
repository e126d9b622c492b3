# SPDX-License-Identifier: Apache-2.0
"""For all tests: an order that is drawn (``--shuffle``), one line for what is absent, interrupts that arrive."""

import random
import signal
from collections.abc import Generator
from itertools import groupby
from typing import Any

import needed
import pytest

DRAW = "random"

# A script's background jobs ignore interrupts, and so would every program that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--shuffle``."""
    text = f"run files, and the tests in each, in an order drawn from this number ({DRAW!r}: a new one, shown)"
    parser.addoption("--shuffle", metavar="SEED", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Draw the number, once: workers of pytest-xdist are handed that of the session."""
    if hasattr(config, "workerinput"):
        config.option.shuffle = config.workerinput["shuffle"]
    elif config.option.shuffle == DRAW:
        config.option.shuffle = str(random.SystemRandom().randrange(10**6))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand the number to a worker of pytest-xdist, which reads the command line anew."""
    node.workerinput["shuffle"] = node.config.option.shuffle


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how the same order is had again."""
    seed = config.option.shuffle
    return f"order: --shuffle {seed} (make test SEED={seed})" if seed is not None else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the files, and the tests of each."""
    if config.option.shuffle is None:
        return
    draw = random.Random(config.option.shuffle)
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    draw.shuffle(files)
    for tests in files:
        draw.shuffle(tests)
    items[:] = [test for tests in files for test in tests]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, pytest.TestReport]:
    """Let all tests that were skipped for the same absent thing have one line in the summary."""
    report: pytest.TestReport = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if reason.removeprefix("Skipped: ").partition(":")[0] in needed.THINGS:
            report.longrepr = (needed.__file__, None, reason)  # type: ignore[assignment]
    return report
