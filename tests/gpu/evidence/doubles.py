# SPDX-License-Identifier: Apache-2.0
"""The rehearsal of everything here without a device (REGIMETER_DOUBLES=1): which doubles stand for the libraries.

What can be judged on doubles (structure, counts, joins, errors, order) is judged as on hardware. A claim about what
only hardware has (a clock, a rate, a share of a peak, a model's name) is recorded as not judged.
"""

import os
import sys
from pathlib import Path

ON = os.environ.get("REGIMETER_DOUBLES") == "1"
ROOT = Path(__file__).resolve().parents[3]
PYTHON_TESTS = ROOT / "tests" / "python"

# A device on paper with the name, the memory and the rates of a real one; work takes what its size asks for.
DEVICE = "by_launch=1,paper=0,memory_bytes=85899345920"
# One double of CUPTI has records and one has counters; one driver has a clock and one runs kernels on this processor.
KINDS = {
    "tracing": {"cuda": DEVICE, "cupti": "", "nvml": "", "nvrtc": ""},
    "several": {"cuda": DEVICE, "cupti": "version=130300,several=1", "nvml": "", "nvrtc": ""},
    "counters": {"cuda": DEVICE, "cupti_profiler": "live=1,batch=1000", "nvml": "", "nvrtc": ""},
    "gpm": {"cuda": DEVICE, "cupti": "", "gpm": "", "nvrtc": ""},
    "telemetry": {"cuda": DEVICE, "cupti": "", "nvml": "follow=1,drivers_uuids=1", "nvrtc": ""},
    "kernels": {"cuda_host": "", "nvml": "", "nvrtc": ""},
}


def variables(kind: str) -> dict[str, str]:
    """Return variables that put doubles in the place of the libraries, and the stub in that of torch.

    kind: a key of KINDS. The doubles are compiled once a process; CalledProcessError where there is no compiler.
    """
    if str(PYTHON_TESTS) not in sys.path:
        sys.path.insert(0, str(PYTHON_TESTS))
    import fakes

    stubs = (str(PYTHON_TESTS / stub) for stub in ("stub_torch", "stub_cupy"))
    paths = [*stubs, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **fakes.environment(**KINDS[kind]),
        "REGIMETER_LIBHIP": "off",
        "REGIMETER_CACHE": "off",
        "PYTHONPATH": os.pathsep.join(paths),
        "LD_LIBRARY_PATH": str(fakes.under_its_name("nvml", "libnvidia-ml.so.1")),  # for NVIDIA's own package
    }
