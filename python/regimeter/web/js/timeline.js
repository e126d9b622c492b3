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
      this.wanted = null; // which lanes to show
      this.scene = {
        line,
        lanes: model.lanes,
        names: model.names,
        fills: this.coloured.fills,
        layout: app.timelineLayout.layout(this.built),
        arrows: [],
        path: line.path,
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

    /** Selects the range between two places of the canvas. */
    selectRange(x0, x1) {
      const times = [x0, x1].map((x) => this.scene.view.start + x / this.scale);
      this.setRange(Math.abs(x1 - x0) > 3 ? [Math.min(...times), Math.max(...times)] : null);
    }

    /** Selects [start, end], within the whole; null selects none. */
    setRange(range) {
      const { view } = this.scene;
      this.scene.range = range === null ? null : range.map((at) => Math.min(view.high, Math.max(view.low, at)));
      this.touch();
    }

    zoomToRange() {
      if (this.scene.range !== null) this.scene.view.set(...this.scene.range);
      this.touch();
    }

    /** Brings the selected span, else the selected range, to the width of the window. */
    frameChosen() {
      const { selected, line, view } = this.scene;
      if (selected === null) return this.zoomToRange();
      const air = line.duration[selected] / 20;
      view.set(line.start[selected] - air, line.start[selected] + line.duration[selected] + air);
      return this.touch();
    }

    /** Span under a point, with the number of spans that share its block. */
    at(x, y) {
      const { layout, line, view, scroll } = this.scene;
      const inside = y - app.timelineCanvas.RULER + scroll;
      if (y < app.timelineCanvas.RULER) return null;
      const place = layout.rows.find((one) => inside >= one.y && inside < one.y + app.timelineLayout.LINE);
      return place === undefined ? null : app.rows.hit(place.row, line, view.start, x, this.scale, 2);
    }

    /** Lane whose heading is under a point, or null. */
    headingAt(y) {
      const inside = y - app.timelineCanvas.RULER + this.scene.scroll;
      if (y < app.timelineCanvas.RULER) return null;
      return this.scene.layout.lanes.find((one) => inside >= one.y && inside < one.y + app.timelineLayout.HEADING) ?? null;
    }

    /** Shows or hides all but the first line of a lane. */
    fold(lane) {
      if (!this.folded.delete(lane)) this.folded.add(lane);
      this.place();
    }

    /** Draws spans on other lines; a negative depth hides a span. */
    setDepth(depth) {
      this.scene.line.depth = depth;
      if (this.scene.selected !== null && depth[this.scene.selected] < 0) this.choose(null, false);
      this.built = app.rows.build(this.scene.line);
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
      this.scene.layout = app.timelineLayout.layout(rows, this.folded);
      this.scroll(0);
    }

    hover(x, y, event) {
      const found = this.at(x, y);
      const heading = this.headingAt(y);
      const idle = heading === null ? "grab" : "pointer";
      this.canvas.style.cursor = y < app.timelineCanvas.RULER ? "col-resize" : found === null ? idle : "pointer";
      const said = found !== null ? app.timelineReadout.tooltip(this.scene, found) : heading === null ? [] : app.criticalPath.words(this.scene, heading.lane, x / this.scale, 2 / this.scale);
      if (said.length > 0) app.tooltip.show(event.clientX, event.clientY, said);
      else app.tooltip.hide();
    }

    leave() {
      app.tooltip.hide();
    }

    pick(x, y) {
      this.canvas.focus();
      const heading = this.headingAt(y);
      if (heading !== null) this.fold(heading.lane);
      else this.choose(this.at(x, y)?.span ?? null, false);
    }

    /** Selects a span, or nothing; `reveal` brings it into view, unfolding its lane. */
    choose(span, reveal) {
      const { scene } = this;
      scene.selected = span;
      scene.arrows = span === null ? [] : this.linksOf(span);
      if (span !== null && reveal) this.reveal(span);
      this.touch();
    }

    reveal(span) {
      const { line, view } = this.scene;
      if (this.folded.has(line.lane[span])) this.fold(line.lane[span]);
      view.reveal(line.start[span], line.start[span] + line.duration[span]);
      const place = this.scene.layout.rows.find(({ row }) => row.lane === line.lane[span] && row.depth === line.depth[span]);
      const room = this.room - app.timelineCanvas.RULER - app.timelineLayout.LINE;
      if (place !== undefined && (place.y < this.scene.scroll || place.y > this.scene.scroll + room)) this.scroll(place.y - this.scene.scroll - room / 2);
    }

    /** Pairs [launch, work] that a span is an end of. */
    linksOf(span) {
      const { line } = this.scene;
      if (line.launch[span] >= 0) return [[line.launch[span], span]];
      this.launched ??= app.spanSearch.launched(line);
      return (this.launched.get(span) ?? []).map((work) => [span, work]);
    }

    /** Next or previous span of the selected one's row; the first span of all when nothing is selected. */
    step(direction) {
      const { layout, line, selected } = this.scene;
      if (layout.rows.length === 0) return;
      const { row } = layout.rows.find((one) => selected !== null && one.row.lane === line.lane[selected] && one.row.depth === line.depth[selected]) ?? layout.rows[0];
      const at = selected === null ? 0 : row.spans.indexOf(selected) + direction;
      const span = row.spans[Math.min(row.spans.length - 1, Math.max(0, at))];
      this.choose(span, true);
    }

    /** Clears what is selected: the span, then the range. */
    clear() {
      if (this.scene.selected !== null) this.choose(null, false);
      else this.setRange(null);
    }

    /** Dims every operation whose name does not pass `test`; null shows all alike. */
    highlight(test) {
      this.scene.bright = test === null ? null : app.spanSearch.passing(this.scene.names, test);
      this.request();
    }
  }

  app.Timeline = Timeline;
})((globalThis.regimeter ||= {}));
