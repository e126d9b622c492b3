// SPDX-License-Identifier: Apache-2.0
// One line chart of series over time that share a unit, memory or any other, with a crosshair that reads all of them. SVG, so
// that it prints sharp.
(function (app) {
  "use strict";

  const { el, svg } = app.dom;
  const { units } = app;
  const HEIGHT = 240;
  const PAD = { left: 68, right: 14, top: 10, bottom: 26 };
  const DASHES = ["", "7 4", "2 3", "10 3 2 3"];

  const INSTANT_NS = 1e6; // what an axis shows of a moment at the start

  const CAPTION = 14; // height of the unit above an axis whose numbers are without it

  /** What an axis says at a tick; null for a unit that stands above the axis instead. */
  const AXES = {
    bytes: (value, step, high) => units.onAxis(value, step, high, units.BYTE_STEPS),
    ns: (value, step, high) => units.onAxis(value, step, high),
    share: (value, step) => `${(value * 100).toFixed(Math.max(0, Math.min(6, Math.ceil(-Math.log10(step * 100) - 1e-9))))} %`,
  };
  const HALF_TICK = 26; // pixels of the label of a time
  const format = (unit) => (value) => units.join(app.resultRows.formatOf({ unit })(value));

  /** Values over time between these; around a single moment half of it on both sides. */
  function bounds(series, fromZero) {
    let [t0, t1, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { time, value } of series) {
      for (let i = 0; i < time.length; i += 1) {
        t0 = Math.min(t0, time[i]);
        t1 = Math.max(t1, time[i]);
        if (!Number.isNaN(value[i])) {
          low = Math.min(low, value[i]);
          high = Math.max(high, value[i]);
        }
      }
    }
    if (fromZero) low = Math.min(0, low);
    const air = (high - low || Math.abs(high) || 1) * 0.06;
    if (t1 === t0) [t0, t1] = t0 === 0 ? [0, INSTANT_NS] : [t0 / 2, t0 * 1.5];
    return { t0, t1, low: low === 0 ? 0 : low - air, high: high + air };
  }

  function path(series, box, x, y, pixels) {
    const words = [];
    let pen = "M";
    for (const i of app.decimate.decimate(series.time, series.value, box.t0, box.t1, pixels)) {
      if (Number.isNaN(series.value[i])) {
        pen = "M";
        continue;
      }
      const [across, up] = [x(series.time[i]).toFixed(1), y(series.value[i]).toFixed(1)];
      words.push(series.steps && pen === "L" ? `H${across}V${up}` : `${pen}${across} ${up}`);
      pen = "L";
    }
    return words.join("");
  }

  class MemoryChart extends app.Chart {
    /** `across` is what the horizontal axis is called where it is no time. */
    constructor(series, unit, title = "Memory over time", across = "") {
      super();
      Object.assign(this, { series, unit, title, across });
      this.bottom = PAD.bottom + (across ? CAPTION : 0);
      this.text = format(unit);
      this.top = PAD.top + (AXES[unit] ? 0 : CAPTION);
      this.fromZero = true;
      this.frame("memory", HEIGHT, this.named() ? null : this.legend());
    }

    /** Whether the title says already what the only line is. */
    named() {
      return this.series.length === 1 && this.title.toLowerCase().startsWith(this.series[0].name.toLowerCase());
    }

    legend() {
      return el(
        "ul",
        { class: "legend" },
        this.series.map(({ name }, k) => el("li", null, svg("svg", { class: "key", width: 26, height: 10, "aria-hidden": "true" }, svg("line", { x1: 1, x2: 25, y1: 5, y2: 5, class: `stroke-${k % 4}`, "stroke-dasharray": DASHES[k % 4] })), name)),
      );
    }

    draw() {
      const width = Math.max(this.node.clientWidth, 240);
      const box = bounds(this.series, this.fromZero);
      const [w, h] = [width - PAD.left - PAD.right, HEIGHT - this.top - this.bottom];
      const x = (t) => PAD.left + ((t - box.t0) / (box.t1 - box.t0)) * w;
      const y = (v) => this.top + h - ((v - box.low) / (box.high - box.low)) * h;
      Object.assign(this, { box, x, y, w });
      this.plot.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      this.plot.setAttribute("aria-label", `${this.title}: ${this.series.map(({ name }) => name).join(", ")}. Arrow keys move the readout.`);
      const across = units.ticks(box.t0, box.t1, Math.max(2, Math.floor(w / 110)));
      const up = units.ticks(box.low, box.high, 5);
      const tick = AXES[this.unit] ?? ((value) => units.join(units.plain(value)));
      this.cursor = svg("g", { class: "cursor" });
      this.plot.replaceChildren(
        ...up.values.flatMap((v) => [
          svg("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: y(v), y2: y(v) }),
          svg("text", { x: PAD.left - 8, y: y(v) + 3.5, "text-anchor": "end" }, tick(v, up.step, box.high)),
        ]),
        ...across.values.map((t) => svg("text", { x: x(t), y: HEIGHT - this.bottom + 18, "text-anchor": x(t) + HALF_TICK > width ? "end" : "middle" }, units.onAxis(t, across.step, box.t1))),
        ...(this.across ? [svg("text", { x: PAD.left + w / 2, y: HEIGHT - 4, "text-anchor": "middle" }, this.across)] : []),
        ...(AXES[this.unit] ? [] : [svg("text", { x: PAD.left - 8, y: PAD.top, "text-anchor": "end" }, this.unit)]),
        svg("line", { class: "axis", x1: PAD.left, x2: width - PAD.right, y1: this.top + h, y2: this.top + h }),
        ...this.series.map((one, k) => svg("path", { class: `stroke-${k % 4}`, d: path(one, box, x, y, w), "stroke-dasharray": DASHES[k % 4] })),
        ...this.series.flatMap(({ time, value }, k) => (time.length === 1 && !Number.isNaN(value[0]) ? [svg("circle", { class: `alone-${k % 4}`, cx: x(time[0]), cy: y(value[0]), r: 4 })] : [])),
        this.cursor,
      );
      this.say(null);
    }

    /** The time that the pointer is at, within the axis. */
    near(event) {
      if (this.box === undefined) return null;
      const at = event.clientX - this.plot.getBoundingClientRect().left;
      const when = this.box.t0 + ((at * (this.plot.viewBox.baseVal.width / this.plot.clientWidth) - PAD.left) / this.w) * (this.box.t1 - this.box.t0);
      return Math.min(this.box.t1, Math.max(this.box.t0, when));
    }

    /** Moves the crosshair to the samples nearest to a time; null removes it. */

    say(when) {
      this.when = when;
      this.cursor?.replaceChildren();
      const parts = [];
      for (const { name, time, value } of this.series) {
        const i = app.decimate.nearest(time, when ?? this.box.t1);
        if (i < 0 || Number.isNaN(value[i])) continue;
        parts.push(this.named() ? this.text(value[i]) : `${name} ${this.text(value[i])}`);
        if (when !== null) this.cursor.append(svg("circle", { cx: this.x(time[i]), cy: this.y(value[i]), r: 3.5 }));
      }
      if (when === null) {
        this.readout.value = `Last: ${parts.join(", ")}`;
        return;
      }
      this.cursor.prepend(svg("line", { x1: this.x(when), x2: this.x(when), y1: this.top, y2: HEIGHT - this.bottom }));
      this.readout.value = `At ${units.timeText(when)}: ${parts.join(", ")}`;
    }

    key(event) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step === undefined && event.key !== "Escape") return;
      event.preventDefault();
      const from = this.when ?? this.box.t0;
      const to = from + (step ?? 0) * (this.box.t1 - this.box.t0) * 0.01;
      this.say(step === undefined ? null : Math.min(this.box.t1, Math.max(this.box.t0, to)));
    }

    setFromZero(value) {
      this.fromZero = value;
      this.draw();
    }
  }

  app.MemoryChart = MemoryChart;
})((globalThis.regimeter ||= {}));
