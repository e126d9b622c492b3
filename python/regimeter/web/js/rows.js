// SPDX-License-Identifier: Apache-2.0
// The timeline's index: one row per lane and depth, spans in order of start. Built once, then every frame asks each
// visible row for blocks: a span that is wide enough is a block of its own, narrower neighbours share one, so a frame
// costs at most one block a pixel however many spans there are.
(function (app) {
  "use strict";

  function byStart(line) {
    const order = new Uint32Array(line.count);
    let sorted = true;
    for (let i = 0; i < line.count; i += 1) {
      order[i] = i;
      if (i > 0 && line.start[i] < line.start[i - 1]) sorted = false;
    }
    return sorted ? order : order.sort((a, b) => line.start[a] - line.start[b] || a - b);
  }

  /** rows[k] = {lane, depth, spans, reach}; reach[i] is the latest end among spans 0..i, for the search below.
      A span whose depth is negative is in no row. */
  function build(line) {
    const groups = new Map();
    const keyOf = (i) => line.lane[i] * 65536 + line.depth[i];
    for (let i = 0; i < line.count; i += 1) if (line.depth[i] >= 0) groups.set(keyOf(i), (groups.get(keyOf(i)) ?? 0) + 1);
    for (const [key, size] of groups) {
      groups.set(key, { lane: Math.floor(key / 65536), depth: key % 65536, spans: new Uint32Array(size), reach: new Float64Array(size), used: 0 });
    }
    for (const i of byStart(line)) {
      if (line.depth[i] < 0) continue;
      const row = groups.get(keyOf(i));
      const end = line.start[i] + line.duration[i];
      row.spans[row.used] = i;
      row.reach[row.used] = row.used > 0 ? Math.max(end, row.reach[row.used - 1]) : end;
      row.used += 1;
    }
    return [...groups.values()].sort((a, b) => a.lane - b.lane || a.depth - b.depth);
  }

  /** First position in the row whose span, or any earlier one, reaches past `when`. */
  function firstReaching(row, when) {
    let [low, high] = [0, row.reach.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.reach[middle] < when) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Blocks of a row inside [t0, t1], drawn at `scale` pixels per ns: emit(x0, x1, span, count, failed).
   * x is in pixels from t0. A shared block shows its longest span, counts all and says whether any of them failed.
   */
  function blocks(row, line, t0, t1, scale, emit) {
    const narrow = 1.5;
    let x0 = 0;
    let x1 = 0;
    let longest = -1;
    let count = 0;
    let failed = 0;
    for (let k = firstReaching(row, t0); k < row.spans.length; k += 1) {
      const i = row.spans[k];
      const start = line.start[i];
      if (start > t1) break;
      const left = (start - t0) * scale;
      const right = left + line.duration[i] * scale;
      if (right < 0) continue;
      const wide = right - left >= narrow;
      if (count > 0 && !wide && left < Math.floor(x0) + 1) {
        x1 = Math.max(x1, right);
        count += 1;
        failed |= line.failed[i];
        if (line.duration[i] > line.duration[longest]) longest = i;
        continue;
      }
      if (count > 0) emit(x0, Math.max(x1, x0 + 1), longest, count, failed);
      count = 0;
      if (wide) emit(left, right, i, 1, line.failed[i]);
      else {
        x0 = left;
        x1 = right;
        longest = i;
        failed = line.failed[i];
        count = 1;
      }
    }
    if (count > 0) emit(x0, Math.max(x1, x0 + 1), longest, count, failed);
  }

  /** The block at pixel x, allowing `slack` pixels for narrow ones: {span, count} or null. */
  function hit(row, line, t0, x, scale, slack) {
    let best = null;
    let distance = Infinity;
    const low = t0 + (x - slack) / scale;
    blocks(row, line, low, t0 + (x + slack) / scale, scale, (left, right, span, count) => {
      const away = left > slack ? left - slack : right < slack ? slack - right : 0;
      if (away < distance || (away === distance && best !== null && line.duration[span] < line.duration[best.span])) {
        distance = away;
        best = { span, count };
      }
    });
    return distance <= slack ? best : null;
  }

  app.rows = { build, firstReaching, blocks, hit };
})((globalThis.regimeter ||= {}));
