# SPDX-License-Identifier: Apache-2.0
"""Resident memory over many kernels, in processes of their own (a million: tests/gpu/evidence)."""

# Every portion is recorded before the next begins, so that none is dropped however slow the machine is. Where the
# writer gets little of the processors it is waited for, up to a minute: rows that were kept for good would not go.
MANY = """
from regimeter import GPUProfiler
library = ctypes.CDLL(os.environ["REGIMETER_LIBCUPTI"])
PORTION, PORTIONS, SETTLED = 10_000, 35, 15
import time
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
profiler = GPUProfiler(profile_kernels=True, path=PATH, enable_detailed_metrics=False, **OPTIONS)
seen = []
for _ in range(PORTIONS):
    with profiler.profile("portion"):
        library.fake_cupti_launches(b"kernel", ctypes.c_longlong(PORTION))
    profiler._kernels_flush()
    until = time.monotonic() + 60
    while len(seen) >= SETTLED and resident() > seen[SETTLED - 1] + 6e6 and time.monotonic() < until:
        time.sleep(0.02)
    seen.append(resident())
grown = max(seen[SETTLED - 1:]) - seen[SETTLED - 1]
stats = profiler.stats()
profiler.close()
"""


def test_a_journal_stays_flat(run_program):
    """Kernels, 112 bytes each, go to the file; the process does not grow with them. Kept, the last 20 portions were
    22 MB."""
    done = run_program(
        "PATH, OPTIONS = 'run.rgm', {}\n"
        + MANY
        + """
# A machine that stands still moves its clocks apart by more than the double's kernels wait, which is none of ours.
counted = {row["code"]: row["count"] for row in profiler.run().anomaly_list() if row["code"] != "clock_step"}
assert counted == {}, counted
assert stats["activities"] == PORTION * PORTIONS, stats
assert grown < 12e6, [round(at / 1e6, 1) for at in seen]
print(f"{stats['activities']} kernels, {grown / 1e6:.1f} MB more")
""",
        cupti="own_thread=0,flush_records=0",
        started=True,
    )
    assert done.stdout.startswith("350000 kernels")


def test_in_memory_the_budget_bounds_it(run_program):
    """Without a file each kernel stays, up to the budgets; what is beyond is counted."""
    run_program(
        "PATH, OPTIONS = None, {'device_budget_bytes': 11_200_000, 'memory_budget_bytes': 4 << 20}\n"
        + MANY
        + """
counted = {row["code"]: row["count"] for row in profiler.run().anomaly_list()}
kernels = 11_200_000 // 112
assert kernels - 128 < stats["activities"] <= kernels, stats
assert counted["dropped_device_rows"] == PORTION * PORTIONS - stats["activities"], counted
assert counted["dropped_scopes"] > 0  # the records of the calls have a budget of their own
assert grown < 12e6, [round(at / 1e6, 1) for at in seen]
""",
        cupti="own_thread=0,flush_records=0",
        started=True,
    )
