// SPDX-License-Identifier: Apache-2.0
// A flame graph of two runs: a node is as wide as its time, and coloured by how that time changed.
(function (app) {
  "use strict";

  const STEPS = 4;
  // Change at which each step of colour begins; below the first a node has the colour of no change.
  const EDGES = [0.02, 0.1, 0.25, 0.6];

  class DiffFlameGraph extends app.FlameGraph {
    recolor() {
      if (!this.canvas.isConnected) return;
      const colors = app.palette.resolve(this.canvas);
      const style = getComputedStyle(this.canvas);
      const read = (name) => {
        this.canvas.style.setProperty("color", `var(--${name})`);
        return style.color;
      };
      const names = [...[4, 3, 2, 1].map((step) => `faster-${step}`), "same", ...[1, 2, 3, 4].map((step) => `slower-${step}`)];
      const fills = names.map(read);
      this.canvas.style.removeProperty("color");
      this.colors = { ...colors, fills, inks: fills.map(app.palette.textOn) };
      this.request();
    }

    /** Index of a fill: 0 much faster (or gone), 4 no change, 8 much slower (or new). */
    colorOf(row) {
      const [before, after] = [this.flame.baseline_ns[row], this.flame.current_ns[row]];
      if (before <= 0 || after <= 0) return after > before ? 2 * STEPS : before > after ? 0 : STEPS;
      const log = Math.log(after / before);
      const step = EDGES.filter((edge) => Math.abs(log) >= edge).length;
      return STEPS + Math.sign(log) * step;
    }

    figures(row) {
      const { timeText } = app.units;
      const [before, after] = [this.flame.baseline_ns[row], this.flame.current_ns[row]];
      const change = after - before;
      const pairs = [["baseline", before > 0 ? timeText(before) : "absent"], ["current", after > 0 ? timeText(after) : "absent"]];
      if (before > 0 && after > 0) pairs.push(["change", `${change < 0 ? "\u2212" : "+"}${timeText(Math.abs(change))} (${app.changes.signed((after / before - 1) * 100)} %)`]);
      return pairs;
    }
  }

  app.DiffFlameGraph = DiffFlameGraph;
})((globalThis.regimeter ||= {}));
