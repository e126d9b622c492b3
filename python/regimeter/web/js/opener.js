// SPDX-License-Identifier: Apache-2.0
// Data or a file to a model, and that into the page. What cannot be shown leaves the page as it was and
// says which file, what is wrong, where, and what to do.
(function (app) {
  "use strict";

  const { el, button } = app.dom;

  class Opener {
    constructor(page, messages) {
      this.page = page;
      this.messages = messages;
      this.turn = 0;
    }

    say(node) {
      this.messages.replaceChildren(...(node === null ? [] : [node]));
    }

    fail(name, error) {
      const known = error instanceof app.InputFault;
      const place = known ? `${error.message} (${error.place}).` : `this page could not show it: ${error.message}.`;
      const remedy = known ? error.remedy : "Please report this together with the file.";
      const close = button("Dismiss", () => this.say(null), { class: "quiet" });
      this.say(el("div", { class: "fault", role: "alert" }, el("p", null, el("strong", null, name), ": ", place), el("p", null, remedy), close));
    }

    async open(file) {
      const turn = (this.turn += 1);
      this.say(el("p", { class: "busy", role: "status" }, `Reading ${file.name} …`));
      await this.load(turn, file.name, async () => app.model.fromText(await app.fileText.read(file)), { demo: false, file: file.name });
    }

    async openData(name, data, origin) {
      const turn = (this.turn += 1);
      await this.load(turn, name, () => app.model.fromData(data), origin);
    }

    /** The latest request wins: a slow file does not replace one that was opened after it. */
    async load(turn, name, read, origin) {
      try {
        const model = await read();
        if (turn !== this.turn) return;
        await this.page.show(model, origin);
        this.say(null);
      } catch (error) {
        if (turn === this.turn) this.fail(name, error);
      }
    }
  }

  app.Opener = Opener;
})((globalThis.regimeter ||= {}));
