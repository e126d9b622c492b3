# SPDX-License-Identifier: Apache-2.0
"""Attributes of torch that a wrapper stands in for, and how they come back."""

from collections.abc import Callable
from typing import Any

_MISSING = object()


class Patches:
    """What has been replaced, to be put back in the opposite order."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._undo: list[Callable[[], None]] = []

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a module or class; `value` is a function, or a staticmethod of one."""
        before = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        self._replaced.append((owner, name, before, value))

    def when_undone(self, call: Callable[[], None]) -> None:
        """Call when everything is put back."""
        self._undo.append(call)

    def undo(self) -> None:
        """Put back what is still ours; what the program has replaced since is the program's."""
        for owner, name, before, value in reversed(self._replaced):
            if vars(owner).get(name, _MISSING) is not value:
                continue
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        for call in reversed(self._undo):
            call()
        self._replaced.clear()
        self._undo.clear()
