// SPDX-License-Identifier: Apache-2.0
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { derive } = require("./load.js").load("derive");

test("figures of a known sample (values from NumPy: percentile, std)", () => {
  const made = derive.durations([4, 1, 3, 2, 10]);
  assert.equal(made.calls, 5);
  assert.equal(made.totalNs, 20);
  assert.equal(made.medianNs, 3);
  assert.ok(Math.abs(made.p95Ns - 8.8) < 1e-12);
  assert.ok(Math.abs(made.p99Ns - 9.76) < 1e-12);
  assert.ok(Math.abs(made.stdNs - 3.1622776601683795) < 1e-12);
  assert.ok(Math.abs(made.cv - 0.7905694150420949) < 1e-12);
});

test("one call has no deviation, as get_summary() has it", () => {
  assert.equal(derive.durations([7]).stdNs, 0);
  assert.equal(derive.durations([7]).p99Ns, 7);
});

test("absent figures are not zeros", () => {
  assert.equal(derive.sumPresent([null, null]), null);
  assert.equal(derive.sumPresent([null, 0, 2]), 2);
  assert.equal(derive.maxPresent([null]), null);
  assert.equal(derive.maxPresent([null, -3]), -3);
});

test("nesting puts no two overlapping spans of a lane on one line", () => {
  const start = Float64Array.of(0, 1, 2, 5, 20, 0);
  const duration = Float64Array.of(10, 3, 1, 4, 5, 3);
  const lane = Uint32Array.of(0, 0, 0, 0, 0, 1);
  assert.deepEqual([...derive.nesting(start, duration, lane, 2)], [0, 1, 2, 1, 0, 0]);
});
