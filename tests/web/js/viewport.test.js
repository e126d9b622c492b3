// SPDX-License-Identifier: Apache-2.0
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { Viewport } = require("./load.js").load("viewport");

test("zoom keeps the anchor where it is", () => {
  const view = new Viewport(0, 1000);
  view.zoom(0.5, 0.25);
  assert.deepEqual([view.start, view.end], [125, 625]);
  assert.equal(view.start + view.length * 0.25, 250);
});

test("nothing leaves the whole: neither zooming out nor panning", () => {
  const view = new Viewport(0, 1000);
  view.zoom(0.1, 0.5);
  view.pan(-100);
  assert.deepEqual([view.start, view.length], [0, 100]);
  view.pan(100);
  assert.equal(view.end, 1000);
  view.zoom(1e9, 0.5);
  assert.deepEqual([view.start, view.end, view.zoomed], [0, 1000, false]);
});

test("zoom stops at the shortest window", () => {
  const view = new Viewport(0, 1e9);
  for (let i = 0; i < 200; i += 1) view.zoom(0.5, 0.5);
  assert.equal(view.length, 20);
});

test("a clock of microseconds stops it earlier", () => {
  const view = new Viewport(0, 1e9, 1000);
  for (let k = 0; k < 60; k += 1) view.zoom(0.5, 0.5);
  assert.equal(view.length, 20_000);
});

test("a run that is shorter than the shortest window fills it", () => {
  const view = new Viewport(0, 5000, 1000);
  assert.deepEqual([view.start, view.end], [0, 5000]);
  assert.equal(new Viewport(0, 0, 1000).length, 1000);
});

test("reveal brings a span into view and leaves the zoom alone when it can", () => {
  const view = new Viewport(0, 10_000);
  view.set(0, 1000);
  view.reveal(5000, 5100);
  assert.ok(view.start <= 5000 && view.end >= 5100 && view.length === 1000);
  view.reveal(9000, 9001);
  assert.ok(view.start <= 9000 && view.end >= 9001);
  view.reveal(0, 5000);
  assert.ok(view.start <= 0 && view.end >= 5000);
});
