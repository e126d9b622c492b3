# SPDX-License-Identifier: Apache-2.0
"""A program under `regimeter monitor`: what Prometheus is told while it runs, and how it ends."""

import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import fakes
import pytest
import warm
from watching import PROGRAM, SCOPES, Watched

from regimeter import GPUProfiler, Run, load
from regimeter.cli import main
from regimeter.cli.reservation import reserve
from regimeter.monitor import tail as tail_module
from regimeter.monitor.figures import OPERATIONS, OTHERS, Figures
from regimeter.monitor.look import Looks
from regimeter.monitor.steps import steps_of
from regimeter.monitor.tail import Tail
from regimeter.run.cost import OWN_COST

pytest.importorskip("prometheus_client")


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    found = Watched(tmp_path)
    yield found
    if found.process.poll() is None:
        found.process.terminate()
        found.process.communicate(timeout=60)


def test_the_own_cost_is_what_the_recorder_states(tmp_path: Path) -> None:
    path, tail, figures = tmp_path / "run.rgm", Tail(str(tmp_path / "run.rgm")), Figures()
    with GPUProfiler(path=path, track_memory=True, budget="100%") as profiler:
        for _ in range(600):  # until it was stated, a second after the first scope
            with profiler.profile("step", device="cpu"):
                time.sleep(0.01)
            profiler.flush()
            before = figures.own_ns
            figures.add(tail.read(), tail.anomalies, tail.steps)
            assert figures.own_ns >= before
            if figures._stated_until:
                break
        looks = Looks([])
        looks.take(figures, 1, time.monotonic())
        assert looks.take(figures, 1, time.monotonic()).rules["own-cost"] is None, "nothing was stated since"
        figures._stated_until += 2_000_000_000
        figures.own_ns += 5e6
        assert looks.take(figures, 1, time.monotonic()).rules["own-cost"] == pytest.approx(0.0025)
    until = figures._stated_until - 2_000_000_000
    run = load(path)
    rows = zip(*(run.tables.counters.column(name).tolist() for name in ("series", "time_ns", "value")), strict=True)
    stated = [(until, share) for name, until, share in rows if run.string(name) == OWN_COST]
    stated = [row for row in stated if row[0] <= until]
    windows = [1e9, *(until - before for (before, _), (until, _) in pairwise(stated))]
    assert stated
    assert figures._stated_ns == pytest.approx(sum(share * ns for (_, share), ns in zip(stated, windows, strict=True)))
    assert figures.own_ns >= figures._stated_ns > 0


def test_what_prometheus_is_told(watched: Watched) -> None:
    found = watched.until(SCOPES)
    assert found["regimeter_scopes_failed_total", ()] == 1
    assert found["regimeter_step_duration_seconds_count", ()] == 300
    assert 0 < found["regimeter_own_cost_seconds_total", ()] < 1
    assert found["regimeter_program_process_cpu_seconds_total", ()] > 0
    assert found["regimeter_program_process_resident_memory_bytes", ()] > 1e6
    names = {labels[0][1] for (name, labels) in found if name == "regimeter_scope_duration_seconds_count"}
    assert len(names) == OPERATIONS + 1
    assert OTHERS in names
    counted = [value for (name, _), value in found.items() if name == "regimeter_scope_duration_seconds_count"]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(watched.url.replace("/metrics", "/nothing"), timeout=60)
    code, _ = watched.end()
    assert code == 7
    run = load(watched.run)
    assert "budget" not in run.environment, "that its cost is stated bounds nothing"
    assert found["regimeter_scopes_total", ()] == sum(counted) == len(run.spans) == SCOPES
    steps = run.spans.duration_ns[run.spans.category == run.strings.index("step")]
    assert found["regimeter_step_duration_seconds_sum", ()] == pytest.approx(steps.sum() / 1e9)
    median = found["regimeter_step_duration_seconds", (("quantile", "0.5"),)]
    assert steps.min() / 1e9 <= median <= steps.max() / 1e9
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(watched.url, timeout=60)


@pytest.mark.parametrize(("options", "kept"), [("", 1), ("seed=1", 0)])
def test_what_stood_in_is_counted_where_the_programs_profiler_goes_on_with_it(options, kept, tmp_path: Path) -> None:
    """One that begins the recording anew has not what was counted before, where a look fell on it."""
    program = f"""
        import gc, sys
        gc.collect()  # a scope
        print("recorded", flush=True)
        sys.stdin.readline()
        import regimeter
        with regimeter.GPUProfiler({options}).profile("own", device="cpu"):
            pass
        print("recorded", flush=True)
        sys.stdin.readline()
    """
    watched = Watched(tmp_path, program=program)
    assert watched.until(1)["regimeter_scope_duration_seconds_count", (("operation", "gc generation 2"),)] == 1
    assert watched.process.stdin
    watched.process.stdin.write("\n")
    watched.process.stdin.flush()
    found = watched.until(1, operation="own")
    watched.end()
    assert found["regimeter_scopes_total", ()] == len(load(watched.run).spans) == 1 + kept


def test_a_signal_reaches_the_program_and_ends_us_alike(watched: Watched) -> None:
    watched.until(1)
    watched.process.send_signal(signal.SIGTERM)
    watched.process.communicate(timeout=60)
    assert watched.process.returncode == -signal.SIGTERM
    assert len(load(watched.run).spans) >= SCOPES


def test_devices_have_the_names_of_dcgm(tmp_path: Path) -> None:
    watched = Watched(tmp_path, **fakes.environment(nvml=""), REGIMETER_LIBCUDA="off")
    try:
        found = watched.until(1)
    finally:
        watched.end()
    used = {labels: value for (name, labels), value in found.items() if name == "DCGM_FI_DEV_FB_USED"}
    assert used
    for labels, mebibytes in used.items():
        by_name = dict(labels)
        ours = (("gpu", by_name["gpu"]), ("uuid", by_name["UUID"]))
        assert found["regimeter_gpu_memory_used_bytes", ours] == mebibytes * 2**20
        percent = found["DCGM_FI_DEV_GPU_UTIL", labels]
        assert found["regimeter_gpu_utilization_ratio", ours] == pytest.approx(percent / 100)


def test_two_monitors_on_one_port(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "program.py").write_text("open('ran', 'w')")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = ["monitor", "--port", str(port), "-o", str(tmp_path / "run.rgm"), "--", str(tmp_path / "program.py")]
        assert main(words) == 2
    said = capsys.readouterr().err
    assert said == f"regimeter: 127.0.0.1:{port} is taken, perhaps by another monitor; choose another with --port\n"
    assert not (tmp_path / "run.rgm").exists()
    assert not Path("ran").exists()


def test_a_tail_gives_every_scope_once(tmp_path: Path) -> None:
    """The recording in pieces of any size, as it grows."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    words = ["record", "-q", "--stacks", "0", "-o", str(tmp_path / "whole.rgm"), str(script)]
    subprocess.run([sys.executable, "-m", "regimeter", *words], input="\n", text=True, check=False, timeout=120)
    whole = (tmp_path / "whole.rgm").read_bytes()
    now = [10.0]
    growing, figures, sizes = tmp_path / "growing.rgm", Figures(lambda: now[0]), 0
    tail = Tail(str(growing))
    for end in range(0, len(whole) + 997, 997):
        growing.write_bytes(whole[:end])
        part = tail.read()
        assert not tail.anew, "an empty file is no other recording"
        sizes += 0 if part is None else len(part.spans)
        figures.add(part, tail.anomalies, tail.steps)
    run = load(tmp_path / "whole.rgm")
    assert sizes == figures.scopes == len(run.spans) == SCOPES
    now[0] = 14.0
    figures.end_look()
    assert figures.rate == SCOPES / 4, "of a look, however many parts it came in"
    assert figures.steps.total_ns == run.spans.duration_ns[run.spans.category == run.strings.index("step")].sum()


def test_a_file_that_was_reserved_for_the_recording_is_no_other(tmp_path: Path) -> None:
    path, seen = str(tmp_path / "run.rgm"), []
    reserve(path, "program.py")
    tail = Tail(path)
    for _ in range(2):
        seen.append((tail.read() is not None, tail.anew))
        with GPUProfiler(path=path) as profiler, profiler.profile("work", device="cpu"):
            pass
    seen.append((tail.read() is not None, tail.anew))
    assert seen == [(False, False), (True, False), (True, True)]


def test_metadata_that_always_differs_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_module, "MOST_TEXTS", 4096)
    path, seen = tmp_path / "run.rgm", 0
    tail = Tail(str(path))
    with GPUProfiler(path=path, enable_detailed_metrics=False) as profiler:
        for part in range(20):
            for number in range(1000):
                with profiler.profile(f"op {part}", device="cpu", request=1000 * part + number):
                    pass
            profiler.flush()
            found = tail.read()
            assert found is not None
            assert {found.string(name) for name in found.spans.name.tolist()} == {f"op {part}"}
            seen += len(found.spans)
    assert seen == 20_000
    assert len(load(path).strings) > 20_000
    assert tail._texts < 200_000, "four bytes for each, where its text has twenty"


TRAINING = """
    import time, torch
    torch.set_num_threads(1)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(30):
        optimizer.zero_grad()
        time.sleep(0.2 if number == 0 else 0)  # what the first step begins with is written before the rest of it
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()
        time.sleep(0.2 if number == 17 else 0)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, bytes]:
    """The recording of a training loop, and its bytes."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("trained")
    path = warm.record(folder, textwrap.dedent(TRAINING), "--stacks", "0")
    return load(path), path.read_bytes()


def test_the_last_step_is_told_with_the_end_that_comes_alone(tmp_path: Path, trained: tuple[Run, bytes]) -> None:
    run, whole = trained
    growing, told = tmp_path / "growing.rgm", []
    tail = Tail(str(growing))
    for end in (len(whole) - 1, len(whole)):  # a byte of the last block is not there yet
        growing.write_bytes(whole[:end])
        part = tail.read()
        told.append(tail.steps.tolist())
    assert part is None
    assert [len(steps) for steps in told] == [29, 1]
    assert [*told[0], *told[1]] == steps_of(run).tolist()


def test_a_step_is_told_once_however_many_looks_it_lasts(tmp_path: Path, trained: tuple[Run, bytes]) -> None:
    """Those of training loops are found among their parts, of which a look may see some."""
    run, whole = trained
    growing, figures, told = tmp_path / "growing.rgm", Figures(), []
    tail = Tail(str(growing))
    for end in range(0, len(whole) + 499, 499):
        growing.write_bytes(whole[:end])
        figures.add(tail.read(), tail.anomalies, tail.steps)
        told += tail.steps.tolist()
    assert told == steps_of(run).tolist()
    assert len(told) == 30
    assert max(told) > 200_000_000
    assert figures.scopes == len(run.spans) - len(told)
    assert "training step" not in figures.operations


@pytest.mark.parametrize("words", [["--port", "70000"], ["--interval", "0"], []])
def test_what_is_wrong_is_one_line(words: list[str], refused: Callable[..., str]) -> None:
    refused(["monitor", *words, *(["--", "nothing.py"] if words else [])])
