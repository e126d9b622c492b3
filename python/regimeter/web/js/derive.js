// SPDX-License-Identifier: Apache-2.0
// Statistics for files that carry entries but not every figure. Used only for what a file lacks, and the page says so.
(function (app) {
  "use strict";

  /** Linear interpolation between the closest ranks, as NumPy's default does. `sorted` must be ascending. */
  function quantile(sorted, q) {
    const at = (sorted.length - 1) * q;
    const low = Math.floor(at);
    const high = Math.min(low + 1, sorted.length - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
  }

  /** Figures of one operation from its durations in ns; the deviation is the population's, as get_summary() has it. */
  function durations(values) {
    const sorted = Float64Array.from(values).sort();
    const count = sorted.length;
    let total = 0;
    for (const value of sorted) total += value;
    const mean = total / count;
    let squares = 0;
    for (const value of sorted) squares += (value - mean) ** 2;
    const std = Math.sqrt(squares / count);
    return {
      calls: count,
      totalNs: total,
      meanNs: mean,
      minNs: sorted[0],
      maxNs: sorted[count - 1],
      stdNs: std,
      medianNs: quantile(sorted, 0.5),
      p95Ns: quantile(sorted, 0.95),
      p99Ns: quantile(sorted, 0.99),
      cv: mean === 0 ? null : std / mean,
    };
  }

  /** Sum of what is present; null when nothing is: an absent figure is not a zero. */
  function sumPresent(values) {
    let sum = null;
    for (const value of values) if (value !== null) sum = (sum ?? 0) + value;
    return sum;
  }

  function maxPresent(values) {
    let top = null;
    for (const value of values) if (value !== null && (top === null || value > top)) top = value;
    return top;
  }

  /** Lowest free depth for each interval, so that intervals of one lane never cover each other. Input in file order. */
  function nesting(start, duration, lane, laneCount) {
    const order = Uint32Array.from(start.keys());
    order.sort((a, b) => start[a] - start[b] || duration[b] - duration[a]);
    const depth = new Uint16Array(start.length);
    const open = Array.from({ length: laneCount }, () => []);
    for (const i of order) {
      const ends = open[lane[i]];
      while (ends.length > 0 && ends[ends.length - 1] <= start[i]) ends.pop();
      depth[i] = Math.min(ends.length, 65535);
      ends.push(start[i] + duration[i]);
    }
    return depth;
  }

  app.derive = { quantile, durations, sumPresent, maxPresent, nesting };
})((globalThis.regimeter ||= {}));
