# SPDX-License-Identifier: Apache-2.0
"""Tables of runs through Arrow's stream interface: what pyarrow and polars read of them, and how long it lives."""

import gc
import random
from functools import partial

import numpy as np
import pytest
from needed import package
from recorded_runs import TABLES, empty_run, hundred_scopes, together

from regimeter import _core


@pytest.fixture(scope="module")
def run():
    return hundred_scopes()


def check_arrow_table(found, run, table):
    assert found.num_rows == len(table)
    schema = {c["name"]: c["type"] for c in _core.schema()["run"][table.table_name]["columns"]}
    for name in table.columns:
        values = found.column(name).to_pylist()
        expected = getattr(table, name).tolist()
        if schema[name] == "name":
            expected = [run.strings[number] for number in expected]
        if schema[name] == "float64":
            np.testing.assert_array_equal(values, expected)
        else:
            assert values == expected


@pytest.mark.parametrize("name", TABLES)
def test_pyarrow_reads_every_table(run, name):
    pyarrow = package("pyarrow")
    table = getattr(run.tables, name)
    found = pyarrow.table(table)
    found.validate(full=True)
    check_arrow_table(found, run, table)
    check_arrow_table(pyarrow.RecordBatchReader.from_stream(table).read_all(), run, table)


@pytest.mark.parametrize("name", TABLES)
def test_pyarrow_reads_empty_tables(name):
    pyarrow = package("pyarrow")
    found = pyarrow.table(getattr(empty_run().tables, name))
    found.validate(full=True)
    assert found.num_rows == 0


def test_pyarrow_reads_results(run):
    pyarrow = package("pyarrow")
    found = pyarrow.table(run.summary)
    assert set(found.column("operation").to_pylist()) == {"outer", "inner ü"}
    assert pyarrow.table(run.entries).column("depth").to_pylist() == [0, 1] * 100


def test_pyarrow_does_not_copy(run):
    pyarrow = package("pyarrow")
    column = pyarrow.table(run.spans).column("start_ns").chunk(0).to_numpy(zero_copy_only=True)
    assert np.shares_memory(column, run.spans.start_ns)


def test_polars_reads_a_table(run):
    polars = package("polars")
    frame = polars.DataFrame(run.spans)
    assert frame.height == 200
    assert frame["start_ns"].to_list() == run.spans.start_ns.tolist()
    assert frame["name"].cast(polars.String).to_list() == ["outer", "inner ü"] * 100
    totals = frame.group_by(polars.col("name").cast(polars.String)).agg(polars.col("duration_ns").sum())
    expected = {name: round(row.avg_time_ms * row.call_count * 1e6) for name, row in run.get_summary().items()}
    assert dict(totals.rows()) == pytest.approx(expected, abs=1)


def test_arrow_data_outlives_the_run():
    pyarrow = package("pyarrow")
    run = hundred_scopes()  # that no fixture holds
    expected = run.spans.start_ns.tolist()
    found = pyarrow.table(run.spans)
    column = found.column("start_ns")
    names = found.column("name")
    del found, run
    gc.collect()
    assert column.to_pylist() == expected
    assert names.to_pylist()[0] == "outer"


def test_arrow_columns_are_released_in_any_order_and_in_threads(run):
    pyarrow = package("pyarrow")
    choice = random.Random(1)

    def work(seed):
        order = random.Random(seed)
        for _ in range(20):
            columns = list(pyarrow.table(run.spans).columns)
            order.shuffle(columns)
            while columns:
                columns.pop()

    held = []
    for _ in range(50):
        table = pyarrow.table(run.spans)
        held.extend(table.columns)
        choice.shuffle(held)
        del held[: len(held) // 2]
    together(*(partial(work, seed) for seed in range(4)))
    assert all(len(column) == 200 for column in held)


def test_a_stream_that_nobody_reads(run):
    for _ in range(100):
        capsule = run.spans.__arrow_c_stream__()
        assert "arrow_array_stream" in repr(capsule)
        del capsule
    run.spans.__arrow_c_stream__(requested_schema=None)
    with pytest.raises(TypeError):
        run.spans.__arrow_c_stream__(1, 2)
