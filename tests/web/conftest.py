# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests in a browser."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Browsing
from needed import leave_out, need, package

# Traces and small runs are loaded by helpers of the tests in Python.
sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
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


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    sync_api = package("playwright.sync_api")
    need("chromium", CHROMIUM.exists(), f"no browser at {CHROMIUM}")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=CHROMIUM,
            headless=True,
            args=FLAGS,
            viewport={"width": 1366, "height": 900},
        )
        opened.set_offline(True)
        opened.add_init_script(WATCH_POLICY)
        yield opened
        opened.close()


@pytest.fixture
def browsing(context: Any, tmp_path: Path) -> Iterator[Browsing]:
    made = Browsing(context.new_page(), tmp_path)
    yield made
    assert made.complaints == []
    assert made.page.evaluate("window.violations") == []
    assert not made.page.evaluate("window.alerted === true")
    assert all(url.startswith(("file://", "data:")) for url in made.requests), made.requests
    made.page.close()
