// SPDX-License-Identifier: Apache-2.0
// The page of a recording that is still being written: hears from its server that the recording has grown, asks for the
// figures, and shows them. It says how old they are, and when the recording has ended. This, rest.js, tiles.js and
// sections/ring.js are the only files that ask anything of anybody, and a page in a file has none of them.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const { units } = app;
  const NO_CONNECTION = "no connection";
  const TICK_MS = 500;
  const LEAST_PAUSE_MS = 1000;
  const SHARE_OF_TIME = 4; // pauses for each second that an update takes

  /** "3 s ago" of milliseconds, with the figures of a clock. */
  function ago(ms) {
    const seconds = Math.max(0, Math.floor(ms / 1000));
    if (seconds < 90) return `${seconds} s ago`;
    return seconds < 5400 ? `${Math.floor(seconds / 60)} min ago` : `${Math.floor(seconds / 3600)} h ago`;
  }

  class Live {
    /** told: {events, data, revision} of the page's data, all but the last addresses; node: where its state is said. */
    constructor(page, told, node) {
      Object.assign(this, { page, told, node });
      this.shown = told.revision; // what the figures are of
      this.wanted = told.revision;
      this.taken = performance.now();
      this.next = 0; // not before then are figures asked for
      this.busy = false;
      this.end = null; // the last event
      this.cut = false; // no events come; figures that were on their way when it broke may still arrive
      this.problem = ""; // of the figures
      this.paused = false;
      this.word = el("span", { role: "status" });
      this.age = el("span", { class: "live-age" });
      this.pause = button("Pause", () => this.setPaused(!this.paused), { class: "quiet", "aria-pressed": "false" });
      node.replaceChildren(el("span", { class: "live-mark", "aria-hidden": "true" }), el("span", { class: "live-text" }, this.word, this.age), this.pause);
      node.hidden = false;
    }

    start() {
      app.hand.watch();
      this.source = new EventSource(this.told.events);
      this.source.addEventListener("state", (event) => this.heard(JSON.parse(event.data)));
      this.source.addEventListener("end", (event) => this.ended(JSON.parse(event.data)));
      this.source.addEventListener("open", () => this.hears(true));
      this.source.addEventListener("error", () => this.hears(false));
      this.clock = setInterval(() => this.tick(), TICK_MS);
      this.say();
    }

    heard(state) {
      Object.assign(this, { cut: false, problem: "" });
      this.wanted = state.revision;
      // As long as the recording has not grown, its figures are those of now.
      if (this.wanted === this.shown) this.taken = performance.now();
      this.tick();
    }

    /** The recording is closed, or was not written to for a while: there will be no more events. */
    ended(state) {
      this.source.close();
      Object.assign(this, { end: state, cut: false });
      if (state.revision !== undefined) this.wanted = state.revision;
      this.shown = -1; // that it has ended is one of its figures
      this.next = 0;
      this.tick();
    }

    hears(well) {
      Object.assign(this, { cut: !well, problem: "" });
      this.say();
    }

    setPaused(paused) {
      this.paused = paused;
      this.pause.textContent = paused ? "Go on" : "Pause";
      this.pause.setAttribute("aria-pressed", String(paused));
      this.tick();
    }

    /** Asks for the figures where there are new ones, nobody is dragging, and the page is looked at. */
    tick() {
      const due = this.shown !== this.wanted && !this.busy && !app.hand.held && !this.paused && !document.hidden && performance.now() >= this.next;
      if (due) this.refresh();
      this.say();
    }

    async asked() {
      const answer = await fetch(this.told.data);
      const data = await answer.json();
      if (!answer.ok) throw new Error(data.detail ?? `the server answered ${answer.status}`);
      return data;
    }

    /** The last event may bring the figures itself: its server ends with it. */
    async refresh() {
      const [begun, bytes, end] = [performance.now(), this.wanted, this.end];
      this.busy = true;
      try {
        const data = end?.page ?? (await this.asked());
        await app.update(this.page, await app.model.fromData(data, this.page.model), { demo: false, file: null });
        // It may have ended since the figures were asked for: then they are not yet those of all of it.
        Object.assign(this, { shown: this.end === end ? bytes : -1, taken: begun, problem: "" });
      } catch (error) {
        this.problem = error instanceof TypeError ? NO_CONNECTION : error.message;
      } finally {
        this.busy = false;
        this.next = performance.now() + Math.max(LEAST_PAUSE_MS, SHARE_OF_TIME * (performance.now() - begun));
      }
      if (end !== null && this.problem === "") this.stop();
      this.say();
    }

    /** There is nothing more to come. */
    stop() {
      clearInterval(this.clock);
      this.pause.hidden = true;
    }

    /** What is known: {state, word, age}. */
    state() {
      const age = ago(performance.now() - this.taken);
      if (this.end?.problem) return { state: "broken", word: this.end.problem, age: `, figures of ${age}` };
      if (this.end !== null && this.shown === this.wanted) {
        return { state: "ended", word: this.end.complete ? "ended" : "ended without being closed", age: `, ${units.countText(this.end.spans)} spans` };
      }
      const problem = this.cut ? NO_CONNECTION : this.problem;
      if (problem !== "") return { state: "broken", word: problem, age: `, figures of ${age}` };
      return this.paused ? { state: "paused", word: "paused", age: `, figures of ${age}` } : { state: "live", word: "live", age: `, ${age}` };
    }

    say() {
      const { state, word, age } = this.state();
      this.node.dataset.state = state;
      if (this.word.textContent !== word) this.word.textContent = word;
      this.age.textContent = age;
    }
  }

  /** Follows the recording where the data say that it goes on. */
  function start(page, data, node) {
    if (!data.live || page.model === null) return null;
    const live = new Live(page, data.live, node);
    live.start();
    return live;
  }

  app.live = { start, ago, Live };
})((globalThis.regimeter ||= {}));
