# SPDX-License-Identifier: Apache-2.0
"""Check that the stub of the core matches the core: the generated tables, then every name by stubtest."""

import subprocess
import sys
from pathlib import Path

# What only the interpreter sees, and names that differ by the version of Python.
ALLOWED = r"""
regimeter\._core\.\w+\.__(init_subclass|buffer|new|dir|reduce|dict|weakref)__
regimeter\._core\.(Idle)?Scope\.__(enter|exit|call)__
regimeter\._core\.Table(\.__getattr__)?
"""


def main() -> int:
    """Run both checks."""
    tools = Path(__file__).resolve().parent
    generated = subprocess.run([sys.executable, str(tools / "describe_schema.py"), "--check"], check=False)
    allowed = tools.parent / "build" / "stubtest-allowed.txt"
    allowed.parent.mkdir(exist_ok=True)
    allowed.write_text(ALLOWED, encoding="utf-8")
    command = [sys.executable, "-m", "mypy.stubtest", "regimeter._core", "--concise", "--ignore-unused-allowlist"]
    command += ["--allowlist", str(allowed), "--mypy-config-file", str(tools.parent / "pyproject.toml")]
    stubs = subprocess.run(command, check=False, cwd=tools.parent)
    return 1 if generated.returncode or stubs.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
