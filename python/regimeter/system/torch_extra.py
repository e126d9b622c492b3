# SPDX-License-Identifier: Apache-2.0
"""torch where something cannot be done without it: the package, or one error that names the extra."""

from typing import Any

from .._core import UnavailableError


def torch_for(doing: str) -> Any:
    """Return torch. UnavailableError, which begins with what was wanted, where it cannot be imported or used."""
    try:
        import torch
    except ImportError:
        raise UnavailableError(f"{doing} needs the package torch; install it: pip install 'regimeter[torch]'") from None
    if not hasattr(torch, "profiler"):
        raise UnavailableError(f"{doing} needs the whole package torch, and what is imported here is a part of it")
    return torch


def wait_for_devices(torch: Any) -> None:
    """Wait for what the program has asked a CUDA device to do; never initialises CUDA."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
