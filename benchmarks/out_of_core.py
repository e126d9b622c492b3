# SPDX-License-Identifier: Apache-2.0
"""Traces larger than memory: what `--memory SIZE` takes, under a limit of the system, and whether results are the same.

``python benchmarks/out_of_core.py [--trace-size 2G] [--memory 512MB] [--limit 768MB] [--only TEXT] [--no-compare]``.
The trace is a real one repeated (benchmarks/generate_trace.py). Each command runs in a process of its own, in a control
group of memory with the limit where one can be made (as root; groups of version 1 or 2), else without, which is said.
The file of what does not fit lies in the folder of the trace, `--folder` or the system's.

Private memory is the peak of what has no file (`Anonymous` of smaps_rollup, looked at 20 times a second); resident
memory has the pages of the file as well, which the kernel takes back when others need the room. `same` compares what is
printed or written with that of the same command without `--memory`, byte by byte; of a page, without the time at which
it was made.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import bursts
import generate_trace

from regimeter.system import quantities

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "v100_ddp_large.json.gz"
COMMANDS = ("show", "breakdown", "kernels", "idle", "critical-path", "flame")
SAVE = "import sys, regimeter; regimeter.load(sys.argv[1]).save(sys.argv[2])"
CREATED = re.compile(rb'"created": ?"[^"]*"')
GROUPS = Path("/sys/fs/cgroup")
PERIOD_S = 0.05
KILLED = -9


@contextlib.contextmanager
def control_group(limit: int) -> Iterator[Path | None]:
    """Give a control group that may take so many bytes; None where none can be made."""
    first = (GROUPS / "memory").is_dir()
    group = (GROUPS / "memory" if first else GROUPS) / f"regimeter-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(limit))
        yield group
    except OSError:
        yield None
    finally:
        with contextlib.suppress(OSError):
            group.rmdir()


def held(pid: int) -> tuple[int, int]:
    """Return private and resident bytes of a process, 0 once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    found = {line.split()[0]: int(line.split()[1]) * 1024 for line in lines if line.endswith("kB")}
    return found.get("Anonymous:", 0), found.get("Rss:", 0)


def measure(words: list[str], output: Path, group: Path | None, folder: str) -> dict[str, Any]:
    """Run a command whose standard output goes to a file; return its peaks of memory and its times."""

    def enter() -> None:
        if group:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    begin, private, resident = perf_counter(), 0, 0
    environment = os.environ | {"REGIMETER_SPILL": folder}
    with open(output, "wb") as file:
        child = subprocess.Popen([sys.executable, *words], stdout=file, env=environment, preexec_fn=enter)
        pid = 0
        try:
            while not pid:
                sleep(PERIOD_S)
                now = held(child.pid)
                private, resident = max(private, now[0]), max(resident, now[1])
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        finally:
            if not pid:
                child.kill()
    child.returncode = os.waitstatus_to_exitcode(status)
    return {
        "exit_code": child.returncode,
        "seconds": perf_counter() - begin,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "private_bytes": private,
        "resident_bytes": resident,
    }


def words_of(verb: str, path: Path, page: Path) -> list[str]:
    """Return the words of a command after the interpreter."""
    words = ["-m", "regimeter", verb, str(path), "--quiet"]
    return words + (["-o", str(page)] if verb == "report" else ["--json"])


def result_of(verb: str, printed: Path, page: Path) -> bytes:
    """Return what a command has made."""
    return CREATED.sub(b"", page.read_bytes()) if verb == "report" else printed.read_bytes()


def cases(options: argparse.Namespace, path: Path) -> Iterator[tuple[str, list[str], str]]:
    """Yield the name of each case, its words, and its verb, "" for that which only writes a run."""
    folder = Path(options.folder)
    for verb in COMMANDS:
        yield verb, words_of(verb, path, folder / "page.html"), verb
    saved = folder / "saved.rgm"
    yield "save", ["-c", SAVE, str(path), str(saved)], ""
    yield "kernels of the saved run", words_of("kernels", saved, folder / "page.html"), "kernels"
    yield "report", words_of("report", path, folder / "page.html"), "report"


def run_cases(options: argparse.Namespace, path: Path, group: Path | None) -> dict[str, Any]:
    """Run all commands with `--memory` under the limit, and without both."""
    folder, found = Path(options.folder), {}
    printed, page = folder / "printed", folder / "page.html"
    for name, words, verb in cases(options, path):
        if options.only not in name and name != "save":
            continue
        os.environ["REGIMETER_MEMORY"] = options.memory
        found[name] = measure(words, printed, group, str(folder))
        del os.environ["REGIMETER_MEMORY"]
        if options.compare and verb and found[name]["exit_code"] == 0:
            limited = result_of(verb, printed, page)
            without = measure(words, printed, None, str(folder))
            same = without["exit_code"] == 0 and limited == result_of(verb, printed, page)
            found[name] |= {"same": same, "without": without}
        print(f"{name}: {json.dumps(found[name])}", file=sys.stderr, flush=True)
    return found


def print_report(report: dict[str, Any]) -> None:
    """Print a row for each command."""
    print(report["machine"])
    group = f"a control group of {report['limit']}" if report["grouped"] else "no control group: none can be made here"
    print(f"trace of {report['bytes'] / 1e6:,.0f} MB, --memory {report['memory']}, {group}")
    rows = []
    for name, one in report["cases"].items():
        cells = [f"{one[key] / 1e6:,.0f}" for key in ("private_bytes", "resident_bytes")]
        cells += [f"{one['seconds']:.1f}", f"{one['processor_seconds']:.1f}"]
        other = one.get("without")
        cells += [f"{other['private_bytes'] / 1e6:,.0f}", f"{other['seconds']:.1f}"] if other else ["", ""]
        ended = {0: "", KILLED: "killed"}.get(one["exit_code"], f"exit code {one['exit_code']}")
        rows.append((name, *cells, ended or {True: "same", False: "DIFFERS"}.get(one.get("same"), "")))
    head = ("command", "private, MB", "resident", "s", "processor s", "without: private", "s", "result")
    print(bursts.table(rows, head))


def main() -> int:
    """Make a trace, run the commands, print; 1 where one fails or gives another result."""
    parser = argparse.ArgumentParser(description="traces larger than memory")
    parser.add_argument("--trace-size", default="2G", metavar="BYTES", help="such as 2G or 6G")
    parser.add_argument("--memory", default="512MB", metavar="SIZE", help="what the commands may take")
    parser.add_argument("--limit", default="768MB", metavar="SIZE", help="of the control group")
    parser.add_argument("--only", default="", metavar="TEXT", help="commands that have this in their names")
    parser.add_argument("--no-compare", dest="compare", action="store_false", help="only with --memory")
    parser.add_argument("--folder", metavar="DIR", help="for all files; by default a temporary one")
    parser.add_argument("--json", action="store_true")
    traces = os.environ.get("REGIMETER_TRACES", ROOT.parent / "shared" / "traces")
    parser.add_argument("--traces", type=Path, default=traces, metavar="FOLDER", help="real traces")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        options.folder = stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder))
        path = Path(options.folder) / "trace.json"
        generate_trace.generate(options.traces / SOURCE, path, size=generate_trace.amount(options.trace_size))
        group = stack.enter_context(control_group(int(quantities.size(options.limit))))
        found = run_cases(options, path, group)
        report = {
            "machine": bursts.machine(),
            "bytes": path.stat().st_size,
            "memory": options.memory,
            "limit": options.limit,
            "grouped": group is not None,
            "cases": found,
        }
    print(json.dumps(report)) if options.json else print_report(report)
    return int(any(one["exit_code"] or one.get("same") is False for one in found.values()))


if __name__ == "__main__":
    sys.exit(main())
