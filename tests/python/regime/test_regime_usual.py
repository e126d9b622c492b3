# SPDX-License-Identifier: Apache-2.0
"""Usual code: operators, results in place, draws, tables and small files, each judged by what it is."""

import array
import datetime
import decimal
import operator
import random as lots

import numpy as np
import pytest
from made_up_machine import measurement

from regimeter import _core, suggest_optimization
from regimeter.regime import draws, known_work, limits, operators, parts, plain_data, replay, tables, unwrap
from regimeter.regime.arguments import arrays_in

KNOWN = {"host": True, "time_ns": 1e7, "time_spread": 0.05}


def random(*shape):
    return np.random.default_rng(1).random(shape)


# --- operators ------------------------------------------------------------------------------------------------------


def test_operators_on_arrays_are_functions_of_their_library():
    values = random(4)
    for function, args in ((lambda x: x + 1, (values, 1)), (lambda x: 2 / x, (2, values)), (lambda x: -x, (values,))):
        found = operators.as_function(*unwrap.single_call(function, (values,), {}))
        assert np.array_equal(found[0](*found[1]), function(values))
        assert isinstance(found[0], np.ufunc)
        assert all(one is other for one, other in zip(found[1], args, strict=True))
    assert operators.as_function(operator.pow, (values, 2), {})[0] is np.square
    assert operators.as_function(operator.add, ([1], [2]), {})[0] is operator.add


def test_an_operator_that_changes_its_array_writes_into_it():
    def grow(x):
        x += 1

    values = random(4)
    assert unwrap.single_call(grow, (values,), {}) == (np.add, (values, 1), {"out": values})


def test_operators_of_torch_are_its_functions():
    torch = pytest.importorskip("torch")
    values = torch.ones(3)
    assert operators.as_function(operator.mul, (values, 2), {})[0] is torch.mul
    assert operators.as_function(operator.iadd, (values, 2), {})[0] is torch.Tensor.add_


def halves(view):
    half = len(view) // 2
    view[:half] = view[half:]


def test_lengths_and_numbers_are_no_calls_and_parts_of_bytes_are_views():
    function, args, _ = unwrap.single_call(halves, (memoryview(bytearray(b"abcd")),), {})
    assert (function, args[1], bytes(args[2])) == (operator.setitem, slice(None, 2), b"cd")
    values = random(6, 4)
    function, args, _ = unwrap.single_call(lambda x: np.sort(x[: x.shape[0] // 2 + max(1, 2)]), (values,), {})
    assert np.array_equal(function(*args), np.sort(values[:5]))
    assert unwrap.single_call(lambda x: np.sort(x[: len(x) // 0]), (values,), {}) is None


def test_places_in_a_result_are_of_the_part_that_is_timed():
    places = np.random.default_rng(3).integers(0, 20_000_000, 100_000)
    (part,), _ = replay._cut(((100_000,), {0: 5_000}, 65536), "bincount", 3, (places,), {})
    assert part.size == 5_000
    assert part.max() < part.size, "no result of 160 MB for each part"


def test_what_passes_for_an_element_of_a_strided_view_is_its_line():
    values = np.zeros((64, 16))
    sizes = [
        arrays_in((one,))[0].bytes for one in (values[:, 0], values[::2], values[:, ::2], values.T, values[0, ::4])
    ]
    assert sizes == [64 * 64, 32 * 16 * 8, 64 * 8 * 16, values.nbytes, 4 * 32]


def test_types_of_elements_and_functions_of_arrow_are_known():
    values = random(4)
    function, args, kwargs = unwrap.single_call(lambda x: x.astype(np.float32), (values,), {})
    assert replay.is_known(function, args, kwargs)
    assert known_work.of_call(function, args, kwargs, function(*args), None).flops == 0
    arrow = pytest.importorskip("pyarrow")
    compute = pytest.importorskip("pyarrow.compute")
    column = arrow.array(random(1000))
    assert tables.of_call(compute.sum, (column,), compute.sum(column)) == (1000.0, 8000)
    chunks = arrow.chunked_array([column, column])
    assert tables.of_call(chunks.combine_chunks, (), chunks.combine_chunks()) == (0.0, 32000)


def test_copies_of_lists_and_arrays_move_what_they_hold():
    numbers = list(range(10))
    assert plain_data.of_call(numbers.copy, ()).bytes == plain_data.of_call(list, (numbers,)).bytes == 10 * 80
    doubles = array.array("d", bytes(80))
    assert plain_data.of_call(doubles.tobytes, ()).bytes == plain_data.of_call(bytes, (doubles,)).bytes == 160


def test_what_is_stored_by_indices_or_slices_is_one_call():
    def by_index(x, at, what):
        x[at] = what

    def by_slice(x, what):
        x[1:] = what

    values, at = random(4), np.array([1, 2])
    assert unwrap.single_call(by_index, (values, at, 0.0), {}) == (operator.setitem, (values, at, 0.0), {})
    function, (view, what), _ = unwrap.single_call(by_slice, (values, 1.0), {})
    assert function is np.copyto
    assert np.shares_memory(view, values)
    assert what == 1.0


def test_what_an_index_leads_to_moves_and_not_the_table():
    table, at, out = random(1_000_000), np.arange(1000), random(1000)
    taken = known_work.of_call(np.take, (table, at), {"out": out}, out, None)
    stored = known_work.of_call(operator.setitem, (table, at, out), {}, None, None)
    assert (taken.flops, taken.bytes) == (0.0, 8000 + 2 * 8000)
    assert (stored.flops, stored.bytes) == (0.0, 8000 + 8000 + 2 * 8000)


def test_buffers_that_are_copied_or_compared_have_work():
    one = bytes(1_000_000)
    two = bytes(bytearray(one))
    assert known_work.of_call(operator.eq, (one, two), {}, True, None).bytes == 2e6
    assert known_work.of_call(operator.eq, (one, two[:-1]), {}, False, None).bytes is None, "lengths alone tell"
    view = memoryview(bytearray(one))
    assert known_work.of_call(operator.setitem, (view, slice(None), two), {}, None, None).bytes == 2e6


# --- the same on a part ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (np.sin, (random(500_000),), {"out": random(500_000)}),
        (operator.setitem, (random(2_000_000), np.arange(100_000), random(100_000)), {}),
        (np.random.default_rng(3).normal, (0.0, 1.0, 500_000), {}),
        (np.random.default_rng(3).random, (), {"size": (1000, 500)}),
        (np.random.rand, (500_000,), {}),
        ("a b".join, (["word"] * 100_000,), {}),
    ],
)
def test_more_functions_are_called_on_a_part(function, args, kwargs):
    result = function(*args, **kwargs)
    assert replay.of_call(function, args, kwargs, result).ns > 0


def test_the_programs_generator_draws_as_if_nobody_had_asked():
    ours, same = np.random.default_rng(5), np.random.default_rng(5)
    result = ours.standard_normal(100_000)
    same.standard_normal(100_000)
    assert replay.of_call(ours.standard_normal, (100_000,), {}, result) is not None
    assert ours.random() == same.random()
    assert draws.of_call(ours.random, (3,), {}, 0.5) is None, "a single number"


def test_what_a_call_changes_is_new_for_each_call(monkeypatch):
    """A sort of what has been sorted takes less."""
    seen = []
    monkeypatch.setattr(replay, "ENOUGH_NS", 10**9)  # several calls in a row

    def sort(values):
        seen.append(bool((values[1:] >= values[:-1]).all()))
        values.sort()
        return values

    replay._timed(sort, "sort", (random(100_000),), {}, None, ((100_000,), {0: 40}, 320))
    assert len(seen) > replay.PASSES
    assert not any(seen)


def test_what_is_one_array_stays_one():
    values = random(100_000)
    part = parts.Part((100_000,), {0: 100}, 0.5, 800)
    (first, second), out = part.of((values, values)), part.of(values)
    assert first is second is out
    assert len(first) == 100


def test_objects_of_a_part_of_a_list_lie_side_by_side():
    ordered = sorted(map(float, range(200_000)), key=id)  # in a long process new objects fill old gaps
    chance = lots.Random(1).sample(ordered, len(ordered))
    part = parts.Part((200_000,), {0: 2000}, 0.5, 80_000).of(chance)
    assert part == chance[99_000:101_000]
    assert not {id(item) for item in part} & {id(item) for item in chance}
    assert limits.pattern((chance,), {}, None) == "random_access"
    assert limits.pattern((ordered,), {}, None) == "placement"


def test_of_two_measurements_of_arithmetic_the_faster_stands(monkeypatch):
    monkeypatch.setattr(replay, "of_call", lambda *_: replay.Replay(0.8e8, 0.1, False, False))
    monkeypatch.setattr(limits, "cache_sizes", lambda: (2**15, 2**19, 2**25))
    values = random(1_000_000)
    found = limits.of_function(np.max, (values,), {}, 1.0, measurement(), {}, most=0.3)
    assert {name: share for name, (share, _) in found.items()} == pytest.approx({"arithmetic": 0.3, "placement": 0.7})
    sorts = limits.of_function(np.sort, (values,), {}, 1.0, measurement(), {}, most=0.3)
    assert sorts["arithmetic"][0] == pytest.approx(0.8), "more elements take longer each"


def test_objects_within_the_last_cache_are_at_hand(monkeypatch):
    """Sorting 60,000 texts is comparisons; summing numbers all over the memory is the way to them."""
    monkeypatch.setattr(replay, "of_call", lambda *_: replay.Replay(0.45e8, 0.1, False, False))
    values = sorted(map(str, range(60_000)), key=id)
    monkeypatch.setattr(limits, "cache_sizes", lambda: (2**15, 2**20, 2**25))
    assert set(limits.of_function(sorted, (values,), {}, sorted(values), measurement(), {})) == {"arithmetic"}
    monkeypatch.setattr(limits, "cache_sizes", lambda: (2**15, 2**20, 2**22))
    assert "placement" in limits.of_function(sorted, (values,), {}, values, measurement(), {})


# --- tables ---------------------------------------------------------------------------------------------------------


def test_tables_have_the_work_of_their_columns():
    pandas = pytest.importorskip("pandas")
    series, frame = pandas.Series(random(1000)), pandas.DataFrame({"a": random(1000), "b": random(1000)})
    added = known_work.of_call(operator.add, (series, series), {}, series + 1, None)
    assert (added.flops, added.bytes) == (1000.0, 3 * 8000.0)
    copied = known_work.of_call(frame.copy, (), {}, frame.copy(), None)
    assert (copied.flops, copied.bytes) == (0.0, 2 * 16_000.0)
    assert known_work.of_call(frame.sum, (), {}, frame.sum(), None).flops == 2000.0
    assert known_work.of_call(frame.describe, (), {}, frame.describe(), None).flops is None
    at = np.arange(10)
    taken = series.take(at)
    gathered = known_work.of_call(series.take, (at,), {}, taken, None)
    assert (gathered.flops, gathered.bytes) == (0.0, 80 + 2 * tables.bytes_of(taken))
    text = pandas.Series(["a", "b"])
    assert known_work.of_call(text.sum, (), {}, "ab", None).flops is None, "no arithmetic on text"


def test_columns_of_polars_and_sparse_matrices_are_seen():
    polars, sparse = pytest.importorskip("polars"), pytest.importorskip("scipy.sparse")
    series = polars.Series("a", random(1000))
    assert known_work.of_call(series.sum, (), {}, series.sum(), None).flops == 1000.0
    assert tables.bytes_of(polars.Series(["a", None, "b"])) > 0
    matrix, vector = sparse.random(500, 400, 0.1, "csr", random_state=1), random(400)
    product = known_work.of_call(operator.matmul, (matrix, vector), {}, matrix @ vector, None)
    assert product.flops == 2 * matrix.nnz
    places = np.sort(np.random.default_rng(1).integers(0, 40_000, (5000, 80)), axis=1)
    wide = sparse.csr_matrix((random(places.size), places.ravel(), range(0, places.size + 1, 80)), (5000, 40_000))
    few = parts.Part((40_000,), {0: 1000}, 0.5, 8000)
    assert (few.of(wide) @ few.of(random(40_000))).shape == (few.of(wide).shape[0],)
    assert few.of(wide).shape[1] == 1000


def test_no_code_of_the_program_runs_in_a_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": random(100_000)})
    assert replay.is_known(frame.sum, (), {})
    assert not replay.is_known(frame.apply, (print,), {})
    assert not replay.is_known(frame.to_csv, ("file",), {})
    assert not replay.is_known(frame.query, ("a > 1",), {})
    assert not replay.is_known(pandas.DataFrame({"a": [object()] * 10}).sum, (), {})


# --- plain data -----------------------------------------------------------------------------------------------------


def test_long_numbers_times_and_their_methods_are_plain_data():
    value, context = decimal.Decimal(7) / 3, decimal.Context(prec=200)
    assert plain_data.occupied(value, context, datetime.date(2020, 1, 1), range(5)) is not None
    function, args, _ = unwrap.single_call(lambda x: x.ln(context), (value,), {})
    found = limits.of_plain_data(function, args, {}, value, measurement(), {"interpreter": (0.0, 0.1)})
    assert found["arithmetic"][0] == pytest.approx(1.0)
    assert plain_data.is_of_library([3, 1].sort)


# --- parts of one label ---------------------------------------------------------------------------------------------


def classified(cpu_ns=1e7, **shares):
    return _core.classify(**KNOWN, cpu_ns=cpu_ns, limits={name: (share, 0.05) for name, share in shares.items()})


def test_parts_that_give_one_label_stand_together():
    assert classified(interpreter=0.45, system=0.4)["regime"] == "OVERHEAD_BOUND"
    assert classified(interpreter=0.45, system=0.4)["detail"] == "interpreter"
    assert classified(interpreter=0.45)["regime"] == "UNKNOWN"
    assert classified(interpreter=0.45, arithmetic=0.45)["regime"] != "OVERHEAD_BOUND"
    doubtful = classified(interpreter=0.4, system=0.15)  # a short call of the system is a short stay, too
    assert doubtful["regime"] in ("AMBIGUOUS", "UNKNOWN")


def test_time_without_a_processor_comes_on_top():
    waited = classified(cpu_ns=0.6e7, system=0.3)
    assert (waited["regime"], waited["detail"]) == ("OVERHEAD_BOUND", "wait")
    assert classified(cpu_ns=0.6e7, system=0.05)["regime"] != "OVERHEAD_BOUND"
    assert classified(cpu_ns=0.6e7, arithmetic=0.3)["regime"] != "OVERHEAD_BOUND"


def test_the_systems_part_is_of_the_whole_time():
    busy = measurement(thread_cpu_ns=0.5e8, process_cpu_ns=0.5e8, system_share=0.8, system_cpu_ns=5e8)
    assert limits.of_measurement(busy, 1e10)["system"][0] == pytest.approx(0.4)


def test_calls_that_were_too_short_to_be_looked_at_are_to_be_repeated():
    short = {"regime": "UNKNOWN", "detail": "none", "calls": 7, "flops": None, "bytes": None}
    text = suggest_optimization(short | {"evidence": {"reason": "no_work", "judged_ms": 2.0, "limits": {}}})
    assert "repeat=100" in text
    long = suggest_optimization(short | {"evidence": {"reason": "no_work", "judged_ms": 200.0, "limits": {}}})
    assert "repeat=" not in long
