# SPDX-License-Identifier: Apache-2.0
"""Cut some milliseconds out of an Nsight Systems export (SQLite), so that it fits into a repository.

Kept are the tables that regimeter reads, the events that overlap a window, and the strings that these name; what tells
of the machine and the user (paths, environment, host) is left out.

Usage: cut_nsys.py IN OUT FROM_MS:TO_MS...   (milliseconds since the first kernel)
tests/data/traces/nsys_h100_2gpu_cut.sqlite was made with 703:707 870:873
"""

import sqlite3
import sys
from pathlib import Path

EVENTS = [
    *(
        f"CUPTI_ACTIVITY_KIND_{kind}"
        for kind in ["KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "RUNTIME", "OVERHEAD"]
    ),
    "NVTX_EVENTS",
]
STRINGS = ("demangledName", "shortName", "mangledName", "nameId", "textId")
WHOLE = ("ENUM_CUPTI_OVERHEAD_TYPE", "TARGET_INFO_SESSION_START_TIME")
FACTS = ("EXPORT_PRODUCT_NAME", "EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION")


def cut(source: Path, target: Path, windows: list[tuple[float, float]]) -> None:
    """Write the cut export; an existing file is replaced."""
    target.unlink(missing_ok=True)
    link = sqlite3.connect(target)
    link.execute("ATTACH ? AS given", (str(source),))
    zero = link.execute("SELECT min(start) FROM given.CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]
    inside = " OR ".join(
        f'(start < {zero + int(until * 1e6)} AND coalesce("end", start) >= {zero + int(since * 1e6)})'
        for since, until in windows
    )
    for name, sql in link.execute("SELECT name, sql FROM given.sqlite_master WHERE type = 'table'").fetchall():
        if name in (*EVENTS, *WHOLE, "StringIds", "ThreadNames", "PROCESSES", "META_DATA_EXPORT"):
            link.execute(sql)
    for table in EVENTS:
        link.execute(f"INSERT INTO main.{table} SELECT * FROM given.{table} WHERE {inside}")
    for table in WHOLE:
        link.execute(f"INSERT INTO main.{table} SELECT * FROM given.{table}")
    marks = ", ".join("?" * len(FACTS))
    link.execute(
        f"INSERT INTO main.META_DATA_EXPORT SELECT * FROM given.META_DATA_EXPORT WHERE name IN ({marks})", FACTS
    )
    threads = " UNION ".join(
        f"SELECT globalTid FROM main.{table}" for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS")
    )
    link.execute(f"INSERT INTO main.ThreadNames SELECT * FROM given.ThreadNames WHERE globalTid IN ({threads})")
    link.execute(
        "INSERT INTO main.PROCESSES SELECT * FROM given.PROCESSES WHERE globalPid IN"
        f" (SELECT globalTid & ~0xFFFFFF FROM ({threads}))"
    )
    used = " UNION ".join(
        f"SELECT {row[1]} FROM main.{table}"
        for table in (*EVENTS, "ThreadNames")
        for row in link.execute(f"PRAGMA main.table_info({table})").fetchall()
        if row[1] in STRINGS
    )
    link.execute(f"INSERT INTO main.StringIds SELECT * FROM given.StringIds WHERE id IN ({used})")
    link.commit()
    link.execute("DETACH given")
    link.execute("VACUUM")
    link.close()


def main() -> None:
    source, target, *windows = sys.argv[1:]
    cut(Path(source), Path(target), [(float(a), float(b)) for a, b in (window.split(":") for window in windows)])


if __name__ == "__main__":
    main()
