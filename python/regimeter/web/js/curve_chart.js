// SPDX-License-Identifier: Apache-2.0
// Lines and points of series over two axes, each linear or logarithmic, with a readout of the point that is looked at. SVG,
// so that it prints sharp. Nothing is computed of the figures here but where they lie.
(function (app) {
  "use strict";

  const { svg } = app.dom;
  const { units } = app;
  const HEIGHT = 300;
  const PAD = { left: 78, right: 16, top: 14, bottom: 46 };
  const DASHES = ["", "7 4", "2 3", "10 3 2 3"];
  const HINT = "Point at the picture, or focus it and use the arrow keys, to read it.";
  const hue = (k) => ({ "--hue": `var(--series-${app.palette.slot(k)})` });

  const numeric = ["ns", "share", "bytes"];
  /** A value with its unit, in three digits; a whole number of things as it is. */
  function valueText(value, unit) {
    if (numeric.includes(unit)) return units.join(app.resultRows.formatOf({ unit })(value));
    const { number, unit: prefix } = Number.isInteger(value) && !unit.includes("/") ? units.count(value) : units.si(value);
    return `${number} ${prefix}${unit}`;
  }

  class CurveChart extends app.Chart {
    /** series: {name, x, y, said}; across, up: {title, unit, log}; held: {label, value}, levels to hold them against. */
    constructor({ title, series, across, up, held }) {
      super();
      Object.assign(this, { title, series, across, up, held, at: null });
      this.keys = app.seriesKeys.make(series.map(({ name }) => name), (name) => this.mark(name), () => this.draw());
      this.frame("curves", HEIGHT, this.keys.node);
    }

    destroy() {
      super.destroy();
      this.keys.destroy();
    }

    mark(name) {
      const k = this.series.findIndex((one) => one.name === name);
      return svg("svg", { class: "curves key", width: 26, height: 12, "aria-hidden": "true", style: hue(k) }, svg("path", { d: "M1 6H25", "stroke-dasharray": DASHES[k % 4] }), svg("circle", { cx: 13, cy: 6, r: 4 }));
    }

    get shown() {
      return this.series.filter(({ name }) => !app.seriesKeys.isOff(name));
    }

    draw() {
      const width = Math.max(this.node.clientWidth, 280);
      const [right, bottom] = [width - PAD.right, HEIGHT - PAD.bottom];
      this.x = app.axis.make("across", this.series.flatMap(({ x }) => x), this.across.log, PAD.left, right);
      this.y = app.axis.make("up", [...this.series.flatMap(({ y }) => y), ...this.held.map(({ value }) => value)], this.up.log, bottom, PAD.top);
      this.plot.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      this.plot.setAttribute("aria-label", `${this.title}: ${this.series.map(({ name }) => name).join(", ")} by ${this.across.title.toLowerCase()}. Arrow keys go through the points.`);
      this.cursor = svg("g", { class: "cursor" });
      this.plot.replaceChildren(...this.axes(width, right, bottom), ...this.levels(right), ...this.lines(), this.cursor);
      this.say(this.at !== null && app.seriesKeys.isOff(this.series[this.at[0]].name) ? null : this.at);
    }

    axes(width, right, bottom) {
      const middle = PAD.top + (bottom - PAD.top) / 2;
      const named = ({ title, log }) => (log ? `${title} (log)` : title);
      const parts = this.x.ticks.flatMap((value) => {
        const at = this.x.place(value);
        return [svg("line", { class: "grid", x1: at, x2: at, y1: PAD.top, y2: bottom }), svg("text", { x: at, y: bottom + 16, "text-anchor": "middle" }, app.axis.text(value, this.across.unit))];
      });
      for (const value of this.y.ticks) {
        const at = this.y.place(value);
        parts.push(svg("line", { class: "grid", x1: PAD.left, x2: right, y1: at, y2: at }), svg("text", { x: PAD.left - 7, y: at + 4, "text-anchor": "end" }, app.axis.text(value, this.up.unit)));
      }
      parts.push(svg("text", { class: "title", x: PAD.left + (right - PAD.left) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, named(this.across)));
      parts.push(svg("text", { class: "title", x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, named(this.up)));
      return parts;
    }

    levels(right) {
      return this.held.flatMap(({ label, value }) => {
        const y = this.y.place(value);
        return [svg("line", { class: "held", x1: PAD.left, x2: right, y1: y, y2: y }), svg("text", { x: PAD.left + 4, y: y + 14 }, label)];
      });
    }

    lines() {
      return this.series.map(({ name, x, y }, k) => {
        const places = Array.from(x, (value, i) => [this.x.place(value).toFixed(1), this.y.place(y[i]).toFixed(1)]);
        const hidden = app.seriesKeys.isOff(name) ? "none" : null;
        return svg("g", { class: "curve", display: hidden, "data-series": name, style: hue(k) }, svg("path", { d: `M${places.map((place) => place.join(" ")).join("L")}`, "stroke-dasharray": DASHES[k % 4] }), places.map(([cx, cy]) => svg("circle", { cx, cy, r: 3.5 })));
      });
    }

    /** The point that is nearest to the pointer: [number of its series, its place in it]. */
    near(event) {
      const box = this.plot.getBoundingClientRect();
      const scale = this.plot.viewBox.baseVal.width / box.width;
      const [left, top] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * (HEIGHT / box.height)];
      let [found, least] = [null, Infinity];
      for (const one of this.shown) {
        one.x.forEach((value, i) => {
          const far = Math.hypot(this.x.place(value) - left, this.y.place(one.y[i]) - top);
          if (far < least) [found, least] = [[this.series.indexOf(one), i], far];
        });
      }
      return found;
    }

    /** Left and right go along a series, up and down to the next one. */
    key(event) {
      const { shown } = this;
      const [along, over] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1], Escape: [0, 0] }[event.key] ?? [];
      if (along === undefined || shown.length === 0) return;
      event.preventDefault();
      if (event.key === "Escape") return void this.say(null);
      const was = this.at === null ? 0 : shown.indexOf(this.series[this.at[0]]);
      const next = shown[(was + (this.at === null ? 0 : over) + shown.length) % shown.length];
      const i = this.at === null ? 0 : this.at[1] + along;
      this.say([this.series.indexOf(next), Math.max(0, Math.min(next.x.length - 1, i))]);
    }

    /** Reads a point and marks it; null reads none. */
    say(at) {
      this.at = at;
      this.cursor?.replaceChildren();
      if (at === null || this.x === undefined) return (this.readout.value = HINT);
      const { name, x, y, said } = this.series[at[0]];
      const i = at[1];
      this.cursor.append(svg("circle", { cx: this.x.place(x[i]), cy: this.y.place(y[i]), r: 6 }));
      return (this.readout.value = `${name}, ${valueText(x[i], this.across.unit)}: ${valueText(y[i], this.up.unit)}${said[i] === "" ? "" : `, ${said[i]}`}`);
    }
  }

  app.CurveChart = CurveChart;
})((globalThis.regimeter ||= {}));
