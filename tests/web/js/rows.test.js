// SPDX-License-Identifier: Apache-2.0
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { rows, timelineLayout } = require("./load.js").load("rows", "timeline_layout");

function lineOf(spans) {
  const column = (Type, key) => Type.from(spans, (span) => span[key] ?? 0);
  return { count: spans.length, start: column(Float64Array, "start"), duration: column(Float64Array, "duration"), name: column(Uint32Array, "name"), lane: column(Uint32Array, "lane"), depth: column(Uint16Array, "depth"), failed: column(Uint8Array, "failed") };
}

function drawn(row, line, t0, t1, width) {
  const blocks = [];
  rows.blocks(row, line, t0, t1, width / (t1 - t0), (x0, x1, span, count, failed) => blocks.push({ x0, x1, span, count, failed }));
  return blocks;
}

let seed = 1;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;

test("rows are lanes and depths in order, spans by start", () => {
  const line = lineOf([{ start: 9, duration: 1, lane: 1 }, { start: 5, duration: 2, depth: 1 }, { start: 0, duration: 8 }, { start: 1, duration: 2, depth: 1 }]);
  const built = rows.build(line);
  assert.deepEqual(built.map(({ lane, depth, spans }) => [lane, depth, [...spans]]), [[0, 0, [2]], [0, 1, [3, 1]], [1, 0, [0]]]);
  const { lanes, rows: placed, height } = timelineLayout.layout(built);
  assert.deepEqual(lanes.map(({ lane }) => lane), [0, 1]);
  assert.ok(placed.every(({ y }, k) => k === 0 || y > placed[k - 1].y));
  assert.ok(height > placed.at(-1).y);
});

test("a pinned lane is first and does not scroll; what lies below it is covered", () => {
  const line = lineOf([{ start: 0, duration: 8 }, { start: 1, duration: 2, depth: 1 }, { start: 9, duration: 1, lane: 1 }, { start: 9, duration: 1, lane: 2 }]);
  const built = rows.build(line);
  const plain = timelineLayout.layout(built);
  const layout = timelineLayout.layout(built, new Set(), new Set([2]));
  assert.deepEqual(layout.lanes.map(({ lane, pinned }) => [lane, pinned]), [[2, true], [0, false], [1, false]]);
  assert.deepEqual(layout.rows.map(({ row }) => [row.lane, row.depth]), [[2, 0], [0, 0], [0, 1], [1, 0]]);
  assert.equal(layout.height, plain.height);
  assert.equal(plain.fixed, 0);
  assert.equal(layout.fixed, layout.lanes[1].y);
  const scene = { layout, scroll: 30 };
  const { seenAt, heightAt, covered } = timelineLayout;
  assert.deepEqual(layout.lanes.map(({ y }) => seenAt(scene, y) - y), [0, -30, -30]);
  assert.deepEqual(layout.lanes.map(({ y }) => covered(scene, y)), [false, true, false]);
  for (const { y } of layout.rows) if (!covered(scene, y)) assert.equal(heightAt(scene, seenAt(scene, y)), y);
  const all = timelineLayout.layout(built, new Set(), new Set([0, 1, 2]));
  assert.deepEqual(all.lanes.map(({ y }) => y), plain.lanes.map(({ y }) => y), "where all are pinned nothing moves");
});

test("more than fits is first and scrolls", () => {
  const deep = lineOf([...Array(30).keys()].map((depth) => ({ start: depth, duration: 100 - depth, depth, lane: 1 })).concat({ start: 0, duration: 1 }));
  const layout = timelineLayout.layout(rows.build(deep), new Set(), new Set([1]));
  assert.deepEqual(layout.lanes.map(({ lane }) => lane), [1, 0]);
  assert.equal(layout.fixed, 0);
});

test("blocks show every visible span once, at most one shared block a pixel", () => {
  const spans = [];
  let clock = 0;
  for (let i = 0; i < 20_000; i += 1) {
    const duration = random() < 0.02 ? random() * 4000 : random() * 20;
    spans.push({ start: clock, duration, failed: i === 777 ? 1 : 0 });
    clock += duration + random() * 15;
  }
  const line = lineOf(spans);
  const [row] = rows.build(line);
  for (const [a, b] of [[0, 1], [0.2, 0.5], [0.4, 0.401]]) {
    const [t0, t1] = [a * clock, b * clock];
    const blocks = drawn(row, line, t0, t1, 1000);
    const visible = spans.filter(({ start, duration }) => start + duration >= t0 && start <= t1).length;
    assert.equal(blocks.reduce((sum, block) => sum + block.count, 0), visible);
    assert.ok(blocks.length <= 2002, `${blocks.length} blocks`);
    assert.ok(blocks.every((block) => block.x1 - block.x0 > 0.999));
  }
  assert.ok(drawn(row, line, 0, clock, 1000).some((block) => block.failed === 1), "a failure is seen although it shares its block");
});

test("a shared block is drawn as its longest span", () => {
  const line = lineOf([{ start: 0, duration: 1 }, { start: 2, duration: 5 }, { start: 8, duration: 1 }]);
  const [block] = drawn(rows.build(line)[0], line, 0, 10_000, 100);
  assert.deepEqual([block.span, block.count], [1, 3]);
});

test("the search finds a long early span that still reaches into view", () => {
  const spans = [{ start: 0, duration: 1000 }];
  for (let i = 1; i < 50; i += 1) spans.push({ start: i, duration: 0.5 });
  const line = lineOf(spans);
  assert.equal(drawn(rows.build(line)[0], line, 900, 950, 100)[0].span, 0);
});

test("hit finds what is under the pointer, with slack for narrow spans", () => {
  const line = lineOf([{ start: 100, duration: 200 }, { start: 500, duration: 0 }]);
  const [row] = rows.build(line);
  assert.equal(rows.hit(row, line, 0, 150, 1, 2).span, 0);
  assert.equal(rows.hit(row, line, 0, 501, 1, 2).span, 1);
  assert.equal(rows.hit(row, line, 0, 400, 1, 2), null);
});

test("200,000 spans: building and a full frame of blocks stay within interactive time", () => {
  const count = 200_000;
  const line = lineOf(Array.from({ length: count }, (_, i) => ({ start: i * 10, duration: 8, lane: i % 3, depth: i % 4, name: i % 10 })));
  const began = performance.now();
  const built = rows.build(line);
  const ready = performance.now();
  let blocks = 0;
  for (const row of built) rows.blocks(row, line, 0, count * 10, 1300 / (count * 10), () => (blocks += 1));
  const frame = performance.now() - ready;
  console.log(`build ${(ready - began).toFixed(1)} ms, frame ${frame.toFixed(1)} ms, ${blocks} blocks`);
  assert.ok(blocks <= built.length * 1301);
});
