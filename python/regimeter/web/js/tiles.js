// SPDX-License-Identifier: Apache-2.0
// The timeline of a run that is too large for a page: asks the server for the tiles of what is in view, keeps the last ones,
// and gives the timeline a line of them and of the overview that the page has. What is no longer wanted is not waited for. What
// it asks of single spans, names and ranges is in tile_spans.js.
(function (app) {
  "use strict";

  const PAUSE_MS = 60; // while the view moves, it is looked at so often
  const MARGIN = 1; // tiles beside those in view
  const MOST_ROWS = 1_500_000; // of tiles that are kept
  const ADDRESS = "/api/profiler/";

  class Tiles {
    /** timeline: of a model whose line has `tiles`; say(text): what is wrong, "" for nothing. */
    constructor(timeline, say) {
      const { line, names } = timeline.scene;
      Object.assign(this, { timeline, say, names, overview: line, grid: line.tiles });
      this.numbers = new Map(names.map((name, i) => [name, i]));
      this.runLane = new Uint32Array(this.grid.placeOf.length); // by place
      this.grid.placeOf.forEach((place, lane) => (this.runLane[place] = lane));
      this.kept = new Map(); // by key, the last used last
      this.asked = new Map(); // by key
      this.chosen = null; // the line of the selected span
      this.coming = null; // the number of a span that is asked for
      this.sought = null; // what it is, as sight.js has it
      this.shown = { key: "", from: 0, to: 0 };
      this.timer = 0;
      this.turn = 0;
    }

    destroy() {
      clearTimeout(this.timer);
      for (const request of this.asked.values()) request.abort();
      this.asked.clear();
    }

    get python() {
      return this.timeline.python ? 1 : 0;
    }

    /** more: pairs of what is asked for several times. */
    address(what, question, more = []) {
      const parts = Object.entries({ run: this.grid.run, python: this.python, ...question });
      return `${ADDRESS}${what}?${new URLSearchParams([...parts, ...more])}`;
    }

    async ask(address, signal) {
      const answer = await fetch(address, { signal });
      if (answer.ok) return answer;
      throw new Error((await answer.json().catch(() => ({}))).detail ?? `the server answered ${answer.status}`);
    }

    /** A line from the server's columns: names become those of the page. */
    async lineFrom(answer, place) {
      const table = app.columns.fromBinary(await answer.arrayBuffer());
      const rows = await app.adapterTimeline.rowsOf(table, place);
      const numbers = Uint32Array.from(table.names, (name) => this.numberOf(name));
      for (const column of ["name", "op"]) rows.columns[column] = Uint32Array.from(rows.columns[column], (name) => numbers[name]);
      for (const { columns } of rows.details) {
        for (const column of columns) if (column.unit === "name") column.values = Uint32Array.from(column.values, (name) => numbers[name]);
      }
      return app.adapterTimeline.lineOf(table, rows, this.grid);
    }

    numberOf(name) {
      if (!this.numbers.has(name)) this.numbers.set(name, this.names.push(name) - 1);
      return this.numbers.get(name);
    }

    // --- what is in view ---------------------------------------------------------------------------------------------

    /** Called whenever the view may have changed. */
    look() {
      if (this.timer === 0) this.timer = setTimeout(() => this.update(), PAUSE_MS);
    }

    bandOf(place) {
      return Math.floor(this.runLane[place] / this.grid.lanes);
    }

    /** {level, from, to, low, high, bands} of the tiles in view: numbers from .. to - 1; low, high with the margin. */
    wanted() {
      const { scene, canvas, room } = this.timeline;
      const { view, layout } = scene;
      if (canvas.clientWidth === 0) return null;
      const pixel = view.length / canvas.clientWidth;
      const level = Math.min(this.grid.levels, Math.max(0, Math.floor(Math.log2(pixel))));
      const long = this.grid.pixels * 2 ** level;
      const [from, to] = [Math.floor(view.start / long), Math.floor(view.end / long) + 1];
      const { seenAt, LINE } = app.timelineLayout;
      const inView = layout.rows.filter(({ y }) => seenAt(scene, y) + LINE >= 0 && seenAt(scene, y) <= room);
      const bands = [...new Set(inView.map(({ row }) => this.bandOf(row.lane)))].sort((a, b) => a - b);
      const within = (tile) => tile * long <= view.high && (tile + 1) * long > view.low;
      const low = within(from - MARGIN) ? from - MARGIN : from;
      return { level, long, from, to, low, high: within(to) ? to + MARGIN : to, bands };
    }

    keyOf(level, tile, band) {
      return `${this.python} ${level} ${tile} ${band}`;
    }

    update() {
      this.timer = 0;
      const view = this.wanted();
      if (view === null) return;
      const keys = new Map(); // those in view first
      const tiles = [...Array(view.high - view.low).keys()].map((k) => view.low + k);
      const near = (tile) => (tile >= view.from && tile < view.to ? 0 : 1);
      for (const tile of tiles.sort((a, b) => near(a) - near(b))) for (const band of view.bands) keys.set(this.keyOf(view.level, tile, band), { tile, band });
      for (const [key, request] of this.asked) {
        if (keys.has(key)) continue;
        request.abort();
        this.asked.delete(key);
      }
      for (const [key, { tile, band }] of keys) if (!this.kept.has(key) && !this.asked.has(key)) this.fetch(key, view, tile, band);
      this.show(view);
    }

    async fetch(key, { level, long }, tile, band) {
      const request = new AbortController();
      this.asked.set(key, request);
      try {
        const answer = await this.ask(this.address("tiles", { level, tile, band }), request.signal);
        const line = await this.lineFrom(answer, `tile ${key}`);
        if (request.signal.aborted) return;
        this.kept.set(key, { from: tile * long, to: (tile + 1) * long, lanes: (lane) => this.bandOf(lane) === band, line });
        this.forget();
        this.say("");
      } catch (error) {
        if (request.signal.aborted) return;
        this.say(`${error instanceof TypeError ? "no connection" : error.message}: only the overview is shown`);
        return;
      } finally {
        if (this.asked.get(key) === request) this.asked.delete(key);
      }
      const view = this.wanted();
      if (view !== null) this.show(view);
    }

    /** Keeps the tiles that were used last. */
    forget() {
      let rows = 0;
      for (const { line } of this.kept.values()) rows += line.count;
      for (const [key, { line }] of this.kept) {
        if (rows <= MOST_ROWS) return;
        rows -= line.count;
        this.kept.delete(key);
      }
    }

    /** Whether all tiles of these times are there. */
    has({ level, bands }, tile) {
      return bands.every((band) => this.kept.has(this.keyOf(level, tile, band)));
    }

    /** Shows the tiles in view where they are all there and not shown yet. */
    show(view) {
      const key = `${this.python} ${view.level} ${view.bands}`;
      const { shown } = this;
      if (shown.key === key && shown.from <= view.from && shown.to >= view.to) return;
      let [from, to] = [view.from, view.to];
      for (let tile = from; tile < to; tile += 1) if (!this.has(view, tile)) return;
      while (from > view.low && this.has(view, from - 1)) from -= 1;
      while (to < view.high && this.has(view, to)) to += 1;
      this.shown = { key, from, to, view };
      if (this.coming === null) this.draw(); // else what is selected would be lost until its span is here
    }

    /** The tiles that are shown, in order of time. */
    tiles() {
      const { from, to, view } = this.shown;
      const found = [];
      for (let tile = from; tile < to; tile += 1) {
        for (const band of view.bands) {
          const key = this.keyOf(view.level, tile, band);
          const one = this.kept.get(key);
          if (one === undefined) continue;
          this.kept.delete(key); // and the last used last
          this.kept.set(key, one);
          found.push(one);
        }
      }
      return found;
    }

    draw() {
      this.timeline.setLine(app.tileLines.merge(this.overview, this.tiles(), this.chosen));
    }

    /** The lines have other spans: with Python functions, or without. */
    begin() {
      this.shown = { key: "", from: 0, to: 0 };
      if (this.chosen !== null) this.choose(this.chosen.span[0], false);
      this.draw();
      this.look();
    }
  }

  Object.assign(Tiles.prototype, app.tileSpans);
  app.Tiles = Tiles;
})((globalThis.regimeter ||= {}));
