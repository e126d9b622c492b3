// SPDX-License-Identifier: Apache-2.0
// What can be gone to by its name, and the first screen as text.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { finder, summary, units } = require("./load.js").load("dom", "units", "address", "deep_link", "short_names", "span_kinds", "pages", "finder", "summary", "views/limit");

const MODEL = {
  kind: "run",
  panels: [{ name: "idle-gaps" }],
  operations: [{ name: "train" }],
  names: ["gemm", "aten::add"],
  timeline: { count: 4, spans: 4, kinds: ["cpu_op", "kernel"], kind: [0, 1, 1, 1], name: [1, 0, 0, 0], duration: [5, 10, 30, 99], stands: [1, 1, 1, 7] },
};
const LEAVES = [{ id: "idle", title: "Idle and launches", key: "i", tables: new Set(["idle-gaps"]) }];
const all = finder.targets(MODEL, LEAVES);
const texts = (query) => finder.matches(all, query, 4).found.map(({ text }) => text);

test("pages, tables, operations and the longest span of each name, which are no blocks of several", () => {
  assert.deepEqual(all.map(({ text, what, state }) => [text, what, state]), [
    ["Idle and launches", "page", { page: "idle" }],
    ["Idle gaps", "table", { table: "idle-gaps" }],
    ["train", "operation", { op: "train" }],
    ["gemm", "kernel", { sel: "2" }],
    ["aten::add", "operator", { sel: "0" }],
  ]);
  assert.equal(all[3].note, `2 \u00d7, ${units.timeText(40)}`);
});

test("every word has to be there, in any case; a number is a span; the rest is looked for in the timeline", () => {
  assert.deepEqual(texts("ADD operator"), ["aten::add"]);
  assert.deepEqual(texts("idle"), ["Idle and launches", "Idle gaps"]);
  assert.deepEqual(texts("in"), ["train"]);
  assert.deepEqual(texts("2"), ["span 2"]);
  assert.deepEqual(texts("4"), []);
  assert.deepEqual(finder.matches(all, " nothing ", 4).spread.map(({ state }) => state), [{ q: "nothing" }]);
  assert.deepEqual(finder.matches(all, "nothing", 0).spread, []);
});

test("the summary has the sentence, the shares, what to do with its bound, and a command", () => {
  const limit = {
    sentence: "The device waits for the host in 35\u00a0%.",
    why: "The rest: device 36 %.",
    odd: "",
    of: "",
    shares: { device_idle: 0.35, device: 0.36, waiting: 0.001 },
    actions: [{ title: "Look at `what`.", saved_ns: 6e8, share: 0.35, of: "of the device's time", table: null }, { title: "Bucket them", saved_ns: null, share: null, of: "", table: "collectives" }],
  };
  const text = summary.markdown({ kind: "run", limit, run: { file: null } }, "a run.json");
  assert.equal(
    text,
    [
      "**The device waits for the host in 35 %.**",
      "a run.json. The rest: device 36 %.",
      "- device idle: 35.0 %\n- device: 36.0 %\n- everything else: 29.0 %",
      "1. Look at `what`. - up to 600 ms, 35.0 % of the device's time\n2. Bucket them",
      "Next: `regimeter collectives 'a run.json'`\n",
    ].join("\n\n"),
  );
  const operations = { ...limit, of: "Operations by their own time", shares: { my_op: 1 } };
  assert.ok(summary.markdown({ kind: "run", limit: operations }, "x").includes("- my_op: 100"), "a name is no code");
  assert.equal(summary.markdown({ kind: "comparison", limit: null }, "x"), null);
});
