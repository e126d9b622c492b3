# SPDX-License-Identifier: Apache-2.0
"""Measuring a device, or taking what was kept of it."""

import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..system.cache import NoCacheError
from ..system.description import loaded_libraries
from ..system.peak import set_apart
from ..system.processors import cpu_model, usable_processors
from . import store
from .ceiling import Calibration, Ceiling
from .device import calibrate_device
from .host import measure_host, measure_rates, memory_taken
from .identity import device_identity, host_identity
from .notice import Notice
from .sampling import Effort, Progress, better

_known: dict[tuple[str, str | None], Calibration] = {}
_again: dict[str, int] = {}
MOST_AGAIN = 2  # of a part in a process: it takes up to a second
_measuring = threading.Lock()


def _renew() -> None:
    """In a forked child: the thread that held the lock is not here."""
    global _measuring
    _measuring = threading.Lock()


os.register_at_fork(after_in_child=_renew)


def calibrate(
    device: str = "cpu",
    quick: bool = True,
    force: bool = False,
    progress: Progress | None = None,
    *,
    strict: bool = False,
    policy: Mapping[str, float] | None = None,
) -> Calibration:
    """Return the calibration of a device: what was kept of it, or measured now. See `calibration_for`."""
    return calibration_for(device, quick=quick, force=force, progress=progress, strict=strict, policy=policy)


def calibration_for(
    device: str = "cpu",
    *,
    quick: bool = True,
    force: bool = False,
    progress: Progress | None = None,
    strict: bool = False,
    policy: Mapping[str, float] | None = None,
) -> Calibration:
    """Return the calibration of ``"cpu"``, ``"cuda"`` or ``"cuda:N"``; a repeated call costs nothing.

    quick: a short measurement (10 s) is good enough; a kept one that took longer is taken too. force: measure in any
    case. progress: called with what is measured now and the part of all that is done; without it a line on standard
    error says what goes on, where it takes longer than a second. strict: refuse a device that
    another process uses. policy: numbers of `_core.calibrate_policy()` that are to be others; such a calibration is
    measured and not kept. ValueError for another device, UnavailableError where the device cannot be used.
    """
    place = parse(device)
    memo = (place, loaded_libraries().get("torch"))
    with _measuring:
        found = None if force or policy else _known.get(memo)
        if found is None or (found.quick and not quick):
            found = _get(place, Effort(quick, store.policy(policy), progress), force=force, strict=strict,
                         keeping=policy is None)  # fmt: skip
            if policy is None:
                _known[memo] = found
    return found


def measure_again(beaten: Calibration, part: str) -> Calibration | None:
    """Return a calibration of the host with the rates of a part ("memory", "caches", "compute") measured once more and
    the higher ones kept, also in the file; None where it is another's, or was done MOST_AGAIN times in this process.

    For a call that is faster than a ceiling: what disturbs a measurement only makes it slower.
    """
    memo = ("cpu", loaded_libraries().get("torch"))
    with _measuring:
        if _known.get(memo) is not beaten or _again.get(part, 0) >= MOST_AGAIN:
            return None
        _again[part] = _again.get(part, 0) + 1
        with set_apart():
            whole, single = measure_rates(Effort(True, store.policy()), part)
        made = replace(beaten, ceilings=_higher(beaten.ceilings, whole), single=_higher(beaten.single, single))
        _known[memo] = made = _keep(made)
    return made


def _higher(old: Mapping[str, Ceiling], new: Mapping[str, Ceiling]) -> dict[str, Ceiling]:
    return {token: better(row, new.get(token)) or row for token, row in old.items()}


def forget() -> None:
    """Forget what this process knows; files stay."""
    _known.clear()
    _again.clear()


def parse(device: str) -> str:
    """Return ``"cpu"`` or ``"cuda:N"``. ValueError for anything else."""
    if device == "cpu":
        return device
    match = re.fullmatch(r"cuda(?::([0-9]{1,3}))?", str(device))
    if match is None:
        raise ValueError(f"device must be 'cpu', 'cuda' or 'cuda:N', not {device!r}")
    return f"cuda:{int(match[1]) if match[1] else _current_device()}"


def _current_device() -> int:
    torch: Any = sys.modules.get("torch")
    try:
        return int(torch.cuda.current_device()) if torch is not None and torch.cuda.is_initialized() else 0
    except Exception:  # a torch without CUDA fails in its own ways
        return 0


def identity_of(place: str) -> dict[str, Any]:
    """Return what a calibration of this device depends on."""
    if place == "cpu":
        return host_identity()
    return device_identity(int(place.partition(":")[2]))


def kept(device: str = "cpu", *, quick: bool = True) -> tuple[Calibration | None, str]:
    """Return what is kept for a device, without measuring; and what is wrong with a file that is there."""
    return store.find(identity_of(parse(device)), quick=quick, policy=store.policy())


def _get(place: str, effort: Effort, *, force: bool, strict: bool, keeping: bool) -> Calibration:
    identity, trouble = identity_of(place), ""
    if keeping and not force:
        found, trouble = store.find(identity, quick=effort.quick, policy=effort.policy)
        if found is not None:
            return found
    begin = time.monotonic()
    takes = memory_taken(effort) if place == "cpu" else 0
    notice = Notice(place, effort.quick, takes) if effort.progress is None else None
    with set_apart():
        made = _measure(place, replace(effort, progress=effort.progress or notice), identity, strict=strict)
    if notice is not None:
        notice.end()
    made = replace(made, duration_s=time.monotonic() - begin)
    if trouble:
        made = replace(made, warnings=(*made.warnings, trouble))
    return _keep(made) if keeping else made


def _measure(place: str, effort: Effort, identity: dict[str, Any], *, strict: bool) -> Calibration:
    if place != "cpu":
        return calibrate_device(int(place.partition(":")[2]), effort, identity, strict=strict)
    ceilings, single, warnings, state = measure_host(effort)
    now = time.time()
    return Calibration("cpu", cpu_model(), usable_processors(), ceilings, single, identity, now, effort.quick, 0.0,
                       tuple(warnings), state)  # fmt: skip


def _keep(made: Calibration) -> Calibration:
    try:
        store.keep(made)
    except (NoCacheError, OSError) as error:
        return replace(made, warnings=(*made.warnings, f"not kept: {error}"))
    return made
