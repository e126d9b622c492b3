// SPDX-License-Identifier: Apache-2.0
// Vertical places of the timeline: a heading per lane, then one line per depth. Heights in CSS pixels.
(function (app) {
  "use strict";

  const HEADING = 22;
  const LINE = 20;
  const GAP = 8;
  const MOST_FIXED = 320; // what is pinned stays in place up to this height; more of it is first, and scrolls with the rest

  /**
   * rows (from rows.js, ordered by lane and depth) to {lanes: [{lane, y, folded, pinned}], rows: [{row, y}], height, fixed}.
   * Of a folded lane only the first line is shown. Pinned lanes come first; `fixed` is the height of those that do not scroll.
   */
  function layout(rows, folded = new Set(), pinned = new Set()) {
    const lanes = [];
    const placed = [];
    let y = 0;
    let lane = -1;
    let below = 0;
    let fixed = 0;
    const order = pinned.size === 0 ? rows : [...rows.filter((row) => pinned.has(row.lane)), ...rows.filter((row) => !pinned.has(row.lane))];
    for (const row of order) {
      if (row.lane !== lane) {
        if (lane >= 0) y = below + GAP;
        if (pinned.has(lane)) fixed = y;
        lane = row.lane;
        lanes.push({ lane, y, folded: folded.has(lane), pinned: pinned.has(lane) });
        y += HEADING;
        below = y;
      }
      if (folded.has(lane) && row.depth > 0) continue;
      placed.push({ row, y: y + row.depth * LINE });
      below = y + (row.depth + 1) * LINE;
    }
    return { lanes, rows: placed, height: lanes.length === 0 ? 0 : below + GAP, fixed: fixed > MOST_FIXED ? 0 : fixed };
  }

  /** Where what is `y` below the first lane is seen, from the time scale on: what is pinned does not scroll. */
  const seenAt = ({ layout: { fixed }, scroll }, y) => (y < fixed ? y : y - scroll);

  /** What is seen so far below the time scale, as a height below the first lane. */
  const heightAt = ({ layout: { fixed }, scroll }, seen) => (seen < fixed ? seen : seen + scroll);

  /** Whether pinned lanes lie over it. */
  const covered = (scene, y) => y >= scene.layout.fixed && seenAt(scene, y) < scene.layout.fixed;

  app.timelineLayout = { layout, seenAt, heightAt, covered, HEADING, LINE };
})((globalThis.regimeter ||= {}));
