// SPDX-License-Identifier: Apache-2.0
// What a node of a differential flame graph is coloured by: the comparison's verdict, never the difference of two sums.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");

globalThis.ResizeObserver = class {};
const { load } = require("./load.js");
const app = load("change_words", "flame_graph", "flame_graph_diff");
const { fillOf } = app.flameDiff;

const row = (verdict, change, conclusive = true) => ({ verdict, conclusive, change_percent: change, unit: "s" });

test("what cannot be told is grey, however large the difference", () => {
  assert.equal(fillOf(undefined), "untold");
  assert.equal(fillOf(row("no_change", 400, false)), "untold");
  assert.equal(fillOf(row("invalid", null)), "untold");
  assert.equal(fillOf(row("no_change", 1)), "same");
  assert.equal(fillOf(row("new_operation", null)), "one-side");
});

test("a verdict is darker the larger the change is", () => {
  assert.deepEqual([6, 20, 50, 100].map((change) => fillOf(row("regression", change))), ["slower-1", "slower-2", "slower-3", "slower-4"]);
  assert.deepEqual([-6, -60].map((change) => fillOf(row("improvement", change))), ["faster-1", "faster-4"]);
});
