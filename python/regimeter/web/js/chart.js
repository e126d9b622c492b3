// SPDX-License-Identifier: Apache-2.0
// What charts have in common: a picture that is drawn anew when its width changes, and the line below that reads what the
// pointer or the arrow keys are at. A chart has draw(), key(event) and say(what), of which null reads nothing; with
// near(event) it reads what is nearest to the pointer.
(function (app) {
  "use strict";

  const { el, svg } = app.dom;

  class Chart {
    /** kind: the picture's class; above: what stands over it. */
    frame(kind, height, above = null) {
      this.plot = svg("svg", { class: kind, height, role: "img", tabindex: 0 });
      this.readout = el("output", { class: "readout", "aria-live": "polite" });
      this.node = el("div", { class: "chart" }, above, this.plot, this.readout);
      if (this.near !== undefined) this.plot.addEventListener("pointermove", (event) => this.say(this.near(event)));
      this.plot.addEventListener("pointerleave", () => this.say(null));
      this.plot.addEventListener("keydown", (event) => this.key(event));
      this.observer = new ResizeObserver(() => this.draw());
      this.observer.observe(this.node);
    }

    destroy() {
      this.observer.disconnect();
    }
  }

  app.Chart = Chart;
})((globalThis.regimeter ||= {}));
