// SPDX-License-Identifier: Apache-2.0
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { ChangeScale, changes } = require("./load.js").load("change_scale");

const row = (change, width = 2, verdict = "no_change") => ({ change_percent: change, low_percent: change - width, high_percent: change + width, verdict });
const quiet = Array.from({ length: 50 }, (_, i) => row((i % 5) - 2));

test("a ratio and its inverse are equally far from no change", () => {
  const scale = new ChangeScale([...quiet, row(100, 5, "regression")], 5, 200);
  assert.equal(scale.x(0), 100);
  assert.ok(Math.abs(scale.x(25) - 100 - (100 - scale.x(-20))) < 1e-9);
});

test("one extreme change does not flatten the others, and is marked", () => {
  const many = Array.from({ length: 20 }, () => row(20, 2, "regression"));
  const scale = new ChangeScale([...quiet, ...many, row(100000, 5, "regression")], 5, 200);
  assert.equal(scale.beyond(100000), 1);
  assert.equal(scale.x(100000), 200);
  assert.equal(scale.beyond(20), 0);
  assert.ok(scale.x(20) - scale.x(0) > 40);
});

test("the threshold is inside the scale, and labels have room", () => {
  for (const threshold of [0, 0.1, 5, 50, 400]) {
    const scale = new ChangeScale(quiet, threshold, 210);
    assert.ok(scale.x(threshold) < 210);
    const places = scale.ticks.map((percent) => scale.x(percent));
    for (let i = 1; i < places.length; i += 1) assert.ok(places[i] - places[i - 1] >= 46);
    assert.ok(scale.ticks.includes(0));
  }
});

test("nothing to show is no error", () => {
  const scale = new ChangeScale([], 5, 100);
  assert.equal(scale.x(0), 50);
  assert.equal(scale.beyond(-100), -1);
  assert.equal(changes.signed(-3.14159), "\u22123.1");
});
