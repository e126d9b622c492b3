// SPDX-License-Identifier: Apache-2.0
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { tableRows } = require("./load.js").load("table_rows");

const ROWS = [
  { name: "step10", device: "gpu", calls: 2 },
  { name: "step9", device: "cpu", calls: null },
  { name: "Alpha", device: "gpu", calls: 7 },
];

test("rows without a value come last in both directions", () => {
  assert.deepEqual(tableRows.sorted(ROWS, "calls", true).map((row) => row.name), ["Alpha", "step10", "step9"]);
  assert.deepEqual(tableRows.sorted(ROWS, "calls", false).map((row) => row.name), ["step10", "Alpha", "step9"]);
});

test("names sort as people read them", () => {
  assert.deepEqual(tableRows.sorted(ROWS, "name", false).map((row) => row.name), ["Alpha", "step9", "step10"]);
});

test("search wants every word, anywhere, in any case", () => {
  const found = (query) => ROWS.filter((row) => tableRows.matches(row, ["name", "device"], query)).map((row) => row.name);
  assert.deepEqual(found(""), ["step10", "step9", "Alpha"]);
  assert.deepEqual(found("GPU step"), ["step10"]);
  assert.deepEqual(found("(nothing"), []);
});
