// SPDX-License-Identifier: Apache-2.0
// Places of a flame graph: siblings from the left by their time, or in the order in which they began, inside their parent;
// what was gathered comes last. Rows are in preorder; positions are in the unit of the times (ns).
(function (app) {
  "use strict";

  /**
   * Left edge of each row for a column of totals; grouped[row] is above 0 for what stands for several rows, place[row] says
   * the which of its siblings began then. inTime: those that began first stand left, not the widest.
   */
  function lefts({ parent, grouped, place }, total, inTime = false) {
    const left = new Float64Array(total.length);
    const used = new Float64Array(total.length);
    const order = Uint32Array.from(total, (_, row) => row).subarray(1);
    const last = (row) => (grouped[row] > 0 ? 1 : 0);
    const before = inTime ? (a, b) => place[a] - place[b] : (a, b) => total[b] - total[a];
    order.sort((a, b) => parent[a] - parent[b] || last(a) - last(b) || before(a, b) || a - b);
    for (const row of order) {
      left[row] = left[parent[row]] + used[parent[row]];
      used[parent[row]] += total[row];
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
