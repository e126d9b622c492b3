// SPDX-License-Identifier: Apache-2.0
// The line above the timeline that says why a device was idle.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { idleStrip } = require("./load.js").load("dom", "units", "idle_strip");

const idle = { causes: ["unknown", "host_late", "launch_gap"], cause: [1, 2, 2, 1], start_ns: [0, 45, 52, 10], duration_ns: [20, 4, 3, 50], devices: [] };

test("a pixel has its share of idle time and the cause with most of it", () => {
  const { cause, share } = idleStrip.causesOf(idle, { from: 0, to: 3 }, 0, 100, 10);
  assert.deepEqual([...cause], [1, 1, -1, -1, 2, 2, -1, -1, -1, -1]);
  assert.deepEqual([...share].map((one) => Math.round(one * 1e6) / 1e6), [1, 1, 0, 0, 0.4, 0.3, 0, 0, 0, 0]);
});

test("a window takes the part of a gap that lies in it, of one device alone", () => {
  const { cause, share } = idleStrip.causesOf(idle, { from: 3, to: 4 }, 40, 80, 4);
  assert.deepEqual([...cause], [1, 1, -1, -1]);
  assert.deepEqual([...share], [1, 1, 0, 0]);
  assert.deepEqual([...idleStrip.causesOf(idle, { from: 0, to: 3 }, 60, 80, 2).cause], [-1, -1]);
});
