# SPDX-License-Identifier: Apache-2.0
"""Metadata of scopes: kept as JSON at once, without running code of the program."""

import collections
import dataclasses
import decimal
import enum
import json
import math
import pathlib
import sys
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from needed import package

from regimeter import GPUProfiler


@pytest.fixture(scope="module")
def kept():
    """Return what the profiler keeps of keyword arguments."""
    with GPUProfiler(enable_detailed_metrics=False) as profiler:

        def record(**values):
            profiler.reset()
            with profiler.profile("a", **values):
                pass
            (entry,) = profiler.get_entries()
            return entry.metadata

        yield record


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        0.0,
        -0.5,
        1e300,
        5e-324,
        0.1,
        "",
        "text",
        'quotes " and \\ and \n and \x00 and \x1f',
        "ünïcödé 🚀 \u2028",
        [],
        {},
        [1, [2, [3]]],
        {"a": {"b": [1, None]}},
    ],
)
def test_plain_values_are_kept_as_they_are(kept, value):
    found = kept(value=value)["value"]
    assert found == value
    assert type(found) is type(value)


def test_tuples_become_lists(kept):
    assert kept(shape=(3, 224, 224))["shape"] == [3, 224, 224]
    assert kept(point=collections.namedtuple("Point", "x y")(1, 2))["point"] == [1, 2]


@pytest.mark.parametrize(
    ("value", "text"),
    [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (10**30, "<large integer>")],
)
def test_numbers_that_json_has_no_form_for(kept, value, text):
    assert kept(value=value)["value"] == text


class Hostile:
    """Every hook that a careless reader would trip over."""

    touched: ClassVar[list[str]] = []

    def _touch(self, name):
        type(self).touched.append(name)
        raise RuntimeError(name)

    def __getattribute__(self, name):
        object.__getattribute__(self, "_touch")(name)

    for _hook in (  # noqa: SIM905
        "repr str bytes index int float bool len iter getitem contains format hash eq call array enter "
        "complex fspath length_hint reversed dir sizeof reduce copy round trunc"
    ).split():
        locals()[f"__{_hook}__"] = lambda self, *args, _hook=_hook: object.__getattribute__(self, "_touch")(_hook)


@pytest.mark.parametrize(
    "wrap", [lambda o: o, lambda o: [o], lambda o: (1, o), lambda o: {"k": o}, lambda o: {"k": [{"l": (o,)}]}]
)
def test_no_code_of_the_program_runs(kept, wrap):
    Hostile.touched.clear()
    found = kept(value=wrap(object.__new__(Hostile)))
    assert Hostile.touched == []
    assert "<Hostile>" in json.dumps(found)


class LoudInt(int):
    def __repr__(self):
        raise RuntimeError

    __str__ = __index__ = __int__ = __bool__ = __format__ = __repr__


class LoudFloat(float):
    def __repr__(self):
        raise RuntimeError

    __str__ = __float__ = __format__ = __repr__


class LoudText(str):
    def __repr__(self):
        raise RuntimeError

    __str__ = __iter__ = __len__ = __hash__ = encode = __repr__


class LoudList(list):
    def __iter__(self):
        raise RuntimeError

    __len__ = __getitem__ = __repr__ = __iter__


class LoudDict(dict):
    def __iter__(self):
        raise RuntimeError

    __len__ = __getitem__ = keys = items = __repr__ = __iter__


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (LoudInt(5), 5),
        (LoudFloat(0.5), 0.5),
        (LoudText("text"), "text"),
        (LoudList([1, 2]), [1, 2]),
        (LoudDict(a=1), {"a": 1}),
        (enum.IntEnum("Color", "RED")(1), 1),
    ],
    ids=["int", "float", "str", "list", "dict", "enum"],
)
def test_subclasses_are_read_without_their_methods(kept, value, expected):
    assert kept(value=value)["value"] == expected


def test_a_type_that_calls_itself_numpy_is_not_believed(kept):
    def fail(self):
        raise AssertionError("ran")

    false_friend = type("numpy.int64", (), {"__index__": fail, "__float__": fail, "__bool__": fail, "__str__": fail})
    other = type("torch.dtype", (), {"__str__": fail, "__repr__": fail})
    found = kept(a=false_friend(), b=other())
    assert found == {"a": "<numpy.int64>", "b": "<torch.dtype>"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(5), 5),
        (np.uint8(255), 255),
        (np.float64(0.5), 0.5),
        (np.float32(0.5), 0.5),
        (np.float16(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("text"), "text"),
        (np.uint64(2**64 - 1), "<large integer>"),
    ],
)
def test_numpy_scalars(kept, value, expected):
    found = kept(value=value)["value"]
    assert found == expected
    assert type(found) is type(expected)


def test_other_objects_become_the_name_of_their_type(kept):
    @dataclasses.dataclass
    class Config:
        size: int = 5

    found = kept(
        config=Config(), path=pathlib.Path("/x"), number=decimal.Decimal(1), array=np.zeros(3), scalar=np.zeros(()),
        function=len, kind=Config, data=b"bytes", numbers={1, 2}, complex=1j, range=range(3)
    )  # fmt: skip
    assert found["config"] == "<Config>"
    assert found["array"] == found["scalar"] == "<numpy.ndarray>"
    assert found["data"] == "<bytes>"
    assert all(isinstance(value, str) and value.startswith("<") for value in found.values())


def test_torch_values(kept):
    torch = package("torch")
    found = kept(
        dtype=torch.float16,
        where=torch.device("cpu"),
        tensor=torch.ones(3),
        scalar=torch.tensor(5),
        shape=torch.ones(2, 3).shape,
    )
    assert found == {
        "dtype": "torch.float16",
        "where": "cpu",
        "tensor": "<Tensor>",
        "scalar": "<Tensor>",
        "shape": [2, 3],
    }


def test_lone_surrogates(kept):
    found = kept(value="\ud800", **{"k\udfff": 1})
    assert found == {"value": "\\ud800", "k\\udfff": 1}


def test_long_text_is_cut(kept):
    found = kept(value="x" * 100_000, wide="ü" * 100_000)
    assert found["value"].startswith("xxx")
    assert found["value"].endswith("...")
    assert len(found["value"]) < 2000
    assert found["wide"].startswith("ü")


def test_large_and_deep_containers_are_cut(kept):
    deep = []
    for _ in range(1000):
        deep = [deep]
    loop = []
    loop.extend([loop] * 64)
    found = kept(many=list(range(100_000)), deep=deep, keys={str(n): n for n in range(100_000)})
    assert found["many"][:3] == [0, 1, 2]
    assert found["many"][-1] == "..."
    assert len(found["many"]) < 1000
    assert len(found["keys"]) < 1000
    assert len(json.dumps(kept(loop=loop))) < 100_000  # and it returned at all


def test_a_hundred_keywords(kept):
    values = {f"key {number}": number for number in range(100)}
    found = kept(**values)
    assert len(found) >= 64
    assert all(values[key] == value for key, value in found.items())


def test_keywords_that_could_be_mistaken(kept):
    found = kept(**{"": 1, "self": 2, "metadata": 3, "regimeter.imported": 4, "a.b": 5, "Device": 6, "args": 7})
    assert found[""] == 1
    assert found["self"] == 2
    assert found["Device"] == 6
    assert found["regimeter.imported"] == 4


@pytest.mark.parametrize("value", [{"duration_ms": 1, "gpu_time_ms": "x"}, [1], "text", {"gpu_time_ms": 5.0}])
def test_a_keyword_that_looks_like_ours_breaks_nothing(kept, value):
    assert isinstance(kept(**{"regimeter.imported": value}), dict)


def test_keys_that_are_no_text_are_left_out(kept):
    assert kept(value={1: "a", None: "b", "c": "d", (1, 2): "e"})["value"] == {"c": "d"}


def test_metadata_is_taken_at_the_call(profiler):
    values = [1, 2]
    with profiler.profile("a", values=values):
        values.append(3)
    assert profiler.get_entries()[0].metadata == {"values": [1, 2]}


def test_metadata_of_decorators_and_scopes_are_strings_of_one_run(profiler):
    for number in range(1000):
        with profiler.profile("a", number=number % 3):
            pass
    assert profiler.stats()["strings"] < 20


def test_no_exception_leaks_into_the_block(profiler):
    with profiler.profile("a", value=object.__new__(Hostile), big=10**100, text="\ud800"):
        assert sys.exc_info() == (None, None, None)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=10), inner, max_size=4
    ),
    max_leaves=12,
)  # fmt: skip


def depth(value):
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 0


@settings(max_examples=80)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), values, max_size=5))
def test_every_json_value_comes_back(kept, metadata):
    metadata = {
        key: value for key, value in metadata.items() if key not in ("device", "operation") and depth(value) < 4
    }
    assert kept(**metadata) == metadata


@pytest.mark.parametrize(
    ("value", "changed"),
    [
        ("x" * 512, 0),
        ("x" * 513, 1),
        (2**63 - 1, 0),
        (2**63, 1),
        (math.nan, 1),
        ([math.inf, -math.inf, 1.0], 2),
        (list(range(64)), 0),
        (list(range(65)), 1),
        ({str(number): number for number in range(65)}, 1),
        ([[[[[1]]]]], 1),
        (object(), 0),  # the name of its type is all that is promised
    ],
)
def test_values_that_are_not_kept_as_they_are_are_counted(profiler, value, changed):
    with profiler.profile("a", value=value):
        pass
    with profiler.profile("b") as scope:
        scope.annotate(value=value)
    noted = {row["code"]: row["count"] for row in profiler.run().anomaly_list()}
    assert noted == ({"changed_metadata": 2 * changed} if changed else {})
