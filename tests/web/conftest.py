# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests in a browser."""

import asyncio
import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from needed import leave_out, need, package

# Traces and small runs are loaded by helpers of the tests in Python.
sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from browsing import PATIENCE_MS, SIZE, Browsing, data_of, visiting
from chromium import CHROMIUM, FLAGS

WATCH_POLICY = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
    window.alert = () => { window.alerted = true; };
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where there is no browser, say so once."""
    if not CHROMIUM.exists():
        lacking = [item for item in items if isinstance(item, pytest.Function) and "context" in item.fixturenames]
        leave_out(items, lacking, "chromium")


@pytest.fixture(scope="session")
def browser() -> Iterator[tuple[Any, asyncio.AbstractEventLoop | None]]:
    """Start a browser, one for all files, and return it with Playwright's loop.

    The loop counts as running only while a file uses the browser: the tests of others run loops of their own.
    """
    sync_api = package("playwright.sync_api")
    need("chromium", CHROMIUM.exists(), f"no browser at {CHROMIUM}")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        loop = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        yield opened, loop
        asyncio._set_running_loop(loop)
        opened.close()


@pytest.fixture(scope="module")
def context(browser: tuple[Any, asyncio.AbstractEventLoop | None]) -> Iterator[Any]:
    """Return what one file's pages share: settings, and what they store."""
    opened, loop = browser
    asyncio._set_running_loop(loop)
    made = opened.new_context(viewport=SIZE)
    made.set_offline(True)
    made.set_default_timeout(PATIENCE_MS)
    made.add_init_script(WATCH_POLICY)
    yield made
    made.close()
    asyncio._set_running_loop(None)


@pytest.fixture(scope="module")
def tab(context: Any) -> Any:
    """Return the tab in which a file's tests open their pages one after the other: a new one costs as much."""
    return context.new_page()


@pytest.fixture
def browsing(tab: Any, tmp_path: Path) -> Iterator[Browsing]:
    with visiting(tab, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def standing(context: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Any], Browsing]]:
    """Return what opens the page of a trace, or of what a function returns, once a file and in a tab of its own.

    For tests that only look, or of which each touches another part of the page.
    """
    with contextlib.ExitStack() as stack:

        @functools.cache
        def opened(what: str | Callable[[], dict[str, Any]]) -> Browsing:
            made = stack.enter_context(visiting(context.new_page(), tmp_path_factory.mktemp("standing")))
            made.open(data_of(what) if isinstance(what, str) else what())
            return made

        yield opened
