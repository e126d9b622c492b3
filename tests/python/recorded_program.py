# SPDX-License-Identifier: Apache-2.0
"""What tests of `regimeter record` share: the command, a program with scopes, and the names in its run."""

import sys

import regimeter

RECORD = [sys.executable, "-m", "regimeter", "record"]
SCOPES = """
    import regimeter
    profiler = regimeter.get_profiler(enable_detailed_metrics=False)
    for _ in range(5):
        with profiler.profile("step", device="cpu"):
            pass
"""


def names(run: regimeter.Run) -> list[str]:
    """Of the scopes but for collections of garbage, which come when Python likes."""
    found = [run.string(name) for name in run.spans.name.tolist()]
    return [name for name in found if not name.startswith("gc generation ")]
