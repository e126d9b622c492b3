# SPDX-License-Identifier: Apache-2.0
"""A program under `regimeter monitor`, for tests that ask it while it runs."""

import contextlib
import os
import subprocess
import sys
import textwrap
import time
import urllib.request
from pathlib import Path

PROGRAM = """
    import gc, os, sys, time
    gc.disable()  # a collection of an older generation has a scope
    import regimeter
    from regimeter import _core
    profiler = regimeter.get_profiler()
    step = profiler._role_scope("step", _core.ROLES.index("step"))
    for i in range(300):
        with step:
            with regimeter.profile(f"work {i % 30}", device="cpu"):
                pass
    try:
        with regimeter.profile("bad", device="cpu"):
            raise KeyError
    except KeyError:
        pass
    print("recorded", flush=True)
    sys.stdin.readline()
    sys.exit(7)
"""
SCOPES = 601


class Watched:
    """A program under the monitor."""

    def __init__(self, folder: Path, *options: str, program: str = PROGRAM, **environment: str) -> None:
        (folder / "program.py").write_text(textwrap.dedent(program))
        self.run = folder / "run.rgm"
        words = ["monitor", "--port", "0", "--interval", "0.1", "-o", str(self.run), *options]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "regimeter", *words, "--", str(folder / "program.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "REGIMETER_LIBNVML": "off", **environment},
        )  # fmt: skip
        assert self.process.stderr
        self.url = self.process.stderr.readline().removeprefix("regimeter: ").strip()
        self.page = self.process.stderr.readline().removeprefix("regimeter: live page: ").strip()

    def scrape(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        from prometheus_client import parser

        with urllib.request.urlopen(self.url, timeout=60) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            text = answer.read().decode()
        families = parser.text_string_to_metric_families(text)
        return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}

    def until(self, scopes: int, operation: str = "") -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        """Scrape until so many scopes are counted, of one operation where one is named."""
        figure = (
            ("regimeter_scope_duration_seconds_count", (("operation", operation),))
            if operation
            else ("regimeter_scopes_total", ())
        )
        assert self.process.stdout
        assert self.process.stdout.readline() == "recorded\n"
        for _ in range(600):
            found = self.scrape()
            if found.get(figure, 0) >= scopes:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{found.get(figure, 0)} of {scopes} scopes")

    def end(self) -> tuple[int, str]:
        assert self.process.stderr
        with contextlib.suppress(BrokenPipeError):
            _, said = self.process.communicate("\n", timeout=60)
        return self.process.returncode, said
