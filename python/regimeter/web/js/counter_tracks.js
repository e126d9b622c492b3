// SPDX-License-Identifier: Apache-2.0
// Time series below the timeline, one track each, on the timeline's scale.
(function (app) {
  "use strict";

  const { el } = app.dom;
  const { units } = app;
  const HEADING = 18;
  const PLOT = 30;
  const TRACK = HEADING + PLOT + 6;

  class CounterTracks {
    constructor(series, timeline) {
      this.series = series;
      this.timeline = timeline;
      this.canvas = el("canvas", { class: "counters", role: "img", "aria-label": `${series.length} time series below the timeline: ${series.map(app.counterSeries.title).join(", ")}` });
      this.canvas.style.height = `${this.height}px`;
      this.canvas.addEventListener("pointermove", (event) => this.hover(event));
      this.canvas.addEventListener("pointerleave", () => app.tooltip.hide());
    }

    get height() {
      return this.series.length * TRACK;
    }

    /** Called after each painting of the timeline, which is as wide. */
    paint() {
      const { canvas, timeline } = this;
      const { colors } = timeline;
      const width = canvas.clientWidth;
      if (colors === null || width === 0) return;
      const { view } = timeline.scene;
      const pen = app.timelineCanvas.sizeTo(canvas, width, this.height);
      pen.fillStyle = colors.surface;
      pen.fillRect(0, 0, width, this.height);
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      this.series.forEach((one, k) => this.track(pen, one, k * TRACK, view, width, colors));
    }

    track(pen, series, top, view, width, colors) {
      const range = app.counterSeries.extent(series, view.start, view.end);
      const base = top + HEADING + PLOT;
      pen.fillStyle = colors.sunken;
      pen.fillRect(0, top + HEADING, width, PLOT);
      pen.textAlign = "left";
      pen.fillStyle = colors.muted;
      pen.fillText(`${app.counterSeries.title(series)}: ${app.counterSeries.summary(series, view)}`, 4, top + HEADING / 2 + 1);
      if (range === null) return;
      // From zero unless the values lie far from it: the height then shows what changes.
      const low = range.low > 0 && range.low > range.high * 0.6 && range.low < range.high ? range.low : Math.min(0, range.low);
      const span = range.high - low || 1;
      const y = (value) => base - 2 - ((value - low) / span) * (PLOT - 5);
      const points = app.counterSeries.corners(series, view, width);
      if (points.length === 0) return;
      pen.beginPath();
      points.forEach(([x, value], i) => (i === 0 ? pen.moveTo(x, y(value)) : pen.lineTo(x, y(value))));
      pen.strokeStyle = colors.accent;
      pen.lineWidth = 1.5;
      pen.stroke();
      pen.lineTo(points.at(-1)[0], base);
      pen.lineTo(points[0][0], base);
      pen.globalAlpha = 0.15;
      pen.fillStyle = colors.accent;
      pen.fill();
      pen.globalAlpha = 1;
    }

    /** What a point of the canvas reads: series, time and the value that holds there. */
    at(x, y) {
      const series = this.series[Math.floor(y / TRACK)];
      if (series === undefined) return null;
      const { view } = this.timeline.scene;
      const when = view.start + (x / this.canvas.clientWidth) * view.length;
      const i = app.counterSeries.holding(series.time, when);
      return { series, when, value: i < 0 ? null : series.value[i], since: i < 0 ? null : series.time[i] };
    }

    hover(event) {
      const box = this.canvas.getBoundingClientRect();
      const found = this.at(event.clientX - box.left, event.clientY - box.top);
      if (found === null) return app.tooltip.hide();
      const { series, when, value, since } = found;
      const lines = [el("strong", null, app.counterSeries.title(series))];
      if (value === null) lines.push(el("div", null, "no sample yet"));
      else lines.push(el("div", null, app.counterSeries.valueText(series, value)), el("div", { class: "dim" }, `at ${units.timeText(when)}, sampled at ${units.timeText(since)}`));
      if (series.doc !== "") lines.push(el("div", { class: "dim" }, series.doc));
      return app.tooltip.show(event.clientX, event.clientY, lines);
    }
  }

  /** A row for each sample of each series. */
  function columnsOf(series) {
    const column = (heading, unit, of) => ({ heading, unit, values: series.flatMap((one) => Array.from(one.time, (_, i) => of(one, i))) });
    return [column("series", "text", app.counterSeries.title), column("time", "at", ({ time }, i) => time[i]), column("value", "", ({ value }, i) => value[i])];
  }

  /** Puts the tracks of a model below its timeline; null where it has no series. */
  function attach(model, timeline, frame) {
    const { series, omitted } = model.counters ?? { series: [], omitted: 0 };
    if (series.length === 0) return null;
    const tracks = new CounterTracks(series, timeline);
    frame.after(el("div", { class: "counter-frame" }, tracks.canvas), app.asTable("Time series below the timeline", () => columnsOf(series)));
    if (omitted > 0) frame.parentNode.append(el("p", { class: "help" }, `${units.countText(omitted)} further time series are not drawn.`));
    return tracks;
  }

  app.counterTracks = { attach };
})((globalThis.regimeter ||= {}));
