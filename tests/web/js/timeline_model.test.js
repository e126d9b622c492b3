// SPDX-License-Identifier: Apache-2.0
// The pure parts of the page of a run: columns, lanes, kinds, folding, rows of tables, details, flame graph.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const zlib = require("node:zlib");
const { load, MODEL } = require("./load.js");
const app = load("dom", ...MODEL, "palette", "span_kinds", "span_search", "rows", "timeline_layout", "table_rows", "result_table", "span_details", "flame_layout");

// All lowest bytes first, then the next: what regimeter/report/pack.py writes, which tests/web/test_html.py reads back.
function pack(type, values, more) {
  const width = Number(type.slice(1)) / 8;
  const bytes = Array.from({ length: width }, (_, plane) => values.map((value) => Number((BigInt(value) >> BigInt(8 * plane)) & 0xffn))).flat();
  return { type, data: zlib.gzipSync(Buffer.from(bytes)).toString("base64"), ...more };
}
const u8 = (values) => pack("u8", values);
const i32 = (values) => pack("i32", values);

test("a column of differences is summed up", async () => {
  const column = pack("i32", [5, -2, 10], { steps: true });
  assert.deepEqual([...(await app.columns.unpack(column, 3, "x"))], [5, 3, 13]);
  const packed = { data: zlib.gzipSync(Buffer.from('["","ä"]')).toString("base64") };
  assert.equal(await app.columns.unpackText(packed, "x"), '["","ä"]');
  await assert.rejects(app.columns.unpack({ type: "u8", data: "AAAA" }, 1, "x"), /damaged/);
});

test("whole numbers keep their value in any width", async () => {
  const read = async (type, values) => [...(await app.columns.unpack(pack(type, values), values.length, "x"))];
  for (const values of [[0, 1, 255], [3, 2]]) assert.deepEqual(await read("u8", values), values);
  assert.deepEqual(await read("u24", [0, 65536, 16777215]), [0, 65536, 16777215]);
  assert.deepEqual(await read("u32", [4294967295, 7]), [4294967295, 7]);
  assert.deepEqual(await read("i16", [-32768, 32767, -1]), [-32768, 32767, -1]);
  assert.deepEqual(await read("i24", [-8388608, 5]), [-8388608, 5]);
  assert.deepEqual(await read("i56", [-(2 ** 52), 2 ** 53 - 1, -1]), [-(2 ** 52), 2 ** 53 - 1, -1]);
  assert.deepEqual([...(await app.columns.unpack({ type: "same", value: -1 }, 3, "x"))], [-1, -1, -1]);
  await assert.rejects(app.columns.unpack({ type: "u12", data: "" }, 1, "x"), /unknown column type/);
});

function traceOf(more) {
  const lane = (device, thread, name, rank = -1) => ({ name, process: device < 0 ? 9 : 0, process_name: "", label: "", thread, device, rank });
  return {
    format: "regimeter.report",
    version: 2,
    title: "t",
    run: { source: "trace", duration_ns: 100, span_count: 4, lane_count: 3, complete: true },
    facts: [["Steps", "1 to 2"]],
    anomalies: [{ code: "bad_event", count: 3, lost: 3, detail: "left out" }],
    breakdown: [],
    names: ["", "op", "launch", "kernel"],
    lanes: [lane(-1, 5, ""), lane(-1, 6, "main"), lane(0, 7, "7")],
    timeline: {
      count: 4,
      spans: 9,
      drawn: 3,
      aggregated: 6,
      blocks: { count: 1, row: u8([3]), spans: u8([6]), sum_ns: u8([8]) },
      kinds: ["scope", "cpu_op", "runtime", "kernel"],
      activities: ["none", "compute", "communication", "memory"],
      details: [{ title: "launch", count: 1, row: u8([3]), columns: [{ heading: "grid x", unit: "count", doc: "", ...u8([4]) }, { heading: "grid y", unit: "count", doc: "", ...u8([2]) }, { heading: "registers", unit: "count", doc: "", ...i32([-1]) }] }],
      columns: {
        start_ns: u8([0, 10, 12, 50]),
        lane: u8([0, 1, 1, 2]),
        name: u8([1, 1, 2, 3]),
        op: u8([0, 0, 1, 1]),
        launch: i32([-1, -1, -1, 2]),
        correlation: i32([-1, -1, 8, 8]),
        step: i32([-1, 1, 1, 1]),
        bytes: i32([-1, -1, -1, -1]),
        flags: u8([0, 1, 2, 0]),
        depth: u8([0, 0, 1, 0]),
        plain_depth: i32([-1, 0, 1, 0]),
        duration_ns: u8([5, 20, 3, 9]),
        kind: u8([1, 1, 2, 3]),
        activity: u8([0, 0, 0, 2]),
      },
    },
    panels: [],
    ...more,
  };
}

test("lanes: streams first, then busy threads, each with a name", async () => {
  const made = await app.model.fromData(traceOf());
  assert.equal(made.kind, "run");
  assert.deepEqual(made.lanes.map(({ name }) => name), ["GPU 0 · stream 7", "main", "thread 5"]);
  assert.deepEqual([...made.timeline.lane], [2, 1, 1, 0]);
  assert.deepEqual([...made.timeline.failed], [0, 1, 0, 0]);
  assert.deepEqual(made.cautions, ["3 rows of the input are not in this report (bad_event): left out."]);
});

test("what a file does not speak of is absent, not empty", async () => {
  const made = await app.model.fromData({ format: "regimeter.report", version: 2, title: "t", names: traceOf().names, timeline: traceOf().timeline, lanes: traceOf().lanes });
  assert.equal(made.breakdown, null);
  assert.equal(made.flame, null);
  assert.equal(made.described, false);
  assert.equal(made.scoped, false);
  assert.equal(made.anomalies, null);
  await assert.rejects(app.model.fromData({ format: "regimeter.report", version: 1 }), /version 1/);
});

test("a block says how many spans it stands for and how long they ran", async () => {
  const { timeline } = await app.model.fromData(traceOf());
  assert.deepEqual([...timeline.stands], [1, 1, 1, 6]);
  assert.equal(timeline.sums.get(3), 8);
  assert.equal(timeline.drawn + timeline.aggregated, timeline.spans);
});

test("scopes alone are coloured by operation, anything with device work by kind", async () => {
  const made = await app.model.fromData(traceOf({ summary: [{ operation: "op", share: 1 }] }));
  assert.equal(app.spanKinds.colouring(made).byName, false);
  made.timeline.kind = made.timeline.kind.map(() => 0);
  made.timeline.activity = made.timeline.activity.map(() => 0);
  const scopes = app.spanKinds.colouring(made);
  assert.equal(scopes.byName, true);
  assert.deepEqual(scopes.legend, [["--series-1", "op"]]);
  assert.deepEqual([...scopes.fills], [0, 0, app.palette.HUES, app.palette.HUES]);
});

test("the search goes through matches in order of start, round and round", async () => {
  const { timeline, names } = await app.model.fromData(traceOf());
  timeline.start = [50, 10, 12, 0];
  const passes = app.spanSearch.passing(names, (name) => name !== "launch");
  const next = (from, direction) => app.spanSearch.next(timeline, passes, from, direction);
  assert.deepEqual([next(null, 1), next(3, 1), next(1, 1), next(0, 1)], [3, 1, 0, 3]);
  assert.deepEqual([next(3, -1), next(0, -1), next(1, -1)], [0, 1, 3]);
  assert.equal(app.spanSearch.next(timeline, new Uint8Array(4), null, 1), -1);
  const { kinds, ...sums } = app.spanSearch.matches(timeline, passes);
  assert.deepEqual(sums, { count: 3, duration: 25 });
  assert.deepEqual([...kinds.values()].reduce(([a, b], [c, d]) => [a + c, b + d]), [3, 25]);
});

test("kinds and activities have classes", async () => {
  const { timeline } = await app.model.fromData(traceOf());
  const keys = [...app.spanKinds.fills(timeline)].map((slot) => app.spanKinds.CLASSES[slot].key);
  assert.deepEqual(keys, ["operator", "operator", "call", "communication"]);
  assert.equal(app.spanKinds.classOf("no_such_kind", "none").key, "other");
});

test("details are found by row, unknown ones are left out, a grid is one figure", async () => {
  const { timeline, names } = await app.model.fromData(traceOf());
  assert.deepEqual(app.spanDetails.argumentsOf(timeline, names, 3).map(([label, text]) => [label, text]), [["grid", "4 × 2"]]);
  assert.deepEqual(app.spanDetails.argumentsOf(timeline, names, 1), []);
  assert.equal(app.spanDetails.position([2, 5, 9], 5), 1);
  assert.equal(app.spanDetails.position([2, 5, 9], 6), -1);
});

test("a folded lane keeps its first line, a hidden span is in no row", async () => {
  const { timeline } = await app.model.fromData(traceOf());
  const open = app.timelineLayout.layout(app.rows.build(timeline));
  const folded = app.timelineLayout.layout(app.rows.build(timeline), new Set([1]));
  assert.equal(open.rows.length - folded.rows.length, 1);
  assert.equal(open.height - folded.height, app.timelineLayout.LINE);
  const plain = app.rows.build({ ...timeline, depth: timeline.depths.plain });
  assert.equal(plain.reduce((sum, row) => sum + row.spans.length, 0), 3);
});

const COLUMNS = [
  { name: "name", unit: "name", doc: "", values: [2, 1, 3, 1] },
  { name: "role", unit: "code", codes: ["span", "all of"], doc: "", values: [0, 1, 0, 0] },
  { name: "time", unit: "ns", doc: "", values: [5, -1, NaN, 2000] },
  { name: "rank", unit: "", doc: "", values: [0, -1, 2, 1] },
  { name: "bw", unit: "rate", doc: "", values: [1e9, 0, 5, NaN] },
  { name: "speed", unit: "TFLOP/s", doc: "", values: [1.25, 2, 3, 4] },
];
const NAMES = ["", "beta", "Alpha", "gamma 10"];

test("cells say their value in its unit, or nothing", () => {
  const text = (column, row) => app.resultRows.textOf(COLUMNS[column], COLUMNS[column].values[row], NAMES);
  assert.equal(text(0, 0), "Alpha");
  assert.equal(text(1, 1), "all of");
  assert.equal(text(2, 3), "2.00 µs");
  assert.equal(text(2, 1), "-1 ns", "a difference of -1 ns is a value");
  assert.equal(text(2, 2), null);
  assert.equal(text(3, 1), null, "-1 stands for unknown in a plain number");
  assert.equal(text(4, 0), "1.00 GB/s");
  assert.equal(text(5, 0), "1.25 TFLOP/s");
});

test("rows sort by text and by number, unknown ones last, ties as they were", () => {
  const rows = [0, 1, 2, 3];
  const by = (column, descending) => app.resultRows.ordered(rows, COLUMNS[column], descending, NAMES);
  assert.deepEqual(by(0, false), [0, 1, 3, 2]);
  assert.deepEqual(by(0, true), [2, 1, 3, 0]);
  assert.deepEqual(by(2, true), [3, 0, 1, 2]);
  assert.deepEqual(by(2, false), [1, 0, 3, 2]);
  assert.deepEqual(by(3, false), [0, 3, 2, 1]);
});

test("the search finds words in any order in all texts", () => {
  const found = (query) => app.resultRows.matching(4, COLUMNS, query, NAMES);
  assert.deepEqual(found("  "), [0, 1, 2, 3]);
  assert.deepEqual(found("OF beta"), [1]);
  assert.deepEqual(found("10 gamma"), [2]);
  assert.deepEqual(found("delta"), []);
});

const FLAME = { parent: [-1, 0, 1, 1, 0, 4], depth: [0, 1, 2, 2, 1, 2], name: [0, 1, 2, 3, 0, 1], role: [1, 0, 0, 2, 3, 4], roles: ["span", "all", "deeper", "lane", "small"], grouped: [0, 0, 0, 0, 0, 1234], lane: [-1, -1, -1, -1, 0, -1], laneNames: ["thread 7"] };
const TOTAL = [100, 60, 20, 30, 40, 40];

test("the longest of siblings stands left, the next where it ends, inside their caller", () => {
  assert.deepEqual([...app.flameLayout.lefts(FLAME, TOTAL)], [0, 0, 30, 0, 60, 60]);
  const place = [0, 1, 0, 1, 0, 0];
  assert.deepEqual([...app.flameLayout.lefts({ ...FLAME, place }, TOTAL, true)], [0, 40, 40, 60, 0, 0], "what began first");
  assert.equal(app.flameLayout.endOf(FLAME.depth, 1), 4);
  assert.equal(app.flameLayout.endOf(FLAME.depth, 4), 6);
});

test("a zoom shows the callers, the node and what is wide enough below it", () => {
  const left = app.flameLayout.lefts(FLAME, TOTAL);
  assert.deepEqual(app.flameLayout.visible(FLAME, TOTAL, left, 0, 0), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(app.flameLayout.visible(FLAME, TOTAL, left, 0, 35), [0, 1, 4, 5]);
  assert.deepEqual(app.flameLayout.visible(FLAME, TOTAL, left, 1, 25), [0, 1, 3]);
});

test("nodes that are no spans have names of their own", () => {
  const label = (row) => app.flameLayout.label(FLAME, NAMES, row);
  assert.deepEqual([0, 1, 3, 4, 5].map(label), ["all", "beta", "(deeper)", "thread 7", "(1,234 small)"]);
});
