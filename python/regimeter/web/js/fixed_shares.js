// SPDX-License-Identifier: Apache-2.0
// Figures of a file that are one fixed part of each duration are constants, not measurements: the rule of
// regimeter/fixed_shares.py, for files that the page reads without Python. A test holds the two together.
(function (app) {
  "use strict";

  const KNOWN = { gpu_time_ms: 0.85, transfer_time_ms: 0.1, overhead_ms: 0.05 };
  const KNOWN_UTILIZATION = [30, 85];
  const TOLERANCE = 1e-3;
  const SAME = 1e-6;
  const MOST = 1e300;

  const positive = (row, name) => (typeof row[name] === "number" && row[name] > 0 && row[name] < MOST ? row[name] : 0);

  function isKnown(rows) {
    const timed = rows.filter((row) => positive(row, "gpu_time_ms"));
    const near = (row, name) => Math.abs(row[name] - KNOWN[name] * row.duration_ms) <= TOLERANCE * KNOWN[name] * row.duration_ms;
    const isSplit = (row, stated) => stated.length > 1 && stated.every((name) => near(row, name));
    return timed.length > 0 && timed.every((row) => isSplit(row, Object.keys(KNOWN).filter((name) => positive(row, name))));
  }

  /** Whether a figure is one and the same part of durations that differ. */
  function isOnePart(rows, name) {
    let [count, least, most, low, high] = [0, Infinity, 0, Infinity, 0];
    for (const row of rows.filter((one) => positive(one, name))) {
      const part = row[name] / row.duration_ms;
      count += 1;
      [least, most] = [Math.min(least, row.duration_ms), Math.max(most, row.duration_ms)];
      [low, high] = [Math.min(low, part), Math.max(high, part)];
    }
    return count > 1 && most > least * (1 + TOLERANCE) && high - low <= SAME * high;
  }

  /** Names of the figures of these entries (of an exported profile) that are constants. */
  function fixedFigures(entries) {
    const rows = entries.filter((row) => typeof row === "object" && row !== null && positive(row, "duration_ms"));
    const found = Object.keys(KNOWN).filter((name) => isKnown(rows) || isOnePart(rows, name));
    const stated = rows.filter((row) => positive(row, "gpu_utilization"));
    if (stated.length > 0 && found.includes("gpu_time_ms") && stated.every((row) => KNOWN_UTILIZATION.includes(row.gpu_utilization))) found.push("gpu_utilization");
    return found;
  }

  app.fixedShares = { fixedFigures, reason: "the file states one fixed part of every duration (or one of two fixed values): a constant, no measurement" };
})((globalThis.regimeter ||= {}));
