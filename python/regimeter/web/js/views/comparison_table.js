// SPDX-License-Identifier: Apache-2.0
// Every operation with its change and the interval of it, drawn on one scale: sortable, searchable, selectable.
(function (app) {
  "use strict";

  const { el, svg, figure, button } = app.dom;
  const { units, tableRows } = app;
  const { signed } = app.changes;
  const { stateOf, wordOf } = app.changeWords;
  const WIDTH = 170;
  const HEIGHT = 20;
  const FEW = 100;
  const COLUMNS = [
    { key: "name", label: "Operation", text: true },
    { key: "metric", label: "Metric", text: true },
    { key: "verdict", label: "Verdict", text: true },
    { key: "baseline", label: "Baseline", title: "A typical call" },
    { key: "current", label: "Current", title: "A typical call" },
    { key: "change_percent", label: "Change", title: "Change of a typical call, as estimated from all samples" },
    { key: "low_percent", label: "interval", chart: true },
    { key: "q", label: "q", title: "p-value of no change, adjusted for all rows together" },
    { key: "calls", label: "Calls", title: "Calls that a process made" },
    { key: "run_change_percent", label: "All calls", title: "Change of the time of all calls of a process together: what totals and flame graphs show, without a test" },
    { key: "impact_percent", label: "Impact", title: "By what part of a process's time the change of all calls moves it" },
    { key: "share", label: "Share", title: "Part of the times of all rows of the baseline together; nested operations count in each" },
    { key: "detectable_percent", label: "Would see", title: "Smallest slowdown of this operation that would have been detected" },
    { key: "data", label: "Data", text: true },
    { key: "note", label: "Note", text: true },
  ];

  const WHAT = { s: (value) => units.time(value * 1e9), bytes: units.bytes, "": units.plain };
  const callsChanged = ({ calls }) => calls !== null && calls[0] !== calls[1];
  const plainly = (row) => row.verdict === "no_change" && row.conclusive && !callsChanged(row);

  function callText({ calls }) {
    if (calls === null) return "";
    const [before, after] = calls.map((count) => units.countText(+count.toPrecision(6)));
    if (calls[0] === calls[1]) return before;
    return `${before} \u2192 ${after}${calls[0] > 0 ? ` (${signed(100 * (calls[1] / calls[0] - 1), 0)} %)` : ""}`;
  }

  class ComparisonTable {
    constructor(model, page) {
      Object.assign(this, { model, page, key: null, descending: true, limit: FEW });
      const several = new Set(model.rows.map((row) => row.metric)).size > 1;
      const filled = (column) => column.text !== true || model.rows.some((row) => row[column.key] !== "");
      // What all rows have in common is said once, below the table.
      const data = new Set(model.rows.map((row) => row.data).filter((text) => text !== ""));
      this.common = data.size === 1 ? [...data][0] : "";
      const tested = [...model.wholes, ...model.rows].some((row) => row.q !== null);
      const wanted = { metric: several, data: this.common === "", calls: model.rows.some(callsChanged), q: tested };
      // Notes are sentences: each has the whole width below its row.
      this.written = COLUMNS.filter((column) => wanted[column.key] !== false && filled(column));
      this.columns = this.written.filter((column) => column.key !== "note");
      this.scale = new app.ChangeScale([...model.wholes, ...model.rows], model.threshold, WIDTH);
      this.headings = new Map(this.columns.map((column) => [column.key, this.heading(column)]));
      this.search = el("input", { type: "search", placeholder: "Search operations", "aria-label": "Search operations", on: { input: () => this.turned() } });
      this.changed = el("input", { type: "checkbox", on: { change: () => this.turned() } });
      this.found = el("span", { class: "dim", role: "status" });
      this.body = el("tbody");
      this.rove = app.keys.rows(this.body);
      this.more = button("", () => this.showAll(), { class: "quiet more" });
    }

    heading(column) {
      const label = column.chart === true ? `Change, ${+(this.model.level * 100).toFixed(4)} % ${column.label}` : column.label;
      const sorter = button(label, () => this.sortBy(column), { class: "sort", title: column.title });
      return el("th", { scope: "col", class: column.text === true || column.chart === true ? null : "number" }, sorter, column.chart === true ? this.axis() : null);
    }

    axis() {
      const [first, last] = [this.scale.ticks[0], this.scale.ticks.at(-1)];
      const text = (percent) => (percent === 0 ? "0" : `${percent >= 1000 ? `\u00d7${1 + percent / 100}` : `${signed(percent, Number.isInteger(percent) ? 0 : 1)} %`}`);
      const place = (percent) => (this.scale.x(percent) > WIDTH - 26 && percent === last ? "end" : this.scale.x(percent) < 26 && percent === first ? "start" : "middle");
      return svg("svg", { class: "forest", width: WIDTH, height: 16, "aria-hidden": "true" }, this.scale.ticks.map((percent) => svg("text", { x: this.scale.x(percent), y: 11, "text-anchor": place(percent) }, text(percent))));
    }

    sortBy(column) {
      this.descending = this.key === column.key ? !this.descending : column.text !== true;
      this.key = column.key;
      this.turned();
    }

    turned() {
      this.fill();
      const order = this.key === null ? null : `${this.descending ? "-" : ""}${this.key}`;
      this.page.say({ order, rows: this.search.value.trim() || null, changed: this.changed.checked ? "1" : null });
    }

    /** Sorts and searches as the address says. */
    restore({ order = "-", rows = "", changed = "" }) {
      const key = order.replace(/^-/, "");
      Object.assign(this, { key: this.headings.has(key) ? key : null, descending: order.startsWith("-") });
      if (this.search.value.trim() !== rows) this.search.value = rows;
      this.changed.checked = changed === "1";
      this.fill();
    }

    /** Headings and rows that were found, as plain texts and numbers. */
    plain() {
      const columns = this.written.flatMap((column) => (column.chart === true ? [{ key: "low_percent", label: "Change, low (%)" }, { key: "high_percent", label: "Change, high (%)" }] : [column]));
      const value = (row, { key }) => (key === "calls" ? callText(row) : row[key]);
      return [[...columns.map(({ label }) => label), "Unit"], ...[...this.model.wholes, ...this.foundRows()].map((row) => [...columns.map((column) => value(row, column)), row.unit])];
    }

    showAll() {
      this.limit = Infinity;
      this.fill();
    }

    forest(row) {
      const { scale } = this;
      const band = [scale.x(-Math.min(this.model.threshold, 99)), scale.x(this.model.threshold)];
      const parts = [
        svg("rect", { class: "band", x: band[0], width: band[1] - band[0], y: 0, height: HEIGHT }),
        svg("line", { class: "zero", x1: scale.x(0), x2: scale.x(0), y1: 0, y2: HEIGHT }),
      ];
      if (row.change_percent === null) return svg("svg", { class: "forest", width: WIDTH, height: HEIGHT, "aria-hidden": "true" }, parts);
      if (row.low_percent !== null && row.high_percent !== null) parts.push(svg("line", { class: "interval", x1: scale.x(row.low_percent), x2: scale.x(row.high_percent), y1: HEIGHT / 2, y2: HEIGHT / 2 }), ...this.ends(row));
      if (scale.beyond(row.change_percent) === 0) parts.push(svg("circle", { cx: scale.x(row.change_percent), cy: HEIGHT / 2, r: 3.6 }));
      else parts.push(this.arrow(scale.beyond(row.change_percent)));
      return svg("svg", { class: `forest is-${stateOf(row)}`, width: WIDTH, height: HEIGHT, "aria-hidden": "true" }, parts);
    }

    ends(row) {
      return [row.low_percent, row.high_percent].filter((percent) => this.scale.beyond(percent) === 0).map((percent) => svg("line", { class: "interval", x1: this.scale.x(percent), x2: this.scale.x(percent), y1: HEIGHT / 2 - 3.5, y2: HEIGHT / 2 + 3.5 }));
    }

    /** A change beyond the end of the scale. */
    arrow(side) {
      const x = side > 0 ? WIDTH : 0;
      return svg("path", { d: `M${x} ${HEIGHT / 2}l${-side * 7} -5v10z` });
    }

    cell(row, column) {
      const value = row[column.key];
      const number = (...inner) => el("td", { class: "number" }, ...inner);
      switch (column.key) {
        case "name":
          if (this.model.wholes.includes(row)) return el("th", { scope: "row" }, row.name);
          return el("th", { scope: "row" }, button(el("span", { class: "clip" }, row.name === "" ? "(no name)" : row.name), () => this.page.select(row.key), { class: "operation", title: row.name, "aria-pressed": "false" }));
        case "verdict":
          return el("td", null, el("span", { class: `state state-${stateOf(row)}`, title: row.fails ? "fails the gate" : null }, wordOf(row)));
        case "baseline":
        case "current":
          return number(value === null ? el("span", { class: "dim" }, "\u2013") : figure(value, WHAT[row.unit] ?? units.plain));
        case "change_percent":
          return number(value === null ? el("span", { class: "dim" }, "\u2013") : el("span", { class: `change is-${stateOf(row)}` }, `${signed(value)} %`));
        case "low_percent":
          return el("td", { class: "forest-cell", title: value === null ? null : `[${signed(value)} %, ${signed(row.high_percent)} %]` }, this.forest(row));
        case "q":
          return number(value === null ? "" : value < row.least_q ? `< ${row.least_q.toPrecision(1)}` : value < 0.0005 ? value.toExponential(0) : value.toFixed(3));
        case "share":
          return number(value === null ? "" : figure(value, units.share));
        case "calls":
          return number(callText(row));
        case "run_change_percent":
          return number(value === null ? "" : `${signed(value)} %`);
        case "impact_percent":
          return number(value === null ? "" : `${signed(value, 2)} %`);
        case "detectable_percent":
          return number(value === null ? "" : value >= 1000 ? ">1,000 %" : `${value.toFixed(1)} %`);
        default:
          return el("td", null, value);
      }
    }

    /** A row's cells and, below them, its note. */
    lines(row, attributes = null) {
      const line = el("tr", attributes, this.columns.map((column) => this.cell(row, column)));
      return row.own_note === "" ? [line] : [line, el("tr", { class: "note-row" }, el("td", { colspan: this.columns.length }, el("span", { class: "row-note" }, row.own_note)))];
    }

    foundRows() {
      const wanted = this.model.rows.filter((row) => tableRows.matches(row, ["name", "metric", "note"], this.search.value) && !(this.changed.checked && plainly(row)));
      return this.key === null ? wanted : tableRows.sorted(wanted, this.key, this.descending);
    }

    fill() {
      const rows = this.foundRows();
      this.body.replaceChildren(
        ...this.model.wholes.flatMap((row) => this.lines(row, { class: "whole" })),
        ...rows.slice(0, this.limit).flatMap((row) => this.lines(row, { "data-operation": row.key })),
      );
      for (const [key, heading] of this.headings) heading.setAttribute("aria-sort", key !== this.key ? "none" : this.descending ? "descending" : "ascending");
      const all = this.model.rowsInAll;
      this.found.textContent = rows.length === all ? `${units.countText(all)} rows` : `${units.countText(rows.length)} of ${units.countText(all)} rows`;
      this.more.hidden = rows.length <= this.limit;
      this.more.textContent = `Show all ${units.countText(rows.length)} rows`;
      this.page.markSelected();
      this.rove();
    }
  }

  function render(body, model, page) {
    if (model.rows.length === 0) {
      body.append(el("p", { class: "empty" }, "There is nothing to compare."));
      return {};
    }
    const table = new ComparisonTable(model, page);
    const head = el("thead", null, el("tr", null, [...table.headings.values()]));
    body.append(
      el("div", { class: "tools" }, table.search, el("label", null, table.changed, " Only what changed or is undecided"), table.found, app.csv.control("Operations compared", () => table.plain())),
      app.scroller("Table of operations", el("table", { class: "statistics comparison" }, head, table.body)),
      table.more,
      ...model.commonNotes.map((text) => el("p", { class: "help" }, `${text}.`)),
      el("p", { class: "help" }, `The shaded band is the threshold of ${model.threshold} %. An arrow marks a change beyond the scale. ${table.common === "" ? "" : `Each row rests on ${table.common}. `}Choose an operation to see its samples.`),
    );
    table.fill();
    return { table, follow: (state) => table.restore(state), beforePrint: () => table.showAll() };
  }

  (app.views ??= []).push({ id: "operations", title: "Operations", order: 10, span: 12, of: "comparison", render });
})((globalThis.regimeter ||= {}));
