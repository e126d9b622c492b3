# SPDX-License-Identifier: Apache-2.0
"""Budgets of the workload suite: the file, the states of a check, the exit codes."""

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published import check

from regimeter import FormatError
from regimeter.cli import main
from regimeter.report.budgets_junit import budgets_junit
from regimeter.workloads import Budget, Budgets, KernelStats, Times, WorkloadReport, check_budgets
from regimeter.workloads.budgets import BudgetResult, exit_code
from regimeter.workloads.catalog import workloads

ADD = workloads()["vector_add"]


def parse(text):
    return Budgets.parse(text.encode(), "mine.toml")


def report(call_us=None, kernel_us=None, backend="c", device="EPYC", **more):
    def times(values):
        return Times(tuple(round(v * 1000) for v in values)) if values else None

    one = KernelStats("vector_add", "", backend, device, times(call_us), times(kernel_us), ADD.sizes(), **more)
    return WorkloadReport((one,))


def state(text, run, **options):
    (found,) = check_budgets(parse(f"[kernels.vector_add]\n{text}"), run, **options)
    return found


# --- the file -------------------------------------------------------------------------------------------------


def test_the_documented_budgets_are_those_of_the_document():
    found = {one.kernel: one for one in Budgets.load().rows}
    table = {
        "ar_forecast": 500,
        "lstm_cell_forward": 3000,
        "pixel_entropy": 8000,
        "conv2d": 2000,
        "image_segmentation": 1000,
        "dendritic_integration": 300,
        "matrix_multiply": 3000,
    }
    assert {name: one.limit / 1e3 for name, one in found.items()} == table
    for one in found.values():
        assert (one.quantity, one.backend, one.device) == ("host_call", "device", "RTX 4090")


def test_units_defaults_and_sizes():
    found = parse(
        '[defaults]\nbackend = "c"\n[kernels.conv2d]\nkernel_ms = 0.5\ncv = 0.1\nsize = {height = 64}\n'
        '[kernels.vector_add]\nhost_call_ns = 900\nbackend = "numpy"\n'
    )
    assert [(one.kernel, one.quantity, one.limit, one.backend) for one in found.rows] == [
        ("conv2d", "kernel", 5e5, "c"),
        ("conv2d", "cv", 0.1, "c"),
        ("vector_add", "host_call", 900, "numpy"),
    ]
    assert found.rows[0].sizes["height"] == 64
    assert found.rows[0].sizes["width"] == 256


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernels = 3", "mine.toml: kernels: a table is expected"),
        ("", r"mine.toml: no table \[kernels.NAME\]"),
        ("[kernel.conv2d]\nkernel_us = 1", "mine.toml: kernel: unknown key; did you mean kernels"),
        ("[kernels.conv3d]\nkernel_us = 1", "mine.toml: kernels.conv3d: no workload is called so; did you mean conv2d"),
        ("[kernels.conv2d]\nkernel_s = 1", "mine.toml: kernels.conv2d.kernel_s: unknown unit 's'; write kernel_us"),
        ("[kernels.conv2d]\nkernel_US = 1", "unknown unit 'US'"),
        ("[kernels.conv2d]\nkernel = 1", "kernels.conv2d.kernel: unknown key; there are: host_call_us"),
        ("[kernels.conv2d]\nkernel_us = 0", "a number above 0 is expected, got '0'"),
        ("[kernels.conv2d]\nkernel_us = -inf", "a number above 0"),
        ("[kernels.conv2d]\nkernel_us = nan", "a number above 0"),
        ("[kernels.conv2d]\nkernel_us = true", "a number above 0"),
        ('[kernels.conv2d]\nkernel_us = "3"', "a number above 0"),
        ("[kernels.conv2d]\nbackend = 'c'", "no budget; add host_call_us"),
        ("[kernels.conv2d]\nkernel_us = 1\nkernel_ms = 2", "two budgets for one quantity"),
        ("[kernels.conv2d]\nkernel_us = 1\nbackend = 'gpu'", "no such backend; there are: device"),
        ("[kernels.conv2d]\nkernel_us = 1\nsize = {depth = 1}", "has no parameter 'depth'"),
        ("[kernels.conv2d]\nkernel_us = 1\nsize = {side = 9}", "side is 9; a whole number from 1 to 7"),
        ("[kernels.conv2d]\nkernel_us = 1\nsize = {side = 'x'}", "a number is expected"),
        ("[kernels.conv2d]\nkernel_us = 1\nsize = {height = inf}", "height is inf"),
        ("[kernels.conv2d", "mine.toml: no TOML"),
        ("a = " + "9" * 5000, "mine.toml: no TOML"),
        ("a = " + "[" * 100_000, "mine.toml: no TOML"),
    ],
)
def test_a_wrong_file_is_one_error_with_file_key_and_remedy(text, message):
    with pytest.raises(FormatError, match=message):
        parse(text)


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(FileNotFoundError):
        Budgets.load(tmp_path / "absent.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="no TOML"):
        Budgets.load(tmp_path / "bad.toml")


NAMES = st.sampled_from(["conv2d", "vector_add", "conv", "defaults", "kernels", "", "a.b", '"x"'])
KEYS = st.sampled_from(["kernel_us", "host_call_ms", "cv", "kernel_", "size", "backend", "device", "kernel_h", "x"])
VALUES = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(lambda value: str(value)),
    st.sampled_from(["true", "'c'", "[1]", "{n = 1}", "{height = 8}", "1979-05-27", "'", "{}"]),
)
LINES = st.one_of(
    st.builds("{} = {}".format, KEYS, VALUES), st.builds("[kernels.{}]".format, NAMES), st.builds("[{}]".format, NAMES)
)


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=200), st.lists(LINES, max_size=8).map(lambda lines: "\n".join(lines).encode())))
def test_any_bytes_are_budgets_or_a_format_error(data):
    try:
        found = Budgets.parse(data, "fuzz")
    except FormatError as error:
        assert str(error).startswith("fuzz: ")
        return
    for one in found.rows:
        assert one.limit > 0
        assert one.kernel in workloads()
        assert set(one.sizes) == set(workloads()[one.kernel].parameters)


# --- the check ------------------------------------------------------------------------------------------------


def test_over_only_when_the_whole_interval_is():
    steady = [100 + n / 10 for n in range(20)]
    assert state("host_call_us = 99", report(steady)).state == "over"
    assert state("host_call_us = 100.2", report(steady)).state == "over"
    # The median is above the limit, the lower end of its interval is not.
    noisy = [50.0] * 8 + [150.0] * 12
    found = state("host_call_us = 140", report(noisy))
    assert found.value == 150_000
    assert (found.low, found.high, found.state) == (50_000, 150_000, "near limit")
    assert state("host_call_us = 105", report(steady)).state == "near limit"
    assert state("host_call_us = 105", report(steady), policy={"near_share": 1.0}).state == "within"
    assert state("host_call_us = 200", report(steady)).state == "within"


def test_kernels_are_no_host_calls():
    run = report(call_us=[500.0] * 9, kernel_us=[5.0] * 9)
    assert state("kernel_us = 50", run).state == "within"
    assert state("host_call_us = 50", run).state == "over"
    only = report(kernel_us=[5.0] * 9, unavailable={"host_call": "not asked"})
    assert (state("host_call_us = 50", only).state, state("host_call_us = 50", only).reason) == (
        "not checked",
        "not asked",
    )


def test_variation_has_budgets_too():
    wild = [100.0, 200.0] * 15
    assert state("cv = 0.1", report(wild)).state == "over"
    assert state("cv = 0.9", report(wild)).state == "within"
    assert state("cv = 0.1", report([100.0] * 30)).state == "within"


def test_a_variation_is_that_of_the_kernel():
    run = report(call_us=[100.0, 200.0] * 15, kernel_us=[5.0] * 30)
    assert state("cv = 0.1", run).state == "within"


def test_new_pages_in_a_time_are_said():
    times = Times((500_000,) * 9, faults=9 * 300)
    run = WorkloadReport((KernelStats("vector_add", "", "c", "EPYC", host_call=times, parameters=ADD.sizes()),))
    found = state("host_call_us = 50", run)
    assert (found.state, found.reason) == ("over", "300 page faults a run: the time has new pages in it")
    assert "300 page faults" in budgets_junit([found])


def test_what_a_budget_is_not_for_is_not_checked():
    run = report([500.0] * 9)
    other = state('host_call_us = 50\nbackend = "device"', run)
    assert (other.state, other.reason) == ("not checked", "for backend device; this run: c")
    place = state('host_call_us = 50\ndevice = "RTX 4090"', run)
    assert (place.state, place.reason) == ("not checked", "for device RTX 4090; this run: EPYC")
    assert state('host_call_us = 50\ndevice = "RTX 4090"\nbackend = "device"', run, force=True).state == "over"
    assert state('host_call_us = 50\ndevice = "epyc"', run).state == "over"
    assert "another size" in state("host_call_us = 50\nsize = {n = 7}", run, force=True).reason
    assert "too few" in state("host_call_us = 50", report([500.0] * 5)).reason
    empty = WorkloadReport((), left_out={"vector_add": "no driver"})
    assert state("host_call_us = 50", empty).reason == "no driver"


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["within", "near limit"], 0),
        (["within", "over"], 1),
        (["not checked"], 5),
        ([], 5),
        (["not checked", "within"], 0),
        (["not checked", "over"], 1),
    ],
)
def test_exit_codes(states, code):
    assert exit_code([BudgetResult(Budget("conv2d", "kernel", 1.0), one) for one in states]) == code


def test_junit_counts_what_failed():
    results = [
        BudgetResult(Budget("conv2d", "kernel", 1000.0), "over", 2e3, 1.5e3, 3e3),
        BudgetResult(Budget("conv2d", "cv", 0.1), "within", 0.05, 0.04, 0.06),
        BudgetResult(Budget("vector_add", "host_call", 1e3), "not checked", reason="no device"),
    ]
    suite = ElementTree.fromstring(budgets_junit(results)).find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert "median 2.000 us" in suite.find("testcase/failure").get("message")


# --- the command ----------------------------------------------------------------------------------------------


def test_the_gate(tmp_path, capsys):
    file, junit = tmp_path / "budgets.toml", tmp_path / "junit.xml"
    words = ["workloads", "budgets", "--check", "--backend", "portable", "--iterations", "8", "--json"]
    file.write_text("[kernels.dot_product]\nkernel_ms = 60000\nsize = {n = 64}\n")
    assert main([*words, "--file", str(file), "--junit", str(junit)]) == 0
    document = check(json.loads(capsys.readouterr().out))
    assert [one["state"] for one in document["budgets"]] == ["within"]
    assert ElementTree.parse(junit).getroot().tag == "testsuites"
    file.write_text("[kernels.dot_product]\nkernel_ns = 0.000001\nsize = {n = 64}\n")
    assert main([*words, "--file", str(file)]) == 1
    assert json.loads(capsys.readouterr().out)["exit_code"] == 1
    file.write_text('[kernels.dot_product]\nkernel_us = 1\ndevice = "an abacus"\nsize = {n = 64}\n')
    assert main([*words, "--file", str(file)]) == 5
    assert "for device an abacus" in capsys.readouterr().out


def test_the_documented_budgets_are_listed_without_a_run(capsys):
    assert main(["workloads", "budgets"]) == 0
    text = capsys.readouterr().out
    assert "pixel_entropy" in text
    assert "RTX 4090" in text


def test_a_wrong_file_is_a_usage_error(tmp_path, refused):
    (tmp_path / "b.toml").write_text("[kernels.conv2d]\nkernel_h = 1\n")
    refused(
        ["workloads", "budgets", "--check", "--file", str(tmp_path / "b.toml")],
        "b.toml: kernels.conv2d.kernel_h: unknown unit 'h'",
    )
