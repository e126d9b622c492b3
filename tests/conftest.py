# SPDX-License-Identifier: Apache-2.0
"""For all tests: an order that is drawn (``--shuffle``), one line for what is absent, interrupts that arrive.

And nothing that a file of tests leaves behind: environment variables go back to what they were, garbage is collected
(else it is freed while a test of another file counts memory), and a package that a session within a test has imported
stays imported (pytester drops it, and who imports it again has each class twice).
"""

import faulthandler
import gc
import os
import random
import signal
import sys
import sysconfig
import tempfile
from collections.abc import Generator
from itertools import groupby
from pathlib import Path
from typing import Any

import hypothesis
import needed
import pytest
from _pytest import pytester as inner_sessions

DRAW = "random"
FILE, ENVIRONMENT = pytest.StashKey[Any](), pytest.StashKey[dict[str, str]]()
CRASH, CRASHES = pytest.StashKey[Any](), pytest.StashKey["tempfile.TemporaryDirectory[str]"]()
INSTALLED = tuple(sysconfig.get_paths()[kind] for kind in ("purelib", "platlib", "stdlib"))

# An example may take as long as it takes: how long says who else has the processors.
hypothesis.settings.register_profile("any-time", deadline=None)
hypothesis.settings.load_profile("any-time")

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
    """Hand the number to a worker of pytest-xdist, which reads the command line anew, and a file for a crash."""
    node.workerinput["shuffle"] = node.config.option.shuffle
    folder = node.config.stash.setdefault(CRASHES, tempfile.TemporaryDirectory(prefix="regimeter-crashes-"))
    node.workerinput["crash"] = str(Path(folder.name, node.gateway.id))


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(report: Any) -> None:
    """Say where a worker was when it crashed; nothing where it was killed."""
    file = Path(report.node.workerinput["crash"])
    text = file.read_text(errors="replace") if file.exists() else ""
    report.longrepr = f"{report.longrepr}\n{text or 'without a fatal signal of its own'}"


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how the same order is had again."""
    seed = config.option.shuffle
    return f"order: --shuffle {seed} (make test SEED={seed})" if seed is not None else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the files, and the tests of each; those marked slow come first."""
    if config.option.shuffle is None:
        return
    draw = random.Random(config.option.shuffle)
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    draw.shuffle(files)
    for tests in files:
        draw.shuffle(tests)
    items[:] = [test for tests in files for test in tests]
    # What takes longest begins first, so that no worker is left with it at the end.
    items.sort(key=lambda test: test.get_closest_marker("slow") is None)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let the collector pass over what stays anyway: modules, tests, what the tests of a file have imported.

    Else each collection takes half a second.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the interpreter end as ever: extension modules complain of what is left then."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, pytest.TestReport]:
    """Let all tests that were skipped for the same absent thing have one line in the summary."""
    report: pytest.TestReport = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if reason.removeprefix("Skipped: ").partition(":")[0] in needed.THINGS:
            report.longrepr = (needed.__file__, None, reason)  # type: ignore[assignment]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """After the last test of a file put the environment back: packages set variables for good (Dask: malloc)."""
    if item.config.stash.get(FILE, None) != item.path:
        item.config.stash[FILE] = item.path
        _note_crashes(item.config)
        item.config.stash[ENVIRONMENT] = dict(os.environ)
    outcome = yield
    if nextitem is None or nextitem.path != item.path:
        before = item.config.stash[ENVIRONMENT]
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)
        pytest_collection_finish()
    return outcome


def _note_crashes(config: pytest.Config) -> None:
    """Let a worker that crashes write where its threads were; a session within a test has ended that of its own."""
    if hasattr(config, "workerinput"):
        if CRASH not in config.stash:
            config.stash[CRASH] = open(config.workerinput["crash"], "w")  # noqa: SIM115
        faulthandler.enable(config.stash[CRASH])


class _Modules(inner_sessions.SysModulesSnapshot):
    """What pytester puts back after a session: all modules but those that are installed."""

    def __init__(self, preserve: Any = None) -> None:
        super().__init__(preserve=_is_installed)


def _is_installed(name: str) -> bool:
    spec = getattr(sys.modules[name], "__spec__", None)
    return str(getattr(spec, "origin", None)).startswith(INSTALLED)


inner_sessions.SysModulesSnapshot = _Modules  # type: ignore[misc]
