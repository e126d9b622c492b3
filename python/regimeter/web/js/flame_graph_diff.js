// SPDX-License-Identifier: Apache-2.0
// A flame graph of two runs: a node is as wide as its time, and has the colour of what the comparison says of a call of its
// operation. What that cannot tell is grey, however much the sums differ.
(function (app) {
  "use strict";

  // Change of a call at which each step of colour begins.
  const EDGES = [0, 0.1, 0.25, 0.6];
  const FILLS = ["faster-4", "faster-3", "faster-2", "faster-1", "same", "untold", "one-side", "slower-1", "slower-2", "slower-3", "slower-4"];
  const WORDS = { unchanged: "same", new: "one-side", removed: "one-side" };

  /** The fill of a row of the comparison; untold where there is none, or it came to no end. */
  function fillOf(row) {
    const state = row === undefined ? "undecided" : app.changeWords.stateOf(row);
    if (state !== "slower" && state !== "faster") return WORDS[state] ?? "untold";
    const size = row.change_percent === null ? Infinity : Math.abs(Math.log(Math.max(1 + row.change_percent / 100, 1e-4)));
    return `${state}-${Math.max(1, EDGES.filter((edge) => size >= edge).length)}`;
  }

  /** Time of a call, null without any. */
  const aCall = (time, calls) => (calls > 0 && time > 0 ? time / calls : null);

  class DiffFlameGraph extends app.FlameGraph {
    /** rows: of the comparison, by the name of the operation. */
    constructor(canvas, changed, rows) {
      super(canvas, changed);
      this.rows = rows;
    }

    recolor() {
      if (!this.canvas.isConnected) return;
      const colors = app.palette.resolve(this.canvas);
      const style = getComputedStyle(this.canvas);
      const read = (name) => {
        this.canvas.style.setProperty("color", `var(--${name})`);
        return style.color;
      };
      const fills = FILLS.map(read);
      this.canvas.style.removeProperty("color");
      this.colors = { ...colors, fills, inks: fills.map(app.palette.textOn) };
      this.request();
    }

    row(at) {
      return this.rows.get(this.names[this.flame.name[at]]);
    }

    colorOf(at) {
      return FILLS.indexOf(fillOf(this.row(at)));
    }

    figures(at) {
      const { timeText, countText } = app.units;
      const { baseline_ns: before, current_ns: after, baseline_calls: fewer, current_calls: more } = this.flame;
      const sides = [["baseline", before[at], fewer[at]], ["current", after[at], more[at]]];
      const text = (time, calls) => {
        if (!(time > 0)) return "absent";
        const one = aCall(time, calls);
        return `${timeText(time)}${one === null ? "" : ` in ${countText(calls)} ${calls === 1 ? "call" : "calls"}, ${timeText(one)} each`}`;
      };
      return [...sides.map(([side, time, calls]) => [side, text(time, calls)]), ["a call", this.verdict(at)]];
    }

    /** What the comparison says of the operation, in all its places. */
    verdict(at) {
      const row = this.row(at);
      if (row === undefined) return "not compared by itself";
      const { signed } = app.changes;
      const change = row.change_percent === null ? "" : `, ${signed(row.change_percent)} %`;
      const ends = row.low_percent === null || row.high_percent === null ? "" : ` [${signed(row.low_percent)}, ${signed(row.high_percent)}]`;
      return `${app.changeWords.wordOf(row)}${change}${ends}`;
    }
  }

  app.DiffFlameGraph = DiffFlameGraph;
  app.flameDiff = { fillOf };
})((globalThis.regimeter ||= {}));
