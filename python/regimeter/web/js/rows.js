// SPDX-License-Identifier: Apache-2.0
// The timeline's index: one row per lane and depth, spans in order of start. Built once, then every frame asks each
// visible row for blocks: a span that is wide enough is a block of its own, narrower neighbours share one, so a frame
// costs at most one block a pixel however many spans there are. Stretches of CHUNK spans know their longest one, so a
// pixel under many spans is found without a look at each.
(function (app) {
  "use strict";

  const CHUNK = 64;

  function ascending(column, rows) {
    for (let k = 1; k < rows.length; k += 1) if (column[rows[k]] < column[rows[k - 1]]) return false;
    return true;
  }

  /** Spans by lane and depth: [{lane, depth, spans}]; a span whose depth is negative is in none. */
  function grouped({ count, lane, depth }) {
    const groups = new Map();
    let [key, group] = [-1, null];
    const places = new Uint32Array(count);
    for (let i = 0; i < count; i += 1) {
      if (depth[i] < 0) continue;
      const wanted = lane[i] * 65536 + depth[i];
      if (wanted !== key) {
        key = wanted;
        group = groups.get(key);
        if (group === undefined) groups.set(key, (group = { lane: lane[i], depth: depth[i], size: 0, place: groups.size }));
      }
      group.size += 1;
      places[i] = group.place + 1;
    }
    const made = [...groups.values()].map((one) => ({ lane: one.lane, depth: one.depth, spans: new Uint32Array(one.size), used: 0 }));
    for (let i = 0; i < count; i += 1) {
      if (places[i] === 0) continue;
      const row = made[places[i] - 1];
      row.spans[row.used] = i;
      row.used += 1;
    }
    return made;
  }

  /** Adds reach[k], the latest end among spans 0..k, and of each chunk its longest span, its end and whether any failed. */
  function indexed(row, { start, duration, failed }) {
    const { spans } = row;
    if (!ascending(start, spans)) spans.sort((a, b) => start[a] - start[b] || a - b);
    const chunks = Math.ceil(spans.length / CHUNK);
    Object.assign(row, { reach: new Float64Array(spans.length), longest: new Uint32Array(chunks), ends: new Float64Array(chunks), bad: new Uint8Array(chunks) });
    let reach = -Infinity;
    for (let k = 0; k < spans.length; k += 1) {
      const i = spans[k];
      const chunk = Math.floor(k / CHUNK);
      const end = start[i] + duration[i];
      if (k % CHUNK === 0 || duration[i] > duration[row.longest[chunk]]) row.longest[chunk] = i;
      if (k % CHUNK === 0 || end > row.ends[chunk]) row.ends[chunk] = end;
      row.bad[chunk] |= failed[i];
      row.reach[k] = reach = Math.max(reach, end);
    }
    return row;
  }

  /** Rows {lane, depth, spans, reach, ...} in order of lane and depth. */
  function build(line) {
    return grouped(line).map((row) => indexed(row, line)).sort((a, b) => a.lane - b.lane || a.depth - b.depth);
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
    const { spans } = row;
    let [x0, x1, longest, count, failed] = [0, 0, -1, 0, 0];
    for (let k = firstReaching(row, t0); k < spans.length; k += 1) {
      if (count > 0 && k % CHUNK === 0) {
        // The block takes whole chunks that begin on its pixel and hold nothing wide.
        for (let chunk = k / CHUNK; k + CHUNK < spans.length; chunk += 1, k += CHUNK) {
          const top = row.longest[chunk];
          if ((line.start[spans[k + CHUNK - 1]] - t0) * scale >= Math.floor(x0) + 1 || line.duration[top] * scale >= narrow) break;
          x1 = Math.max(x1, (row.ends[chunk] - t0) * scale);
          count += CHUNK;
          failed |= row.bad[chunk];
          if (line.duration[top] > line.duration[longest]) longest = top;
        }
      }
      const i = spans[k];
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
      else [x0, x1, longest, failed, count] = [left, right, i, line.failed[i], 1];
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
