# SPDX-License-Identifier: Apache-2.0
"""Try an installed regimeter: import it, mark a block, record a program by the command, read both back.

Prints one line. Needs neither a compiler, a device nor a network.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = "import time\nsum(range(100_000))\ntime.sleep(0.05)\n"


def main() -> int:
    """Run everything; an exception or a failed command is the exit code."""
    begin = time.monotonic()
    import regimeter

    with tempfile.TemporaryDirectory() as folder:
        own, program, recorded = (Path(folder, name) for name in ("own.rgm", "program.py", "recorded.rgm"))
        with regimeter.GPUProfiler(path=own) as profiler, profiler.profile("block", device="cpu"):
            pass
        assert [entry.operation for entry in regimeter.load(own).get_entries()] == ["block"]
        program.write_text(PROGRAM)
        command = [sys.executable, "-m", "regimeter"]
        subprocess.run([*command, "record", "-q", "-o", recorded, program], check=True, capture_output=True)
        shown = subprocess.run([*command, "explain", recorded], check=True, capture_output=True, text=True).stdout
        assert "The program sleeps" in shown, shown
    print(f"regimeter {regimeter.__version__}: imports, records and explains; {time.monotonic() - begin:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
