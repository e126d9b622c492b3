// SPDX-License-Identifier: Apache-2.0
// The value of an operation over its runs, with its intervals and the change points that were found.
(function (app) {
  "use strict";

  const { svg } = app.dom;
  const { units } = app;
  const HEIGHT = 210;
  const CHARACTER = 7; // pixels
  const PAD = { left: 76, right: 16, top: 14, bottom: 24 };

  class TrendChart extends app.Chart {
    /** levels: {label, value}, what the points are held against; a point that is `over` them stands out. */
    constructor({ points, changes, levels = [] }, unit) {
      super();
      Object.assign(this, { points, changes, levels, text: app.valueText(unit), at: null });
      this.frame("trend", HEIGHT);
    }

    draw() {
      const width = Math.max(this.node.clientWidth, 320);
      const ends = this.points.flatMap((point) => [point.low ?? point.value, point.high ?? point.value]);
      ends.push(...this.levels.map(({ value }) => value));
      let [low, high] = [Math.min(...ends), Math.max(...ends)];
      const air = (high - low || Math.abs(high) * 0.05 || 1) * 0.12;
      [low, high] = [low - air, high + air];
      const [w, h] = [width - PAD.left - PAD.right, HEIGHT - PAD.top - PAD.bottom];
      const count = this.points.length;
      this.x = (i) => PAD.left + (count === 1 ? w / 2 : (i / (count - 1)) * w);
      this.y = (value) => PAD.top + h - ((value - low) / (high - low)) * h;
      this.width = width;
      this.plot.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      this.plot.setAttribute("aria-label", `Trend over ${count} runs, ${this.changes.length} change points. Arrow keys move the readout.`);
      const up = units.ticks(low, high, 4);
      this.cursor = svg("g", { class: "cursor" });
      this.plot.replaceChildren(
        ...up.values.flatMap((value) => [
          svg("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: this.y(value), y2: this.y(value) }),
          svg("text", { x: PAD.left - 8, y: this.y(value) + 4, "text-anchor": "end" }, this.text(value)),
        ]),
        ...this.stretches(),
        ...this.held(),
        ...this.points.flatMap((point, i) => (point.low === undefined || point.high === undefined ? [] : [svg("line", { class: "whisker", x1: this.x(i), x2: this.x(i), y1: this.y(point.low), y2: this.y(point.high) })])),
        ...this.points.map((point, i) => svg("circle", { class: point.over ? "point over" : "point", cx: this.x(i), cy: this.y(point.value), r: count > 200 ? 1.6 : 3 })),
        this.cursor,
        svg("text", { x: PAD.left, y: HEIGHT - 7 }, this.short(this.points[0].label)),
        count > 1 ? svg("text", { x: width - PAD.right, y: HEIGHT - 7, "text-anchor": "end" }, this.short(this.points.at(-1).label)) : svg("text", null),
      );
      this.say(this.at);
    }

    /** As much of a label as fits into half of the width. */
    short(label) {
      const room = Math.min(28, Math.floor((this.width - PAD.left - PAD.right) / 2 / CHARACTER));
      return label.length > room ? `${label.slice(0, room - 1)}\u2026` : label;
    }

    /** The level on both sides of each change point, and a line at it. */
    stretches() {
      const edges = [0, ...this.changes.map(({ at }) => at), this.points.length];
      const levels = this.changes.length === 0 ? [] : [this.changes[0].before, ...this.changes.map(({ after }) => after)];
      const parts = levels.map((level, k) => svg("line", { class: "segment", x1: this.x(edges[k]), x2: this.x(edges[k + 1] - 1), y1: this.y(level), y2: this.y(level) }));
      for (const change of this.changes) {
        const x = (this.x(change.at) + this.x(Math.max(0, change.at - 1))) / 2;
        parts.push(svg("line", { class: "change-point", x1: x, x2: x, y1: PAD.top, y2: HEIGHT - PAD.bottom }, svg("title", null, this.words(change))));
        parts.push(svg("text", { class: "change-label", x: x + 5, y: PAD.top + 4 }, `${app.changes.signed((change.after / change.before - 1) * 100)} %`));
      }
      return parts;
    }

    /** The levels that the points are held against, each with its name. */
    held() {
      const right = this.width - PAD.right;
      return this.levels.flatMap(({ label, value }, i) => [
        svg("line", { class: `held held-${i}`, x1: PAD.left, x2: right, y1: this.y(value), y2: this.y(value) }),
        svg("text", { x: right, y: this.y(value) - 4, "text-anchor": "end", class: "held-label" }, `${label} ${this.text(value)}`),
      ]);
    }

    words({ at, before, after, p }) {
      return `change at ${this.points[at]?.label ?? at}: ${this.text(before)} to ${this.text(after)}, p = ${p.toPrecision(2)}`;
    }

    near(event) {
      const place = this.plot.getBoundingClientRect();
      const x = ((event.clientX - place.left) / place.width) * this.width;
      const count = this.points.length;
      const i = count === 1 ? 0 : Math.round(((x - PAD.left) / (this.width - PAD.left - PAD.right)) * (count - 1));
      return Math.max(0, Math.min(count - 1, i));
    }

    key(event) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      this.say(Math.max(0, Math.min(this.points.length - 1, (this.at ?? -1) + step)));
    }

    say(i) {
      this.at = i;
      this.cursor?.replaceChildren();
      if (i === null) {
        this.readout.value = this.changes.length === 0 ? "No change point was found." : this.changes.map((change) => this.words(change)).join("; ");
        return;
      }
      const point = this.points[i];
      this.cursor.append(svg("circle", { cx: this.x(i), cy: this.y(point.value), r: 5 }));
      this.readout.value = `${point.label}: ${this.text(point.value)}${point.low === undefined || point.high === undefined ? "" : ` [${this.text(point.low)}, ${this.text(point.high)}]`}`;
    }
  }

  app.TrendChart = TrendChart;
})((globalThis.regimeter ||= {}));
