# SPDX-License-Identifier: Apache-2.0
"""Reading traces: processor time, throughput and peak memory, against what people read them with.

``python benchmarks/import.py [--json] [--traces FOLDER] [--size 500M ...] [--only NAME ...]``. Each candidate runs in a
process of its own, with the file in the page cache; the least of several rounds counts. `--size` adds generated traces
(benchmarks/generate_trace.py), which are deleted afterwards. Candidates that are not installed are named as absent.
The second table of a file is regimeter's memory above that of the process before: peak, what the run then holds, and
the difference, after one import and after ten in one process.

simdjson (benchmarks/core/bench_simdjson.cpp) is compiled where simdjson.h and simdjson.cpp lie in build/peers; the
source distribution of pysimdjson holds both. HTA runs with the interpreter that REGIMETER_HTA_PYTHON names.
"""

import argparse
import gc
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import bursts
import generate_trace

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "build" / "peers"
TRACES = ("v100_ddp_large.json.gz", "h100_owlv2_with_stack.json.gz")
SECONDS = 6.0  # rounds go on for that long, at least one
LARGE = 200_000_000
# What needs many times the size of the text is left out on large inputs.
SMALL_ONLY = {
    "json.loads",
    "orjson",
    "orjson, collector off",
    "orjson to NumPy columns",
    "ijson",
    "polars",
    "DuckDB",
    "HTA",
}


def peak_kib(field: str = "VmHWM") -> int:
    """Return the peak resident set of this program; getrusage would count what its parent held when it forked."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s*(\d+)", status)[1])  # type: ignore[index]


def events_of(document: Any) -> list[dict[str, Any]]:
    """Return the events of a parsed document."""
    found: list[dict[str, Any]] = document if isinstance(document, list) else document["traceEvents"]
    return found


def run_regimeter(path: str, threads: int = 1, scan: int = 0) -> Callable[[], int]:
    """Return a round of the importer of this project."""
    from regimeter import Run

    return lambda: int(Run._import(path, path, False, threads, scan).table("files").events[0])


def run_json(path: str) -> Callable[[], int]:
    """Return a round of json.loads."""
    return lambda: len(events_of(json.loads(Path(path).read_bytes())))


def run_orjson(path: str, collect: bool = True) -> Callable[[], int]:
    """Return a round of orjson, with or without the garbage collector."""
    import orjson

    def once() -> int:
        if not collect:
            gc.disable()
        return len(events_of(orjson.loads(Path(path).read_bytes())))

    return once


def run_orjson_columns(path: str) -> Callable[[], int]:
    """Return a round of orjson and the columns that analyses need, as NumPy arrays."""
    import numpy as np
    import orjson

    def once() -> int:
        events = events_of(orjson.loads(Path(path).read_bytes()))
        spans = [event for event in events if event.get("ph") == "X"]
        names: dict[str, int] = {}
        lanes: dict[Any, int] = {}
        args = [event.get("args") or {} for event in spans]
        columns = [
            np.array([event["ts"] for event in spans], dtype=np.float64),
            np.array([event["dur"] for event in spans], dtype=np.float64),
            np.array([names.setdefault(event["name"], len(names)) for event in spans], dtype=np.uint32),
            np.array([lanes.setdefault((e["pid"], e["tid"]), len(lanes)) for e in spans], dtype=np.uint32),
            np.array([names.setdefault(event.get("cat", ""), len(names)) for event in spans], dtype=np.uint32),
        ]
        for key in ("correlation", "External id", "bytes"):
            columns += [np.array([a.get(key, -1) for a in args], dtype=np.int64)]
        return len(events)

    return once


def run_msgspec(path: str) -> Callable[[], int]:
    """Return a round of msgspec into structs, without columns."""
    import msgspec

    class Arguments(msgspec.Struct, gc=False):
        correlation: int = -1
        external: int = msgspec.field(name="External id", default=-1)
        bytes: int = -1

    class Event(msgspec.Struct, gc=False):
        ph: str = ""
        cat: str = ""
        name: str = ""
        pid: int | str = -1
        tid: int | str = -1
        ts: float = 0
        dur: float = 0
        args: Arguments | None = None

    class Document(msgspec.Struct, gc=False):
        traceEvents: list[Event]

    decoder = msgspec.json.Decoder(Document)
    return lambda: len(decoder.decode(Path(path).read_bytes()).traceEvents)


def run_ijson(path: str) -> Callable[[], int]:
    """Return a round of ijson, event by event."""
    import ijson

    def once() -> int:
        with open(path, "rb") as file:
            return sum(1 for _ in ijson.items(file, "traceEvents.item", use_float=True))

    return once


def run_polars(path: str) -> Callable[[], int]:
    """Return a round of polars' JSON reader and the struct of events as a frame."""
    import polars

    def once() -> int:
        frame = polars.read_json(path, infer_schema_length=None)
        return len(frame.select(polars.col("traceEvents").explode()).unnest("traceEvents"))

    return once


def run_duckdb(path: str) -> Callable[[], int]:
    """Return a round of DuckDB's JSON reader into a table."""
    import duckdb

    def once() -> int:
        with duckdb.connect() as connection:
            connection.execute("set threads to 1")
            connection.execute(
                "create table events as with text as (select unnest(traceEvents) as event from read_json(?, "
                "maximum_object_size=2000000000, columns={'traceEvents': 'JSON[]'})) select event->>'ph' as ph, "
                "event->>'cat' as cat, event->>'name' as name, (event->>'ts')::decimal(24,3) as ts, "
                "(event->>'dur')::decimal(24,3) as dur, event->>'pid' as pid, event->>'tid' as tid, "
                "(event->'args'->>'correlation')::bigint as correlation from text",
                [path],
            )
            row = connection.execute("select count(*) from events").fetchone()
            return int(row[0]) if row else 0

    return once


def run_hta(path: str) -> Callable[[], int]:
    """Return a round of HolisticTraceAnalysis up to the point where its analyses can begin."""
    import logging

    from hta.trace_analysis import TraceAnalysis

    logging.disable(logging.CRITICAL)
    return lambda: len(TraceAnalysis(trace_files={0: path}).t.get_trace(0))


CANDIDATES: dict[str, Callable[[str], Callable[[], int]]] = {
    "regimeter": run_regimeter,
    "regimeter, no vectors": lambda path: run_regimeter(path, scan=1),
    "regimeter, 2 threads": lambda path: run_regimeter(path, threads=2),
    "json.loads": run_json,
    "orjson": run_orjson,
    "orjson, collector off": lambda path: run_orjson(path, collect=False),
    "orjson to NumPy columns": run_orjson_columns,
    "msgspec structs": run_msgspec,
    "ijson": run_ijson,
    "polars": run_polars,
    "DuckDB": run_duckdb,
    "HTA": run_hta,
}


def measure(name: str, path: str) -> dict[str, Any]:
    """Run rounds of a candidate in this process."""
    once = CANDIDATES[name](path)
    before, begin = peak_kib(), perf_counter()
    cpu = wall = float("inf")
    events = 0
    while perf_counter() - begin < SECONDS:
        first, second = process_time(), perf_counter()
        events = once()
        cpu, wall = min(cpu, process_time() - first), min(wall, perf_counter() - second)
        gc.enable()
    return {"cpu_s": cpu, "wall_s": wall, "events": events, "peak_kib": peak_kib(), "before_kib": before}


def measure_memory(threads: str, imports: str, path: str) -> dict[str, Any]:
    """Import a file several times in this process, each time when the run before is gone."""
    from regimeter import Run

    before, before_kib = peak_kib(), peak_kib("VmRSS")
    run = None
    for _ in range(int(imports)):
        run = None
        run = Run._import(path, path, False, int(threads), 0)
    peak, held = peak_kib() - before, peak_kib("VmRSS") - before_kib
    events = int(run.table("files").events[0]) if run else 0
    return {"threads": threads, "imports": imports, "peak_kib": peak, "held_kib": held, "events": events}


def memory_rows(path: str) -> list[tuple[str, ...]]:
    """Return what importing takes, each row from a process of its own."""
    rows = []
    for threads in ("1", "2"):
        for imports in ("1", "10"):
            command = [sys.executable, str(Path(__file__)), "--memory", threads, imports, path]
            row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            peak, held = (row[key] * 1024 for key in ("peak_kib", "held_kib"))
            figures = (f"{peak / 1e6:.1f}", f"{held / 1e6:.1f}", f"{(peak - held) / 1e6:.1f}")
            rows.append((threads, imports, *figures, f"{peak / row['events']:.1f}"))
    return rows


def in_child(name: str, path: str) -> dict[str, Any]:
    """Measure a candidate in a process of its own; a candidate that is not installed gives its reason."""
    python = os.environ.get("REGIMETER_HTA_PYTHON", sys.executable) if name == "HTA" else sys.executable
    command = [python, str(Path(__file__)), "--candidate", name, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        absent = "ModuleNotFoundError" in lines[-1]
        return {"error": "absent" if absent else lines[-1][:70]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def simdjson_program() -> str | None:
    """Compile the program against simdjson, where that is here; return its path."""
    folder = next((p.parent for p in PEERS.rglob("simdjson.h") if (p.parent / "simdjson.cpp").exists()), None)
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not folder or not compiler:
        return None
    source, program = ROOT / "benchmarks" / "core" / "bench_simdjson.cpp", PEERS / "bench_simdjson"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        command = [
            compiler,
            "-O3",
            "-march=native",
            "-std=c++17",
            f"-I{folder}",
            str(source),
            str(folder / "simdjson.cpp"),
        ]
        subprocess.run([*command, "-o", str(program)], check=True)
    return str(program)


def measure_simdjson(path: str) -> dict[str, dict[str, Any]]:
    """Run the program in memory and in windows."""
    names = {"memory": "simdjson on-demand, in memory", "windows": "simdjson on-demand, 256 KiB windows"}
    program = simdjson_program()
    if not program:
        return {name: {"error": "absent (no build/peers/**/simdjson.h)"} for name in names.values()}
    found = {}
    for mode, name in names.items():
        rounds = "3" if os.path.getsize(path) > LARGE else "20"
        done = subprocess.run([program, path, mode, rounds], capture_output=True, text=True, check=False)
        found[name] = json.loads(done.stdout) if done.returncode == 0 else {"error": f"ended with {done.returncode}"}
        found[name].setdefault("before_kib", 0)
    return found


def measure_all(path: str, only: list[str]) -> dict[str, dict[str, Any]]:
    """Measure every candidate on one file."""
    with open(path, "rb") as file:  # into the page cache
        while file.read(1 << 24):
            pass
    found = {}
    for name in CANDIDATES:
        if only and name not in only:
            continue
        skipped = os.path.getsize(path) > LARGE and name in SMALL_ONLY
        found[name] = {"error": "left out on large inputs"} if skipped else in_child(name, path)
    return found if only and "simdjson" not in only else found | measure_simdjson(path)


def measure_file(path: str, only: list[str]) -> dict[str, Any]:
    """Measure everything on one file."""
    rows = measure_all(path, only)
    return {"bytes": os.path.getsize(path), "rows": rows, "memory": memory_rows(path)}


def rows_of(results: dict[str, dict[str, Any]], size: int) -> list[tuple[str, ...]]:
    """Return the table of one file."""
    rows = []
    for name, row in results.items():
        if "error" in row:
            rows.append((name, row["error"], "", "", "", "", ""))
            continue
        cpu, wall = row["cpu_s"], row.get("wall_s")
        rows.append(
            (
                name,
                f"{cpu:.3f}",
                f"{wall:.3f}" if wall else "",
                f"{size / cpu / 1e9:.2f}",
                f"{row['events'] / cpu / 1e6:.2f}",
                f"{row['peak_kib'] * 1024 / 1e6:.0f}",
                f"{(row['peak_kib'] - row['before_kib']) * 1024 / row['events']:.0f}" if row["before_kib"] else "",
            )
        )
    return rows


def inflate(source: Path, folder: str) -> str:
    """Return the path of the inflated text of a trace."""
    target = Path(folder) / source.name.removesuffix(".gz")
    with gzip.open(source, "rb") as packed, open(target, "wb") as plain:
        shutil.copyfileobj(packed, plain)
    return str(target)


def main() -> int:
    """Measure and print."""
    if len(sys.argv) == 4 and sys.argv[1] == "--candidate":
        print(json.dumps(measure(sys.argv[2], sys.argv[3])))
        return 0
    if len(sys.argv) == 5 and sys.argv[1] == "--memory":
        print(json.dumps(measure_memory(*sys.argv[2:])))
        return 0
    parser = argparse.ArgumentParser(description="reading traces")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--traces", type=Path, default=os.environ.get("REGIMETER_TRACES", ROOT.parent / "shared" / "traces")
    )
    parser.add_argument("--size", action="append", default=[], help="size of a generated trace: 500M, 5G")
    parser.add_argument("--only", action="append", default=[], help="name of a candidate, or simdjson")
    options = parser.parse_args()
    report: dict[str, Any] = {"machine": bursts.machine(), "results": {}}
    with tempfile.TemporaryDirectory() as folder:
        for name in TRACES:
            if not (options.traces / name).exists():
                report["results"][name] = {"error": "absent: set REGIMETER_TRACES"}
                continue
            path = inflate(options.traces / name, folder)
            report["results"][name] = measure_file(path, options.only)
        for size in options.size:
            path = f"{folder}/generated.json"
            generate_trace.generate(options.traces / TRACES[0], Path(path), size=generate_trace.amount(size))
            found = measure_file(path, options.only)
            report["results"][f"generated, {size}"] = found
            os.unlink(path)
    if options.json:
        print(json.dumps(report))
        return 0
    print(report["machine"])
    header = ("reader", "CPU s", "wall s", "GB/s", "M events/s", "peak MB", "B/event")
    for name, found in report["results"].items():
        print(f"\n{name}: {found.get('error') or format(found['bytes'], ',') + ' bytes of text'}")
        if "rows" in found:
            print(bursts.table(rows_of(found["rows"], found["bytes"]), header), end="\n\n")
            print(bursts.table(found["memory"], ("threads", "imports", "peak MB", "held MB", "beside MB", "B/event")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
