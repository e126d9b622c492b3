# SPDX-License-Identifier: Apache-2.0
"""Every analysis that has a command and a method: the VERBS of the modules beside this one.

Cheap: those modules describe columns and import neither the core nor NumPy.
"""

import functools
from importlib import import_module
from pathlib import Path

from .verb import Verb

_NOT_ANALYSES = ("__init__", "catalog", "flame_tree", "methods", "result", "rows", "verb")


@functools.cache
def find_verbs() -> dict[str, Verb]:
    """Return the verbs by name, in the order of their modules."""
    found: dict[str, Verb] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem in _NOT_ANALYSES:
            continue
        for verb in getattr(import_module(f".{path.stem}", __package__), "VERBS", ()):
            if verb.name in found:
                raise AssertionError(f"two analyses are called {verb.name!r}")
            found[verb.name] = verb
    return found
