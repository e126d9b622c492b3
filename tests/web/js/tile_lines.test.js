// SPDX-License-Identifier: Apache-2.0
// Tiles, the overview and a chosen span as one line: each span is there once, whatever is put together.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { load } = require("./load.js");

const app = load("tile_lines");

/** A line of rows [span, lane, start, duration, stands]. */
function lineOf(rows) {
  const column = (k) => Float64Array.from(rows, (row) => row[k] ?? 1);
  const same = new Uint8Array(rows.length);
  const depths = { all: new Int32Array(rows.length), plain: new Int32Array(rows.length) };
  return {
    count: rows.length, span: column(0), lane: column(1), start: column(2), duration: column(3), stands: column(4),
    sums: new Map(rows.flatMap((row, i) => (row[4] > 1 ? [[i, row[3]]] : []))), depths, details: [], kinds: ["scope"], activities: ["none"],
    bytes: same, correlation: same, name: same, kind: same, activity: same, op: same, launch: new Int32Array(rows.length).fill(-1), step: same, failed: same,
  };
}

const tileOf = (from, to, rows, lanes = () => true) => ({ from, to, lanes, line: lineOf(rows) });
const spans = (line) => [...line.span].sort((a, b) => a - b);

const OVERVIEW = lineOf([[1, 0, 0, 95], [2, 1, 0, 4, 7], [3, 1, 40, 30], [4, 1, 96, 3], [9, 2, 50, 5]]);

test("without tiles it is the overview", () => {
  assert.deepEqual(spans(app.tileLines.merge(OVERVIEW, [], null)), [1, 2, 3, 4, 9]);
});

test("a span that reaches into several tiles is there once", () => {
  const tiles = [tileOf(20, 40, [[1, 0, 0, 95], [5, 1, 25, 4]]), tileOf(40, 60, [[1, 0, 0, 95], [3, 1, 40, 30], [9, 2, 50, 5], [6, 1, 45, 2, 3]])];
  const line = app.tileLines.merge(OVERVIEW, tiles, null);
  assert.deepEqual(spans(line), [1, 2, 3, 4, 5, 6, 9]);
  assert.deepEqual([...line.sums.values()].sort(), [2, 4]);
  for (const [row, sum] of line.sums) assert.equal(sum, line.duration[row]);
});

test("lanes without tiles keep the overview", () => {
  const line = app.tileLines.merge(OVERVIEW, [tileOf(0, 100, [[1, 0, 0, 95]], (lane) => lane === 0)], null);
  assert.deepEqual(spans(line), [1, 2, 3, 4, 9]);
});

test("the chosen span and its links come first, once, with what is known of them", () => {
  const chosen = lineOf([[3, 1, 40, 30], [8, 0, 41, 1]]);
  chosen.details = [{ title: "launch" }];
  chosen.launch[0] = 1;
  const line = app.tileLines.merge(OVERVIEW, [tileOf(30, 60, [[1, 0, 0, 95], [3, 1, 40, 30]])], chosen);
  assert.deepEqual([...line.span].slice(0, 2), [3, 8]);
  assert.deepEqual(spans(line), [1, 2, 3, 4, 8]);
  assert.equal(line.launch[0], 1);
  assert.equal(line.details, chosen.details);
});
