// SPDX-License-Identifier: Apache-2.0
// One scale for all changes of a comparison: logarithms of ratios, so that twice as slow is as far from no change as
// twice as fast. A few extreme changes must not flatten the others: what lies beyond the ends is cut and marked.
(function (app) {
  "use strict";

  const LADDER = [100000, 10000, -99, 1000, -90, 500, -80, 200, 100, -50, 50, 20, -20, 10, -10, 5, -5, 2, -2, 1, -1, 0.5, -0.5];
  const ROOM = 46;
  const logOf = (percent) => Math.log(Math.max(1 + percent / 100, 1e-4));

  /** Value below which the given part of the values lies. */
  function quantile(values, part) {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted.length === 0 ? 0 : sorted[Math.ceil(part * (sorted.length - 1))];
  }

  /** Where the scale ends: most verdicts and most intervals lie within, and the threshold is not at its edge. */
  function spread(rows, threshold) {
    const size = (percent) => Math.abs(logOf(percent));
    const found = rows.filter((row) => row.change_percent !== null && (row.verdict === "regression" || row.verdict === "improvement"));
    const ends = rows.filter((row) => row.low_percent !== null && row.high_percent !== null).flatMap((row) => [size(row.low_percent), size(row.high_percent)]);
    const wanted = Math.max(1.3 * quantile(found.map((row) => size(row.change_percent)), 0.9), 1.5 * quantile(ends, 0.75));
    return Math.max(wanted, 1.6 * logOf(threshold), 0.01);
  }

  class ChangeScale {
    constructor(rows, threshold, width) {
      this.width = width;
      this.end = spread(rows, threshold);
      this.ticks = this.choose();
    }

    /** Round percentages from the ends inwards, as far as their labels have room. */
    choose() {
      const taken = [0];
      for (const percent of LADDER) {
        if (Math.abs(logOf(percent)) <= this.end && taken.every((other) => Math.abs(this.x(other) - this.x(percent)) >= ROOM)) taken.push(percent);
      }
      return taken.sort((a, b) => a - b);
    }

    /** Pixels of a change in percent; cut at the ends. */
    x(percent) {
      const log = Math.max(-this.end, Math.min(this.end, logOf(percent)));
      return ((log + this.end) / (2 * this.end)) * this.width;
    }

    beyond(percent) {
      const log = logOf(percent);
      return log > this.end ? 1 : log < -this.end ? -1 : 0;
    }
  }

  const signed = (percent, digits = 1) => `${percent > 0 ? "+" : percent < 0 ? "\u2212" : ""}${Math.abs(percent).toFixed(digits)}`;

  app.ChangeScale = ChangeScale;
  app.changes = { signed, logOf };
})((globalThis.regimeter ||= {}));
