# SPDX-License-Identifier: Apache-2.0
"""Tables of text: widths, moments, names of a tree, the row of the others."""

from runs import HOST, kernel, launch, run_of, span

from regimeter.analysis.rows import NARROWEST, _narrow


def test_wide_columns_are_lowered_together():
    widths = {"a": 60, "b": 60, "c": 10, "d": 5}
    _narrow(widths, ["a", "b", "c"], 85)
    assert widths == {"a": 35, "b": 35, "c": 10, "d": 5}


def test_a_name_keeps_what_tells_it():
    widths = {"a": 600, "b": 20}
    _narrow(widths, ["a", "b"], 10)
    assert widths == {"a": NARROWEST, "b": NARROWEST}


def test_columns_that_fit_stay():
    widths = {"a": 30, "n": 9}
    _narrow(widths, ["a"], 39)
    assert widths == {"a": 30, "n": 9}


def trained():
    return run_of(
        [
            span("cpu_op", "outer", HOST, 0, 100_000),
            span("cpu_op", "inner", HOST, 10_000, 50_000),
            launch("cudaLaunchKernel", 20_000, 5_000, 1),
            kernel(1_234_000, 5_000, 1, name="work"),
            span("cpu_op", "alone", HOST, 200_000, 1_000),
        ]
    )


def test_a_tree_is_indented_and_dated_from_the_start():
    lines = trained().result("tree").text().splitlines()[2:]
    names = [line[: len("    cudaLaunchKernel")].rstrip() for line in lines]
    assert names == ["outer", "  inner", "    cudaLaunchKernel", "      work", "alone"]
    assert "1.234 ms" in lines[0]
    assert "1.239 ms" in lines[0]
    assert lines[-1].count("n/a") == 2  # launches nothing


def test_tree_rows_name_themselves():
    rows = list(trained().result("tree"))
    assert [(row["name"], row["duration_ns"], row["depth"]) for row in rows][:4] == [
        ("outer", 100_000, 0),
        ("inner", 50_000, 1),
        ("cudaLaunchKernel", 5_000, 2),
        ("work", 5_000, 3),
    ]


def test_the_others_are_called_so():
    run = run_of([kernel(10 * n, n + 1, name=f"k{n}") for n in range(5)])
    lines = run.result("kernels", thresholds={"kernels_top": 2}).text().splitlines()
    assert [line.split("  ")[0] for line in lines[2:]] == ["k4", "k3", "(3 others)"]


def test_work_without_an_operator_has_a_name_to_show():
    run = run_of([span("cpu_op", "op", HOST, 0, 9), launch("l", 1, 2, 1), kernel(9, 1, 1), kernel(20, 5, name="k")])
    lines = run.result("kernels", by="operator").text().splitlines()
    assert lines[2].startswith("(none)")
    assert run.result("kernels", by="operator")[0]["name"] == ""
