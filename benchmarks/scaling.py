# SPDX-License-Identifier: Apache-2.0
"""How cost grows with the work: analyses, exports, comparisons and reports of traces and recordings of growing size.

``python benchmarks/scaling.py [--quick] [--trace-sizes 50M 500M 2G] [--scopes 100K 1M 10M] [--only TEXT] [--json]``.
The traces are real ones repeated (benchmarks/generate_trace.py), from the folder `--traces` or REGIMETER_TRACES;
without it, a small training loop that is written here. The recordings are made by regimeter itself. All inputs lie in
a temporary folder, one at a time. `--quick` is one trace and recordings up to 500 MB and 1 M scopes.

Each figure comes from a process of its own: a copy (fork) of one that holds the run and its view, so that nothing is
left over from the measurement before. Time is processor time, the least of some rounds where it is short; memory is
the peak above what the process held before. Both are given for an event (a span of a trace, a scope of a recording);
growth is that of the largest input over that of the smallest, where there are at least 20 ms or 10 MB to compare.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import bursts
import generate_trace

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("v100_ddp_large.json.gz", "h100_owlv2_with_stack.json.gz")
QUICK = {"trace_sizes": ["50M", "500M"], "scopes": ["100K", "1M"]}  # of the first source
FULL = {"trace_sizes": ["50M", "500M", "2G"], "scopes": ["100K", "1M", "10M"]}
GROWTH = 1.5
REPORT_SECONDS = 40.0
ENOUGH_SECONDS, ENOUGH_BYTES = 0.02, 10e6  # at the largest input: below, growth says nothing
ROUNDS, LONG_SECONDS = 5, 0.2
JSON_BYTES = 2_500  # of a scope, while a JSON profile is read: what does not fit the memory is not tried

Case = Callable[[], object]


# --- inputs ---------------------------------------------------------------------------------------------------


def write_small_loop(path: Path) -> None:
    """Write a trace of a made-up training loop: four steps of operators that launch kernels on one stream."""
    events: list[dict[str, Any]] = []

    def add(name: str, category: str, thread: int | str, start: int, length: int, **args: object) -> None:
        pid = 0 if category in ("kernel", "gpu_memcpy") else 1
        event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": thread, "ts": start, "dur": length}
        events.append(event | {"args": args})

    correlation, time = 0, 1000
    for step in range(4):
        begin = time
        for index in range(400):
            correlation += 1
            call, work = ("cudaMemcpyAsync", "gpu_memcpy") if index % 50 == 0 else ("cudaLaunchKernel", "kernel")
            name = "Memcpy HtoD (Pinned -> Device)" if work == "gpu_memcpy" else f"void kernel_{index % 37}<float>()"
            device = {"device": 0, "stream": 7, "correlation": correlation, "External id": correlation}
            add(f"aten::op_{index % 23}", "cpu_op", 1, time, 20, **{"External id": correlation})
            add(call, "cuda_runtime", 1, time + 5, 8, correlation=correlation)
            add(name, work, 7, time + 14, 4 + index % 11, **device)
            time += 24
        add(f"ProfilerStep#{step}", "user_annotation", 1, begin, time - begin)
        time += 100
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))


def record(path: str, scopes: int) -> None:
    """Record nested scopes: steps of a loop with phases and layers."""
    import regimeter

    profiler = regimeter.GPUProfiler(path=path)
    layers = [f"layer {number}" for number in range(12)]
    for _ in range(scopes // 40):
        with profiler.profile("step"):
            for phase in ("load", "forward", "backward"):
                with profiler.profile(phase):
                    for layer in layers:
                        with profiler.profile(layer):
                            pass
    profiler.close()


# --- cases ----------------------------------------------------------------------------------------------------


def verb_cases(run: Any) -> Iterator[tuple[str, Case]]:
    """Yield the verbs of the analyses in all their groupings."""
    from regimeter.analysis.catalog import find_verbs

    for verb in find_verbs().values():
        other = run if verb.other else None
        for by in verb.by or [None]:
            name = " ".join(filter(None, (verb.name, by)))
            yield name, lambda n=verb.name, b=by, o=other: run.result(n, by=b, other=o)


def export_cases(run: Any, folder: str) -> Iterator[tuple[str, Case]]:
    """Yield the formats of an export."""
    from regimeter.run.formats import COLUMNAR, FORMATS

    try:
        import pyarrow  # noqa: F401
    except ImportError:
        formats = [name for name in FORMATS if name not in COLUMNAR]
    else:
        formats = list(FORMATS)
    for name in formats:
        yield f"export {name}", lambda f=name: run.export(f"{folder}/out.bin", f, table="spans" if f == "csv" else None)


def shared_cases(run: Any, folder: str) -> Iterator[tuple[str, Case]]:
    """Yield what a trace and a recording have in common."""
    from regimeter.suite.flame import FlameGraphGenerator
    from regimeter.suite.hta import HTAAnalyzer
    from regimeter.suite.timeline_data import TimelineGenerator

    yield from verb_cases(run)
    yield from export_cases(run, folder)
    yield "suggestions", run.suggestions
    yield "report", lambda: run.write_html(f"{folder}/out.html")
    flame, timeline, hta = FlameGraphGenerator(), TimelineGenerator(), HTAAnalyzer()
    yield "flame page", lambda: flame.export(flame.from_run(run), f"{folder}/out.html")
    yield "timeline page", lambda: timeline.generate_html_viewer(timeline.from_run(run), f"{folder}/out.html")
    yield "timeline trace", lambda: timeline.export_chrome_trace(timeline.from_run(run), f"{folder}/out")
    yield "hta page", lambda: hta.export_report(hta.analyze_trace(run), f"{folder}/out.html")


def recording_cases(run: Any, path: str) -> Iterator[tuple[str, Case]]:
    """Yield what only a recording can be asked."""
    import regimeter

    yield "summary", run.get_summary
    yield "entries", run.get_entries
    yield "recover", lambda: regimeter.load(path, recover=True)
    yield "compare", lambda: regimeter.compare_profiling_runs(path, path)


def profile_cases(run: Any, path: str, folder: str) -> Iterator[tuple[str, Case]]:
    """Yield what is done with the JSON profile of a recording."""
    import regimeter

    profile = f"{folder}/profile.json"
    run.export_json(profile)
    yield "compare with a JSON profile", lambda: regimeter.compare_profiling_runs(path, profile)
    yield "load a JSON profile", lambda: regimeter.load(profile)


# --- one measurement ------------------------------------------------------------------------------------------


def resident() -> int:
    """Return the resident set of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def timed(case: Case) -> dict[str, Any]:
    """Run a case; return its processor time, and the peak of memory above what the process held before."""
    held, begin = resident(), process_time()
    case()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": process_time() - begin, "bytes": max(0, peak - held)}


def in_copy(case: Case) -> dict[str, Any]:
    """Run a case in a copy of this process."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        try:
            found = timed(case)
        except BaseException as error:
            found = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:40]}
        os.write(send, json.dumps(found).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as file:
        answer = file.read()
    _, status = os.waitpid(child, 0)
    found_here: dict[str, Any] = json.loads(answer) if answer else {"error": f"ended with status {status}"}
    return found_here


def least(case: Case) -> dict[str, Any]:
    """Return the least time and memory of some rounds; what is long is measured once."""
    best = in_copy(case)
    for _ in range(ROUNDS - 1):
        if "error" in best or best["seconds"] > LONG_SECONDS:
            break
        found = in_copy(case)
        best = {key: min(best[key], found.get(key, best[key])) for key in best}
    return best


def in_command(*words: str) -> dict[str, Any]:
    """Run a command of ours; return the processor time and the peak of its whole process."""
    child = subprocess.Popen([sys.executable, "-m", "regimeter", *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        return {"error": f"exit code {child.returncode}"}
    return {"seconds": usage.ru_utime + usage.ru_stime, "bytes": usage.ru_maxrss * 1024}


def measure(path: str, folder: str, only: str) -> dict[str, Any]:
    """Load an input and measure all that can be asked of it."""
    import numpy  # noqa: F401  loaded by the result tables; not a cost of the first case

    import regimeter

    found = {"load": least(lambda: regimeter.load(path))}
    run = regimeter.load(path)
    recorded = run.source == "journal"
    events = len(run.entries) or len(run.spans)
    found["view of the analyses"] = least(lambda: run.analyse("active_times"))
    run.analyse("active_times")
    cases = list(shared_cases(run, folder))
    if recorded:
        cases += recording_cases(run, path)
        if events * JSON_BYTES < os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
            cases += profile_cases(run, path, folder)
    for name, case in cases:
        if only in name:
            print(f"  {name}", file=sys.stderr, flush=True)
            found[name] = least(case)
    if only in "regimeter report":
        found["regimeter report (whole process)"] = in_command("report", path, "-o", f"{folder}/out.html", "--quiet")
    return {"events": events, "bytes": os.path.getsize(path), "cases": found}


# --- all sizes ------------------------------------------------------------------------------------------------


def measure_in_child(path: str, folder: str, only: str) -> dict[str, Any]:
    """Measure an input in a process of its own."""
    command = [sys.executable, str(Path(__file__)), "--measure", path, folder, only]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def make_inputs(options: argparse.Namespace, folder: str) -> Iterator[tuple[str, str]]:
    """Make each input in turn; yield what it is of and its path."""
    sources = [options.traces / name for name in SOURCES if (options.traces / name).exists()]
    if not sources:
        write_small_loop(Path(folder) / "small_loop.json")
        sources = [Path(folder) / "small_loop.json"]
    for source in sources[:1] if options.quick else sources:
        for size in options.trace_sizes:
            path = Path(folder) / "trace.json"
            generate_trace.generate(source, path, size=generate_trace.amount(size))
            yield source.name.split(".")[0], str(path)
            path.unlink()
    for scopes in options.scopes:
        path = Path(folder) / "recording.rgm"
        subprocess.run([sys.executable, str(Path(__file__)), "--record", str(path), scopes], check=True)
        yield "recording", str(path)
        path.unlink()


def growth(name: str, figures: list[dict[str, Any]], key: str, enough: float) -> float | None:
    """Return how a figure for an event grows from the smallest to the largest input, None where it is too small."""
    small, large = (one["cases"][name][key] / one["events"] for one in (figures[0], figures[-1]))
    return large / small if small and figures[-1]["cases"][name][key] >= enough else None


def rows_of(figures: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each case: time and memory of an event at each size, and the growth of both."""
    for name in figures[-1]["cases"]:
        if any(name not in one["cases"] or "error" in one["cases"][name] for one in figures):
            told = [one["cases"].get(name, {}).get("error", "") for one in figures]
            yield (name, *told, *[""] * (len(figures) + 3))
            continue
        cells = [(one["cases"][name], one["events"]) for one in figures]
        grown = [growth(name, figures, "seconds", ENOUGH_SECONDS), growth(name, figures, "bytes", ENOUGH_BYTES)]
        yield (
            name,
            *(f"{case['seconds'] * 1e9 / events:,.0f}" for case, events in cells),
            f"{cells[-1][0]['seconds']:.2f}",
            *(f"{case['bytes'] / events:,.0f}" for case, events in cells),
            *("" if factor is None else f"{factor:.2f}{' !' if factor > GROWTH else ''}" for factor in grown),
        )


def print_report(report: dict[str, Any]) -> None:
    """Print a table for each kind of input, and what grows by more than it may."""
    print(report["machine"])
    for kind, figures in report["inputs"].items():
        sizes = [f"{one['events'] / 1e6:.2f} M" for one in figures]
        what = ", ".join(f"{one['bytes'] / 1e6:,.0f} MB" for one in figures)
        print(f"\n{kind}: {what}; ns and bytes an event; growth of time and of memory, at most {GROWTH}")
        columns = [f"{unit}, {size}" for unit in ("ns", "B") for size in sizes]
        columns.insert(len(sizes), "s, largest")
        rows = list(rows_of(figures))
        print(bursts.table(rows, (kind, *columns, "time", "memory")))
        over = [row[0] for row in rows if any("!" in cell for cell in row[-2:])]
        print(f"grows by more than {GROWTH}: {', '.join(over) or 'nothing'}")
        whole = figures[-1]["cases"].get("regimeter report (whole process)", {})
        if "seconds" in whole:
            verdict = "met" if whole["seconds"] <= REPORT_SECONDS else "missed"
            print(f"regimeter report: {whole['seconds']:.1f} s and {whole['bytes'] / 1e6:,.0f} MB, target", end=" ")
            print(f"{REPORT_SECONDS:.0f} s: {verdict}")


def main() -> int:
    """Measure and print."""
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(*sys.argv[2:5])))
        return 0
    if sys.argv[1:2] == ["--record"]:
        record(sys.argv[2], generate_trace.amount(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(description="how cost grows with the work")
    parser.add_argument("--quick", action="store_true", help="without the largest inputs: some 3 minutes")
    parser.add_argument("--trace-sizes", nargs="*", metavar="BYTES", help="such as 50M 500M 2G; none: no traces")
    parser.add_argument("--scopes", nargs="*", metavar="COUNT", help="such as 100K 1M 10M; none: no recordings")
    parser.add_argument("--only", default="", metavar="TEXT", help="what has this in its name")
    parser.add_argument("--json", action="store_true")
    traces = os.environ.get("REGIMETER_TRACES", ROOT.parent / "shared" / "traces")
    parser.add_argument("--traces", type=Path, default=traces, metavar="FOLDER", help="real traces")
    options = parser.parse_args()
    for name, sizes in (QUICK if options.quick else FULL).items():
        if getattr(options, name) is None:
            setattr(options, name, sizes)
    report: dict[str, Any] = {"machine": bursts.machine(), "inputs": {}}
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in make_inputs(options, folder):
            print(f"{kind}, {os.path.getsize(path) / 1e6:,.0f} MB", file=sys.stderr, flush=True)
            report["inputs"].setdefault(kind, []).append(measure_in_child(path, folder, options.only))
    if options.json:
        print(json.dumps(report))
    else:
        print_report(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
