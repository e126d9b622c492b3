// SPDX-License-Identifier: Apache-2.0
// What is selected in the timeline, as methods of it: a span with its links, a range, the names that are not dimmed. Where the
// page's server knows more of a span than the page does, it is asked.
(function (app) {
  "use strict";

  app.timelineSelection = {
    /** Selects the range between two places of the canvas. */
    selectRange(x0, x1) {
      const times = [x0, x1].map((x) => this.scene.view.start + x / this.scale);
      this.setRange(Math.abs(x1 - x0) > 3 ? [Math.min(...times), Math.max(...times)] : null);
    },

    /** Selects [start, end], within the whole; null selects none. */
    setRange(range) {
      const { view } = this.scene;
      this.scene.range = range === null ? null : range.map((at) => Math.min(view.high, Math.max(view.low, at)));
      this.touch();
    },

    zoomToRange() {
      if (this.scene.range !== null) this.scene.view.set(...this.scene.range);
      this.touch();
    },

    /** Brings the selected span, else the selected range, to the width of the window. */
    frameChosen() {
      const { selected, line, view } = this.scene;
      if (selected === null) return this.zoomToRange();
      const air = line.duration[selected] / 20;
      view.set(line.start[selected] - air, line.start[selected] + line.duration[selected] + air);
      return this.touch();
    },

    mark(span) {
      this.scene.selected = span;
      this.scene.arrows = span === null ? [] : this.linksOf(span);
    },

    /** The number by which addresses know a span, and its server where there is one. */
    numberOf(span) {
      return span === null ? this.tiles?.coming ?? null : this.scene.line.span?.[span] ?? span;
    },

    /** Selects a span by that number; where there is none with it, nothing. */
    chooseNumber(number, reveal) {
      if (this.tiles !== null && number !== null) this.tiles.choose(number, reveal);
      else this.choose(number !== null && number < this.scene.line.count ? number : null, reveal);
    },

    pick(x, y) {
      this.canvas.focus();
      const heading = this.headingAt(y);
      if (heading !== null && this.onPin(x)) this.pin(heading.lane);
      else if (heading !== null) this.fold(heading.lane);
      else this.choose(this.at(x, y)?.span ?? null, false);
    },

    /** Selects a span, or nothing; `reveal` brings it into view, unfolding its lane. Of a block of many the longest is meant, which
        finer tiles show too. */
    choose(span, reveal) {
      this.take(span, reveal);
      if (this.tiles === null) return;
      if (span !== null) this.tiles.choose(this.numberOf(span), false);
      else this.tiles.release();
    },

    /** The same without asking the server what there is to know of it. */
    take(span, reveal) {
      this.mark(span);
      if (span !== null && reveal) this.reveal(span);
      this.touch();
    },

    /** What ran in a range on the lines that are shown, or the promise of it. */
    rangeOf(t0, t1) {
      if (this.tiles !== null) return this.tiles.range(t0, t1);
      return app.rangeStats.of(this.scene.line, this.scene.layout.rows.map(({ row }) => row), t0, t1);
    },

    reveal(span) {
      const { line, view } = this.scene;
      if (this.folded.has(line.lane[span])) this.fold(line.lane[span]);
      view.reveal(line.start[span], line.start[span] + line.duration[span]);
      const place = this.scene.layout.rows.find(({ row }) => row.lane === line.lane[span] && row.depth === line.depth[span]);
      const room = this.room - app.timelineCanvas.RULER - app.timelineLayout.LINE;
      if (place === undefined || place.y < this.scene.layout.fixed) return;
      const seen = place.y - this.scene.scroll;
      if (seen < this.scene.layout.fixed || seen > room) this.scroll(seen - room / 2);
    },

    /** Pairs [launch, work] that a span is an end of. */
    linksOf(span) {
      const { line } = this.scene;
      if (line.launch[span] >= 0) return [[line.launch[span], span]];
      this.launched ??= app.spanSearch.launched(line);
      return (this.launched.get(span) ?? []).map((work) => [span, work]);
    },

    /** Next or previous span of the selected one's row; the first span of all when nothing is selected. */
    step(direction) {
      const { layout, line, selected } = this.scene;
      if (layout.rows.length === 0) return;
      const { row } = layout.rows.find((one) => selected !== null && one.row.lane === line.lane[selected] && one.row.depth === line.depth[selected]) ?? layout.rows[0];
      const at = selected === null ? 0 : row.spans.indexOf(selected) + direction;
      const span = row.spans[Math.min(row.spans.length - 1, Math.max(0, at))];
      this.choose(span, true);
    },

    /** Clears what is selected: the span, then the range. */
    clear() {
      if (this.scene.selected !== null) this.choose(null, false);
      else this.setRange(null);
    },

    /** Dims every operation whose name does not pass `test`; null shows all alike. */
    highlight(test) {
      this.test = test;
      this.scene.bright = test === null ? null : app.spanSearch.passing(this.scene.names, test);
      this.request();
    },
  };
})((globalThis.regimeter ||= {}));
