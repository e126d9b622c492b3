# SPDX-License-Identifier: Apache-2.0
"""What the suite promises of itself: an order that can be had again, and what is absent said once or failed."""

from itertools import pairwise

import needed
import pytest
from places import TESTS

pytest_plugins = ["pytester"]


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Two files of ten tests below our conftest.py."""
    monkeypatch.delenv(needed.VARIABLE, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # what is installed takes long to import, and is no part
    pytester.makeconftest((TESTS / "conftest.py").read_text())
    pytester.makepyfile(
        needed=(TESTS / "needed.py").read_text(),
        places=(TESTS / "places.py").read_text(),
        test_one="".join(f"def test_{number}(): pass\n" for number in range(10)),
        test_two="".join(f"def test_{number}(): pass\n" for number in range(10)),
    )
    return pytester


def order(suite: pytest.Pytester, *words: str) -> list[str]:
    result = suite.runpytest("--collect-only", "-q", *words)
    return [line for line in result.outlines if "::" in line]


def test_an_order_is_drawn_and_had_again(suite):
    plain, first, again, other = [order(suite), *(order(suite, f"--shuffle={seed}") for seed in (1, 1, 2))]
    assert sorted(plain) == sorted(first) == sorted(other)
    assert first == again
    assert len({tuple(found) for found in (plain, first, other)}) == 3
    files = [line.partition("::")[0] for line in first]
    assert sum(a != b for a, b in pairwise(files)) == 1  # a file stays together


def test_workers_share_it(suite):
    result = suite.runpytest("-p", "xdist", "-n", "2", "-v", "--shuffle=random")
    result.assert_outcomes(passed=20)
    result.stdout.fnmatch_lines(["order: --shuffle *(make test SEED=*)"])


def test_what_is_absent_is_one_line_or_a_failure(suite, monkeypatch):
    suite.makepyfile("""
        from needed import need
        import pytest
        @pytest.fixture
        def trace():
            need("traces", False, "one.json")
        def test_one(trace): pass
        def test_two(): need("traces", False, "two.json")
        def test_three(): need("traces", True)
    """)
    result = suite.runpytest("-rs", "test_what_is_absent_is_one_line_or_a_failure.py")
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED [[]2] *needed.py: traces: *"])
    monkeypatch.setenv(needed.VARIABLE, "nvrtc,traces")
    result = suite.runpytest("-p", "no:regimeter", "test_what_is_absent_is_one_line_or_a_failure.py")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*traces required by REGIMETER_REQUIRE: two.json*"])


def test_a_tool_that_many_need_is_missed_once(suite):
    suite.path.joinpath("sub").mkdir()
    (suite.path / "sub" / "conftest.py").write_text("""
import pytest
from needed import leave_out
@pytest.fixture
def page(): return 1
def pytest_collection_modifyitems(items):
    leave_out(items, [item for item in items if "page" in item.fixturenames], "chromium")
""")
    (suite.path / "sub" / "test_of_a_browser.py").write_text(
        "def test_with(page): pass\ndef test_too(page): pass\ndef test_without(): pass\n"
    )
    result = suite.runpytest("-rs", "sub")
    result.assert_outcomes(passed=1, skipped=1, deselected=1)
    result.stdout.fnmatch_lines(["SKIPPED [[]1] *chromium: 2 tests are left out: no browser *"])
