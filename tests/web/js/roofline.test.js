// SPDX-License-Identifier: Apache-2.0
// Where the roofline puts its axes and names; where the critical path is drawn.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { roofline, criticalPath, timelineCanvas, timelineLayout } = require("./load.js").load("dom", "units", "table_rows", "result_table", "axis", "regime_hues", "chart", "roofline_chart", "timeline_layout", "timeline_canvas", "critical_path");

const memory = { name: "memory", of: "memory", value: 1e12 };
const pipe = (name, value) => ({ name, of: "compute", value, low: value / 1.1, high: value * 1.1 });

test("axes are whole powers of ten around all points and the places where roofs meet", () => {
  const found = roofline.extent({ roofs: [memory, pipe("fp32", 3e13)], points: [{ x: 0.5, y: 2e11 }, { x: 4, y: 1e12 }] });
  assert.deepEqual(found, { x: [-1, 2], y: [11, 14] });
  assert.deepEqual(roofline.extent({ roofs: [], points: [{ x: 1, y: 1 }] }), { x: [-1, 1], y: [-1, 1] });
  const alone = roofline.extent({ roofs: [memory, pipe("fp32", 3e13)], points: [] });
  assert.ok(alone.x[0] < Math.log10(30) && alone.x[1] > Math.log10(30));
});

test("names of roofs without room for a line between them are one", () => {
  const y = (value) => 300 - 20 * Math.log2(value);
  const found = roofline.merged([pipe("a", 1), pipe("b", 1), pipe("c", 1.2), pipe("d", 4)], y);
  assert.deepEqual(found.map(({ names }) => names), [["d"], ["c", "a", "b"]]);
});

test("each pixel of a lane is drawn once, folded away lanes not at all", () => {
  const scene = { view: { start: 0, length: 1000 }, scroll: 0, layout: { lanes: [{ lane: 0, y: 0 }, { lane: 2, y: 60 }] } };
  const pieces = { count: 5, start_ns: [0, 100, 100.1, 200, 5000], duration_ns: [100, 0.1, 0.1, 300, 10], lane: [0, 2, 2, 1, 0] };
  const base = timelineCanvas.RULER + timelineLayout.HEADING - 4;
  assert.deepEqual(criticalPath.lines(pieces, scene, 1000), [[0, 100, base], [100, 101, base + 60]]);
});
