# SPDX-License-Identifier: Apache-2.0
"""Programs that were started with closed standard streams: what anybody prints must not go into our files."""

import itertools
import os

import pytest

from regimeter import load

CLOSED = [streams for count in (1, 2, 3) for streams in itertools.combinations((0, 1, 2), count)]

RECORDING = """
    import os, sys
    import regimeter
    from regimeter.system import scheduling

    profiler = regimeter.GPUProfiler(path=sys.argv[1], memory_interval_ms=1)
    with profiler.profile("a", device="cpu"):
        scheduling.watch().ready_ns()
    profiler.flush()
    low = [os.readlink(f"/proc/self/fd/{n}") for n in range(3) if os.path.exists(f"/proc/self/fd/{n}")]
    for number in (1, 2):
        try:
            os.write(number, b"hello from a C library\\n" * 3)
        except OSError:
            pass
    with profiler.profile("b", device="cpu"):
        pass
    profiler.close()
    with open(sys.argv[2], "w") as file:
        file.write(repr([name for name in low if name.endswith(".rgm") or name.startswith("/proc")]))
"""


def closing(streams):
    return lambda: [os.close(number) for number in streams]


@pytest.mark.parametrize("streams", CLOSED)
def test_nothing_long_lived_takes_the_place_of_a_stream(streams, run_python, tmp_path):
    run_python(RECORDING, tmp_path / "x.rgm", tmp_path / "low", preexec_fn=closing(streams))
    assert (tmp_path / "low").read_text() == "[]"
    assert [entry.operation for entry in load(tmp_path / "x.rgm").get_entries()] == ["a", "b"]


@pytest.mark.parametrize("streams", CLOSED)
def test_record_with_closed_streams(streams, start_python, tmp_path):
    program = tmp_path / "work.py"
    program.write_text("import os, regimeter\nwith regimeter.profile('a', device='cpu'): os.system('echo x')\n")
    starter = "import sys; from regimeter.cli import main; sys.exit(main(sys.argv[1:]))"
    process = start_python(starter, "record", "-q", "-o", tmp_path / "x.rgm", program, preexec_fn=closing(streams))
    process.communicate(timeout=300)
    assert process.returncode == 0
    assert [entry.operation for entry in load(tmp_path / "x.rgm").get_entries()] == ["a"]
