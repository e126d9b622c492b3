# SPDX-License-Identifier: Apache-2.0
"""`create_performance_plots`: what operations reach on this machine, as a picture or as a page."""

import os
from pathlib import Path
from typing import Any

from ..system.joints import joint
from . import plot_picture, sweep
from .calls import check_device, need_ceilings
from .roofline import plot_of

DEFAULT = "gpu_performance_analysis.png"


def create_performance_plots(
    path: str | os.PathLike[str] = DEFAULT,
    device: str = "cpu",
    *,
    operations: tuple[str, ...] = sweep.PLOTTED,
    elements: tuple[int, ...] = sweep.ELEMENTS,
    dtype: str = "float32",
    profiler: Any = None,
) -> Path:
    """Measure operations over sizes and draw five panels; return the path that was written.

    The panels: time by size, elements per second, bandwidth as a part of the calibrated roof, the regime of each
    operation at each size, and the roofline with the measured ceilings. A path in .html gives a page that opens
    without a network, with values under the pointer; anything else a picture by matplotlib.

    operations: names of `gpu-profile --profile`. UnavailableError where matplotlib is missing; CUDANotAvailableError,
    ValueError for a device, operation or type that is not there.
    """
    check_device(device)
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        plot_picture.need_matplotlib()
    ceilings = need_ceilings(profiler, device)
    plot = plot_of(list(sweep.run(lambda _: ceilings, device, operations, elements, dtype)), ceilings, dtype)
    if target.suffix.lower() in (".html", ".htm"):
        joint("page of a sweep")(plot, target)
    else:
        plot_picture.write(plot, target)
    return target
