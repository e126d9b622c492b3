// SPDX-License-Identifier: Apache-2.0
// A long series to at most about four points a pixel: first, lowest, highest and last of each pixel column.
// No extreme is lost, so a spike of one sample is still seen.
(function (app) {
  "use strict";

  /** Indices to draw, ascending, of samples with low <= time <= high. Gaps (NaN) are kept as one index each. */
  function decimate(time, value, low, high, pixels) {
    const inside = [];
    for (let i = 0; i < time.length; i += 1) if (time[i] >= low && time[i] <= high) inside.push(i);
    if (inside.length <= pixels * 4) return inside;
    const scale = pixels / Math.max(high - low, 1);
    const keep = [];
    let at = 0;
    while (at < inside.length) {
      const column = Math.floor((time[inside[at]] - low) * scale);
      const chosen = new Set([inside[at]]);
      let [lowest, highest, last] = [inside[at], inside[at], inside[at]];
      for (; at < inside.length && Math.floor((time[inside[at]] - low) * scale) === column; at += 1) {
        const i = inside[at];
        if (Number.isNaN(value[i])) chosen.add(i);
        if (!(value[i] >= value[lowest])) lowest = i;
        if (!(value[i] <= value[highest])) highest = i;
        last = i;
      }
      for (const i of [lowest, highest, last]) chosen.add(i);
      keep.push(...[...chosen].sort((a, b) => a - b));
    }
    return keep;
  }

  /** Index of the sample nearest to `when`; time must ascend. -1 when there is none. */
  function nearest(time, when) {
    let [low, high] = [0, time.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time[middle] < when) low = middle + 1;
      else high = middle;
    }
    if (low === time.length) return low - 1;
    return low > 0 && when - time[low - 1] < time[low] - when ? low - 1 : low;
  }

  app.decimate = { decimate, nearest };
})((globalThis.regimeter ||= {}));
