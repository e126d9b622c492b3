// SPDX-License-Identifier: Apache-2.0
// Every figure of every operation: sortable by each column, searchable by name, device and backend.
(function (app) {
  "use strict";

  const { el, figure, swatch, button } = app.dom;
  const { units, tableRows } = app;
  const WHAT = { time: units.time, count: units.count, bytes: units.bytes, share: units.share, percent: units.percent, plain: units.plain };
  const FEW = 200;
  const SEARCHED = ["name", "device", "backend"];

  /** Columns with at least one value; a count that is zero everywhere is left out as well. */
  function columnsOf(model) {
    const filled = (field) => model.operations.some((one) => one[field.key] !== null && !(field.quietZero && one[field.key] === 0));
    return { shown: app.fields.filter(filled), empty: app.fields.filter((field) => !filled(field) && !field.quietZero) };
  }

  class Statistics {
    constructor(model, page) {
      this.model = model;
      this.page = page;
      this.columns = columnsOf(model);
      this.key = "share";
      this.descending = true;
      this.limit = FEW;
      this.headings = new Map(this.columns.shown.map((field) => [field.key, this.heading(field)]));
      this.search = el("input", { type: "search", placeholder: "Search name, device, backend", "aria-label": "Search operations", on: { input: () => this.turned() } });
      this.found = el("span", { class: "dim", role: "status" });
      this.rows = el("tbody");
      this.rove = app.keys.rows(this.rows);
      this.more = button("", () => this.showAll(), { class: "quiet more" });
    }

    turned() {
      this.fill();
      const first = this.key === "share" && this.descending;
      this.page.say({ order: first ? null : `${this.descending ? "-" : ""}${this.key}`, rows: this.search.value.trim() || null });
    }

    /** Sorts and searches as the address says. */
    restore({ order = "-share", rows = "" }) {
      const key = order.replace(/^-/, "");
      if (this.headings.has(key)) Object.assign(this, { key, descending: order.startsWith("-") });
      if (this.search.value.trim() !== rows) this.search.value = rows;
      this.fill();
    }

    /** The operations that were found, in order. */
    foundRows() {
      return tableRows.sorted(this.model.operations.filter((one) => tableRows.matches(one, SEARCHED, this.search.value)), this.key, this.descending);
    }

    plain() {
      const { shown } = this.columns;
      const unit = { time: " (ns)", bytes: " (bytes)", share: " (share)", percent: " (%)" };
      return [shown.map(({ label, kind }) => label + (unit[kind] ?? "")), ...this.foundRows().map((one) => shown.map(({ key }) => one[key]))];
    }

    heading(field) {
      const label = button(field.label, () => this.sortBy(field), { class: "sort", title: field.title });
      return el("th", { scope: "col", class: field.kind === "text" ? null : "number" }, label);
    }

    sortBy(field) {
      this.descending = this.key === field.key ? !this.descending : field.kind !== "text";
      this.key = field.key;
      this.turned();
    }

    showAll() {
      this.limit = Infinity;
      this.fill();
    }

    cell(one, field) {
      if (field.key === "name") {
        const name = button([swatch(one.rank), el("span", { class: "clip" }, one.name)], () => this.page.select(one.name), { class: "operation", title: one.name, "aria-pressed": "false" });
        return el("th", { scope: "row" }, name);
      }
      if (field.kind === "text") return el("td", null, one[field.key] ?? app.dom.absent(this.model.unavailable[field.key]));
      return el("td", { class: "number" }, figure(one[field.key], WHAT[field.kind], this.model.unavailable[field.key]));
    }

    fill() {
      const ordered = this.foundRows();
      this.rows.replaceChildren(
        ...ordered.slice(0, this.limit).map((one) => {
          const line = el("tr", null, this.columns.shown.map((field) => this.cell(one, field)));
          line.dataset.operation = one.name;
          return line;
        }),
      );
      for (const [key, heading] of this.headings) heading.setAttribute("aria-sort", key !== this.key ? "none" : this.descending ? "descending" : "ascending");
      const all = this.model.operations.length;
      this.found.textContent = ordered.length === all ? `${units.countText(all)} operations` : `${units.countText(ordered.length)} of ${units.countText(all)} operations`;
      this.more.hidden = ordered.length <= this.limit;
      this.more.textContent = `Show all ${units.countText(ordered.length)} rows`;
      this.page.markSelected();
      this.rove();
    }

    notes() {
      const { empty } = this.columns;
      if (empty.length === 0) return null;
      const byReason = Map.groupBy ? Map.groupBy(empty, (field) => this.reason(field)) : new Map(empty.map((field) => [this.reason(field), [field]]));
      return el("p", { class: "help" }, "Columns without a value are left out: ", [...byReason].map(([reason, fields]) => `${fields.map((field) => field.label).join(", ")} (${reason})`).join("; "), ".");
    }

    reason(field) {
      return this.model.unavailable[field.key] ?? "not measured";
    }
  }

  function render(body, model, page) {
    if (model.operations.length === 0) {
      body.append(el("p", { class: "empty" }, "No operations were recorded."));
      return {};
    }
    const table = new Statistics(model, page);
    const derived = model.derived.map((key) => app.fieldOf(key)?.label ?? key);
    body.append(el("div", { class: "tools" }, table.search, table.found, app.csv.control("Detailed statistics", () => table.plain())));
    if (derived.length > 0) body.append(el("p", { class: "caution" }, `Derived in the page from the entries, because the file lacks them: ${derived.join(", ")}.`));
    body.append(
      app.scroller("Table of operations", el("table", { class: "statistics" }, el("thead", null, el("tr", null, [...table.headings.values()])), table.rows)),
      table.more,
    );
    const notes = table.notes();
    if (notes !== null) body.append(notes);
    table.fill();
    return { follow: (state) => table.restore(state), beforePrint: () => table.showAll() };
  }

  (app.views ??= []).push({ id: "statistics", title: "Detailed statistics", short: "Statistics", order: 65, span: 12, fits: (model) => model.scoped, render });
})((globalThis.regimeter ||= {}));
