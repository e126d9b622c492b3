# SPDX-License-Identifier: Apache-2.0
"""What a calibration holds for: any difference makes a kept one worthless."""

from dataclasses import replace
from typing import Any

from .. import _core
from ..run.environment import Environment, Gpu, cuda_version
from ..run.identity import facts_of
from ..system import libraries
from .ceiling import VERSION


def host_identity() -> dict[str, Any]:
    """Return what the ceilings of the host depend on, as JSON values."""
    import numpy  # noqa: F401  # whose products are measured, so that its BLAS is part of the environment

    return _identity("cpu", Environment.current(), "host")


def device_identity(ordinal: int) -> dict[str, Any]:
    """Return what the ceilings of a device depend on. UnavailableError where there is no such device."""
    libraries.search_wheels()
    about = _core.device_about(ordinal)
    here = Environment.current().only(ordinal)
    # The driver itself says which device it is; what NVML adds is its set-up.
    own = Gpu.of_driver(ordinal, about)
    stated = {name: getattr(own, name) for name in ("model", "uuid", "memory_bytes", "capability", "multiprocessors")}
    gpu = replace(here.gpus[0], **stated) if here.gpus else own
    return _identity("cuda", replace(here, gpus=(gpu,), driver_cuda=cuda_version(about["driver"])), "device")


def _identity(device: str, environment: Environment, key: str) -> dict[str, Any]:
    return {
        "device": device,
        "format": VERSION,
        "regimeter": _core.__version__,
        **facts_of([environment], key),
    }
