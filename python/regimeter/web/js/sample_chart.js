// SPDX-License-Identifier: Apache-2.0
// Two distributions back to back: the baseline's histogram upwards, the current side's downwards, on one axis, with
// the median of each process as a tick and the levels of the sides as lines. SVG, so that it prints sharp.
(function (app) {
  "use strict";

  const { el, svg } = app.dom;
  const { units } = app;
  const HALF = 92;
  const AXIS = 24;
  const PAD = { left: 84, right: 16, top: 8 };
  const TICKS = 14; // height of the strip of medians
  const FEW = 8; // samples of a side, below which they are dots
  const CUT = 0.01; // of the samples beyond each end may lie outside, when they would squeeze the others

  const valueText = (unit) => (unit === "s" ? (value) => units.timeText(value * 1e9) : unit === "bytes" ? units.bytesText : (value) => units.join(units.plain(value)));

  /** Ends of the axis: all samples, or all but the extreme ones where these are far away. */
  function range(values) {
    const sorted = Float64Array.from(values).sort();
    const at = (part) => sorted[Math.round(part * (sorted.length - 1))];
    const [low, high, inner] = [sorted[0], sorted.at(-1), at(1 - CUT) - at(CUT)];
    const start = at(CUT) - low > inner ? at(CUT) - inner * 0.2 : low;
    const end = high - at(1 - CUT) > inner ? at(1 - CUT) + inner * 0.2 : high;
    const air = (end - start || Math.abs(end) * 0.02 || 1) * 0.04;
    return [start - air, end + air];
  }

  function histogram(values, low, high, bins) {
    const counts = new Float64Array(bins);
    let outside = 0;
    for (const value of values) {
      const bin = Math.floor(((value - low) / (high - low)) * bins);
      if (bin < 0 || bin >= bins) outside += 1;
      else counts[bin] += 1 / values.length;
    }
    return { counts, outside };
  }

  class SampleChart {
    constructor(row, { baseline, current, blocks = ["process", "processes"] }) {
      Object.assign(this, { row, blocks, sides: [baseline, current], text: valueText(row.unit) });
      this.plot = svg("svg", { class: "samples", height: 2 * (HALF + TICKS) + AXIS + PAD.top, role: "img" });
      this.node = el("div", { class: "chart" }, this.plot, el("p", { class: "help" }, this.words()));
      this.observer = new ResizeObserver(() => this.draw());
      this.observer.observe(this.node);
    }

    destroy() {
      this.observer.disconnect();
    }

    words() {
      const one = ({ medians, values, count }, name) => (count === 0 ? `${name}: none` : `${name}: ${units.countText(count)} samples of ${units.countText(medians.length)} ${this.blocks[medians.length === 1 ? 0 : 1]}${values.length < count ? ` (${units.countText(values.length)} quantiles drawn)` : ""}`);
      return `${one(this.sides[0], "Baseline")}. ${one(this.sides[1], "Current")}. Ticks are the medians of the ${this.blocks[1]}, lines the levels whose ratio is the change.`;
    }

    draw() {
      const width = Math.max(this.node.clientWidth, 320);
      const all = this.sides.flatMap((side) => side.values);
      if (all.length === 0) return;
      const [low, high] = range(all);
      const span = width - PAD.left - PAD.right;
      const x = (value) => PAD.left + ((value - low) / (high - low)) * span;
      const bins = Math.max(12, Math.min(80, Math.round(Math.sqrt(all.length) * 2.5), Math.floor(span / 6)));
      const made = this.sides.map((side) => histogram(side.values, low, high, bins));
      const most = Math.max(1e-9, ...made.flatMap(({ counts }) => [...counts]));
      const middle = PAD.top + HALF + TICKS;
      this.plot.setAttribute("viewBox", `0 0 ${width} ${2 * (HALF + TICKS) + AXIS + PAD.top}`);
      this.plot.setAttribute("aria-label", `Distribution of ${this.row.key} on both sides`);
      const axisTop = middle + AXIS;
      const ticks = units.ticks(low, high, Math.max(2, Math.floor(span / 120)));
      const label = this.row.unit === "s" ? (value) => units.onAxis(value * 1e9, ticks.step * 1e9, high * 1e9) : this.text;
      this.plot.replaceChildren(
        ...ticks.values.map((value) => svg("line", { class: "grid", x1: x(value), x2: x(value), y1: PAD.top, y2: 2 * (HALF + TICKS) + AXIS + PAD.top })),
        ...made.flatMap((one, side) => (this.sides[side].values.length < FEW ? this.dots(side, { x, low, high, middle, axisTop }) : this.bars(one.counts, side, { most, span, bins, middle, axisTop }))),
        ...this.sides.flatMap((side, at) => this.medians(side, at, { x, low, high, middle, axisTop })),
        svg("rect", { class: "axis-strip", x: PAD.left, y: middle, width: span, height: AXIS }),
        ...ticks.values.map((value) => svg("text", { x: x(value), y: middle + AXIS / 2 + 4, "text-anchor": "middle" }, label(value))),
        svg("text", { class: "side side-0", x: PAD.left - 10, y: middle - HALF / 2, "text-anchor": "end" }, "Baseline"),
        svg("text", { class: "side side-1", x: PAD.left - 10, y: axisTop + HALF / 2 + 6, "text-anchor": "end" }, "Current"),
        ...made.map(({ outside }, side) => (outside === 0 ? null : svg("text", { x: width - PAD.right, y: side === 0 ? PAD.top + 10 : axisTop + TICKS + HALF - 2, "text-anchor": "end" }, `${outside} beyond the axis`))).filter(Boolean),
      );
    }

    /** A few samples have no distribution to draw: each is a dot. */
    dots(side, { x, low, high, middle, axisTop }) {
      const y = side === 0 ? middle - TICKS - HALF / 4 : axisTop + TICKS + HALF / 4;
      return this.sides[side].values.filter((value) => value >= low && value <= high).map((value) => svg("circle", { class: `bar-${side}`, cx: x(value), cy: y, r: 4 }));
    }

    bars(counts, side, { most, span, bins, middle, axisTop }) {
      const step = span / bins;
      return [...counts].map((count, i) => {
        const height = (count / most) * HALF;
        const y = side === 0 ? middle - TICKS - height : axisTop + TICKS;
        return height === 0 ? null : svg("rect", { class: `bar-${side}`, x: PAD.left + i * step, y, width: Math.max(step - 1, 0.8), height });
      }).filter(Boolean);
    }

    medians({ medians }, side, { x, low, high, middle, axisTop }) {
      const inside = medians.filter((value) => value >= low && value <= high);
      const [top, bottom] = side === 0 ? [middle - TICKS + 3, middle - 3] : [axisTop + 3, axisTop + TICKS - 3];
      const level = side === 0 ? this.row.baseline : this.row.current;
      const parts = inside.map((value) => svg("line", { class: `tick-${side}`, x1: x(value), x2: x(value), y1: top, y2: bottom }));
      if (level !== null && level >= low && level <= high) {
        const [from, to] = side === 0 ? [PAD.top, middle] : [axisTop, axisTop + TICKS + HALF];
        parts.push(svg("line", { class: "level", x1: x(level), x2: x(level), y1: from, y2: to }, svg("title", null, this.text(level))));
      }
      return parts;
    }
  }

  app.SampleChart = SampleChart;
  app.valueText = valueText;
})((globalThis.regimeter ||= {}));
