// SPDX-License-Identifier: Apache-2.0
// Time series below the timeline: reading, the value at a moment, the line in a view.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const zlib = require("node:zlib");
const { load, MODEL } = require("./load.js");
const app = load(...MODEL, "decimate");
const { read, holding, extent, summary, corners, valueText, title } = app.counterSeries;

const pack = (Type, type, values, more) => ({ type, data: zlib.gzipSync(Buffer.from(Type.from(values).buffer)).toString("base64"), ...more });
const series = (time, value, more) => ({ name: "power_instant_watts", device: 0, unit: "W", doc: "", reasons: null, time: Float64Array.from(time), value: Float64Array.from(value), ...more });

test("series are read as they are, a file without any has none", async () => {
  const item = { name: "clock_reasons", device: 1, unit: "bits", doc: "Why.", reasons: { 2: "sw_power_cap" }, count: 3, samples: 9, time_ns: pack(Uint8Array, "u8", [5, 5, 10], { steps: true }), value: pack(Float64Array, "f64", [0, 4, 5]) };
  const { series: found, omitted } = await read({ counters: { series: [item], omitted: 2 } });
  assert.equal(omitted, 2);
  assert.deepEqual([...found[0].time], [5, 10, 20]);
  assert.deepEqual([...found[0].value], [0, 4, 5]);
  assert.equal(found[0].samples, 9);
  assert.deepEqual(await read({}), { series: [], omitted: 0 });
  await assert.rejects(read({ counters: { series: [{ ...item, count: 4 }] } }), /expected 4 values/);
  await assert.rejects(read({ counters: { series: [7] } }), /counters.series\[0\]|object/);
});

test("a value holds until the next sample", () => {
  const time = Float64Array.of(10, 20, 30);
  assert.deepEqual([0, 10, 19, 20, 99].map((when) => holding(time, when)), [-1, 0, 0, 1, 2]);
});

test("the range in view counts the value that holds at its begin", () => {
  const one = series([10, 20, 30], [5, 1, 9]);
  assert.deepEqual(extent(one, 12, 15), { low: 5, high: 5 });
  assert.deepEqual(extent(one, 12, 25), { low: 1, high: 5 });
  assert.deepEqual(extent(one, 40, 50), { low: 9, high: 9 });
  assert.equal(extent(one, 0, 5), null);
  assert.equal(summary(one, { start: 12, end: 25 }), "1.00 W to 5.00 W");
  assert.equal(summary(one, { start: 0, end: 5 }), "no sample in view");
  const flags = series([10, 20, 30], [4, 33, 0], { unit: "bits", reasons: { 0: "idle", 2: "cap", 5: "heat" } });
  assert.equal(summary(flags, { start: 12, end: 25 }), "idle, cap, heat");
  assert.equal(summary(flags, { start: 31, end: 40 }), "none");
});

test("the line goes in steps and ends with the last sample", () => {
  const one = series([10, 20, 30], [5, 1, 9]);
  assert.deepEqual(corners(one, { start: 0, end: 100 }, 100), [[10, 5], [20, 5], [20, 1], [30, 1], [30, 9]]);
  assert.deepEqual(corners(one, { start: 15, end: 25 }, 100), [[0, 5], [50, 5], [50, 1], [100, 1]]);
  assert.deepEqual(corners(one, { start: 0, end: 5 }, 100), []);
});

test("a long series keeps its peak in few corners", () => {
  const one = series(Array.from({ length: 50_000 }, (_, i) => i), Array.from({ length: 50_000 }, (_, i) => (i === 31_415 ? 99 : i % 7)));
  const made = corners(one, { start: 0, end: 49_999 }, 400);
  assert.ok(made.length < 4 * 400 * 2 + 10, String(made.length));
  assert.ok(made.some(([, value]) => value === 99));
});

test("values in words", () => {
  assert.equal(valueText(series([], [], { unit: "bytes" }), 1.5e9), "1.50 GB");
  assert.equal(valueText(series([], [], { unit: "percent" }), 42), "42.0 %");
  assert.equal(valueText(series([], [], { unit: "" }), 3), "3.00");
  const flags = series([], [], { unit: "bits", reasons: { 0: "idle", 2: "sw_power_cap" } });
  assert.deepEqual([0, 5, 2 ** 40].map((value) => valueText(flags, value)), ["none", "idle, sw_power_cap", "bit 40"]);
  assert.equal(title(series([], [])), "GPU 0 · power_instant_watts [W]");
  assert.equal(title(series([], [], { device: -1, unit: "", name: "x" })), "x");
});
