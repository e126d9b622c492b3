# SPDX-License-Identifier: Apache-2.0
"""Acts when the program has imported a module, and imports nothing itself."""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Arrival:
    """A finder in front of all others that lets them find, and is told when the module's code has run.

    Only the loader's `exec_module` is stood in for, on the instance, for the time of the import.
    """

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self.name = name
        self._then = then
        self._finding = False

    def wait(self) -> None:
        """Begin to wait; at once where the module is there already, whole or not."""
        present = sys.modules.get(self.name)
        if present is not None:
            self._then(present)
        else:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Wait no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec that others find for the awaited module, None for all others."""
        if name != self.name or self._finding:
            return None
        self._finding = True
        try:
            spec = _find(name)
        finally:
            self._finding = False
        loader: Any = spec.loader if spec else None
        run = getattr(loader, "exec_module", None)
        if run is None:
            return spec

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)  # another arrival may stand here too
            run(module)
            self.stop()
            self._then(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader without room: the import goes on, and nothing is found
            self.stop()
        return spec


def _find(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ValueError:  # what is in sys.modules has no spec
        return None
