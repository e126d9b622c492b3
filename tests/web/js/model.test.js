// SPDX-License-Identifier: Apache-2.0
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const zlib = require("node:zlib");
const { load, MODEL } = require("./load.js");
const { model, InputFault } = load(...MODEL);

const same = (values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { type: "same", value }]));
const REPORT = {
  format: "regimeter.report",
  version: 2,
  title: "x.py",
  created: "2026-11-21T03:00:00Z",
  run: { source: "live", file: null, duration_ns: 100, span_count: 3, lane_count: 1, complete: true },
  cost: null,
  environment: {},
  summary: [
    { operation: "a", device: "cpu", backend: "numpy", call_count: 2, total_ns: 60, exclusive_ns: 10, share: 0.2, gpu_ns: null },
    { operation: "b", device: "cpu", backend: "numpy", call_count: 1, total_ns: 40, exclusive_ns: 40, share: 0.8, gpu_ns: 0 },
  ],
  bottlenecks: [1, 0],
  unavailable: { gpu_ns: "no CUDA driver found" },
  lanes: [{ name: "MainThread", process: 1, thread: 2 }],
  names: ["a", "b"],
  timeline: {
    count: 3,
    spans: 3,
    drawn: 3,
    aggregated: 0,
    kinds: ["scope"],
    activities: ["none"],
    columns: { start_ns: [0, 5, 50], duration_ns: [50, 40, 10], name: [0, 1, 0], lane: [0, 0, 0], depth: [0, 1, 0], plain_depth: [0, 1, 0], flags: [0, 0, 1], ...same({ op: 0, launch: -1, correlation: -1, step: -1, bytes: -1, kind: 0, activity: 0 }) },
  },
  memory: { series: [{ name: "rss", unit: "bytes", time_ns: [0, 1], value: [5, null] }], unavailable: [{ name: "device", reason: "none" }] },
  anomalies: [],
};
const changed = (change) => {
  const copy = structuredClone(REPORT);
  change(copy);
  return copy;
};
const fault = (place, words) => (error) => error instanceof InputFault && error.place === place && words.test(error.message) && error.remedy.length > 10;

test("what a file says of its machine is one sentence, wherever it stands", async () => {
  const said = async (data) => (await model.fromData(changed((one) => Object.assign(one, data)))).machine;
  assert.equal(await said({}), null);
  assert.equal(await said({ machine: "The machine was steady within 2 % (40 looks)." }), "The machine was steady within 2 % (40 looks).");
  const profile = { entries: [], summary: {}, witness: { summary: { sentence: "the machine was steady within 2 % (40 looks)" } } };
  assert.equal((await model.fromData(profile)).machine, "The machine was steady within 2 % (40 looks).");
});

test("a report is taken as it is: absent stays null, zero stays zero", async () => {
  const made = await model.fromData(REPORT);
  assert.equal(made.operations[0].gpuNs, null);
  assert.equal(made.operations[1].gpuNs, 0);
  assert.equal(made.operations[0].p95Ns, null);
  assert.equal(made.unavailable.gpuNs, "no CUDA driver found");
  assert.deepEqual(made.bottlenecks, [1, 0]);
  assert.deepEqual(made.ranked, [1, 0]);
  assert.deepEqual([...made.timeline.start], [0, 5, 50]);
  assert.deepEqual([...made.timeline.failed], [0, 0, 1]);
  assert.equal(made.scoped, true);
  assert.deepEqual([...made.memory.series[0].value], [5, NaN]);
  assert.deepEqual(made.derived, []);
});

test("packed columns read the same as plain ones", async () => {
  const pack = (values) => ({ type: "u8", data: zlib.gzipSync(Buffer.from(values)).toString("base64") });
  const packed = changed((data) => {
    for (const [name, values] of Object.entries(data.timeline.columns)) if (Array.isArray(values)) data.timeline.columns[name] = pack(values);
  });
  const [one, two] = [await model.fromData(packed), await model.fromData(REPORT)];
  for (const key of ["start", "duration", "name", "lane", "depth", "failed"]) assert.deepEqual([...one.timeline[key]], [...two.timeline[key]], key);
  packed.timeline.columns.lane.data = packed.timeline.columns.lane.data.slice(0, 20);
  await assert.rejects(model.fromData(packed), fault("at timeline.columns.lane.data", /damaged/));
  packed.timeline.columns.lane = pack([0]);
  await assert.rejects(model.fromData(packed), fault("at timeline.columns.lane.data", /expected 3 values, found 1/));
});

test("a wrong value is refused with its place", async () => {
  const cases = [
    [(d) => (d.summary[1].total_ns = "40"), "at summary[1].total_ns", /a number or null, found a string/],
    [(d) => (d.summary = {}), "at summary", /a list/],
    [(d) => delete d.summary[0].operation, "at summary[0].operation", /a text/],
    [(d) => d.timeline.columns.lane.pop(), "at timeline.columns.lane", /expected 3 values, found 2/],
    [(d) => (d.timeline.columns.name[1] = 9), "at timeline.columns.name (largest value)", /index below 2/],
    [(d) => (d.timeline.columns.start_ns[2] = null), "at timeline.columns.start_ns[2]", /a number, found null/],
    [(d) => (d.bottlenecks = [7]), "at bottlenecks[0]", /index below 2/],
    [(d) => (d.version = 1), "at version", /version 1 cannot be read/],
    [(d) => (d.memory.series[0].time_ns = [1]), "at memory.series[0]", /same length/],
  ];
  for (const [change, place, words] of cases) await assert.rejects(model.fromData(changed(change)), fault(place, words), place);
});

test("foreign documents are named and the remedy fits", async () => {
  await assert.rejects(model.fromData({ traceEvents: [] }), (e) => /Chrome/.test(e.message) && /regimeter report/.test(e.remedy));
  await assert.rejects(model.fromData({ comparisons: [] }), /comparison/);
  await assert.rejects(model.fromData({ hello: 1 }), /neither entries nor summary/);
  await assert.rejects(model.fromData({ format: "other.thing", entries: [] }), /its format is "other.thing"/);
  await assert.rejects(model.fromData(3), /not an object/);
  await assert.rejects(model.fromData(null), /not an object/);
});

const entry = (operation, ms, more) => ({ operation, duration_ms: ms, device: "gpu", backend: "torch", metadata: {}, ...more });

test("the documented form without times: missing figures are derived or null, never zero", async () => {
  const made = await model.fromData({
    entries: [entry("a", 10), entry("a", 30), entry("b", 5, { gpu_time_ms: null })],
    summary: { a: { call_count: 2, total_time_ms: 40, avg_time_ms: 20, min_time_ms: 10, max_time_ms: 30, total_gpu_time_ms: null }, b: { call_count: 1, total_time_ms: 5 } },
  });
  const [a, b] = made.operations;
  assert.equal(a.totalNs, 40e6);
  assert.equal(a.stdNs, 10e6);
  assert.equal(a.medianNs, 20e6);
  assert.equal(b.stdNs, 0);
  for (const key of ["gpuNs", "cpuNs", "memoryPeakBytes", "exclusiveNs", "gpuUtilization"]) assert.equal(a[key], null, key);
  assert.ok(made.derived.includes("stdNs") && !made.derived.includes("totalNs"));
  assert.equal(made.shareBasis, "total");
  assert.equal(made.run.durationNs, null);
  assert.equal(made.anomalies, null);
  assert.match(made.timeline.caution, /no start times/);
  assert.deepEqual([...made.timeline.start], [0, 10e6, 40e6]);
  assert.equal(made.memory.series.length, 0);
});

test("the documented form without times: memory of the calls in the order of the file", async () => {
  const calls = [entry("a", 10, { memory_allocated_mb: 5, memory_peak_mb: 9 }), entry("b", 4), entry("a", 10, { memory_allocated_mb: 6, memory_peak_mb: 11 })];
  const { memory } = await model.fromData({ entries: calls, summary: {} });
  assert.equal(memory.laid, true);
  assert.deepEqual(memory.series.map(({ name }) => name), ["memory allocated per call", "memory peak per call"]);
  assert.deepEqual(memory.series.map(({ time, value }) => [[...time], [...value]]), [[[10e6, 24e6], [5e6, 6e6]], [[10e6, 24e6], [9e6, 11e6]]]);
  assert.equal((await model.fromData({ entries: calls.map((one, i) => ({ ...one, start_time: i, end_time: i + 0.5 })), summary: {} })).memory.laid, false);
});

test("an export with times: positions, lanes and nesting are kept, nothing is derived that is present", async () => {
  const made = await model.fromData({
    format: "regimeter.profile",
    version: 1,
    entries: [
      entry("in", 1, { start_time: 12.501, end_time: 12.502, depth: 1, thread: "T" }),
      entry("out", 10, { start_time: 12.5, end_time: 12.51, depth: 0, thread: "T", failed: true }),
    ],
    summary: { in: { call_count: 1, total_time_ms: 1, exclusive_time_ms: 1 }, out: { call_count: 1, total_time_ms: 10, exclusive_time_ms: 9 } },
  });
  assert.equal(made.timeline.caution, null);
  assert.ok(Math.abs(made.timeline.start[0] - 1e6) < 2);
  assert.deepEqual([...made.timeline.depth], [1, 0]);
  assert.deepEqual([...made.timeline.failed], [0, 1]);
  assert.equal(made.shareBasis, "exclusive");
  assert.equal(made.operations[1].share, 0.9);
  assert.ok(!made.derived.includes("exclusiveNs"));
});

test("figures that are a constant fraction of every duration are called out and left out", async () => {
  const fake = (ms) => entry("a", ms, { gpu_time_ms: 0.85 * ms, transfer_time_ms: 0.1 * ms, overhead_ms: 0.05 * ms, gpu_utilization: 85 });
  const summary = { a: { call_count: 2, total_gpu_time_ms: 8.5, avg_gpu_utilization: 85 } };
  const made = await model.fromData({ entries: [fake(3), fake(7)], summary });
  assert.ok(made.cautions.some((text) => /constants/.test(text)));
  for (const key of ["gpuNs", "transferNs", "overheadNs", "gpuUtilization"]) assert.equal(made.operations[0][key], null, key);
  assert.match(made.unavailable.gpuUtilization, /no measurement/);
  const measured = { ...fake(7), gpu_time_ms: 2, transfer_time_ms: 1, overhead_ms: 4, gpu_utilization: 28 };
  const other = await model.fromData({ entries: [fake(3), measured], summary });
  assert.ok(!other.cautions.some((text) => /constants/.test(text)));
  assert.equal(other.operations[0].gpuUtilization, 85);
});

test("the reasons of an exported profile are those of its entries", async () => {
  const unavailable = { cpu: { gpu_time_ms: "no device", memory_peak_mb: "off" }, gpu: { gpu_time_ms: "no events" } };
  const made = await model.fromData({ format: "regimeter.profile", version: 1, entries: [entry("a", 1)], summary: {}, unavailable });
  assert.equal(made.unavailable.gpuNs, "no events");
  assert.equal(made.unavailable.memoryPeakBytes, "off");
  assert.match(made.unavailable.memoryAllocatedBytes, /no value/);
  assert.equal(made.unavailable.gpu, undefined);
});

test("names that are special in JavaScript are plain names", async () => {
  const data = JSON.parse('{"entries":[{"operation":"__proto__","duration_ms":1},{"operation":"constructor","duration_ms":2}],"summary":{"__proto__":{"call_count":1,"total_time_ms":1}}}');
  const made = await model.fromData(data);
  assert.deepEqual(made.operations.map((one) => [one.name, one.calls, one.totalNs]), [["__proto__", 1, 1e6], ["constructor", 1, 2e6]]);
});

test("a profile of nothing is a page that says so", async () => {
  const made = await model.fromData({ entries: [], summary: {} });
  assert.deepEqual(made.operations, []);
  assert.ok(made.cautions.some((text) => /no operations/.test(text)));
  const sampled = await model.fromData({ entries: [], summary: {}, limit: { sentence: "Python code is the limit." } });
  assert.deepEqual(sampled.cautions, [], "call stacks were recorded, if nothing else");
});

test("the own cost is the time that its share is of; what starting took stands beside it", async () => {
  const told = { scopes: 2, per_scope_ns: 50, total_ns: 8000, share: 0.06, parts_ns: { starting: 2000 }, basis: "measured" };
  const of = async (cost) => (await model.fromData({ ...REPORT, cost })).cost;
  const [began, plain] = [await of(told), await of({ ...told, parts_ns: {} })];
  assert.deepEqual([began.insideNs, began.startingNs, began.share], [6000, 2000, 0.06]);
  assert.deepEqual([plain.insideNs, plain.startingNs], [8000, null]);
});
