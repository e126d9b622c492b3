# SPDX-License-Identifier: Apache-2.0
"""What the page of a run with very many spans costs its reader and its server, which is asked for what is in view.

``python benchmarks/tiles.py [--json] [COUNT]``, by default 2,000,000 scopes. The recorder writes the recording
(views.py), `regimeter serve` shows it, and Chromium without a window opens the page, goes through the timeline frame by
frame (zooming in by 20 % a frame, panning by 10 % of the view, zooming out again), and then looks at 200 places that
it has not seen. The first page of a run is made once, without what takes long; the page asks for that when it is open.
The times of both are given apart. Needs playwright and a Chromium.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import bursts
from serve import processor_s, resident_mb, serving
from views import OPENINGS, WATCH, longest_of, record

COUNT = 2_000_000
ROUNDS = 4  # through the timeline
PLACES = 200
TIMELINE = "regimeter.current.handles.find((handle) => handle.timeline).timeline"
# Times between frames, and of the painting in each, while the view moves as a hand would move it.
MOVE = (
    """
    (rounds) => new Promise((done) => {
        const timeline = TIMELINE, { view } = timeline.scene;
        const [frames, paints] = [[], []];
        const paint = timeline.paint.bind(timeline);
        timeline.paint = (...given) => {
            const from = performance.now();
            paint(...given);
            paints.push(performance.now() - from);
        };
        let [k, last] = [0, performance.now()];
        const step = (now) => {
            frames.push(now - last);
            last = now;
            const at = k % 120;
            if (at < 50) view.zoom(0.8, 0.37);
            else if (at < 70) view.pan(at < 60 ? 0.1 : -0.1);
            else view.zoom(1 / 0.8, 0.37);
            timeline.touch();
            k += 1;
            if (k < 120 * rounds) requestAnimationFrame(step);
            else {
                delete timeline.paint;
                done({ frames: frames.slice(1), paints });
            }
        };
        requestAnimationFrame(step);
    })
"""
).replace("TIMELINE", TIMELINE)
LOOK = f"(place) => {{ const t = {TIMELINE}; t.scene.view.set(...place); t.touch(); }}"
IDLE = f"(() => {{ const t = {TIMELINE}; return t.tiles.asked.size === 0 && t.tiles.timer === 0; }})()"


def until_there(tab: Any) -> None:
    """Wait until nothing is asked for any more; the page's policy forbids Playwright's own way."""
    while not tab.evaluate(IDLE):
        time.sleep(0.005)


def browse(tab: Any, address: str) -> dict[str, Any]:
    """Open the page, move through the timeline, look at many places; return what that took."""
    tab.add_init_script(WATCH)
    tab.goto(address + "#page=trace")
    tab.wait_for_selector("html[data-ready]", state="attached", timeout=600_000)
    found = {"ready_ms": tab.evaluate("window.readyAt")}
    tab.wait_for_selector("html[data-rest=there]", state="attached", timeout=600_000)
    found["whole_ms"] = tab.evaluate("performance.now()")
    until_there(tab)
    counts = {name: int(tab.evaluate(f"document.documentElement.dataset.{name}")) for name in ("drawn", "aggregated")}
    tab.evaluate("window.tasks.length = 0")
    moved = tab.evaluate(MOVE, ROUNDS)
    until_there(tab)
    found["longest_moving_ms"] = max([0, *tab.evaluate("window.tasks")])
    for name in ("frames", "paints"):
        times = sorted(moved[name])
        found |= {f"{name}_median_ms": statistics.median(times), f"{name}_p95_ms": times[int(len(times) * 0.95)]}
    return found | counts


def longest_task(browser: Any, address: str) -> tuple[float, float]:
    """Open a page that is made until all of it is there; return elapsed and processor ms of the longest task."""
    browser.start_tracing(categories=["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"])
    tab = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    tab.add_init_script(WATCH)
    tab.goto(address + "#page=trace")
    tab.wait_for_selector("html[data-rest=there]", state="attached", timeout=600_000)
    until_there(tab)
    tab.wait_for_timeout(500)  # the painting, which belongs to opening
    elapsed = max([0, *tab.evaluate("window.tasks")])
    tab.context.close()
    return elapsed, longest_of(json.loads(browser.stop_tracing())["traceEvents"])


def look_around(tab: Any, duration_ns: int) -> float:
    """Look at places that were not seen before; return the median time until a place is drawn, in ms."""
    times = []
    for k in range(PLACES):
        length = duration_ns / 10 ** (2 + k % 5)
        start = (duration_ns - length) * ((k * 0.6180339887) % 1)
        begin = time.perf_counter()
        tab.evaluate(LOOK, [start, start + length])
        until_there(tab)
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def measure(count: int) -> dict[str, Any]:
    """Return the figures of one recording."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "run.rgm")
        record(count, str(path))
        with serving(path) as (port, process):
            address = f"http://127.0.0.1:{port}/"
            begin, before = time.perf_counter(), processor_s(process.pid)
            urllib.request.urlopen(address).read()
            took = {"first_page_s": time.perf_counter() - begin, "first_page_cpu_s": processor_s(process.pid) - before}
            run = json.load(urllib.request.urlopen(f"{address}api/runs"))["runs"][0]["id"]
            facts = json.load(urllib.request.urlopen(f"{address}api/runs/{run}/summary"))
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            tab = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            found = browse(tab, address) | {"spans": facts["spans"]} | took
            found["whole_page_cpu_s"] = processor_s(process.pid) - before
            devtools = tab.context.new_cdp_session(tab)

            def heap_mb() -> float:
                devtools.send("HeapProfiler.collectGarbage")
                return float(devtools.send("Runtime.getHeapUsage")["usedSize"]) / 1e6

            found["server_mb"], found["heap_mb"] = [resident_mb(process.pid)], [heap_mb()]
            found["place_ms"] = look_around(tab, facts["duration_ns"])
            found["server_mb"].append(resident_mb(process.pid))
            found["heap_mb"].append(heap_mb())
            browser.close()
            found |= shortest(playwright, chromium, address)
    return found


def shortest(playwright: Any, chromium: str, address: str) -> dict[str, float]:
    """Return the longest task's least times of several openings, each of a browser that starts."""
    opened = []
    for _ in range(OPENINGS):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        opened.append(longest_task(browser, address))
        browser.close()
    elapsed, processor = zip(*opened, strict=True)
    return {"longest_task_ms": min(elapsed), "longest_task_cpu_ms": min(processor)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", metavar="COUNT", type=int, nargs="?", default=COUNT)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.count)
    if options.json:
        print(json.dumps(found))
        return
    print(bursts.machine())
    print(f"{found['spans']:,} spans: {found['drawn']:,} in the page, {found['aggregated']:,} in its blocks")
    first, first_cpu = found["first_page_s"], found["first_page_cpu_s"]
    print(f"first page of the server    {first:.1f} s, {first_cpu:.1f} s of processor time")
    print(f"all of it, and tiles        {found['whole_page_cpu_s']:.1f} s of processor time, made once")
    print(f"ready in the browser        {found['ready_ms']:.0f} ms")
    task, task_cpu = found["longest_task_ms"], found["longest_task_cpu_ms"]
    print(f"longest task of opening     {task:.0f} ms, {task_cpu:.0f} ms of processor time, the least of {OPENINGS}")
    print(f"all of it in the browser    {found['whole_ms']:.0f} ms")
    frames, paints = ((found[f"{name}_median_ms"], found[f"{name}_p95_ms"]) for name in ("frames", "paints"))
    print(f"frames while it moves       {frames[0]:.1f} ms, 95 % {frames[1]:.1f} ms")
    print(f"painting, of each           {paints[0]:.1f} ms, 95 % {paints[1]:.1f} ms")
    print(f"longest task meanwhile      {found['longest_moving_ms']:.0f} ms")
    print(f"a place not seen before     {found['place_ms']:.0f} ms")
    for name, what in (("server_mb", "server"), ("heap_mb", "page")):
        print(f"memory of the {what:<14}{found[name][0]:,.0f} MB, after {PLACES} places {found[name][1]:,.0f} MB")


if __name__ == "__main__":
    main()
