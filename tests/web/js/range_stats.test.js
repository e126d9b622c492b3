// SPDX-License-Identifier: Apache-2.0
// Statistics of a range, the small picture of the whole, and addresses that say what is seen.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { rangeStats, rows, minimap, address, deepLink } = require("./load.js").load("dom", "rows", "range_stats", "minimap", "address", "deep_link");

let seed = 7;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;

function lineOf(spans) {
  const column = (Type, key, fallback = 0) => Type.from(spans, (span) => span[key] ?? fallback);
  return { count: spans.length, start: column(Float64Array, "start"), duration: column(Float64Array, "duration"), name: column(Uint32Array, "name"), lane: column(Uint32Array, "lane"), depth: column(Int32Array, "depth"), failed: column(Uint8Array, "failed"), stands: column(Uint32Array, "stands", 1), sums: new Map(spans.flatMap((span, i) => (span.stands > 1 ? [[i, span.sum]] : []))) };
}

test("a range counts the part of each span that lies in it", () => {
  const line = lineOf([{ start: 0, duration: 100, name: 1 }, { start: 10, duration: 20, name: 2, depth: 1 }, { start: 90, duration: 5, name: 2, depth: 1 }, { start: 50, duration: 0, name: 3, lane: 1 }]);
  const found = rangeStats.of(line, rows.build(line), 20, 60);
  assert.deepEqual(found.rows.map(({ name, spans, time, longest }) => [name, spans, time, longest]), [[1, 1, 40, 0], [2, 1, 10, 1], [3, 1, 0, 3]]);
  assert.equal(found.spans, 3);
  assert.equal(found.exact, true);
});

test("the whole range has all spans with all their time, whatever their order", () => {
  const spans = [];
  let clock = 0;
  for (let i = 0; i < 3000; i += 1) {
    spans.push({ start: clock, duration: Math.floor(random() * 50), name: i % 7 });
    clock += 60;
  }
  const line = lineOf(spans);
  const { rows: found, spans: count } = rangeStats.of(line, rows.build(line), 0, clock);
  assert.equal(count, 3000);
  assert.equal(found.reduce((sum, one) => sum + one.time, 0), spans.reduce((sum, one) => sum + one.duration, 0));
});

test("a block counts with its spans and their time, and says that this is no exact figure", () => {
  const line = lineOf([{ start: 0, duration: 100, name: 1, stands: 10, sum: 40 }]);
  assert.deepEqual(rangeStats.of(line, rows.build(line), 0, 100).rows[0], { name: 1, spans: 10, time: 40, longest: 0 });
  const half = rangeStats.of(line, rows.build(line), 50, 200);
  assert.deepEqual([half.rows[0].spans, half.rows[0].time, half.exact], [5, 20, false]);
});

test("the picture of the whole conserves time", () => {
  const line = lineOf([{ start: 0, duration: 30 }, { start: 35, duration: 65 }, { start: 36, duration: 2, depth: 1 }]);
  const filled = minimap.open(line, rows.build(line), 0, 100, 10);
  assert.deepEqual([...filled].map((one) => Math.round(one * 1e6) / 1e6), [1, 1, 1, 0.7, 1, 1, 1, 1, 1, 1]);
});

test("an address is read back as it was written; anything else names nothing", () => {
  const state = { view: [10, 200], range: [20, 30], selected: 5, query: "a b&c=#", pinned: [3, 0], shown: { python: "1", path: "0", rank: "2" } };
  const { named, ...found } = deepLink.state(address.parse(address.format(deepLink.parts(state))));
  assert.deepEqual(found, state);
  assert.deepEqual(named, { t: "10..200", range: "20..30", sel: "5", q: "a b&c=#", pin: "3,0", python: "1", path: "0", rank: "2" });
  assert.deepEqual(deepLink.state(address.parse("#t=1.5ms..2s")).view, [1.5e6, 2e9]);
  const nothing = deepLink.parts({ view: null, range: null, selected: null, query: "" });
  assert.equal(address.format(nothing), "");
  for (const other of ["", "#timeline", "#t=", "#t=5..5", "#t=9..2", "#t=a..b", "#sel=-1", "#sel=x", "#x=1", "#t=1..2..3x", "#python=x", "#pin=", "#pin=1,x", "#page=path"]) {
    assert.deepEqual(deepLink.state(address.parse(other)).named, {}, other);
  }
  assert.deepEqual(deepLink.state(address.parse("#t=9..2&sel=3")).named, { sel: "3" });
});

test("a row of chunks gives the same blocks as one without", () => {
  const spans = [];
  let clock = 0;
  for (let i = 0; i < 5000; i += 1) {
    const duration = random() < 0.01 ? 900 : random() * 3;
    spans.push({ start: clock, duration, failed: i === 4321 ? 1 : 0 });
    clock += duration + random();
  }
  const line = lineOf(spans);
  const [row] = rows.build(line);
  const drawn = (one) => {
    const found = [];
    rows.blocks(one, line, 0, clock, 400 / clock, (x0, x1, span, count, failed) => found.push([x0, x1, span, count, failed]));
    return found;
  };
  const blocks = drawn(row);
  assert.equal(blocks.reduce((sum, block) => sum + block[3], 0), 5000);
  assert.equal(blocks.some((block) => block[4] === 1), true);
  // Chunks that look wide are never taken as a whole: then each span is looked at.
  row.longest.fill(spans.findIndex((span) => span.duration === 900));
  assert.deepEqual(drawn(row).map(([x0, , , count]) => [x0, count]), blocks.map(([x0, , , count]) => [x0, count]));
});
