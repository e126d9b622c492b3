// SPDX-License-Identifier: Apache-2.0
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { units } = require("./load.js").load("units");

test("times take the unit in which they read best", () => {
  const cases = [
    [0, "0 ns"],
    [95, "95 ns"],
    [95.25, "95.3 ns"],
    [1234, "1.23 µs"],
    [999.96, "1.00 µs"],
    [56_700, "56.7 µs"],
    [100_000_000, "100 ms"],
    [999_960_000, "1.00 s"],
    [75.2e9, "75.2 s"],
    [634e9, "10:34 min"],
    [7_260e9, "2:01 h"],
    [-1500, "-1.50 µs"],
  ];
  for (const [ns, text] of cases) assert.equal(units.timeText(ns), text);
});

test("bytes are decimal, counts are grouped", () => {
  assert.equal(units.bytesText(3_048_000_000), "3.05 GB");
  assert.equal(units.bytesText(512), "512 B");
  assert.equal(units.countText(1234567), "1,234,567");
});

test("a share that is not zero never reads as zero", () => {
  assert.equal(units.shareText(0), "0.0 %");
  assert.equal(units.shareText(0.00002), "<0.1 %");
  assert.equal(units.shareText(0.3149), "31.5 %");
  assert.equal(units.shareText(1), "100 %");
});

test("ticks are round, ascending, inside the range, and zero is not negative", () => {
  for (const [low, high] of [[0, 1.07e9], [1_000_000_003, 1_000_000_911], [-5, 5], [0, 1e-3]]) {
    const { step, values } = units.ticks(low, high, 8);
    assert.ok(values.length >= 3 && values.length <= 20, `${values.length} ticks`);
    for (const value of values) assert.ok(value >= low - step * 1e-6 && value <= high + step * 1e-6);
    assert.ok(!values.some((value) => Object.is(value, -0)));
    assert.match((step / 10 ** Math.floor(Math.log10(step) + 1e-9)).toFixed(6), /^[125]\.000000$/);
  }
  assert.deepEqual(units.ticks(4, 4, 5).values, [4]);
});

test("an axis has one unit and enough decimals to tell its ticks apart", () => {
  assert.equal(units.onAxis(0.2e9, 0.1e9, 1e9), "0.2 s");
  assert.equal(units.onAxis(1_234_500_000, 500_000, 1_300_000_000), "1.2345 s");
  assert.equal(units.onAxis(2e9, 1e9, 5e9, units.BYTE_STEPS), "2 GB");
});
