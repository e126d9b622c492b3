// SPDX-License-Identifier: Apache-2.0
// Every analysis of the run that has rows, as a tab of the page that it belongs to: its table, grouped in each way that the
// analysis offers. A table is unpacked when it is first looked at. What has no rows is named below, with what the run does
// not hold. The address has what is seen: table, by, sort, find.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const spoken = app.pages.titleOf;

  /** The packed table of a panel as columns with values. */
  async function unpacked(panel, table, place) {
    const wanted = panel.columns.map((column) => column.name);
    const values = await app.columns.read(table, wanted, place);
    const columns = panel.columns.map((column) => ({ ...column, values: values[column.name] }));
    return { count: table.count, total: table.total, columns };
  }

  class Panel {
    constructor(panel, model, page, place) {
      Object.assign(this, { panel, model, page, place });
      this.body = el("div", { class: "panel-table" });
      this.choices = panel.tables.map((table, i) => button(spoken(table.by), () => this.say({ by: i === 0 ? null : table.by, sort: null, find: null }), { "aria-pressed": "false" }));
      const choice = panel.tables.length > 1 ? el("div", { class: "choice", role: "group", "aria-label": "Grouped by" }, el("span", { class: "dim" }, "by"), this.choices) : null;
      this.node = el("div", { role: "tabpanel", id: `panel-${place}`, "aria-labelledby": `tab-${place}` }, el("div", { class: "tools" }, el("span", { class: "dim" }, `${panel.help.replace(/^./, (c) => c.toUpperCase())}.`), choice), this.body);
      this.made = new Map();
    }

    /** What a reader changed, into the address and from there into the table. */
    say(changes) {
      this.page.say({ table: this.panel.name, ...changes });
      this.show(app.address.current());
    }

    /** Shows what the address says; resolves when the table is in the page. */
    async show(state) {
      const named = this.panel.tables.findIndex((table) => table.by === state.by);
      const at = Math.max(0, named);
      this.choices.forEach((choice, i) => choice.setAttribute("aria-pressed", String(i === at)));
      this.shown = at;
      if (!this.made.has(at)) {
        this.made.set(at, this.make(this.panel.tables[at], at));
        this.body.inert = true; // what is typed now is not meant for the table that goes
      }
      const { node, table } = await this.made.get(at);
      if (this.shown !== at) return;
      this.body.inert = false;
      table?.restore(state);
      if (this.body.firstChild !== node) this.body.replaceChildren(node);
      this.page.markSelected();
    }

    async make(table, at) {
      if (table.count === 0) return { node: el("p", { class: "empty" }, `Nothing to show: ${this.panel.empty}.`) };
      try {
        const ready = await unpacked(this.panel, table, `panels[${this.place}].tables[${at}]`);
        const said = (table.headline ?? []).map((line) => el("p", null, line));
        const changed = (parts) => this.page.say({ table: this.panel.name, by: at === 0 ? null : table.by, ...parts });
        const grid = new app.ResultTable(ready, this.model.names, spoken(this.panel.name), (name) => this.page.select(name), changed);
        return { node: said.length ? el("div", null, said, grid.node) : grid.node, table: grid };
      } catch (error) {
        return { node: el("p", { class: "empty bad" }, `This table cannot be shown: ${error.message}`) };
      }
    }
  }

  // What most readers want first; all others follow in the order of the file.
  const FIRST = ["kernels", "operators", "lines", "scopes", "steps", "annotations", "idle", "launches", "memcpy", "communication", "collectives", "critical-path"];

  function inOrder(panels) {
    const place = ({ name }) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
    return [...panels].sort((a, b) => place(a) - place(b));
  }

  function withoutRows(panels) {
    const reasons = panels.map(({ name, reason }) => el("div", null, el("dt", null, spoken(name)), el("dd", null, `${reason}.`)));
    return el("details", { class: "no-rows" }, el("summary", null, `${panels.length} other ${panels.length === 1 ? "analysis has" : "analyses have"} nothing to show`), el("dl", { class: "pairs" }, reasons));
  }

  /** Of the analyses without rows, those of a page; on the page of the trace also those of no page that is offered. */
  function emptyOn(model, page, leaf) {
    if (leaf === null || leaf.id === "all") return model.emptyPanels;
    const homes = [...page.leaves].filter(({ id }) => id !== "all");
    const home = ({ name }) => homes.find(({ id }) => (app.pages.RUN.find((one) => one.id === id)?.tables ?? []).includes(name))?.id ?? homes.at(-1).id;
    return model.emptyPanels.filter((panel) => home(panel) === leaf.id);
  }

  function render(body, model, page) {
    const panels = inOrder(model.panels).map((panel, i) => new Panel(panel, model, page, i));
    const place = el("div");
    const tabs = panels.map(({ panel }, i) => button(spoken(panel.name), () => open(i), { class: "tab", role: "tab", id: `tab-${i}`, "aria-controls": `panel-${i}`, "aria-selected": "false" }));
    const nothing = el("div");
    function open(i) {
      page.say({ table: panels[i].panel.name, by: null, sort: null, find: null });
      choose(i, app.address.current());
    }
    function choose(at, state) {
      tabs.forEach((tab, i) => {
        tab.setAttribute("aria-selected", String(i === at));
        tab.tabIndex = i === at ? 0 : -1;
      });
      place.replaceChildren(panels[at].node);
      return panels[at].show(state);
    }
    const bar = el("div", { class: "tabs", role: "tablist", "aria-label": "Analyses" }, tabs);
    bar.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by === undefined) return;
      const seen = tabs.filter((tab) => !tab.hidden);
      const next = seen[(seen.indexOf(document.activeElement) + by + seen.length) % seen.length];
      next.click();
      next.focus();
    });
    body.append(bar, place, nothing);
    function follow(state, leaf) {
      if (leaf !== null && !leaf.views.has("analyses")) return;
      const here = ({ panel }) => leaf === null || leaf.tables.has(panel.name);
      panels.forEach((panel, i) => (tabs[i].hidden = !here(panel)));
      const empty = emptyOn(model, page, leaf);
      nothing.replaceChildren(...(empty.length > 0 ? [withoutRows(empty)] : []));
      const named = panels.findIndex((one) => one.panel.name === state.table && here(one));
      const shown = choose(named >= 0 ? named : Math.max(panels.findIndex(here), 0), state);
      if (named >= 0 && body.isConnected && !inView(body)) body.parentNode.scrollIntoView();
      return shown;
    }
    return { follow };
  }

  /** Whether the head of a section can be seen. */
  function inView(body) {
    const { top } = body.getBoundingClientRect();
    return top >= 0 && top < innerHeight * 0.7;
  }

  (app.views ??= []).push({ id: "analyses", title: "Tables", order: 45, span: 12, fits: (model) => model.panels.length > 0, render });
})((globalThis.regimeter ||= {}));
