// SPDX-License-Identifier: Apache-2.0
// Files from the picker or dropped on the page, to a model. A file that cannot be shown leaves the page as it was and
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
      await this.load(turn, file.name, async () => app.model.fromText(await file.text()), { demo: false, file: file.name });
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
        this.page.show(model, origin);
        this.say(null);
      } catch (error) {
        if (turn === this.turn) this.fail(name, error);
      }
    }

    acceptDrops(target) {
      const holdsFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
      target.addEventListener("dragover", (event) => {
        if (!holdsFile(event)) return;
        event.preventDefault();
        target.classList.add("is-drop-target");
      });
      target.addEventListener("dragleave", (event) => event.relatedTarget === null && target.classList.remove("is-drop-target"));
      target.addEventListener("drop", (event) => {
        if (!holdsFile(event)) return;
        event.preventDefault();
        target.classList.remove("is-drop-target");
        if (event.dataTransfer.files.length > 0) this.open(event.dataTransfer.files[0]);
      });
    }
  }

  app.Opener = Opener;
})((globalThis.regimeter ||= {}));
