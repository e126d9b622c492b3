// SPDX-License-Identifier: Apache-2.0
// The page: holds the model, builds every registered view from it, and passes selection, theme and print on to them.
// A view is {id, title, short?, order, span (of 12 columns), note(model)?, bare?, render(body, model, page) -> handle}. A
// handle may have shown() (it is in the page), selected(), recolor(), beforePrint(), afterPrint() and destroy(). `of` names
// the models that a view shows: "run" (the default), "comparison" or "any"; fits(model) may refuse more. Adding a view is
// adding a file to js/views/ and to manifest.json.
(function (app) {
  "use strict";

  const { el } = app.dom;

  class Page {
    constructor(main, nav, heading) {
      Object.assign(this, { main, nav, heading });
      this.model = null;
      this.selected = null;
      this.handles = [];
    }

    /** Replaces what is shown. `origin` is {demo, file}. If a view throws, the previous page stays as it was. */
    async show(model, origin) {
      const before = { model: this.model, selected: this.selected };
      Object.assign(this, { model, selected: null });
      const handles = [];
      const sections = [];
      try {
        for (const view of this.views()) {
          sections.push(this.section(view, handles));
          await app.pause();
        }
      } catch (error) {
        for (const handle of handles) handle.destroy?.();
        Object.assign(this, before);
        throw error;
      }
      if (this.model !== model) {
        for (const handle of handles) handle.destroy?.(); // another one was opened meanwhile
        return;
      }
      for (const handle of this.handles) handle.destroy?.();
      this.handles = handles;
      this.nav.replaceChildren(...this.views().filter((view) => !view.bare).map(({ id, title, short }) => el("a", { href: `#${id}` }, short ?? title)));
      app.heading.fill(this.heading, model, origin);
      this.main.replaceChildren(...sections);
      this.markSelected();
      this.each("recolor");
      this.each("shown");
      this.count(model.timeline);
    }

    /** Says in the document how many spans the page holds: each is drawn, or counted in a block of neighbours. */
    count(line) {
      const { dataset } = document.documentElement;
      for (const name of ["spans", "drawn", "aggregated"]) {
        if (line) dataset[name] = line[name];
        else delete dataset[name];
      }
    }

    views() {
      const { kind } = this.model;
      const shown = (view) => (view.of === "any" || (view.of ?? "run") === kind) && (view.fits?.(this.model) ?? true);
      return (app.views ?? []).filter(shown).sort((a, b) => a.order - b.order);
    }

    section(view, handles) {
      const body = el("div", { class: "view-body" });
      handles.push(view.render(body, this.model, this) ?? {});
      const title = el("h2", { id: `${view.id}-title`, class: view.bare ? "unseen" : null }, view.title);
      return el(
        "section",
        { id: view.id, class: view.bare ? "view bare" : "view", "aria-labelledby": title.id, "data-span": view.span },
        title,
        view.note ? el("p", { class: "note" }, view.note(this.model)) : null,
        body,
      );
    }

    each(verb) {
      for (const handle of this.handles) handle[verb]?.();
    }

    /** Selects an operation in all views; the same name again, or null, selects nothing. */
    select(name) {
      this.selected = this.selected === name ? null : name;
      this.markSelected();
      this.each("selected");
    }

    markSelected() {
      this.main.classList.toggle("has-selection", this.selected !== null);
      for (const node of this.main.querySelectorAll("[data-operation]")) {
        const chosen = node.dataset.operation === this.selected;
        node.classList.toggle("is-selected", chosen);
        node.querySelector("button.operation")?.setAttribute("aria-pressed", String(chosen));
      }
    }
  }

  app.Page = Page;
})((globalThis.regimeter ||= {}));
