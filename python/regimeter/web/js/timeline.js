// SPDX-License-Identifier: Apache-2.0
// The timeline's state: viewport, scroll, selection; asks timeline_canvas.js to paint at most once a frame.
(function (app) {
  "use strict";

  const LARGEST_HEIGHT = 460;
  const PRINT_HEIGHT = 1200;

  class Timeline {
    /** changed(timeline) is called after every change of what is visible or selected. */
    constructor(canvas, model, changed) {
      const line = model.timeline;
      let end = 0;
      for (let i = 0; i < line.count; i += 1) end = Math.max(end, line.start[i] + line.duration[i]);
      this.canvas = canvas;
      this.changed = changed;
      this.frame = 0;
      this.scene = {
        line,
        lanes: model.lanes,
        names: model.names,
        fillOfName: Uint8Array.from(model.names, (name) => app.palette.fillIndex(model.rankOfName.get(name))),
        layout: app.timelineLayout.layout(app.rows.build(line)),
        view: new app.Viewport(0, Math.max(end, 1)),
        scroll: 0,
        selected: null,
        bright: null,
        range: null,
      };
      app.timelineInput.attach(canvas, this);
      this.observer = new ResizeObserver(() => this.request());
      this.observer.observe(canvas);
      this.colors = null; // known once the canvas is in the page: recolor() is called then
    }

    destroy() {
      this.observer.disconnect();
      cancelAnimationFrame(this.frame);
    }

    get room() {
      return Math.min(LARGEST_HEIGHT, this.scene.layout.height + app.timelineCanvas.RULER);
    }

    get scale() {
      return this.canvas.clientWidth / this.scene.view.length;
    }

    recolor() {
      this.colors = app.palette.resolve(this.canvas);
      this.request();
    }

    request() {
      if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paint());
    }

    paint(height = this.room) {
      cancelAnimationFrame(this.frame);
      this.frame = 0;
      if (this.colors === null || this.canvas.clientWidth === 0) return;
      this.canvas.style.height = `${height}px`;
      app.timelineCanvas.paint(this.canvas, this.scene, this.canvas.clientWidth, height, this.colors);
    }

    /** On paper there is no scrolling: everything that is reasonable is painted at once, in the colours of paper. */
    paintForPrint() {
      const { scroll } = this.scene;
      this.scene.scroll = 0;
      this.colors = app.palette.resolve(this.canvas);
      this.paint(Math.min(PRINT_HEIGHT, this.scene.layout.height + app.timelineCanvas.RULER));
      this.scene.scroll = scroll;
    }

    touch() {
      this.request();
      this.changed(this);
    }

    zoom(factor, anchor) {
      this.scene.view.zoom(factor, anchor);
      this.touch();
    }

    pan(part) {
      this.scene.view.pan(part);
      this.touch();
    }

    fit() {
      this.scene.view.fit();
      this.touch();
    }

    scroll(pixels) {
      const most = Math.max(0, this.scene.layout.height + app.timelineCanvas.RULER - this.room);
      this.scene.scroll = Math.min(most, Math.max(0, this.scene.scroll + pixels));
      this.request();
    }

    selectRange(x0, x1, done) {
      const { view } = this.scene;
      const times = [x0, x1].map((x) => view.start + x / this.scale);
      this.scene.range = done ? null : times;
      if (done && Math.abs(x1 - x0) > 3) view.set(Math.min(...times), Math.max(...times));
      this.touch();
    }

    /** Span under a point, with the number of spans that share its block. */
    at(x, y) {
      const { layout, line, view, scroll } = this.scene;
      const inside = y - app.timelineCanvas.RULER + scroll;
      if (y < app.timelineCanvas.RULER) return null;
      const place = layout.rows.find((one) => inside >= one.y && inside < one.y + app.timelineLayout.LINE);
      return place === undefined ? null : app.rows.hit(place.row, line, view.start, x, this.scale, 2);
    }

    hover(x, y, event) {
      const found = this.at(x, y);
      this.canvas.style.cursor = y < app.timelineCanvas.RULER ? "col-resize" : found === null ? "grab" : "pointer";
      if (found === null) app.tooltip.hide();
      else app.tooltip.show(event.clientX, event.clientY, app.timelineReadout.tooltip(this.scene, found));
    }

    leave() {
      app.tooltip.hide();
    }

    pick(x, y) {
      this.canvas.focus();
      const found = this.at(x, y);
      this.scene.selected = found === null ? null : found.span;
      this.touch();
    }

    /** Next or previous span of the selected one's row; the first span of all when nothing is selected. */
    step(direction) {
      const { layout, line, selected } = this.scene;
      if (layout.rows.length === 0) return;
      const { row } = layout.rows.find((one) => selected !== null && one.row.lane === line.lane[selected] && one.row.depth === line.depth[selected]) ?? layout.rows[0];
      const at = selected === null ? 0 : row.spans.indexOf(selected) + direction;
      const span = row.spans[Math.min(row.spans.length - 1, Math.max(0, at))];
      this.scene.selected = span;
      this.scene.view.reveal(line.start[span], line.start[span] + line.duration[span]);
      this.touch();
    }

    clear() {
      this.scene.selected = null;
      this.touch();
    }

    /** Dims every operation whose name does not pass `test`; null shows all alike. */
    highlight(test) {
      this.scene.bright = test === null ? null : Uint8Array.from(this.scene.names, (name) => (test(name) ? 1 : 0));
      this.request();
    }
  }

  app.Timeline = Timeline;
})((globalThis.regimeter ||= {}));
