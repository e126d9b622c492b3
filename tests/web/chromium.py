# SPDX-License-Identifier: Apache-2.0
"""Which browser the tests drive, and how it is started."""

import os
from pathlib import Path

# The one without a window draws the same for two thirds of the processor time.
INSTALLED = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
CHROMIUM = Path(os.environ.get("CHROMIUM") or next(filter(os.path.exists, INSTALLED), INSTALLED[-1]))
# A page is drawn in the process of the one before it: a new one costs as much as a small page.
NEW_PROCESSES = "BackForwardCache,ProactivelySwapBrowsingInstance,RenderDocument,SpareRendererForSitePerProcess"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-gpu-compositing",
    "--in-process-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--js-flags=--single-threaded",  # threads that compile and collect beside a script that lasts a moment cost more
    f"--disable-features={NEW_PROCESSES}",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
