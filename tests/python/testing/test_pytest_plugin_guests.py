# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin beside others: pytest-xdist, pytest-benchmark, pytest-cov, pytest-memray."""

import json
import os
from importlib.util import find_spec

import pytest
from needed import need
from plugin_session import run, save, session

pytest_plugins = ["pytester"]

MODULES = {
    "pytest-xdist": "xdist",
    "pytest-benchmark": "pytest_benchmark",
    "pytest-cov": "pytest_cov",
    "pytest-memray": "pytest_memray",
}


@pytest.fixture(autouse=True)
def _guest(request: pytest.FixtureRequest) -> None:
    """Skip a test whose guest is absent; fail it where the checks promise the guest."""
    for mark in request.node.iter_markers("guest"):
        (name,) = mark.args
        need("packages", find_spec(MODULES[name]), f"{name} is not installed")


@pytest.fixture(autouse=True)
def _uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep pytest-cov of a session within a test from the files of `make coverage`: it begins by removing them."""
    for name in [name for name in os.environ if name.startswith("COVERAGE_")]:
        monkeypatch.delenv(name)


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.guest(name)


TESTS = """
    import pytest
    def test_one(gpu_benchmark):
        gpu_benchmark.pedantic(sum, args=([1, 2],), rounds=5)
    def test_two(gpu_benchmark):
        gpu_benchmark.pedantic(sum, args=([1, 2, 3],), rounds=6)
    def test_plain():
        pass
"""


@needs("pytest-xdist")
def test_workers_send_their_samples_to_the_controller_which_judges_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    here = "test_workers_send_their_samples_to_the_controller_which_judges_once.py::"
    never = [[1e-12 * (1 + 0.001 * i) for i in range(9)]]  # a baseline that no machine reaches
    save(pytester.path, session({f"{here}test_one": {"time": never}, f"{here}test_two": {"time": never}}))
    words = ("-n", "2", "--perf-save=new", "--perf-compare=main", "--junitxml=out.xml")
    result = run(pytester, *words, apart=True, guests=["xdist"])
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*2 workers of pytest-xdist shared the processor*", "Saved: *0002_new.json*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert sum("PERF GATE FAILED  2 regressions" in line for line in result.outlines) == 1
    document = json.loads((pytester.path / ".regimeter/perf/0002_new.json").read_text())
    rounds = {one["operation"].rpartition("::")[2]: len(one["metrics"]["time"][0]) for one in document["tests"]}
    assert rounds == {"test_one": 5, "test_two": 6}
    assert len(list((pytester.path / ".regimeter/perf").iterdir())) == 2
    assert "perf.time" in (pytester.path / "out.xml").read_text()


@needs("pytest-xdist")
def test_device_work_is_not_timed_by_workers_that_share_a_device(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        from regimeter.compare.ab import device
        @pytest.fixture(autouse=True)
        def a_device(monkeypatch):
            monkeypatch.setattr(device, "present", lambda: True)
        """
    )
    pytester.makepyfile(
        """
        import pytest
        def test_it(gpu_benchmark):
            calls = []
            gpu_benchmark(calls.append, 1)
            assert calls == [1]
        @pytest.mark.limit_time("1 s")
        def test_budget(gpu_benchmark):
            gpu_benchmark(int)
        """
    )
    result = run(pytester, "-n", "2", apart=True, guests=["xdist"])
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["limit_time cannot be checked: 2 workers of pytest-xdist share the device*"])
    result.stdout.fnmatch_lines(["*::test_it *not timed: 2 workers of pytest-xdist share the device*"])


@needs("pytest-benchmark")
def test_beside_pytest_benchmark_both_time_their_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It times nothing in what it takes for a worker, as this process may be one.
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makepyfile(
        TESTS
        + """
    def test_other(benchmark):
        assert type(benchmark).__module__.startswith("pytest_benchmark")
        benchmark.pedantic(sum, args=([1],), rounds=3)
    def test_both(benchmark, gpu_benchmark):
        benchmark.pedantic(sum, args=([1],), rounds=3)
        gpu_benchmark.pedantic(sum, args=([1],), rounds=3)
    """
    )
    written = ("--benchmark-json=theirs.json", "--perf-json=ours.json")
    result = run(pytester, *written, apart=True, guests=["benchmark"])
    result.assert_outcomes(passed=5)
    theirs = json.loads((pytester.path / "theirs.json").read_text())
    ours = json.loads((pytester.path / "ours.json").read_text())
    assert {one["name"] for one in theirs["benchmarks"]} == {"test_other", "test_both"}
    assert {one["operation"].rpartition("::")[2] for one in ours["tests"]} == {"test_one", "test_two", "test_both"}


@needs("pytest-cov")
def test_beside_pytest_cov_the_timed_code_is_covered(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        covered="""
        def function(x):
            if x:
                return 1
            return 2
        """
    )
    pytester.makepyfile(
        """
        from covered import function
        def test_it(gpu_benchmark):
            assert gpu_benchmark(function, 1) == 1
        """
    )
    result = run(pytester, "--cov=covered", "--cov-report=term-missing", apart=True, guests=["pytest_cov"])
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["covered.py *4 *1 *75% *4"])


@needs("pytest-memray")
def test_beside_pytest_memray_its_marker_is_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        TESTS
        + """
    @pytest.mark.limit_memory("1 MB")
    def test_theirs(gpu_benchmark):
        gpu_benchmark.pedantic(lambda: bytearray(8 << 20), rounds=2)
    """
    )
    result = run(pytester, "--memray", apart=True, guests=["memray"])
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["Test was limited to*", "Warning: memray was tracking*"])


@needs("pytest-memray")
@needs("pytest-cov")
@needs("pytest-benchmark")
@needs("pytest-xdist")
def test_all_of_them_together(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = run(
        pytester, "-n", "2", "--cov=.", "--memray", "--perf-save=main", "--perf-launches=2", apart=True,
        guests=["xdist", "pytest_cov", "memray", "benchmark"],
    )  # fmt: skip
    result.assert_outcomes(passed=3)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*::test_one *2 processes x 5 x 1*"])
    assert not any("launch 2" in line for line in result.outlines)
