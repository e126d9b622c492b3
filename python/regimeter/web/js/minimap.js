// SPDX-License-Identifier: Apache-2.0
// The whole run above the timeline: how many spans are open at once, and which part is in view; a drag moves that part.
(function (app) {
  "use strict";

  const HEIGHT = 34;
  const AIR = 4;

  /** Spans that are open at once, on average over each of `columns` equal parts of [low, high]. */
  function open(line, rows, low, high, columns) {
    const filled = new Float64Array(columns);
    const scale = columns / (high - low);
    for (const { spans } of rows) {
      for (let k = 0; k < spans.length; k += 1) {
        const from = (line.start[spans[k]] - low) * scale;
        const to = Math.min(from + line.duration[spans[k]] * scale, columns);
        const last = Math.min(Math.floor(to), columns - 1);
        for (let at = Math.floor(from); at <= last; at += 1) filled[at] += Math.min(to, at + 1) - Math.max(from, at);
      }
    }
    return filled;
  }

  class Minimap {
    constructor(timeline) {
      this.timeline = timeline;
      this.canvas = app.dom.el("canvas", { class: "minimap", role: "img", "aria-label": "The whole run: how many spans are open at once, and the part in view" });
      this.canvas.style.height = `${HEIGHT}px`;
      this.shown = { rows: null, width: 0, values: [] };
      let drag = null;
      const at = (event) => (event.clientX - this.canvas.getBoundingClientRect().left) / this.canvas.clientWidth;
      this.canvas.addEventListener("pointerdown", (event) => {
        drag = at(event);
        this.canvas.setPointerCapture(event.pointerId);
        this.centre(drag);
      });
      this.canvas.addEventListener("pointermove", (event) => drag !== null && this.centre(at(event)));
      for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => (drag = null));
    }

    /** Moves the part in view to a place, 0 to 1, of the whole. */
    centre(place) {
      const { view } = this.timeline.scene;
      const middle = view.low + place * (view.high - view.low);
      view.set(middle - view.length / 2, middle + view.length / 2);
      this.timeline.touch();
    }

    /** Called after each painting of the timeline. */
    paint() {
      const { canvas, timeline, shown } = this;
      const { colors } = timeline;
      const { view, range } = timeline.scene;
      const { line, built } = timeline.whole ?? { line: timeline.scene.line, built: timeline.built };
      const width = canvas.clientWidth;
      if (colors === null || width === 0) return;
      if (shown.rows !== built || shown.width !== width) Object.assign(shown, { rows: built, width, values: open(line, built, view.low, view.high, Math.max(1, Math.floor(width))) });
      const pen = app.timelineCanvas.sizeTo(canvas, width, HEIGHT);
      pen.fillStyle = colors.sunken;
      pen.fillRect(0, 0, width, HEIGHT);
      pen.fillStyle = colors.muted;
      pen.globalAlpha = 0.55;
      const scale = (HEIGHT - AIR) / shown.values.reduce((most, one) => Math.max(most, one), 1e-9);
      shown.values.forEach((value, x) => pen.fillRect(x, HEIGHT - value * scale, 1, value * scale));
      pen.globalAlpha = 1;
      const x = (time) => ((time - view.low) / (view.high - view.low)) * width;
      if (range !== null) {
        pen.globalAlpha = 0.35;
        pen.fillStyle = colors.accent;
        pen.fillRect(x(range[0]), 0, Math.max(1, x(range[1]) - x(range[0])), HEIGHT);
        pen.globalAlpha = 1;
      }
      if (view.zoomed) this.window(pen, colors, x(view.start), Math.max(3, x(view.end) - x(view.start)), width);
    }

    /** Dims what is not in view. */
    window(pen, colors, left, wide, width) {
      pen.globalAlpha = 0.72;
      pen.fillStyle = colors.surface;
      pen.fillRect(0, 0, left, HEIGHT);
      pen.fillRect(left + wide, 0, width - left - wide, HEIGHT);
      pen.globalAlpha = 1;
      pen.strokeStyle = colors.accent;
      pen.lineWidth = 1.5;
      pen.strokeRect(left + 0.75, 0.75, Math.max(1.5, wide - 1.5), HEIGHT - 1.5);
    }
  }

  app.Minimap = Minimap;
  app.minimap = { open };
})((globalThis.regimeter ||= {}));
