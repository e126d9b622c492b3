// SPDX-License-Identifier: Apache-2.0
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { decimate, nearest } = require("./load.js").load("decimate").decimate;

test("a short series is kept whole", () => {
  assert.deepEqual(decimate(Float64Array.of(0, 1, 2), Float64Array.of(3, 1, 2), 0, 2, 100), [0, 1, 2]);
});

test("a long series keeps its extremes, its ends and its order in few points", () => {
  const time = Float64Array.from({ length: 100_000 }, (_, i) => i);
  const value = time.map((t) => Math.sin(t / 900));
  value[54_321] = 99;
  value[12_345] = -99;
  const kept = decimate(time, value, 0, 99_999, 500);
  assert.ok(kept.length <= 2100, `${kept.length} points`);
  for (const must of [0, 12_345, 54_321, 99_999]) assert.ok(kept.includes(must), String(must));
  assert.ok(kept.every((at, k) => k === 0 || at > kept[k - 1]));
});

test("gaps stay gaps", () => {
  const time = Float64Array.from({ length: 10_000 }, (_, i) => i);
  const value = time.map((t) => (t > 4000 && t < 6000 ? NaN : t));
  assert.ok(decimate(time, value, 0, 9999, 100).some((at) => Number.isNaN(value[at])));
});

test("nearest sample", () => {
  const time = Float64Array.of(0, 10, 20);
  assert.deepEqual([-5, 4, 6, 19, 99].map((when) => nearest(time, when)), [0, 0, 1, 2, 2]);
  assert.equal(nearest(new Float64Array(0), 3), -1);
});
