# SPDX-License-Identifier: Apache-2.0
"""The calls of Proton; they record nothing, and tell when they are called out of turn."""

import contextlib
from collections.abc import Iterator

_running = False


def start(name: str, *, context: str = "shadow") -> None:
    global _running
    if _running:
        raise RuntimeError("started twice")
    _running = True


def finalize() -> None:
    global _running
    if not _running:
        raise RuntimeError("not started")
    _running = False


@contextlib.contextmanager
def scope(name: str) -> Iterator[None]:
    if not _running:
        raise RuntimeError("a scope outside a session")
    yield
