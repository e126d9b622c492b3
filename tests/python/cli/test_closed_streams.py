# SPDX-License-Identifier: Apache-2.0
"""Programs that were started with closed standard streams: what anybody prints must not go into our files."""

import itertools
import json
import os

import pytest

from regimeter import load

CLOSED = [streams for count in (1, 2, 3) for streams in itertools.combinations((0, 1, 2), count)]

# A child for each choice of streams, which closes them before it imports anything.
RECORDING = """
    import contextlib, json, os, sys, time

    def low():
        time.sleep(0.001)
        names = set()
        for number in range(3):
            with contextlib.suppress(FileNotFoundError):
                names.add(os.readlink(f"/proc/self/fd/{number}"))
        return names

    def record(path):
        import regimeter
        from regimeter.system import scheduling

        profiler = regimeter.GPUProfiler(path=path, memory_interval_ms=1)
        with profiler.profile("a", device="cpu"):
            scheduling.watch().ready_ns()
        profiler.flush()
        # A file has such a number until it is moved: seen by every look is what keeps it.
        kept = set.intersection(*(low() for _ in range(20)))
        for number in (1, 2):
            try:
                os.write(number, b"hello from a C library\\n" * 3)
            except OSError:
                pass
        with profiler.profile("b", device="cpu"):
            pass
        profiler.close()
        return [name for name in kept if name.endswith(".rgm") or name.startswith("/proc")]

    for number, streams in enumerate(json.loads(sys.argv[1])):
        child = os.fork()
        if child == 0:
            for stream in streams:
                os.close(stream)
            kept = record(f"{number}.rgm")
            with open(f"{number}.low", "w") as file:
                file.write(repr(kept))
            os._exit(0)
        os.waitpid(child, 0)
"""


def test_nothing_long_lived_takes_the_place_of_a_stream(run_python, tmp_path):
    run_python(RECORDING, json.dumps(CLOSED))
    for number, streams in enumerate(CLOSED):
        assert (tmp_path / f"{number}.low").read_text() == "[]", streams
        assert [entry.operation for entry in load(tmp_path / f"{number}.rgm").get_entries()] == ["a", "b"], streams


@pytest.mark.parametrize("streams", [(0,), (1,), (2,), (0, 1, 2)])
def test_record_with_closed_streams(streams, start_python, tmp_path):
    program = tmp_path / "work.py"
    program.write_text("import os, regimeter\nwith regimeter.profile('a', device='cpu'): os.system('echo x')\n")
    starter = "import sys; from regimeter.cli import main; sys.exit(main(sys.argv[1:]))"
    process = start_python(
        starter, "record", "-q", "-o", tmp_path / "x.rgm", program,
        preexec_fn=lambda: [os.close(number) for number in streams],
    )  # fmt: skip
    process.communicate(timeout=300)
    assert process.returncode == 0
    assert [entry.operation for entry in load(tmp_path / "x.rgm").get_entries()] == ["a"]
