# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: benchmarks, budgets and a gate against regressions. docs/pytest.md is its manual.

pytest loads this file in every session of everybody who has regimeter installed. It therefore imports nothing of
regimeter before a test uses a fixture or a marker, or the command line an option: that takes 200 ms and more.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .testing.benchmark import GPUBenchmark, Setting
    from .testing.gate import Budget, Gate
    from .testing.profile import GPUProfile
    from .testing.session import PerfSession

FIXTURES = ("gpu_benchmark", "gpu_profile")
BUDGETS = ("limit_time", "limit_memory", "limit_launches", "no_host_sync", "no_leak")
GATE_MARKER = (
    "gpu_perf(threshold='3%', metrics=['time'], pairs=10, min_share=0.005, group='name', accept='reason', "
    "until='2026-12-31', limit_time='3 ms', limit_memory='2 GiB', limit_launches=42, no_host_sync=True, no_leak=True): "
    "how the test's figures are judged (regimeter)"
)
MARKERS = (
    GATE_MARKER,
    "limit_time(limit, metric='time', when='always'): fail the test where it takes longer (regimeter)",
    "limit_launches(limit, when='always'): fail the test where a call launches more device work (regimeter)",
    "no_host_sync(when='always'): fail the test where the host waits for the device (regimeter)",
    "no_leak(when='always'): fail the test where repeated calls hold more and more memory (regimeter)",
)
MEMORY_MARKER = "limit_memory(limit, when='always'): fail the test where its peak of memory is larger (regimeter)"
# Options that ask for something at the end of the session, also when no test used a fixture.
ASKING = (
    *("perf_compare", "perf_compare_fail", "perf_save", "perf_autosave", "perf_storage", "perf_json"),
    *("perf_update_baseline", "perf_report", "perf_only", "perf_skip", "perf_count"),
)
DEFAULTS = {
    "perf_missing_baseline": "pass",
    "perf_launches": None,
    "perf_noise": None,
    "perf_max_time": "1 s",
    "perf_min_rounds": "5",
}
NAME = "regimeter-session"
# Options as argparse takes them, in the order of the help; those of DEFAULTS have that default.
OPTIONS: dict[str, dict[str, Any]] = {
    "--perf-save": {"metavar": "NAME", "help": "keep this session's figures under a name"},
    "--perf-storage": {
        "metavar": "URI",
        "help": "where figures are kept: a folder, file://, sqlite:///, postgresql://",
    },
    "--perf-json": {"metavar": "FILE", "help": "write figures and verdicts as JSON"},
    "--perf-compare": {
        "metavar": "REF",
        "nargs": "?",
        "const": "last",
        "action": "append",
        "help": "compare with a saved session: a name, name:N for its newest N, a number, a commit, a file; "
        "without REF the last one; repeatable, all together are the baseline",
    },
    "--perf-compare-fail": {
        "metavar": "METRIC:PERCENT",
        "action": "append",
        "help": "what fails the session, as time:5%% or memory_peak:2.5%%; repeatable; never: report only",
    },
    "--perf-report": {
        "metavar": "STYLES",
        "action": "append",
        "help": "write reports of the comparison: github, junit:FILE, html:FILE, markdown:FILE, separated by commas",
    },
    "--perf-missing-baseline": {
        "choices": ("pass", "skip", "fail"),
        "help": "what becomes of a benchmark that the baseline does not know (default: pass)",
    },
    "--perf-count": {
        "choices": ("instructions",),
        "help": "count instructions under Valgrind's Callgrind in place of timing, in --perf-launches layouts of "
        "memory (there 5 by default)",
    },
    "--perf-launches": {
        "metavar": "N",
        "help": "run each benchmark in N processes, so that their difference is known (default: 1)",
    },
    "--perf-noise": {
        "metavar": "PERCENT",
        "help": "by how much two processes of one program differ (default: what is known of this machine)",
    },
    "--perf-max-time": {"metavar": "TIME", "help": "how long to time each benchmark (default: 1 s)"},
    "--perf-min-rounds": {"metavar": "N", "help": "rounds of a benchmark even where they take longer (default: 5)"},
    **{
        option: {"action": "store_true", "help": text}
        for option, text in (
            ("--perf-autosave", "keep this session's figures under the name of the branch"),
            ("--perf-update-baseline", "make this session's figures the baseline"),
            ("--perf-only", "run tests with benchmarks only"),
            ("--perf-skip", "skip tests with benchmarks"),
            ("--perf-disable", "call what benchmarks call once, without timing or budgets"),
            ("--perf-share-gpu", "time device work although workers of pytest-xdist may share the device"),
        )
    },
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("perf", "performance of the code under test (regimeter)")
    for option, words in OPTIONS.items():
        name = option[2:].replace("-", "_")
        default = {"default": DEFAULTS[name]} if name in DEFAULTS else {}
        group.addoption(option, **words, **default)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    if _own_memory(config):
        config.addinivalue_line("markers", MEMORY_MARKER)
    plugin = SessionPlugin(config)
    config.pluginmanager.register(plugin, NAME)
    if any(config.getoption(name) for name in ASKING) or any(
        config.getoption(name) != value for name, value in DEFAULTS.items()
    ):
        plugin.check_options()


def _own_memory(config: pytest.Config) -> bool:
    """Tell whether the marker limit_memory is ours: where pytest-memray is installed, it is that plugin's."""
    return not config.pluginmanager.hasplugin("memray")


class SessionPlugin:
    """The hooks that belong to one session; `state` is made by what first needs it."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._state: PerfSession | None = None
        self.lost: list[str] = []

    @property
    def state(self) -> "PerfSession":
        if self._state is None:
            from .testing.session import PerfSession

            self._state = PerfSession(self.config)
        return self._state

    def check_options(self) -> None:
        """Find what is wrong with the options before the first test; baselines are read by the controller only."""
        from .testing.options import effort

        effort(self.config)
        state = self.state
        if not state.worker and state.child is None and state.options.compare:
            assert state.baseline is not None
        elif not state.worker and (state.options.save or state.options.autosave):
            assert state.storage is not None

    def setting(self) -> "Setting":
        """Return what the session says to every benchmark."""
        from .compare.ab.measure import Effort
        from .testing.benchmark import Setting
        from .testing.counts import log_of
        from .testing.options import effort

        workers = int(getattr(self.config, "workerinput", {}).get("workercount", 1))
        shared = workers > 1 and not self.config.getoption("perf_share_gpu")
        tracked = self.config.getoption("memray", False)
        return Setting(
            effort=Effort(**effort(self.config)),
            timed=not self.config.getoption("perf_disable"),
            counts=self.config.getoption("perf_count") is not None,
            log=log_of(self._state.child if self._state is not None else _child()),
            workers=workers,
            refused=f"{workers} workers of pytest-xdist share the device (-n 0, or --perf-share-gpu)" if shared else "",
            tracked=("memray was tracking allocations",) if tracked else (),
        )

    # --- tests -------------------------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        only, skip = config.getoption("perf_only"), config.getoption("perf_skip")
        child = self._state.child if self._state is not None else _child()
        if child is not None:
            from .testing.launches import select

            chosen = select(child, items)
        elif only:
            chosen = [item for item in items if _measures(item)]
        else:
            if skip:
                for item in items:
                    if _measures(item):
                        item.add_marker(pytest.mark.skip(reason="--perf-skip"))
            return
        left = set(map(id, chosen))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in left])
        items[:] = chosen

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Check the budgets of a test that has markers and no fixture of ours: they hold for the whole test."""
        names = getattr(item, "fixturenames", ())
        marked = any(one.name in BUDGETS or one.name == "gpu_perf" for one in item.iter_markers())
        untimed = self.config.getoption("perf_disable") or self.config.getoption("perf_count")
        if not marked or "gpu_benchmark" in names or untimed:
            return (yield)
        from .testing import whole

        _, budgets = _asked(item)
        with whole.checking(budgets):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        if call.when == "call" and KEY in item.stash:
            records = [record.to_dict() for fixture in item.stash[KEY] for record in _records(fixture)]
            if call.excinfo is None and records:
                from .testing.session import told

                item.user_properties.extend(told(records))
                report = yield
                # An attribute of the report reaches the controller of pytest-xdist.
                report.regimeter = records  # type: ignore[attr-defined]
                return report
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        records = getattr(report, "regimeter", None)
        if records:
            from .testing.records import Record

            self.state.add(report.nodeid, [Record.from_dict(record) for record in records])
        elif report.failed and self._state is not None:
            self._state.drop(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Note a worker of pytest-xdist that went down: what it had measured and not yet sent is lost."""
        if error:
            self.lost.append(f"{node.gateway.id}: {error}")

    # --- the end -----------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._state is None and _child() is None:
            return
        if self.state.worker or self.config.option.collectonly:
            return
        code = self.state.finish(session, self.lost)
        empty = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        # A session without tests decides nothing, either; its own code says more.
        if code and (session.exitstatus == pytest.ExitCode.OK or (empty and code != pytest.ExitCode.USAGE_ERROR)):
            session.exitstatus = code

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._state is not None and not self._state.worker:
            self._state.show(terminalreporter)


KEY = pytest.StashKey[list[Any]]()


def _child() -> dict[str, Any] | None:
    """Return what --perf-launches of a parent told this process, None where there is no such parent."""
    import os

    if "REGIMETER_PERF_LAUNCH" not in os.environ:
        return None
    from .testing.launches import child

    return child()


def _measures(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return any(name in names for name in FIXTURES) or item.get_closest_marker("gpu_perf") is not None


def _asked(item: pytest.Item) -> "tuple[Gate, list[Budget]]":
    from .testing.gate import of_item

    try:
        return of_item(item.iter_markers(), own_memory=_own_memory(item.config))
    except (ValueError, TypeError) as error:
        pytest.fail(f"{item.nodeid}: {error}", pytrace=False)


def _records(fixture: Any) -> list[Any]:
    found = fixture.records
    return list(found() if callable(found) else found)


def _prepare(request: pytest.FixtureRequest) -> "tuple[Gate, list[Budget], Setting]":
    plugin: Any = request.config.pluginmanager.get_plugin(NAME)
    gate, budgets = _asked(request.node)
    if request.config.getoption("perf_missing_baseline") == "skip" and not plugin.state.has_baseline(
        request.node.nodeid
    ):
        pytest.skip("the baseline does not know this test (--perf-missing-baseline=skip)")
    return gate, budgets, plugin.setting()


@pytest.fixture
def gpu_benchmark(request: pytest.FixtureRequest) -> "GPUBenchmark":
    """Times a function of CPU or GPU code: gpu_benchmark(function, *args), .pedantic(...), .duet(old, new)."""
    from .testing.benchmark import GPUBenchmark

    gate, budgets, setting = _prepare(request)
    made = GPUBenchmark(request.node.nodeid, gate, budgets, setting)
    request.node.stash.setdefault(KEY, []).append(made)
    return made


@pytest.fixture
def gpu_profile(request: pytest.FixtureRequest) -> "Iterator[GPUProfile]":
    """A GPUProfiler that lives as long as the test; its operations are judged like benchmarks."""
    from .testing.profile import GPUProfile

    gate, _, setting = _prepare(request)
    made = GPUProfile(request.node.nodeid, gate, setting)
    request.node.stash.setdefault(KEY, []).append(made)
    yield made
    made.close()
