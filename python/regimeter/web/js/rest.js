// SPDX-License-Identifier: Apache-2.0
// The page of a run with very many spans opens with what is quickly there. This asks its server for all of it, says
// meanwhile what is missing and for how long it has been computed, and shows it when it has come.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const MISSING = "suggestions, regimes, the critical path and all tables";
  const TICK_MS = 1000;
  const HELD_MS = 200;

  class Rest {
    /** told: {data} of the page's data; node: where the state is said. */
    constructor(page, told, node) {
      Object.assign(this, { page, told, node });
      this.word = el("span", { role: "status" });
      this.age = el("span", { class: "live-age" });
      this.again = button("Try again", () => this.ask(), { class: "quiet" });
      node.replaceChildren(el("span", { class: "live-mark", "aria-hidden": "true" }), el("span", { class: "live-text" }, this.word, this.age), this.again);
      node.hidden = false;
    }

    say(state, word, age) {
      document.documentElement.dataset.rest = this.node.dataset.state = state;
      this.again.hidden = state !== "broken";
      if (this.word.textContent !== word) this.word.textContent = word;
      this.age.textContent = age;
    }

    async ask() {
      const begun = performance.now();
      const count = () => this.say("computing", `computing ${MISSING}`, `, ${Math.floor((performance.now() - begun) / 1000)} s`);
      count();
      const clock = setInterval(count, TICK_MS);
      try {
        const answer = await fetch(this.told.data);
        const data = await answer.json();
        if (!answer.ok) throw new Error(data.detail ?? `the server answered ${answer.status}`);
        const model = await app.model.fromData(data, this.page.model);
        while (app.hand.held) await new Promise((done) => setTimeout(done, HELD_MS));
        await app.update(this.page, model, { demo: false, file: null, same: true });
        this.say("there", "", "");
        this.node.hidden = true;
      } catch (error) {
        const why = error instanceof TypeError ? "no connection" : error.message;
        this.say("broken", `not here: ${MISSING}`, ` (${why})`);
      } finally {
        clearInterval(clock);
      }
    }
  }

  /** Asks for the rest where the data say that there is more. */
  function start(page, data, node) {
    if (!data.rest || page.model === null) return;
    app.hand.watch();
    new Rest(page, data.rest, node).ask();
  }

  app.rest = { start, Rest };
})((globalThis.regimeter ||= {}));
