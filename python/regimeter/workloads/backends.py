# SPDX-License-Identifier: Apache-2.0
"""Where a workload runs: named choices, each of which says what it is and why it may not be here."""

from .. import _core
from .backend import Backend
from .backend_core import DeviceBackend, HostBackend
from .backend_numpy import NumpyBackend
from .backend_torch import TorchBackend

AUTO = "auto"
# Name -> what it is.
BACKENDS = {
    "device": "CUDA kernels of this project through the driver (docs/gpu/kernels.md)",
    "c": "vectorised and threaded C on this processor, the best set that it can run",
    "avx2": "the same compiled for AVX2 and FMA",
    "portable": "the same compiled for the baseline of the architecture",
    "reference": "scalar C with sums in double precision: what the others are checked against, not a contender",
    "numpy": "NumPy, in single precision",
    "torch": "PyTorch's operations, on the processor or on a device",
}
HOST = ("c", "avx2", "portable", "reference")


def backends() -> dict[str, str]:
    """Return the names of the backends and what each is."""
    return dict(BACKENDS)


def find(name: str) -> Backend:
    """Return a backend. ValueError for a name that there is not, UnavailableError where its library is absent."""
    if name not in BACKENDS:
        raise ValueError(f"no backend is called {name!r}; there are: {', '.join(BACKENDS)}")
    if name == "numpy":
        return NumpyBackend()
    if name == "torch":
        return TorchBackend()
    return DeviceBackend() if name == "device" else HostBackend(name)


def resolve(name: str, device: int | str = 0) -> tuple[Backend, str]:
    """Return a backend and, for 'auto', why it was taken: the device where one can run a workload, else C."""
    if name != AUTO:
        return find(name), ""
    ordinal = device if isinstance(device, int) else 0
    try:
        _core.run_workload("vector_add", ordinal, parameters={"n": 1}, warmup=0, iterations=0)
    except (_core.Error, OSError) as error:
        return find("c"), f"backend c, because no device can run a workload: {error}"
    return find("device"), "backend device: one is here"
