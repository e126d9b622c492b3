# SPDX-License-Identifier: Apache-2.0
"""Whether this process can use CUDA, and what it finds there; under the names that programs know.

from regimeter import initialize_cuda_environment, is_cuda_available

if not is_cuda_available():
    print(initialize_cuda_environment().reason)
"""

from dataclasses import dataclass

from .. import _core
from ..run.environment import Environment, Gpu, cuda_version
from ..system import gpus

MOST_DEVICES = 64  # more than a machine has


@dataclass(frozen=True, slots=True)
class CudaEnvironment:
    """What the CUDA driver says. available: a device can be used; reason: why none can, '' where one can.

    devices: in the order of their ordinals. driver: its version, as NVML tells it, None where it does not; cuda: the
    CUDA version that it supports.
    """

    available: bool
    reason: str
    devices: tuple[Gpu, ...] = ()
    driver: str | None = None
    cuda: str | None = None

    def __bool__(self) -> bool:
        return self.available


def is_cuda_available() -> bool:
    """Say whether the CUDA driver is there, starts, and has a device that this process may use.

    Where no driver can be, nothing is loaded. Elsewhere the driver is started to find out, and a process that is
    forked afterwards cannot use CUDA; ask there, not before.
    """
    return initialize_cuda_environment().available


def initialize_cuda_environment() -> CudaEnvironment:
    """Start the CUDA driver and return what it has; a missing driver or device is a result with its reason, no error.

    No context is made, no memory is taken and no variable is set; asking again costs little. Forking: as
    `is_cuda_available`.
    """
    if not gpus.possible():
        return CudaEnvironment(False, gpus.reason())
    found: list[Gpu] = []
    version = None
    reason = ""
    for ordinal in range(MOST_DEVICES):
        try:
            about = _core.device_about(ordinal)
        except _core.Error as error:
            reason = str(error)
            break
        version = cuda_version(about["driver"])
        found.append(Gpu.of_driver(ordinal, about))
    if not found:
        return CudaEnvironment(False, reason)
    return CudaEnvironment(True, "", tuple(found), Environment.current().driver, version)
