# SPDX-License-Identifier: Apache-2.0
"""What modules are called: as named_modules of the outermost one says, that one by its class."""

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import roles

if TYPE_CHECKING:
    from ...profiler import GPUProfiler

MOST_NUMBERED = 16


class Entry:
    """A module that has been called, or is part of one: its scope, and what marks its part of a backward pass."""

    __slots__ = ("mark", "name", "parent", "ref", "root", "scope")

    def __init__(self, name: str, scope: Any, parent: "Entry | None", root: int) -> None:
        self.name = name
        self.scope = scope
        self.parent = parent
        self.root = root  # id of the outermost module
        self.mark: Callable[[Any], None] | None = None
        self.ref: weakref.ref[Any] | None = None


class Root:
    """An outermost module with others in it. label: what it is called; prefix: what is before the names in it."""

    def __init__(self, module: Any, label: str, prefix: str) -> None:
        self.ref = weakref.ref(module)
        self.label = label
        self.prefix = prefix


class Names:
    """Entries by the address of the module, for as long as it lives. Nothing is kept in the module itself.

    Names in the first outermost module are those of named_modules; in others that live beside it they have the name
    of their outermost module in front. Modules that came to a tree after it was walked are looked for when unknown
    modules have been called 1, 2, 4, 8... times.
    """

    def __init__(self, torch: Any, profiler: "GPUProfiler") -> None:
        self.entries: dict[int, Entry] = {}
        self._profiler = profiler
        self._named = torch.nn.Module.named_modules
        self._uncalled = (torch.nn.ModuleList, torch.nn.ModuleDict)
        self._roots: dict[int, Root] = {}
        self._scopes: dict[str, Any] = {}
        self._unknown = 0

    def find(self, module: Any) -> Entry:
        """Return the entry of a module that is called for the first time."""
        self._unknown += 1
        if self._unknown & (self._unknown - 1) == 0:
            for at, root in list(self._roots.items()):
                whole = root.ref()
                if whole is not None:
                    self._enter(at, root, list(self._named(whole)))
            found = self.entries.get(id(module))
            if found is not None:
                return found
        return self._add(module)

    def _add(self, module: Any) -> Entry:
        tree = list(self._named(module))
        at, label = id(module), type(module).__name__
        inside = {id(part) for _, part in tree}
        for known in [known for known, root in self._roots.items() if known in inside or root.ref() is None]:
            del self._roots[known]
        if len(tree) > 1:
            taken = {root.label for root in self._roots.values()}
            labels = [label, *(f"{label} #{number}" for number in range(2, MOST_NUMBERED + 1))]
            label = next((each for each in labels if each not in taken), label)
            plain = all(root.prefix for root in self._roots.values())
            self._roots[at] = Root(module, label, "" if plain else label + ".")
        self._enter(at, Root(module, label, "") if len(tree) == 1 else self._roots[at], tree)
        return self.entries[at]

    def _enter(self, at: int, root: Root, tree: list[tuple[str, Any]]) -> None:
        inside = {id(part) for _, part in tree}
        around: dict[str, Entry] = {}
        for path, module in tree:
            name = root.prefix + path if path else root.label
            parent = _parent(around, path) if path else None
            known = self.entries.get(id(module))
            if known is None or (known.name != name and known.root in inside):
                known = self._new(module, name, parent, at)
            if not isinstance(module, self._uncalled):
                around[path] = known

    def _new(self, module: Any, name: str, parent: Entry | None, root: int) -> Entry:
        scope = self._scopes.get(name)
        if scope is None:
            scope = self._scopes[name] = self._profiler._role_scope(name, roles.MODULE)
        entry = Entry(name, scope, parent, root)
        entries, at = self.entries, id(module)

        def forget(gone: Any) -> None:
            here = entries.get(at)
            if here is not None and here.ref is gone:
                del entries[at]

        entry.ref = weakref.ref(module, forget)
        entries[at] = entry
        return entry


def _parent(around: dict[str, Entry], path: str) -> Entry | None:
    while path:
        path = path.rpartition(".")[0]
        if path in around:
            return around[path]
    return None
