// SPDX-License-Identifier: Apache-2.0
// All places of a name as one: who calls it and what it calls, no time counted twice.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");

globalThis.ResizeObserver = class {};
const { sandwich } = require("./load.js").load("units", "flame_layout", "sandwich");

const ROLES = ["span", "all", "lane"];

/** A flame graph from [name, depth, total, own] in preorder; row 0 is all of it. */
function flameOf(rows) {
  const flame = { roles: ROLES, kinds: ["scope"], activities: ["none"], laneNames: [], names: [...new Set(rows.map(([name]) => name))] };
  const open = [];
  flame.parent = rows.map(([, depth], row) => {
    open[depth] = row;
    return depth === 0 ? -1 : open[depth - 1];
  });
  flame.depth = rows.map(([, depth]) => depth);
  flame.name = rows.map(([name]) => flame.names.indexOf(name));
  flame.role = rows.map((_, row) => (row === 0 ? 1 : 0));
  for (const column of ["kind", "activity", "lane", "grouped"]) flame[column] = rows.map(() => 0);
  flame.count = rows.map((_, row) => (row === 0 ? 0 : 1));
  flame.total_host_ns = rows.map(([, , total]) => total);
  flame.self_host_ns = rows.map(([, , , own]) => own);
  flame.total_device_ns = rows.map(() => 0);
  flame.self_device_ns = rows.map(() => 0);
  return flame;
}

const told = (flame, made) => Array.from(made.parent, (parent, at) => `${"  ".repeat(made.depth[at])}${flame.names[made.name[at]]} ${made.total_host_ns[at]}`);

const FLAME = flameOf([
  ["all", 0, 100, 0],
  ["train", 1, 70, 10],
  ["mul", 2, 40, 15],
  ["copy", 3, 25, 25],
  ["add", 2, 20, 20],
  ["test", 1, 30, 0],
  ["mul", 2, 30, 5],
  ["mul", 3, 20, 12],
  ["copy", 4, 8, 8],
  ["add", 3, 5, 5],
]);

test("callers are as wide as what they have of it, callees are added up", () => {
  const made = sandwich.of(FLAME, 6);
  assert.equal(made.places, 2, "the one inside another counts with it");
  assert.deepEqual(told(FLAME, made.callers), ["mul 70", "  train 40", "  test 30"]);
  assert.deepEqual(told(FLAME, made.callees), ["mul 70", "  copy 25", "  mul 20", "    copy 8", "  add 5"]);
  assert.deepEqual([...made.callees.self_host_ns], [20, 25, 12, 8, 5]);
  assert.deepEqual(made.callees.source, [2, 3, 7, 8, 9], "each goes to its longest place");
  assert.ok(made.callers.self_host_ns.slice(1).every(Number.isNaN), "what a caller does itself is none of it");
});

test("what is called from one place has its way to the top", () => {
  const made = sandwich.of(FLAME, 4);
  assert.deepEqual(told(FLAME, made.callers), ["add 25", "  train 20", "  mul 5", "    test 5"]);
  assert.deepEqual(told(FLAME, made.callees), ["add 25"]);
});
