// SPDX-License-Identifier: Apache-2.0
"use strict";

const { test } = require("node:test");
const assert = require("node:assert/strict");
const { pages, csv } = require("./load.js").load("dom", "address", "deep_link", "pages", "csv");

const panels = (...names) => names.map((name) => ({ name }));
const ids = (found) => found.map(({ id }) => id);

test("a page without anything on it is not offered, and each table has one", () => {
  const model = { kind: "run", described: true, scoped: false, panels: panels("kernels", "idle", "brand-new"), timeline: { path: null }, idle: {} };
  const found = pages.offered(model, ["limit", "timeline", "flame", "analyses", "facts"]);
  assert.deepEqual(ids(found), ["overview", "kernels", "operators", "idle", "trace", "all"]);
  assert.deepEqual([...found[1].views], ["analyses", "flame"]);
  assert.deepEqual([...found[3].views], ["analyses", "timeline"]);
  for (const { name } of model.panels) assert.equal(found.filter((page) => page.id !== "all" && page.tables.has(name)).length, 1, name);
  assert.equal(pages.ofTable(found, "brand-new"), "trace");
  assert.equal(pages.ofTable(found, "flops"), "");
});

test("a view that no page names is on the first", () => {
  const found = pages.offered({ kind: "comparison" }, ["verdict", "samples", "novelty"]);
  assert.deepEqual([...found[0].views], ["verdict", "novelty"]);
});

test("too little is not divided", () => {
  assert.deepEqual(pages.offered({ kind: "run", described: false, panels: [] }, ["timeline", "breakdown"]), []);
  assert.deepEqual(pages.offered({ kind: "comparison" }, ["verdict"]), []);
});

test("an address without a page means that of what it names", () => {
  const model = { kind: "run", described: true, panels: panels("kernels"), timeline: {} };
  const found = pages.offered(model, ["limit", "timeline", "analyses", "roadmap"]);
  const meant = (state) => pages.meant(found, state).id;
  assert.equal(meant({}), "overview");
  assert.equal(meant({ t: "1ms..2ms" }), "trace");
  assert.equal(meant({ t: "nonsense" }), "overview");
  assert.equal(meant({ table: "kernels" }), "kernels");
  assert.equal(meant({ section: "roadmap" }), "suggestions");
  assert.equal(meant({ page: "kernels", t: "1ms..2ms" }), "kernels");
  assert.equal(meant({ page: "no-such-page" }), "overview");
});

test("keys of pages are letters of their own", () => {
  for (const list of [pages.RUN, ...Object.values(pages.KINDS)]) assert.equal(new Set(list.map(({ key }) => key)).size, list.length);
});

test("a saved table keeps numbers plain and texts harmless", () => {
  const rows = [["name", "time (ns)"], ["a,\"b\"", 12.5], ["=HYPERLINK(1)", null], ["-1", Number.NaN], ["two\nlines", -3]];
  assert.equal(csv.text(rows), 'name,time (ns)\r\n"a,""b""",12.5\r\n\'=HYPERLINK(1),\r\n\'-1,\r\n"two\nlines",-3\r\n');
});
