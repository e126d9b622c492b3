// SPDX-License-Identifier: Apache-2.0
// What is selected in a timeline of tiles is kept while the server is still asked for it.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { load } = require("./load.js");

const app = load("tile_spans", "sight");
const WANTED = { lane: "main", name: "forward", start: 40, depth: 0 };

/** A timeline with nothing selected whose server answers when it is told to. */
function waiting() {
  const answers = [];
  const asked = () => new Promise((answer) => answers.push(answer));
  const timeline = {
    scene: { view: { zoomed: false }, selected: null, lanes: [{ key: "main" }], range: null, scroll: 0 },
    folded: new Set(),
    pinned: new Set(),
    numberOf: () => timeline.tiles.coming,
    take(row) {
      timeline.scene.selected = row;
    },
  };
  timeline.tiles = { ...app.tileSpans, timeline, turn: 0, coming: null, sought: null, chosen: null, draw() {}, say() {}, address: String, ask: asked, lineFrom: asked, seek: asked };
  const answered = async (answer) => {
    answers.shift()(answer);
    await new Promise(setImmediate);
  };
  return { timeline, answered };
}

const kept = (timeline) => app.sight.keepTimeline(timeline).selected;

test("a span that is looked for is what is kept, until it is here", async () => {
  const { timeline, answered } = waiting();
  timeline.tiles.chooseAgain(WANTED);
  assert.equal(kept(timeline), WANTED);
  await answered(7);
  assert.equal(timeline.tiles.coming, 7);
  assert.equal(kept(timeline), WANTED);
  await answered({});
  await answered({ count: 1, span: [7] });
  assert.deepEqual([timeline.scene.selected, timeline.tiles.sought], [0, null]);
});

test("a span that is nowhere is no longer kept", async () => {
  const { timeline, answered } = waiting();
  timeline.tiles.chooseAgain(WANTED);
  await answered(null);
  assert.equal(kept(timeline), null);
});

test("what is released is not kept", () => {
  const { timeline } = waiting();
  timeline.tiles.chooseAgain(WANTED);
  timeline.tiles.release();
  assert.equal(kept(timeline), null);
});
