# SPDX-License-Identifier: Apache-2.0
"""What a page of many spans costs a reader: its size, the time until it can be used, the longest task of the browser.

``python benchmarks/views.py [--json] [--speedscope FOLDER] [COUNT ...]``, by default 10,000, 100,000 and 1,000,000
spans. With the folder of the npm package speedscope, that opens the same recordings beside it. Recordings are made
by the recorder itself: training steps of nested scopes whose work differs, so that times are no simple pattern.
Chromium runs without a window; each page is opened several times, and medians are given beside those of an
empty page. Needs playwright and a Chromium (CHROMIUM, /usr/bin/chromium).
"""

import argparse
import base64
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import bursts

COUNTS = (10_000, 100_000, 1_000_000)
LAYERS = 6
A_STEP = 2 * LAYERS + 6  # scopes of a training step
OPENINGS = 5
EMPTY = '<!doctype html><script>document.documentElement.dataset.ready = "1"</script>'
# Told by the page itself: when it said that it can be used, tasks over 50 ms, frames of panning and zooming.
WATCH = """
    window.tasks = [];
    new PerformanceObserver((list) => list.getEntries().forEach((one) => tasks.push(one.duration)))
        .observe({ type: "longtask", buffered: true });
    new MutationObserver(() => {
        if (document.documentElement?.dataset.ready) window.readyAt ??= performance.now();
    }).observe(document, { attributes: true, subtree: true, childList: true });
"""
# It puts the profile's name before its own in the title once it has read it; with the next painting a reader sees it.
WATCH_TITLE = """
    (function look() {
        if (!document.title.endsWith(" - speedscope")) requestAnimationFrame(look);
        else requestAnimationFrame(() => (window.readyAt ??= performance.now()));
    })();
"""
FRAMES = """
    () => {
        const { timeline } = regimeter.current.handles.find((handle) => handle.timeline);
        const { view } = timeline.scene;
        return Array.from({ length: 60 }, (_, k) => {
            if (k === 0) view.fit();
            else if (k < 30) view.zoom(0.8, 0.37);
            else view.pan(k < 45 ? 0.1 : -0.1);
            const from = performance.now();
            timeline.paint();
            return performance.now() - from;
        });
    }
"""


def work(amount: int) -> int:
    """Take some time, more for a larger amount."""
    total = 0
    for i in range(amount):
        total += i * i
    return total


def record(count: int, path: str) -> None:
    """Record about `count` scopes of training steps."""
    import regimeter

    profiler = regimeter.GPUProfiler(enable_detailed_metrics=False, path=path)
    scope = profiler.profile
    for step in range(count // A_STEP):
        with scope("step"):
            with scope("load"):
                work(5 + step % 17)
            with scope("forward"):
                for layer in range(LAYERS):
                    with scope(f"layer.{layer}"), scope("attention"):
                        work(3 + (step * layer) % 23)
            with scope("backward"):
                work(30 + step % 5)
            with scope("optimizer"), scope("update"):
                work(9)
    profiler.close()


def make(count: int, folder: str) -> dict[str, Any]:
    """Record, write the page; return what is known of it without a browser."""
    from regimeter import load

    recording, page = f"{folder}/{count}.rgm", f"{folder}/{count}.html"
    record(count, recording)
    run = load(recording)
    begin = time.perf_counter()
    run.write_html(page)
    run.export(f"{folder}/{count}.speedscope.json")
    return {
        "exported": f"{folder}/{count}.speedscope.json",
        "page": page,
        "spans": len(run.spans),
        "page_bytes": os.path.getsize(page),
        "write_seconds": time.perf_counter() - begin,
    }


def tasks_of(events: list[dict[str, Any]]) -> list[float]:
    """Return the processor time in ms of each task of a page's main thread, from the browser's own trace."""
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    tasks = [e for e in events if e.get("ph") == "X" and "RunTask" in e["name"] and (e["pid"], e["tid"]) in threads]
    return [task.get("tdur", 0) / 1e3 for task in tasks]


def processor_time(browser: Any, page: str) -> dict[str, Any]:
    """Open a page under the browser's tracing; return the processor time in ms of its longest task, and of all."""
    browser.start_tracing(categories=["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"])
    tab = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True).new_page()
    tab.goto(Path(page).as_uri())
    tab.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
    tab.wait_for_timeout(500)
    tasks = tasks_of(json.loads(browser.stop_tracing())["traceEvents"])
    return {"longest_task_cpu_ms": max(tasks, default=0), "all_tasks_cpu_ms": sum(tasks)}


def opened(browser: Any, page: str, *, frames: bool) -> dict[str, Any]:
    """Open a page in a context of its own."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    tab = context.new_page()
    tab.add_init_script(WATCH)
    tab.goto(Path(page).as_uri())
    tab.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
    tab.wait_for_timeout(500)  # the first painting, which belongs to opening
    found = {"ready_ms": tab.evaluate("window.readyAt"), "longest_task_ms": max([0, *tab.evaluate("window.tasks")])}
    if frames:
        found |= {
            name: int(tab.evaluate(f"document.documentElement.dataset.{name}")) for name in ("drawn", "aggregated")
        }
        found["frames_ms"] = tab.evaluate(FRAMES)
    context.close()
    return found


def speedscope_ms(browser: Any, package: Path, exported: str) -> float | None:
    """Open an exported recording in speedscope, in the way of its own command; None where it did not in two minutes."""
    name = Path(exported).name
    loaded = Path(exported).with_suffix(".js")
    text = base64.b64encode(Path(exported).read_bytes()).decode()
    loaded.write_text(f"speedscope.loadFileFromBase64({json.dumps(name)}, {json.dumps(text)})", encoding="utf-8")
    tab = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True).new_page()
    tab.add_init_script(WATCH_TITLE)
    address = (package / "dist/release/index.html").as_uri()
    tab.goto(f"{address}#localProfilePath={loaded.as_posix()}", wait_until="commit")
    try:
        tab.wait_for_function("window.readyAt > 0", timeout=120_000)
    except Exception as error:  # Playwright is imported by those who measure alone
        if type(error).__name__ != "TimeoutError":
            raise
        return None
    found: float = tab.evaluate("window.readyAt")
    return found


def measure(counts: list[int], speedscope: Path | None) -> list[dict[str, Any]]:
    """Return a row for an empty page and for each count."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        empty = Path(folder, "empty.html")
        empty.write_text(EMPTY, encoding="utf-8")
        made = [{"page": str(empty), "spans": 0, "page_bytes": len(EMPTY), "write_seconds": 0.0}]
        made += [make(count, folder) for count in counts]
        for one in made:
            runs = []
            for _ in range(OPENINGS):
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
                runs.append(opened(browser, one["page"], frames=one["spans"] > 0))
                browser.close()
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            alone = processor_time(browser, one["page"])
            browser.close()
            if speedscope is not None and "exported" in one:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
                alone["speedscope_ms"] = speedscope_ms(browser, speedscope, one["exported"])
                browser.close()
            rows.append(one | summary(runs) | alone)
    return rows


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return medians of the openings, the worst task of the median opening, and frames of all of them."""
    found: dict[str, Any] = {
        "ready_ms": statistics.median(run["ready_ms"] for run in runs),
        "longest_task_ms": statistics.median(run["longest_task_ms"] for run in runs),
        "drawn": runs[0].get("drawn", 0),
        "aggregated": runs[0].get("aggregated", 0),
    }
    frames = sorted(frame for run in runs for frame in run.get("frames_ms", ()))
    if frames:
        found |= {"frame_median_ms": statistics.median(frames), "frame_p95_ms": frames[int(len(frames) * 0.95)]}
    return found


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print a line a page."""
    print(bursts.machine())
    print("   spans     drawn  in blocks      page  a span   written     ready, processor", end="")
    print("  longest task: elapsed, processor  frame, 95 %")
    for row in rows:
        spans = row["spans"]
        a_span = f"{row['page_bytes'] / spans:5.1f} B" if spans else "      -"
        frames = f"{row['frame_median_ms']:.1f}, {row['frame_p95_ms']:.1f} ms" if spans else "-"
        print(
            f"{spans:8,}  {row['drawn']:8,}  {row['aggregated']:9,}  {row['page_bytes'] / 1e3:5,.0f} kB {a_span}"
            f"  {row['write_seconds']:6.1f} s  {row['ready_ms']:5.0f} ms, {row['all_tasks_cpu_ms']:5.0f} ms"
            f"  {row['longest_task_ms']:10.0f} ms, {row['longest_task_cpu_ms']:14.0f} ms"
            f"  {frames:>11}"
        )
        if "speedscope_ms" in row:
            taken = row["speedscope_ms"]
            print(f"{'':8}  speedscope of the same: {'not in 120 s' if taken is None else f'{taken:,.0f} ms'}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", metavar="COUNT", type=int, nargs="*", default=list(COUNTS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--speedscope", metavar="FOLDER", type=Path, help="the folder of the npm package")
    options = parser.parse_args()
    rows = measure(options.counts, options.speedscope and options.speedscope.resolve())
    if options.json:
        print(json.dumps(rows))
    else:
        print_rows(rows)


if __name__ == "__main__":
    main()
