// SPDX-License-Identifier: Apache-2.0
// Where an axis puts values, and which of them it names.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { axis } = require("./load.js").load("units", "axis");

test("powers of ten are as many as have room", () => {
  assert.deepEqual(axis.powers(0, 4, 1000, "across"), [0, 1, 2, 3, 4]);
  assert.deepEqual(axis.powers(0, 8, 100, "across"), [0, 4, 8]);
  assert.deepEqual(axis.powers(0, 8, 100, "up"), [0, 2, 4, 6, 8]);
});

test("a logarithmic axis shows all values with air, and equal factors are equally far apart", () => {
  const { place, ticks } = axis.make("across", [64, 4096, 262144], true, 0, 500);
  assert.ok(place(64) > 0 && place(262144) < 500);
  assert.ok(Math.abs(place(4096) - place(64) - (place(262144) - place(4096))) < 1e-9);
  assert.deepEqual(ticks, [100, 1e3, 1e4, 1e5]);
});

test("less than two powers of ten have 2 and 5 times them beside them, and less than that even steps", () => {
  assert.deepEqual(axis.make("across", [15, 80], true, 0, 500).ticks, [20, 50]);
  const narrow = axis.make("across", [5.2, 5.9], true, 0, 500).ticks;
  assert.ok(narrow.length >= 2 && narrow.every((value) => value > 5 && value < 6));
});

test("a linear axis begins at nothing, and one value alone has a place", () => {
  const { place, ticks } = axis.make("up", [0.4, 1], false, 200, 0);
  assert.equal(place(0), 200);
  assert.equal(ticks[0], 0);
  assert.ok(Number.isFinite(axis.make("up", [7], true, 200, 0).place(7)));
});

test("a tick is a number in its unit, or with the prefix of its size", () => {
  assert.deepEqual([1e4, 1e6].map((ns) => axis.text(ns, "ns")), ["10 µs", "1 ms"]);
  assert.deepEqual([0.5, 100, 1000, 16777216].map((value) => axis.text(value, "elements")), ["0.5", "100", "1 k", "16.8 M"]);
  assert.equal(axis.text(0.2, "share"), "20 %");
});
