// SPDX-License-Identifier: Apache-2.0
// Slices of a pie.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { load } = require("./load.js");

globalThis.document ??= {};
const { pie } = load("dom", "units", "palette", "pie_chart");
const TURN = 2 * Math.PI;

test("slices follow each other and fill the circle, whatever the shares add up to", () => {
  const turns = pie.angles([0.3, 0.2, 0.1]);
  assert.equal(turns[0][0], 0);
  turns.slice(1).forEach(([from], i) => assert.equal(from, turns[i][1]));
  assert.ok(Math.abs(turns[2][1] - TURN) < 1e-9);
  assert.ok(Math.abs((turns[0][1] - turns[0][0]) / TURN - 0.5) < 1e-9);
});

test("a slice that is all of it is drawn as a circle, one of more than half goes the long way round", () => {
  assert.equal(pie.outline([0, TURN]).match(/A/g).length, 2);
  assert.match(pie.outline([0, 0.75 * TURN]), /A100 100 0 1 1/);
  assert.match(pie.outline([0, 0.25 * TURN]), /A100 100 0 0 1 100\.00 0\.00Z$|A100 100 0 0 1 100\.00 -0\.00Z$/);
});

test("without any share there is nothing to draw", () => {
  assert.deepEqual(pie.angles([0, 0]), [[0, 0], [0, 0]]);
});
