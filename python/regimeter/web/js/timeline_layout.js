// SPDX-License-Identifier: Apache-2.0
// Vertical places of the timeline: a heading per lane, then one line per depth. Heights in CSS pixels.
(function (app) {
  "use strict";

  const HEADING = 22;
  const LINE = 20;
  const GAP = 8;

  /**
   * rows (from rows.js, ordered by lane and depth) to {lanes: [{lane, y, folded}], rows: [{row, y}], height}.
   * Of a folded lane only the first line is shown.
   */
  function layout(rows, folded = new Set()) {
    const lanes = [];
    const placed = [];
    let y = 0;
    let lane = -1;
    let below = 0;
    for (const row of rows) {
      if (row.lane !== lane) {
        if (lane >= 0) y = below + GAP;
        lane = row.lane;
        lanes.push({ lane, y, folded: folded.has(lane) });
        y += HEADING;
        below = y;
      }
      if (folded.has(lane) && row.depth > 0) continue;
      placed.push({ row, y: y + row.depth * LINE });
      below = y + (row.depth + 1) * LINE;
    }
    return { lanes, rows: placed, height: lanes.length === 0 ? 0 : below + GAP };
  }

  app.timelineLayout = { layout, HEADING, LINE };
})((globalThis.regimeter ||= {}));
