# SPDX-License-Identifier: Apache-2.0
"""The peak of the resident set: begun anew by one, still known to the others, and without what is set apart."""

import pytest
from small_calibration import SMALL

# Of a process of its own: what the tests before have taken is no matter then.
HELPERS = """
import mmap
from regimeter.system import peak

MB = 1 << 20

def take(megabytes):
    block = mmap.mmap(-1, megabytes * MB)  # pages of its own, and touched
    for at in range(0, len(block), 4096):
        block[at] = 1
    block.close()

first = peak.peak()
"""
CASES = {
    "it_is_the_programs_without_what_is_set_apart": """
        take(32)
        own = peak.peak()
        assert 30 * MB < own - first < 40 * MB
        with peak.set_apart():
            take(128)
        assert abs(peak.peak() - own) < 8 * MB
        take(96)
        assert 90 * MB < peak.peak() - first < 104 * MB
    """,
    "what_is_set_apart_and_smaller_changes_nothing": """
        take(64)
        own = peak.resident()
        with peak.set_apart():
            take(8)
        assert abs(peak.resident()[1] - own[1]) < 4 * MB
    """,
    "beginning_anew_takes_the_peak_before_from_nobody": """
        take(64)
        assert peak.begin()
        take(16)
        assert 60 * MB < peak.peak() - first < 72 * MB
        assert peak.since() - first < 32 * MB
    """,
    "what_is_set_apart_leaves_the_peak_since_a_beginning": """
        assert peak.begin()
        take(32)
        with peak.set_apart():
            take(128)
        assert 28 * MB < peak.since() - first < 48 * MB
    """,
    "what_the_system_cannot_forget_is_no_peak": """
        peak.RESET = "/nowhere/of/it"
        with peak.set_apart():
            take(64)
        assert peak.peak() is None and peak.since() is None and not peak.begin()
        take(96)
        assert 90 * MB < peak.peak() - first < 104 * MB
    """,
    "a_system_that_tells_nothing_has_none": """
        peak.STATUS = "/nowhere/of/it"
        with peak.set_apart():
            pass
        assert peak.resident() is None and peak.peak() is None and peak.since() is None
        from regimeter.regime.memory import of_host
        assert of_host().peak_allocated_mb is None and of_host().allocated_mb > 1
    """,
    "a_forked_child_has_its_own": """
        import os
        take(128)
        assert peak.begin()
        child = os.fork()
        if child == 0:
            os._exit(0 if peak.peak() - first < 32 * MB else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert peak.peak() - first > 120 * MB
    """,
}


@pytest.mark.parametrize("case", CASES)
def test_the_peak(case, run_python):
    done = run_python(HELPERS + "\n".join(line.removeprefix(" " * 8) for line in CASES[case].splitlines()))
    assert done.returncode == 0, done.stderr


def test_a_calibration_is_no_peak_of_the_program(run_python):
    """It was: 6.1 GB of a program whose largest array had 4 MB."""
    large = SMALL | {"buffer_bytes_quick": 128 << 20, "memory_share": 1}
    program = f"""
        from regimeter.calibration import calibrate
        from regimeter.regime.memory import of_host
        before = of_host().peak_allocated_mb
        calibrate("cpu", policy={large!r})
        after = of_host().peak_allocated_mb
        print("none" if after is None else after - before)
    """
    done = run_python(program, env={"REGIMETER_CACHE": "off"})
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 150  # without its buffers of 400 MB, and with what it imports
