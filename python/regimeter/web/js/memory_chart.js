// SPDX-License-Identifier: Apache-2.0
// One line chart of memory series that share a unit, with a crosshair that reads all of them. SVG, so that it prints sharp.
(function (app) {
  "use strict";

  const { el, svg } = app.dom;
  const { units } = app;
  const HEIGHT = 240;
  const PAD = { left: 68, right: 14, top: 10, bottom: 26 };
  const DASHES = ["", "7 4", "2 3", "10 3 2 3"];

  const format = (unit) => (unit === "bytes" ? units.bytesText : (value) => `${units.join(units.plain(value))} ${unit}`);

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
    return { t0, t1: t1 > t0 ? t1 : t0 + 1, low: low === 0 ? 0 : low - air, high: high + air };
  }

  function path(series, box, x, y, pixels) {
    const words = [];
    let pen = "M";
    for (const i of app.decimate.decimate(series.time, series.value, box.t0, box.t1, pixels)) {
      if (Number.isNaN(series.value[i])) {
        pen = "M";
        continue;
      }
      words.push(`${pen}${x(series.time[i]).toFixed(1)} ${y(series.value[i]).toFixed(1)}`);
      pen = "L";
    }
    return words.join("");
  }

  class MemoryChart {
    constructor(series, unit) {
      Object.assign(this, { series, unit });
      this.text = format(unit);
      this.bytes = unit === "bytes";
      this.fromZero = true;
      this.plot = svg("svg", { class: "memory", height: HEIGHT, role: "img", tabindex: 0 });
      this.readout = el("output", { class: "readout", "aria-live": "polite" });
      this.node = el("div", { class: "chart" }, this.legend(), this.plot, this.readout);
      this.plot.addEventListener("pointermove", (event) => this.point(event.clientX - this.plot.getBoundingClientRect().left));
      this.plot.addEventListener("pointerleave", () => this.point(null));
      this.plot.addEventListener("keydown", (event) => this.key(event));
      this.observer = new ResizeObserver(() => this.draw());
      this.observer.observe(this.node);
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
      const [w, h] = [width - PAD.left - PAD.right, HEIGHT - PAD.top - PAD.bottom];
      const x = (t) => PAD.left + ((t - box.t0) / (box.t1 - box.t0)) * w;
      const y = (v) => PAD.top + h - ((v - box.low) / (box.high - box.low)) * h;
      Object.assign(this, { box, x, y, w });
      this.plot.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      this.plot.setAttribute("aria-label", `Memory over time: ${this.series.map(({ name }) => name).join(", ")}. Arrow keys move the readout.`);
      const across = units.ticks(box.t0, box.t1, Math.max(2, Math.floor(w / 110)));
      const up = units.ticks(box.low, box.high, 5);
      this.cursor = svg("g", { class: "cursor" });
      this.plot.replaceChildren(
        ...up.values.flatMap((v) => [
          svg("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: y(v), y2: y(v) }),
          svg("text", { x: PAD.left - 8, y: y(v) + 3.5, "text-anchor": "end" }, this.bytes ? units.onAxis(v, up.step, box.high, units.BYTE_STEPS) : units.join(units.plain(v))),
        ]),
        ...across.values.map((t) => svg("text", { x: x(t), y: HEIGHT - 8, "text-anchor": "middle" }, units.onAxis(t, across.step, box.t1))),
        svg("line", { class: "axis", x1: PAD.left, x2: width - PAD.right, y1: PAD.top + h, y2: PAD.top + h }),
        ...this.series.map((one, k) => svg("path", { class: `stroke-${k % 4}`, d: path(one, box, x, y, w), "stroke-dasharray": DASHES[k % 4] })),
        this.cursor,
      );
      this.say(null);
    }

    /** Moves the crosshair to the sample nearest to pixel `at`; null removes it. */
    point(at) {
      if (at === null || this.box === undefined) return this.say(null);
      const when = this.box.t0 + ((at * (this.plot.viewBox.baseVal.width / this.plot.clientWidth) - PAD.left) / this.w) * (this.box.t1 - this.box.t0);
      return this.say(Math.min(this.box.t1, Math.max(this.box.t0, when)));
    }

    say(when) {
      this.when = when;
      this.cursor?.replaceChildren();
      if (when === null) {
        this.readout.value = "Point at the chart, or focus it and use the arrow keys, to read values.";
        return;
      }
      const parts = [];
      for (const { name, time, value } of this.series) {
        const i = app.decimate.nearest(time, when);
        if (i < 0 || Number.isNaN(value[i])) continue;
        parts.push(`${name} ${this.text(value[i])}`);
        this.cursor.append(svg("circle", { cx: this.x(time[i]), cy: this.y(value[i]), r: 3.5 }));
      }
      this.cursor.prepend(svg("line", { x1: this.x(when), x2: this.x(when), y1: PAD.top, y2: HEIGHT - PAD.bottom }));
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
