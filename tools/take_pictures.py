# SPDX-License-Identifier: Apache-2.0
"""Take the pictures of README and docs anew from real runs, into docs/images: ``make pictures``.

The tutorial's program is recorded as the tutorial says, two versions of demo/steps.py are compared as in `make demo`,
and the trace is one of tests/data/traces. Needs Chromium (CHROMIUM,
by default /usr/bin/chromium) and a machine that is quiet, because what the pages say of it is in the pictures.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
TRACES = ROOT / "tests" / "data" / "traces"
PICTURES = (  # its name, the page, what the address ends in, height of the window
    ("report", "train", "#page=overview", 760),
    ("timeline", "trace", "#section=timeline", 620),
    ("flame", "train", "#page=operators&section=flame", 620),
    ("comparison", "comparison", "#page=overview", 760),
)


def program() -> str:
    """Return the tutorial's program."""
    found = re.search(r"```py\n(.*?)```", (ROOT / "docs/tutorial.md").read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        raise SystemExit("docs/tutorial.md has no program")
    return found[1]


def make_pages(folder: Path) -> None:
    """Record the programs and write the pages that pictures are taken of."""

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "regimeter", *words]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout

    (folder / "train.py").write_text(program(), encoding="utf-8")
    run("record", "-o", "train.rgm", "--html", "train.html", "train.py")
    run("report", str(TRACES / "h100_bert_small.json.gz"), "-o", "trace.html")
    shutil.copy(ROOT / "demo/steps.py", folder)
    pairs = ("--pairs", "10", "--all-pairs", "--fail-on", "never", "--format", "html")
    cpu = str(max(os.sched_getaffinity(0)))
    page = run("ab", "--base", "steps.py", "--current", "steps.py --slow", "--cpus", cpu, *pairs)
    (folder / "comparison.html").write_text(page, encoding="utf-8")


def main() -> int:
    """Take them."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        make_pages(folder)
        chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, page, address, height in PICTURES:
            tab = browser.new_page(
                viewport={"width": 1200, "height": height}, color_scheme="light", reduced_motion="reduce"
            )
            tab.goto(f"{(folder / page).with_suffix('.html').as_uri()}{address}")
            tab.wait_for_selector('html[data-ready="1"]')
            tab.evaluate("() => document.fonts.ready")
            tab.wait_for_timeout(300)
            tab.screenshot(path=IMAGES / f"{name}.png")
            print(f"docs/images/{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
