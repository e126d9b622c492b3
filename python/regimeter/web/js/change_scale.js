// SPDX-License-Identifier: Apache-2.0
// One scale for all changes of a comparison: logarithms of ratios, so that twice as slow is as far from no change as
// twice as fast. A few extreme changes must not flatten the others: what lies beyond the ends is cut and marked.
(function (app) {
  "use strict";

  const LADDER = [100000, 10000, -99, 1000, -90, 500, -80, 200, 100, -50, 50, 20, -20, 10, -10, 5, -5, 2, -2, 1, -1, 0.5, -0.5];
  const ROOM = 46;
  const logOf = (percent) => Math.log(Math.max(1 + percent / 100, 1e-4));

  function spread(rows, threshold) {
    const ends = rows.filter((row) => row.low_percent !== null && row.high_percent !== null).flatMap((row) => [Math.abs(logOf(row.low_percent)), Math.abs(logOf(row.high_percent))]);
    const changes = rows.filter((row) => row.change_percent !== null && row.verdict !== "no_change").map((row) => Math.abs(logOf(row.change_percent)));
    const sorted = [...ends].sort((a, b) => a - b);
    const usual = sorted.length === 0 ? 0 : sorted[Math.floor(0.9 * (sorted.length - 1))];
    const largest = Math.max(0, ...changes.slice(0, 2000), ...sorted.slice(-1));
    return Math.min(Math.max(usual * 6, 6 * logOf(threshold)), Math.max(largest * 1.05, 1.6 * logOf(threshold), 0.01));
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
