# SPDX-License-Identifier: Apache-2.0
"""Time series as the page draws them: thinned out without losing an extreme, packed with unit and device."""

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from page_columns import unpacked
from runs import build_run

from regimeter.report.counter_tracks import MOST_SERIES, counters_of
from regimeter.report.trace_data import timeline_data, trace_data
from regimeter.system import telemetry

SPANS = [{"kind": "scope", "start_ns": 0, "duration_ns": 1000, "name": "a"}]


def samples(series, values, *, device=0, span=-1):
    return [{"time_ns": t, "series": series, "value": v, "device": device, "span": span} for t, v in values]


def points_of(run, most=None):
    table = run.analyse("counter_points", thresholds={} if most is None else {"counter_max_points": most})
    names = [run.string(name) for name in table.series]
    return list(
        zip(
            names,
            table.device.tolist(),
            table.time_ns.tolist(),
            table.value.tolist(),
            table.count.tolist(),
            strict=True,
        )
    )


def test_short_series_are_whole_and_apart():
    rows = (
        samples("b", [(30, 3.0), (10, 1.0)]) + samples("a", [(5, 7.0)], device=1) + samples("b", [(0, 9.0)], device=1)
    )
    run = build_run(SPANS, counters=rows)
    assert sorted(points_of(run)) == [
        ("a", 1, 5, 7.0, 1),
        ("b", 0, 10, 1.0, 1),
        ("b", 0, 30, 3.0, 1),
        ("b", 1, 0, 9.0, 1),
    ]


def test_values_of_spans_and_missing_ones_are_no_samples():
    rows = samples("a", [(0, 1.0), (1, math.nan)]) + samples("a", [(2, 5.0)], span=0)
    assert points_of(build_run(SPANS, counters=rows)) == [("a", 0, 0, 1.0, 1)]
    assert points_of(build_run(SPANS)) == []


def test_a_peak_of_one_sample_stays():
    values = [(10 * i, 99.0 if i == 7777 else float(i % 5)) for i in range(20_000)]
    found = points_of(build_run(SPANS, counters=samples("a", values)), most=400)
    assert len(found) <= 404
    assert max(value for _, _, _, value, _ in found) == 99.0
    assert sum(count for *_, count in found) == 20_000
    assert (found[0][2], found[-1][2]) == (0, 199_990)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(-(2**62), 2**62 - 1) | st.integers(0, 50), st.integers(-3, 3)), max_size=80),
    st.integers(1, 40),
)
def test_against_a_naive_one(values, most):
    values = [(t, float(v)) for t, v in values]
    run = build_run(SPANS, counters=samples("a", values))
    found = points_of(run, most=most)
    ordered = sorted(values, key=lambda one: one[0])  # stable: ties as they came
    if len(values) <= most:
        assert [(t, v) for _, _, t, v, _ in found] == ordered
        return
    stretches = max(most // 4, 1)
    begin, whole = float(ordered[0][0]), float(ordered[-1][0]) - float(ordered[0][0])
    scale = stretches / whole if whole > 0 else 0.0
    expected = []
    for stretch in range(stretches + 1):
        inside = [i for i, (t, _) in enumerate(ordered) if math.floor((float(t) - begin) * scale) == stretch]
        if inside:
            low = min(inside, key=lambda i: ordered[i][1])
            high = max(inside, key=lambda i: ordered[i][1])
            expected += sorted({inside[0], low, high, inside[-1]})
    assert [(t, v) for _, _, t, v, _ in found] == [ordered[i] for i in expected]
    assert sum(count for *_, count in found) == len(values)


def test_the_page_gets_series_with_unit_and_device():
    rows = samples("power_instant_watts", [(100, 300.5), (300, 310.0)], device=1)
    rows += samples("clock_reasons", [(100, 4.0)]) + samples("GPU 0 activity", [(50, 1.0)], device=-1)
    rows += samples("power_instant_watts (whole device)", [(100, 1.0)])
    found = counters_of(build_run(SPANS, counters=rows))
    assert [(one["device"], one["name"]) for one in found["series"]] == [
        (0, "clock_reasons"),
        (0, "power_instant_watts (whole device)"),
        (1, "power_instant_watts"),
        (-1, "GPU 0 activity"),
    ]
    reasons, whole, power, other = found["series"]
    assert power["unit"] == whole["unit"] == "W"
    assert power["doc"] == telemetry.metrics()["power_instant_watts"].doc
    assert reasons["reasons"]["2"] == "sw_power_cap"
    assert (other["unit"], other["doc"], other["reasons"]) == ("", "", None)
    assert unpacked(power["time_ns"], power["count"]) == [100.0, 300.0]
    assert unpacked(power["value"], power["count"]) == [300.5, 310.0]


def test_many_series_are_cut_and_counted():
    rows = [row for i in range(MOST_SERIES + 5) for row in samples(f"s{i}", [(0, 1.0)])]
    found = counters_of(build_run(SPANS, counters=rows))
    assert len(found["series"]) == MOST_SERIES
    assert found["omitted"] == 5


def test_every_page_carries_them():
    run = build_run(SPANS, counters=samples("power_instant_watts", [(1, 2.0)]))
    for data in (trace_data(run), timeline_data(run)):
        assert [one["name"] for one in data["counters"]["series"]] == ["power_instant_watts"]
        json.dumps(data["counters"], allow_nan=False)
    assert trace_data(build_run(SPANS))["counters"] == {"series": [], "omitted": 0}
