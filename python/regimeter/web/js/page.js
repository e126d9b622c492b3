// SPDX-License-Identifier: Apache-2.0
// The page: holds the model, builds every registered view from it, and passes selection, theme and print on to them.
// A view is {id, title (a text, or what makes one of the model), short?, order, span (of 12 columns), note(model)?, bare?, render(body, model, page) -> handle}. A
// handle may have shown() (it is in the page), follow(state, leaf) (the address says this now; `leaf` is the page of pages.js;
// a promise of it where that takes a moment), keep(), foresee(kept) and resume(kept) (update.js), selected(), recolor(), beforePrint(), afterPrint() and destroy(). `of` names the models that a view shows: "run" (the
// default), "comparison", "document" or "any"; fits(model) may refuse more. Adding a view is adding a file to js/views/, to manifest.json
// and to a page in pages.js. Of a document of several pages only that which is asked for is rendered before it can be used; the others
// follow when the browser has nothing else to do, or when they are gone to.
(function (app) {
  "use strict";

  const { el } = app.dom;

  class Page {
    constructor(main, nav, heading) {
      Object.assign(this, { main, nav, heading });
      this.model = null;
      this.selected = null;
      this.parts = []; // {section, handle} of each view that is shown
      this.leaves = []; // the pages that it is divided into; none where all is shown at once
      this.leaf = null;
      this.kept = new Map(); // page -> what was seen there when it was left
      this.unknown = el("p", { class: "notice", role: "status" }); // stands in the heading while the address names no page
      app.address.watch((state) => this.follow(state));
      new ResizeObserver(() => this.keepLink()).observe(nav); // a window that shrinks or a phone that is turned
    }

    /** Replaces what is shown. `origin` is {demo, file}. If a view throws, the previous page stays as it was. */
    async show(model, origin) {
      const before = { model: this.model, selected: this.selected };
      Object.assign(this, { model, selected: null });
      const parts = [];
      const drop = (made) => made.forEach(({ handle }) => handle.destroy?.());
      const views = this.views();
      const leaves = app.pages.offered(model, views.map(({ id }) => id));
      const first = leaves.length > 0 ? app.pages.meant(leaves, app.address.current()) : null;
      try {
        for (const view of views) {
          parts.push(this.part(view, first !== null && !first.views.has(view.id)));
          await app.pause();
        }
      } catch (error) {
        drop(parts);
        Object.assign(this, before);
        throw error;
      }
      if (this.model !== model) {
        drop(parts); // another one was opened meanwhile
        return;
      }
      drop(this.parts);
      this.parts = parts;
      this.kept.clear();
      app.heading.fill(this.heading, model, origin);
      this.title = document.title;
      this.divide();
      // Other pages are hidden before the browser has to lay them out.
      const leaf = this.leaves.length > 0 ? app.pages.meant(this.leaves, app.address.current()) : null;
      for (const { section } of parts) section.hidden = leaf !== null && !leaf.views.has(section.id);
      this.main.replaceChildren(...parts.map(({ section }) => section));
      this.markSelected();
      this.each("recolor");
      this.each("shown");
      this.follow(app.address.current());
      this.count(model.timeline);
      if (parts.some(({ later }) => later !== null)) document.documentElement.dataset.part = "1"; // what is there so far
      setTimeout(() => this.renderRest(), 0);
    }

    /** Renders what was put off, piece by piece. */
    async renderRest() {
      const { model } = this;
      for (const part of this.parts) {
        await app.pause();
        if (this.model !== model || !this.parts.includes(part)) return; // another one was opened meanwhile
        this.render(part);
      }
      delete document.documentElement.dataset.part;
    }

    /** Renders a part that was put off; what others know by now it is told. */
    render(part) {
      if (part.later === null) return;
      const { later } = part;
      part.later = null;
      later();
      this.markSelected();
      for (const verb of ["recolor", "shown"]) part.handle[verb]?.();
      part.handle.follow?.(app.address.current(), this.leaf);
    }

    get handles() {
      return this.parts.map(({ handle }) => handle);
    }

    /** Offers the pages that the model has something for; `before` is the one that stays open where it is still there. */
    divide(before = null) {
      const known = this.leaves.map(({ id }) => id).join();
      this.leaves = app.pages.offered(this.model, this.parts.map(({ section }) => section.id));
      if (before !== null && this.leaves.map(({ id }) => id).join() === known) {
        this.turn(this.leaves.find(({ id }) => id === before.id));
        return;
      }
      this.leaf = null;
      this.nav.hidden = this.leaves.length === 0;
      this.links = this.leaves.map(({ id, title }) => el("a", { href: `#page=${id}` }, title));
      this.nav.replaceChildren(...this.links);
    }

    /** Shows what the address says: its page, and in each view what it names. */
    follow(state) {
      if (this.model === null) return;
      const before = this.leaf;
      if (this.leaves.length > 0) this.turn(app.pages.meant(this.leaves, state));
      if (this.leaf === null || !state.page || this.leaves.some(({ id }) => id === state.page)) this.unknown.remove();
      else {
        this.unknown.textContent = `There is no page “${state.page}” here; this is “${this.leaf.title}”.`;
        this.heading.append(this.unknown);
      }
      if ((state.op ?? null) !== this.selected && (state.op || before !== null)) this.select(state.op ?? null);
      for (const handle of this.handles) handle.follow?.(state, this.leaf);
      if (state.section) document.getElementById(state.section)?.scrollIntoView();
      else if (before !== null && before !== this.leaf) scrollTo(0, 0);
    }

    /** Shows the views of a page and hides the others. */
    turn(leaf) {
      if (leaf === this.leaf) return;
      app.tooltip.hide();
      this.leaf = leaf;
      for (const part of this.parts) if (leaf.views.has(part.section.id)) this.render(part);
      const sections = new Map([...this.main.children].map((section) => [section.id, section]));
      const order = [...leaf.views, ...[...sections.keys()].filter((id) => !leaf.views.has(id))].map((id) => sections.get(id));
      if (order.some((section, i) => section !== this.main.children[i])) this.main.append(...order);
      for (const [id, section] of sections) section.hidden = !leaf.views.has(id);
      this.main.classList.toggle("apart", leaf !== this.leaves[0] && leaf.id !== "all");
      this.leaves.forEach(({ id }, i) => {
        const link = this.links[i];
        link.toggleAttribute("aria-current", id === leaf.id);
        if (id === leaf.id) link.setAttribute("aria-current", "page");
        link.setAttribute("href", (id !== leaf.id && this.kept.get(id)) || `#page=${id}`);
      });
      requestAnimationFrame(() => this.keepLink()); // with the layout that comes then, not one of its own
      document.title = leaf === this.leaves[0] || leaf.id === "all" ? this.title : `${leaf.title} - ${this.title}`;
    }

    /** Scrolls the pages' names until that of this page is in the middle, or as near to it as they go. */
    keepLink() {
      const link = this.links?.[this.leaves.indexOf(this.leaf)];
      if (link === undefined) return;
      const [own, all] = [link.getBoundingClientRect(), this.nav.getBoundingClientRect()];
      this.nav.scrollLeft += (own.left + own.right - all.left - all.right) / 2;
    }

    /** Goes to the page that is so many further on. */
    next(by) {
      const at = this.leaves.indexOf(this.leaf);
      if (at >= 0) this.links[(at + by + this.leaves.length) % this.leaves.length].click();
    }

    /** A view says what is seen of it: parts of the address by name, null for what is as it was at first. */
    say(changes) {
      const state = { ...app.address.current(), ...changes };
      for (const [name, value] of Object.entries(state)) if (value === null || value === "") delete state[name];
      if (this.leaf === null) return app.address.say(state);
      delete state.page;
      const plain = this.leaf === this.leaves[0] && app.address.format(state) === "";
      const next = plain ? {} : { page: this.leaf.id, ...state };
      this.kept.set(this.leaf.id, app.address.format(next));
      return app.address.say(next);
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
      // Of a page of one thing alone, such as a timeline, what else is there comes after it.
      const place = ({ order, after }) => (this.model.described === false && after) || order;
      const shown = (view) => (view.of === "any" || (view.of ?? "run") === kind) && (view.fits?.(this.model) ?? true);
      const known = [...(app.views ?? []), ...(app.sections?.views(this.model) ?? [])];
      return known.filter(shown).sort((a, b) => place(a) - place(b));
    }

    /** {section, handle, later} of a view; `putOff` until render(part), for which later() stands. */
    part(view, putOff = false) {
      const body = el("div", { class: "view-body" });
      const bare = typeof view.bare === "function" ? view.bare(this.model) : view.bare === true;
      const said = typeof view.title === "function" ? view.title(this.model) : view.title;
      const title = el("h2", { id: `${view.id}-title`, class: bare ? "unseen" : null }, said);
      const section = el(
        "section",
        { id: view.id, class: bare ? "view bare" : "view", "aria-labelledby": title.id, "data-span": view.span },
        title,
        view.note ? el("p", { class: "note" }, view.note(this.model)) : null,
        body,
      );
      const part = { section, handle: {}, later: null };
      const fill = () => {
        part.handle = view.render(body, this.model, this) ?? {};
      };
      if (putOff) part.later = fill;
      else fill();
      return part;
    }

    each(verb) {
      if (verb === "beforePrint") for (const part of this.parts) this.render(part);
      for (const handle of this.handles) handle[verb]?.();
    }

    /** Selects an operation in all views; the same name again, or null, selects nothing. */
    select(name) {
      this.selected = this.selected === name ? null : name;
      this.markSelected();
      this.each("selected");
      if ((app.address.current().op ?? null) !== this.selected) this.say({ op: this.selected });
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
