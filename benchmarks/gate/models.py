# SPDX-License-Identifier: Apache-2.0
"""Synthetic noise: what a benchmark's times do on machines of several kinds, with the truth known.

All values are logarithms of times relative to the operation's true time; an effect is added to the current side.
Nothing here is measured: the parameters were chosen so that spreads, and with them alarms of peers' rules, are like
those that their users report.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


# --- A: one process a side ------------------------------------------------------------------------------------

RUN_FLOOR = 0.01  # what the processes below differ by, given to the comparison: nothing else could know it


def _ar1(rng: np.random.Generator, shape: tuple[int, ...], rho: float, sd: float) -> Floats:
    """Stationary AR(1) along the last axis."""
    noise = rng.normal(0, sd * np.sqrt(1 - rho * rho), shape)
    noise[..., 0] = rng.normal(0, sd, shape[:-1])
    for i in range(1, shape[-1]):
        noise[..., i] += rho * noise[..., i - 1]
    return noise


def lognormal(rng: np.random.Generator, processes: int, n: int) -> Floats:
    """Independent samples, 2 %."""
    return rng.normal(0, 0.02, (processes, n))


def bimodal(rng: np.random.Generator, processes: int, n: int) -> Floats:
    """30 % of the samples are 6 % slower."""
    return rng.normal(0, 0.01, (processes, n)) + 0.06 * (rng.random((processes, n)) < 0.3)


def outliers(rng: np.random.Generator, processes: int, n: int) -> Floats:
    """1 % noise; one sample in twenty takes 1.5 to 4 times as long."""
    slow = rng.random((processes, n)) < 0.05
    return rng.normal(0, 0.01, (processes, n)) + slow * rng.uniform(np.log(1.5), np.log(4), (processes, n))


def drift(rng: np.random.Generator, processes: int, n: int) -> Floats:
    """1 % noise around a slow drift of the machine, so that each process sees another stretch of it."""
    start = rng.normal(0, 0.01, (processes, 1))
    slope = rng.normal(0, 0.01, (processes, 1))
    return rng.normal(0, 0.01, (processes, n)) + start + slope * np.linspace(-0.5, 0.5, n)


def ar1(rng: np.random.Generator, processes: int, n: int) -> Floats:
    """2 %, correlated .7 from sample to sample."""
    return _ar1(rng, (processes, n), 0.7, 0.02)


def run_offset(rng: np.random.Generator, processes: int, n: int) -> Floats:
    """1 % noise; each process is off by 1 % as a whole."""
    return rng.normal(0, 0.01, (processes, n)) + rng.normal(0, 0.01, (processes, 1))


def mixed(rng: np.random.Generator, processes: int, n: int) -> Floats:
    """A process offset of 1 %, correlated samples, a slow mode, and outliers."""
    slow = 0.04 * (rng.random((processes, n)) < 0.2)
    far = (rng.random((processes, n)) < 0.02) * rng.uniform(np.log(1.5), np.log(3), (processes, n))
    return _ar1(rng, (processes, n), 0.4, 0.01) + slow + far + rng.normal(0, 0.01, (processes, 1))


SINGLE = (lognormal, bimodal, outliers, drift, ar1, run_offset, mixed)


# --- B and G: launches on a machine with a state --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine whose state wanders slowly from launch to launch and shifts all operations of a launch.

    state: sd of the machine's state; memory: its correlation from one launch to the next. launch: sd of what one
    launch does to one operation. sample: sd of a sample. spread: how much sds differ between operations (sd of
    their logarithm). outliers: part of the samples that take 1.3 to 2 times as long. modes: part of the operations
    with a slow mode, 4 % slower in a fifth of the samples.
    """

    name: str
    state: float
    launch: float
    sample: float
    memory: float = 0.98
    spread: float = 0.25
    dependence: float = 0.1
    outliers: float = 0.01
    modes: float = 0.05
    bad: float = 0.0  # part of the launches that are 20 % slower as a whole


QUIET = Machine("quiet", state=0.003, launch=0.0012, sample=0.005)
TYPICAL = Machine("typical", state=0.0125, launch=0.0045, sample=0.016)
SHARED = Machine("shared", state=0.037, launch=0.011, sample=0.042)
# The part of the operations with two modes matters most on the quiet machine: with a tenth instead of a twentieth, 1 %
# is found in 94.7 % instead of 97.2 with n = 50 (the target is 95), in 81 % instead of 87 with n = 20, as the median
# of so few samples does not tell the modes apart.
MACHINES = (QUIET, TYPICAL, SHARED)
# The level must hold where pairs share less and operations are less alike, too; no power is promised there.
ROUGH = tuple(
    replace(m, name=f"{m.name}, rough", memory=0.9, spread=0.8, dependence=0.5, outliers=0.03, modes=0.3)
    for m in MACHINES
)


def order_of(rng: np.random.Generator, pairs: int, randomised: bool) -> NDArray[np.int64]:
    """Return the place in time of each launch, by side: pairs in random order, or one side after the other."""
    if not randomised:
        return np.stack([np.arange(pairs), pairs + np.arange(pairs)])
    first = rng.integers(0, 2, pairs)
    return np.stack([2 * np.arange(pairs) + first, 2 * np.arange(pairs) + 1 - first])


def states(rng: np.random.Generator, machine: Machine, launches: int) -> Floats:
    """Return the state of the machine at each launch."""
    state = _ar1(rng, (launches,), machine.memory, machine.state)
    if machine.bad:
        state = state + np.log(1.2) * (rng.random(launches) < machine.bad)
    return state


def launches(
    rng: np.random.Generator, machine: Machine, operations: int, pairs: int, samples: int, *, randomised: bool = True
) -> Floats:
    """Return logarithms of the shape (2 sides, operations, pairs, samples), without any difference of the sides."""
    state = states(rng, machine, 2 * pairs)[order_of(rng, pairs, randomised)]
    scale = np.exp(rng.normal(0, machine.spread, (1, operations, 1, 1)))
    shape = (2, operations, pairs, samples)
    noise = _ar1(rng, shape, machine.dependence, machine.sample) * scale
    noise += rng.normal(0, machine.launch, (2, operations, pairs, 1)) * scale
    slow = rng.random((1, operations, 1, 1)) < machine.modes
    noise += 0.04 * (slow & (rng.random(shape) < 0.2))
    far = rng.random(shape) < machine.outliers
    noise[far] += rng.uniform(np.log(1.3), np.log(2), int(far.sum()))
    return noise + state[:, None, :, None]
