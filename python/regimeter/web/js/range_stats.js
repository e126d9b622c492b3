// SPDX-License-Identifier: Apache-2.0
// What ran in a range of time: spans by name, with their number and the part of their time that lies in the range.
(function (app) {
  "use strict";

  /** The part of row `i` that lies in [t0, t1]: {spans, time}. Of a block it is taken as even over its length. */
  function part(line, i, t0, t1) {
    const [start, length] = [line.start[i], line.duration[i]];
    const inside = Math.min(start + length, t1) - Math.max(start, t0);
    if (line.stands[i] === 1) return { spans: 1, time: Math.max(inside, 0) };
    const share = length > 0 ? Math.max(inside, 0) / length : 1;
    return { spans: Math.max(1, Math.round(line.stands[i] * share)), time: line.sums.get(i) * share };
  }

  /**
   * Rows {name, spans, time, longest} of what runs in [t0, t1] on the lines that are shown, by time. Spans within others
   * count in both. A block of many spans has the name of its longest; `exact` says that there was none. `names`: rows in all.
   */
  function of(line, rows, t0, t1) {
    const found = new Map();
    let [spans, exact] = [0, true];
    for (const row of rows) {
      for (let k = app.rows.firstReaching(row, t0); k < row.spans.length; k += 1) {
        const i = row.spans[k];
        if (line.start[i] > t1) break;
        if (line.start[i] + line.duration[i] < t0) continue;
        const { spans: count, time } = part(line, i, t0, t1);
        let one = found.get(line.name[i]);
        if (one === undefined) found.set(line.name[i], (one = { name: line.name[i], spans: 0, time: 0, longest: i }));
        one.spans += count;
        one.time += time;
        if (line.duration[i] > line.duration[one.longest]) one.longest = i;
        spans += count;
        exact &&= line.stands[i] === 1;
      }
    }
    return { rows: [...found.values()].sort((a, b) => b.time - a.time || a.name - b.name), names: found.size, spans, exact };
  }

  app.rangeStats = { of };
})((globalThis.regimeter ||= {}));
