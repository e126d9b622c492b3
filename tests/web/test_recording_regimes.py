# SPDX-License-Identifier: Apache-2.0
"""The panel "What limits it" of a recording of ours: with device work it is there, with scopes alone it is not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fakes
import pytest
import report_data
from browsing import Browsing

pytestmark = pytest.mark.web

STUB = Path(__file__).parent.parent / "python" / "stub_torch"
PROGRAM = """
import json, sys, time
import torch
from regimeter import GPUProfiler
from regimeter.report.trace_data import trace_data
torch.cuda.init()
a = torch.ones(1024, device="cuda")
profiler = GPUProfiler(profile_kernels="kernels" in sys.argv, device_timing="kernels" in sys.argv)
for _ in range(20):
    with profiler.profile("step"):
        with profiler.profile("<b>input</b>"):
            time.sleep(0.002)
        with profiler.profile("product"):
            for _ in range(30 if "kernels" in sys.argv else 0):
                torch.mul(a, a)
        torch.cuda.synchronize()
profiler.close()
print(json.dumps(trace_data(profiler.run())))
"""


def recorded(*words: str) -> dict[str, Any]:
    doubles = fakes.environment(cuda="kernel_ns=20000", cupti="", nvml="")
    path = os.pathsep.join(filter(None, (str(STUB), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, **doubles, "PYTHONPATH": path, "REGIMETER_LIBHIP": "off", "REGIMETER_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_recording_with_device_work_is_judged(browsing: Browsing) -> None:
    data = recorded("kernels")
    regimes = data["regimes"]
    page = browsing.open(data)
    panel = page.locator("#regimes")
    assert panel.locator("h2").inner_text() == "What limits it"
    # The device has 30 kernels of 20 us a step, and nothing while the host sleeps for 2 ms.
    assert panel.locator(".regime-verdict strong").first.inner_text() == "OVERHEAD_BOUND, host wait"
    lists = panel.locator(".regime-kernels")
    assert lists.count() == 1  # nothing is known of the work of its kernels: a sentence, not a line each
    assert {row["regime"] for row in regimes["kernels"]} == {"UNKNOWN"}
    assert f"kernels with most time is not known: {regimes['kernels'][0]['reason_text']}" in panel.inner_text()
    scopes = lists.locator("li")
    assert scopes.locator(".regime-kernel").all_inner_texts() == [row["name"] for row in regimes["scopes"]]
    assert {"step", "<b>input</b>"} <= {row["name"] for row in regimes["scopes"]}
    assert panel.locator("b").count() == 0
    assert "20 calls" in scopes.first.inner_text()
    # Parts below a nanosecond are rests of rounding.
    assert "e-" not in panel.locator(".regime-parts").inner_text()
    assert "Scripted GPU" in panel.locator(".help").last.inner_text()
    assert page.locator("#roadmap").count() == 1


def test_a_recording_of_scopes_alone_has_no_such_panel(browsing: Browsing) -> None:
    data = recorded()
    assert data["regimes"] is None
    assert "region-regimes" in {panel["name"] for panel in data["empty_panels"]}
    page = browsing.open(data)
    assert page.locator("#regimes").count() == 0
    assert page.locator("#limit .limit-actions li").count() >= 1, "what there is to do stands in the first screen"
    # On a busy machine a rule may have something to say.
    assert page.locator("#roadmap").count() == (1 if data["suggestions"] else 0)


def test_a_file_from_before_has_no_such_panel(browsing: Browsing) -> None:
    data = report_data.report()
    assert "regimes" not in data
    assert browsing.open(data).locator("#regimes").count() == 0
