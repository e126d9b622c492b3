// SPDX-License-Identifier: Apache-2.0
// Every analysis of the run that has rows, as a tab: its table, grouped in each way that the analysis offers. A table is
// unpacked when it is first looked at. What has no rows is named below, with what the run does not hold.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const spoken = (name) => name.replaceAll("-", " ").replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());

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
      this.choices = panel.tables.map((table, i) => button(spoken(table.by), () => this.show(i), { "aria-pressed": "false" }));
      const choice = panel.tables.length > 1 ? el("div", { class: "choice", role: "group", "aria-label": "Grouped by" }, el("span", { class: "dim" }, "by"), this.choices) : null;
      this.node = el("div", { role: "tabpanel", id: `panel-${place}`, "aria-labelledby": `tab-${place}` }, el("div", { class: "tools" }, el("span", { class: "dim" }, `${panel.help.replace(/^./, (c) => c.toUpperCase())}.`), choice), this.body);
      this.made = new Map();
    }

    /** Resolves when the table is in the page. */
    async show(at = 0) {
      this.choices.forEach((choice, i) => choice.setAttribute("aria-pressed", String(i === at)));
      this.shown = at;
      if (!this.made.has(at)) this.made.set(at, await this.make(this.panel.tables[at], at));
      if (this.shown === at) this.body.replaceChildren(this.made.get(at));
      this.page.markSelected();
    }

    async make(table, at) {
      if (table.count === 0) return el("p", { class: "empty" }, `Nothing to show: ${this.panel.empty}.`);
      try {
        const ready = await unpacked(this.panel, table, `panels[${this.place}].tables[${at}]`);
        const said = (table.headline ?? []).map((line) => el("p", null, line));
        const grid = new app.ResultTable(ready, this.model.names, spoken(this.panel.name), (name) => this.page.select(name)).node;
        return said.length ? el("div", null, said, grid) : grid;
      } catch (error) {
        return el("p", { class: "empty bad" }, `This table cannot be shown: ${error.message}`);
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
    if (panels.length === 0) return [];
    const reasons = panels.map(({ name, reason }) => el("div", null, el("dt", null, spoken(name)), el("dd", null, `${reason}.`)));
    return [el("details", { class: "no-rows" }, el("summary", null, `${panels.length} other ${panels.length === 1 ? "analysis has" : "analyses have"} nothing to show`), el("dl", { class: "pairs" }, reasons))];
  }

  function render(body, model, page) {
    const panels = inOrder(model.panels).map((panel, i) => new Panel(panel, model, page, i));
    const place = el("div");
    const tabs = panels.map(({ panel }, i) => button(spoken(panel.name), () => choose(i), { class: "tab", role: "tab", id: `tab-${i}`, "aria-controls": `panel-${i}`, "aria-selected": "false" }));
    function choose(at) {
      tabs.forEach((tab, i) => {
        tab.setAttribute("aria-selected", String(i === at));
        tab.tabIndex = i === at ? 0 : -1;
      });
      place.replaceChildren(panels[at].node);
      panels[at].show(panels[at].shown);
    }
    const bar = el("div", { class: "tabs", role: "tablist", "aria-label": "Analyses" }, tabs);
    bar.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by === undefined) return;
      const next = (tabs.indexOf(document.activeElement) + by + tabs.length) % tabs.length;
      choose(next);
      tabs[next].focus();
    });
    body.append(bar, place, ...withoutRows(model.emptyPanels));
    choose(0);
    // An address that ends in #table=NAME opens that table.
    const follow = () => {
      const wanted = new URLSearchParams(location.hash.slice(1)).get("table");
      const at = panels.findIndex(({ panel }) => panel.name === wanted);
      if (at < 0) return;
      choose(at);
      body.parentNode?.scrollIntoView();
    };
    addEventListener("hashchange", follow);
    return { shown: follow, destroy: () => removeEventListener("hashchange", follow) };
  }

  (app.views ??= []).push({ id: "analyses", title: "Analyses", order: 45, span: 12, fits: (model) => model.panels.length > 0, render });
})((globalThis.regimeter ||= {}));
