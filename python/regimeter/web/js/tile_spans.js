// SPDX-License-Identifier: Apache-2.0
// What a timeline in tiles asks its server of single spans, of names and of ranges, as methods of Tiles.
(function (app) {
  "use strict";

  app.tileSpans = {
    /** Selects a span by its number, with its arguments and its links; `sought`: what it is, where that is known. */
    async choose(span, reveal, sought = null) {
      const turn = (this.turn += 1);
      [this.coming, this.sought] = [span, sought];
      try {
        const line = await this.lineFrom(await this.ask(this.address("span", { span })), `span ${span}`);
        if (turn !== this.turn) return;
        this.coming = this.sought = null;
        this.chosen = line.count === 0 ? null : line;
        this.draw();
        this.timeline.take(this.chosen === null ? null : 0, reveal);
      } catch (error) {
        this.say(error instanceof TypeError ? "no connection" : error.message);
        if (turn !== this.turn) return;
        this.coming = this.sought = null;
        this.draw();
      }
    },

    /** Selects a span by what it is (sight.js): in a run that has grown it has another number. */
    async chooseAgain(wanted) {
      const turn = (this.turn += 1);
      this.sought = wanted;
      const number = await this.seek(wanted);
      if (turn !== this.turn) return;
      if (number !== null) return void (await this.choose(number, false, wanted));
      this.coming = this.sought = null;
      this.draw();
    },

    /** The number of such a span, null where it is not there. In a tile of the first level no span shares a row. */
    async seek(wanted) {
      const { lanes, names } = this.timeline.scene;
      const lane = lanes.findIndex(({ key }) => key === wanted.lane);
      if (lane < 0) return null;
      try {
        const tile = { level: 0, tile: Math.floor(wanted.start / this.grid.pixels), band: this.bandOf(lane) };
        const line = await this.lineFrom(await this.ask(this.address("tiles", tile)), "tile of a span");
        line.depth = this.timeline.python ? line.depths.all : line.depths.plain;
        const row = app.sight.findSpan({ line, lanes, names }, wanted);
        return row < 0 ? null : line.span[row];
      } catch (error) {
        this.say(error instanceof TypeError ? "no connection" : error.message);
        return null;
      }
    },

    /** Nothing is selected any more. */
    release() {
      this.turn += 1;
      this.coming = this.sought = null;
      if (this.chosen === null) return;
      this.chosen = null;
      this.draw();
    },

    /** Spans that pass: {count, duration, next}; `question`: {text} or {name}. */
    async find(question, span, direction) {
      const from = span === null ? {} : { span };
      const { spans, duration_ns: duration, next } = await (await this.ask(this.address("find", { ...question, ...from, backwards: direction < 0 ? 1 : 0 }))).json();
      return { count: spans, duration, next };
    },

    /** What runs in a range on the lanes that are shown, as range_stats.js has it. */
    async range(t0, t1) {
      const { wanted, folded, scene } = this.timeline;
      const lanes = [];
      scene.lanes.forEach((lane, place) => {
        if (wanted !== null && !wanted(lane, place)) lanes.push(["hidden", this.runLane[place]]);
        else if (folded.has(place)) lanes.push(["folded", this.runLane[place]]);
      });
      const found = await (await this.ask(this.address("range", { start_ns: Math.floor(t0), end_ns: Math.ceil(t1) }, lanes))).json();
      const rows = found.rows.map(({ name, spans, time_ns: time, longest }) => ({ name: this.numberOf(name), spans, time, longest }));
      return { rows, names: found.names, spans: found.spans, exact: true };
    },
  };
})((globalThis.regimeter ||= {}));
