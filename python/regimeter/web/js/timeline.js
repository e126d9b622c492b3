// SPDX-License-Identifier: Apache-2.0
// The timeline's state: viewport, scroll, selection; asks timeline_canvas.js to paint at most once a frame.
(function (app) {
  "use strict";

  const LARGEST_HEIGHT = 640; // Python stacks are deep
  const PRINT_HEIGHT = 1200;

  class Timeline {
    /** changed(timeline) is called after every change of what is visible or selected. */
    constructor(canvas, model, changed) {
      const line = model.timeline;
      let end = 0;
      for (let i = 0; i < line.count; i += 1) if (line.depth[i] >= 0) end = Math.max(end, line.start[i] + line.duration[i]);
      this.canvas = canvas;
      this.changed = changed;
      this.frame = 0;
      this.coloured = app.spanKinds.colouring(model);
      this.built = app.rows.build(line);
      this.folded = new Set();
      this.pinned = new Set(); // lanes
      this.model = model;
      this.python = false; // whether Python functions are shown where they can be left out
      this.whole = null; // {line, built} of the whole run where another line is drawn
      this.tiles = null;
      this.test = null; // of names that are not dimmed
      this.wanted = null; // which lanes to show
      this.scene = {
        line,
        lanes: model.lanes,
        names: model.names,
        fills: this.coloured.fills,
        layout: app.timelineLayout.layout(this.built),
        arrows: [],
        path: line.path,
        view: new app.Viewport(0, Math.max(end, 1), line.tick),
        scroll: 0,
        selected: null,
        bright: null,
        range: null,
        pointed: null, // the lane whose heading is under the pointer
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

    resolve() {
      const colors = app.palette.resolve(this.canvas);
      return this.coloured.byName ? colors : { ...colors, ...colors.ofKinds };
    }

    recolor() {
      this.colors = this.resolve();
      this.idle?.recolor();
      this.request();
    }

    request() {
      if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paint());
      this.tiles?.look();
    }

    paint(height = this.room) {
      cancelAnimationFrame(this.frame);
      this.frame = 0;
      if (this.colors === null || this.canvas.clientWidth === 0) return;
      this.canvas.style.height = `${height}px`;
      app.timelineCanvas.paint(this.canvas, this.scene, this.canvas.clientWidth, height, this.colors);
      this.minimap?.paint();
      this.idle?.paint();
      this.tracks?.paint();
    }

    /** On paper there is no scrolling: everything that is reasonable is painted at once, in the colours of paper. */
    paintForPrint() {
      const { scroll } = this.scene;
      this.scene.scroll = 0;
      this.colors = this.resolve();
      this.paint(Math.min(PRINT_HEIGHT, this.scene.layout.height + app.timelineCanvas.RULER));
      this.scene.scroll = scroll;
    }

    touch() {
      app.tooltip.hide(); // what it spoke of may have moved
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

    /** Span under a point, with the number of spans that share its block. */
    at(x, y) {
      const { layout, line, view } = this.scene;
      const inside = app.timelineLayout.heightAt(this.scene, y - app.timelineCanvas.RULER);
      if (y < app.timelineCanvas.RULER) return null;
      const place = layout.rows.find((one) => inside >= one.y && inside < one.y + app.timelineLayout.LINE);
      return place === undefined ? null : app.rows.hit(place.row, line, view.start, x, this.scale, 2);
    }

    /** Lane whose heading is under a point, or null. */
    headingAt(y) {
      const inside = app.timelineLayout.heightAt(this.scene, y - app.timelineCanvas.RULER);
      if (y < app.timelineCanvas.RULER) return null;
      return this.scene.layout.lanes.find((one) => inside >= one.y && inside < one.y + app.timelineLayout.HEADING) ?? null;
    }

    /** Shows or hides all but the first line of a lane. */
    fold(lane) {
      if (!this.folded.delete(lane)) this.folded.add(lane);
      this.place();
    }

    /** Draws spans on lines with Python functions, or without. */
    showPython(on) {
      const { scene } = this;
      this.python = on;
      if (this.whole !== null) this.whole = this.indexed(this.whole.line);
      this.built = this.indexed(scene.line).built;
      if (scene.selected !== null && scene.line.depth[scene.selected] < 0) this.choose(null, false);
      this.place();
      this.tiles?.begin();
    }

    indexed(line) {
      line.depth = this.python ? line.depths.all : line.depths.plain;
      return { line, built: app.rows.build(line) };
    }

    /** Shows other rows of the same run; what is selected stays selected where it is among them. */
    setLine(line) {
      const { scene } = this;
      const number = scene.selected === null ? null : this.numberOf(scene.selected);
      this.whole ??= { line: scene.line, built: this.built };
      scene.line = line;
      scene.fills = app.spanKinds.fillsOf(this.model, line, this.coloured.byName);
      this.built = this.indexed(line).built;
      this.launched = null;
      const found = number === null ? -1 : line.span.indexOf(number);
      this.mark(found < 0 ? null : found);
      this.highlight(this.test);
      this.place();
    }

    /** Shows the lanes that pass `test` (of a lane and its number); null shows all. */
    setLanes(test) {
      this.wanted = test;
      this.scene.scroll = 0;
      this.place();
    }

    place() {
      const { lanes } = this.scene;
      const rows = this.wanted === null ? this.built : this.built.filter(({ lane }) => this.wanted(lanes[lane], lane));
      this.scene.layout = app.timelineLayout.layout(rows, this.folded, this.pinned);
      this.scroll(0);
    }

    hover(x, y, event) {
      const found = this.at(x, y);
      const heading = this.headingAt(y);
      this.point(heading?.lane ?? null);
      const idle = heading === null ? "grab" : "pointer";
      this.canvas.style.cursor = y < app.timelineCanvas.RULER ? "col-resize" : found === null ? idle : "pointer";
      const said = found !== null ? app.timelineReadout.tooltip(this.scene, found) : heading === null ? [] : app.criticalPath.words(this.scene, heading.lane, x / this.scale, 2 / this.scale);
      if (said.length > 0) app.tooltip.show(event.clientX, event.clientY, said);
      else app.tooltip.hide();
    }

    leave() {
      this.point(null);
      app.tooltip.hide();
    }
  }

  Object.assign(Timeline.prototype, app.timelineSelection, app.pinnedLanes);
  app.Timeline = Timeline;
})((globalThis.regimeter ||= {}));
