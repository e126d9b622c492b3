# SPDX-License-Identifier: Apache-2.0
"""Whose a storage is: a parameter's, a gradient's, an optimizer's; told by its address, while the owner holds it.

Owners are found where they are: among the objects of the collector at the beginning and the end, and when optimizers
step, by hooks of all optimizers that are taken away again. Hooks of parameters would be compiled into compiled
programs, so there are none. Nothing of the program is changed or read but addresses and sizes.
"""

import gc
import sys
import time
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

PARAMETERS, GRADIENTS, OPTIMIZER = "parameters", "gradients", "optimizer_state"
ACTIVATIONS, TEMPORARIES, UNKNOWN = "activations", "temporaries", "unknown"
CATEGORIES = (PARAMETERS, GRADIENTS, OPTIMIZER, ACTIVATIONS, TEMPORARIES, UNKNOWN)


@dataclass(slots=True)
class Before:
    """A storage that was there when tracking began."""

    address: int
    size: int
    device: int
    category: str
    freed_ns: int | None = None  # since the epoch


class Ownership:
    """Marks of owners between `begin` and `end`.

    marks: (time since the epoch in ns, address, category). before: storages that were there already. steps: times at
    which an optimizer had stepped.
    """

    def __init__(self, torch: Any) -> None:
        self.marks: list[tuple[int, int, str]] = []
        self.before: list[Before] = []
        self.steps: list[int] = []
        self._torch = torch
        self._handles: list[Any] = []
        self._watched: list[weakref.finalize[Any, Any]] = []

    def begin(self) -> None:
        """Look at what is there, and watch from now on."""
        tensors, owners = self._look()
        seen: set[int] = set()
        for storage, address, size, device in _storages(tensors):
            if address in seen:
                continue
            seen.add(address)
            one = Before(address, size, device, owners.get(address, UNKNOWN))
            self.before.append(one)
            finalizer = weakref.finalize(storage, _freed, one)
            finalizer.atexit = False
            self._watched.append(finalizer)
        optimizers = import_module("torch.optim.optimizer")
        self._handles.append(optimizers.register_optimizer_step_pre_hook(self._before_step))
        self._handles.append(optimizers.register_optimizer_step_post_hook(self._after_step))

    def end(self) -> None:
        """Look once more, and watch no longer."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        now = time.time_ns()
        self.marks += [(now, address, category) for address, category in self._look()[1].items()]
        for finalizer in self._watched:
            finalizer.detach()
        self._watched.clear()

    def live(self) -> tuple[int, dict[str, int]]:
        """Return the bytes of the tensors that Python knows now, and by category; others than of the host left out."""
        tensors, owners = self._look()
        found = {address: size for _, address, size, device in _storages(tensors) if device < 0}
        return sum(found.values()), self._by_category(found.items(), owners)

    def of_blocks(self, blocks: Iterable[tuple[int, int]]) -> dict[str, int]:
        """Return the bytes of (address, bytes) by the category of who holds them now."""
        return self._by_category(blocks, self._look()[1])

    @staticmethod
    def _by_category(blocks: Iterable[tuple[int, int]], owners: dict[int, str]) -> dict[str, int]:
        found: Counter[str] = Counter()
        for address, size in blocks:
            found[owners.get(address, UNKNOWN)] += size
        return {name: found[name] for name in CATEGORIES if found[name]}

    def _look(self) -> tuple[list[Any], dict[int, str]]:
        """Return the tensors that the collector knows, and the category of each address that has an owner."""
        kinds = (self._torch.Tensor, self._torch.optim.Optimizer, self._torch.nn.Module)
        objects = [one for one in gc.get_objects() if issubclass(type(one), kinds)]
        tensors = [one for one in objects if issubclass(type(one), kinds[0])]
        owners: dict[int, str] = {}
        for one in objects:
            if issubclass(type(one), kinds[1]):
                _own(owners, _tensors_in(one.state.values()), OPTIMIZER)
            elif issubclass(type(one), kinds[2]):
                _own(owners, one.__dict__.get("_buffers", {}).values(), PARAMETERS)
        _own(owners, (one for one in tensors if isinstance(one, self._torch.nn.Parameter)), PARAMETERS)
        _own(owners, (one.grad for one in tensors if isinstance(one, self._torch.nn.Parameter)), GRADIENTS)
        return tensors, owners

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        self._mark(parameters, PARAMETERS)
        self._mark([one.grad for one in parameters], GRADIENTS)

    def _after_step(self, optimizer: Any, *_: Any) -> None:
        self._mark(_tensors_in(optimizer.state.values()), OPTIMIZER)
        self.steps.append(time.time_ns())

    def _mark(self, tensors: Iterable[Any], category: str) -> None:
        now = time.time_ns()
        self.marks += [(now, address, category) for _, address, _, _ in _storages(tensors)]


def _storages(tensors: Iterable[Any]) -> Iterator[tuple[Any, int, int, int]]:
    """Yield storage, address, bytes and device (-1: host) of tensors; nothing for those without memory of their own."""
    torch = sys.modules["torch"]
    for tensor in tensors:
        # What fake and wrapped tensors hold is seen by itself.
        if getattr(type(tensor), "__torch_dispatch__", None) is not torch.Tensor.__torch_dispatch__:
            continue
        try:
            found = [(part.untyped_storage(), part.device) for part in _parts(torch, tensor)]
            rows = [(one, one.data_ptr(), one.nbytes(), device) for one, device in found]
        except Exception:  # no storage to ask
            continue
        for storage, address, size, device in rows:
            if address:
                yield storage, address, size, -1 if device.type == "cpu" else int(device.index or 0)


def _parts(torch: Any, tensor: Any) -> list[Any]:
    """Return the tensors that a tensor's numbers lie in: of a sparse one its indices and values, else itself."""
    layout = tensor.layout
    if layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor]


def _tensors_in(states: Iterable[Any]) -> list[Any]:
    found = []
    for state in states:
        values = state.values() if isinstance(state, dict) else [state]
        found += [value for value in values if hasattr(value, "untyped_storage")]
    return found


def _own(owners: dict[int, str], tensors: Iterable[Any], category: str) -> None:
    for _, address, _, _ in _storages(tensors):
        owners.setdefault(address, category)


def _freed(one: Before) -> None:
    one.freed_ns = time.time_ns()
