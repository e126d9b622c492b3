# SPDX-License-Identifier: Apache-2.0
"""Fixtures: profilers that are closed, a scripted torch allocator, programs in a process of their own."""

import functools
import gc
import importlib
import os
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from needed import need
from recorded_program import RECORD

import regimeter.profiler as profiler_module
from regimeter import GPUProfiler
from regimeter.capture import lifetime


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "guest(name): the test needs another plugin of pytest")
    config.addinivalue_line("markers", "leaves_open: the test leaves a profiler recording on purpose")


def _recording() -> "set[GPUProfiler]":
    return {profiler for profiler in lifetime.made if profiler._session_id}


@pytest.fixture(autouse=True)
def nothing_left_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a profiler recording: the next one would measure it."""
    before = _recording()
    yield
    left = _recording() - before
    if left:
        # One that nobody holds any more is about to end by itself.
        left = set()
        gc.collect()
        left = _recording() - before
    for profiler in left:
        profiler.close()
    if left and not request.node.get_closest_marker("leaves_open"):
        pytest.fail(f"the test left {len(left)} profilers recording")


@pytest.fixture
def make_profiler() -> Iterator[Callable[..., GPUProfiler]]:
    """Make profilers that are closed when the test ends; quick ones, unless told otherwise."""
    made: list[GPUProfiler] = []

    def make(*args: Any, kind: type[GPUProfiler] = GPUProfiler, **options: Any) -> GPUProfiler:
        profiler = kind(*args, **options)
        made.append(profiler)
        return profiler

    yield make
    for profiler in made:
        profiler.close()


@pytest.fixture
def profiler(make_profiler: Callable[..., GPUProfiler]) -> GPUProfiler:
    return make_profiler(enable_detailed_metrics=False)


@pytest.fixture
def compiles() -> Iterator[None]:
    """Let the test use torch.compile: without this, what is measured later in the process would not be counted."""
    backends = importlib.import_module("torch._dynamo.eval_frame").cached_backends
    before = dict(backends)
    yield
    backends.clear()
    backends.update(before)


@pytest.fixture
def fresh_global(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the test make the process's profiler anew."""
    monkeypatch.delenv(profiler_module.RECORD_VARIABLE, raising=False)
    before = profiler_module._global
    profiler_module._global = None
    yield
    if profiler_module._global is not None:
        profiler_module._global.close()
    profiler_module._global = before


class FakeCuda:
    """torch.cuda with an allocator whose every step is scripted by the test."""

    def __init__(self) -> None:
        self.available = True
        self.initialized = True
        self.allocated = {0: 0, 1: 0}
        self.peak = {0: 0, 1: 0}
        self.reserved = {0: 0, 1: 0}
        self.calls: list[str] = []

    def use(self, amount: int, device: int = 0) -> None:
        """Allocate (or with a negative amount, free)."""
        self.allocated[device] += amount
        self.peak[device] = max(self.peak[device], self.allocated[device])
        self.reserved[device] = max(self.reserved[device], self.peak[device])

    def is_available(self) -> bool:
        return self.available

    def is_initialized(self) -> bool:
        return self.initialized

    def current_device(self) -> int:
        return 0

    def memory_allocated(self, device: int) -> int:
        self.calls.append("memory_allocated")
        return self.allocated[device]

    def memory_reserved(self, device: int) -> int:
        return self.reserved[device]

    def max_memory_allocated(self, device: int) -> int:
        return self.peak[device]

    def reset_peak_memory_stats(self, device: int) -> None:
        self.peak[device] = self.allocated[device]


@pytest.fixture
def fake_cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """Put a fake torch with a scripted allocator in the place of the real one."""
    torch = types.ModuleType("torch")
    torch.cuda = FakeCuda()  # type: ignore[attr-defined]
    torch.__version__ = "0.fake"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch.cuda


@pytest.fixture
def start_python(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start a Python program given as text, in the test's own folder."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *args: object, **options: Any) -> "subprocess.Popen[str]":
        file = tmp_path / f"program-{len(started)}.py"
        file.write_text(textwrap.dedent(script))
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        command = [sys.executable, str(file), *map(str, args)]
        variables = {**os.environ, **options.pop("env", {})}
        process = subprocess.Popen(command, cwd=tmp_path, text=True, env=variables, **options)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def run_python(
    start_python: Callable[..., "subprocess.Popen[str]"],
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run a Python program given as text to its end."""

    def run(script: str, *args: object, check: bool = True, **options: Any) -> "subprocess.CompletedProcess[str]":
        process = start_python(script, *args, **options)
        out, err = process.communicate(timeout=300)
        assert not check or process.returncode == 0, err
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    return run


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run the command in this process, in the test's own folder, which is no repository.

    For tests of what it says and does. Those of streams, signals and what is imported start a process.
    """
    from regimeter.cli import main

    def run(*words: object, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        arguments = [str(word) for word in words]
        capsys.readouterr()
        with monkeypatch.context() as here:
            here.chdir(tmp_path)
            here.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
            for name, value in (env or {}).items():
                here.setenv(name, value)
            code = main(arguments)
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run the command with words that it must refuse: its code, nothing on stdout, one line with each of the texts."""
    from regimeter.cli import main

    def run(words: Sequence[str], *texts: str, code: int = 2) -> str:
        capsys.readouterr()
        assert main(words) == code
        out, said = capsys.readouterr()
        assert out == ""
        assert said.startswith("regimeter: ")
        assert said.count("\n") == 1
        for text in texts:
            assert text in said
        return said

    return run


# --- databases ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def history_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Name an empty database: a file, then a schema of our own in the server of REGIMETER_TEST_POSTGRES."""
    if request.param == "sqlite":
        yield str(tmp_path / "history.db")
        return
    import psycopg

    server = os.environ.get("REGIMETER_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test")
    try:
        connection = psycopg.connect(server, connect_timeout=60, autocommit=True)
    except psycopg.OperationalError as error:
        need("postgres", False, str(error).splitlines()[0])
    name = f"regimeter_test_{os.getpid()}_{os.urandom(4).hex()}"
    with connection:
        connection.execute(f"CREATE SCHEMA {name}")
        try:
            yield f"{server}{'&' if '?' in server else '?'}options=-csearch_path%3D{name}"
        finally:
            connection.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def run_program(tmp_path: Path) -> Callable[..., Any]:
    """Run a program that uses the doubles of the CUDA driver and of CUPTI, in the folder of the test."""
    import kernel_programs

    return functools.partial(kernel_programs.run_program, tmp_path)


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., str]:
    """Write a program and return its name; the tests run in its folder."""

    def write(text: str, name: str = "prog.py") -> str:
        (tmp_path / name).write_text(textwrap.dedent(text))
        return name

    return write


@pytest.fixture
def run_in(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run a command in the test's folder."""

    def run(*words: object, **options: Any) -> "subprocess.CompletedProcess[str]":
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            [str(word) for word in words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            **options,
        )

    return run


@pytest.fixture
def record(
    run_in: Callable[..., "subprocess.CompletedProcess[str]"],
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Record to run.rgm."""

    def run(
        *words: object, options: tuple[str, ...] = ("-o", "run.rgm"), **others: object
    ) -> "subprocess.CompletedProcess[str]":
        return run_in(*RECORD, *options, *words, **others)

    return run


@pytest.fixture
def record_warm(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Record to run.rgm, from a process that has imported what it needs: for tests of what comes out."""
    import warm

    def run(*words: object, options: tuple[object, ...] = ("-o", "run.rgm")) -> "subprocess.CompletedProcess[str]":
        return warm.command(tmp_path, "record", *options, *words)

    return run


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start `record -q -o run.rgm` and leave it running."""
    started: list[subprocess.Popen[str]] = []

    def begin(*words: str, **options: Any) -> "subprocess.Popen[str]":
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True} | options
        process = subprocess.Popen([*RECORD, "-q", "-o", "run.rgm", *words], cwd=tmp_path, text=True, **options)
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
