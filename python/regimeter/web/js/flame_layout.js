// SPDX-License-Identifier: Apache-2.0
// Places of a flame graph: each row starts where its elder siblings end, inside its parent. Rows are in preorder, so one
// pass is enough; positions are in the unit of the times (ns).
(function (app) {
  "use strict";

  /** Left edge of each row for a column of totals. */
  function lefts(parent, total) {
    const left = new Float64Array(total.length);
    const used = new Float64Array(total.length);
    for (let row = 1; row < total.length; row += 1) {
      const above = parent[row];
      left[row] = left[above] + used[above];
      used[above] += total[row];
    }
    return left;
  }

  /** First row after the subtree of `row`. */
  function endOf(depth, row) {
    let end = row + 1;
    while (end < depth.length && depth[end] > depth[row]) end += 1;
    return end;
  }

  /** Rows to draw for a focus: it and its callers over the full width, and what is below it and at least `least` ns long. */
  function visible({ parent, depth }, total, left, focus, least) {
    const rows = [];
    for (let row = parent[focus]; row >= 0; row = parent[row]) rows.push(row);
    rows.reverse();
    const end = endOf(depth, focus);
    for (let row = focus; row < end; ) {
      if (total[row] >= least && total[row] > 0) {
        rows.push(row);
        row += 1;
      } else row = endOf(depth, row);
    }
    return rows;
  }

  function label(flame, names, row) {
    const { countText } = app.units;
    const name = names[flame.name[row]];
    switch (flame.roles[flame.role[row]]) {
      case "all":
        return "all";
      case "lane":
        return flame.laneNames[flame.lane[row]] ?? name;
      case "unlaunched":
        return "device work without a recorded launch";
      case "small":
        return `(${countText(flame.grouped[row])} small)`;
      case "deeper":
        return "(deeper)";
      default:
        return name;
    }
  }

  app.flameLayout = { lefts, endOf, visible, label };
})((globalThis.regimeter ||= {}));
