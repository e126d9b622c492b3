// SPDX-License-Identifier: Apache-2.0
// A result table of an analysis: columns with units, sorted by any column, searched by its texts. Rows are numbers of
// the table; cells are made for the rows that are shown, so that tables of thousands of rows open at once.
(function (app) {
  "use strict";

  const { el, figure, button, absent } = app.dom;
  const { units } = app;
  const STEP = 25;
  const NOTHING = "none"; // the code for it
  const DEEPEST = 20; // indentation beyond it would leave no room for the name
  const rate = (value) => {
    const { number, unit } = units.bytes(value);
    return { number, unit: `${unit}/s` };
  };
  const work = (value) => {
    const { number, unit } = units.si(value);
    return { number, unit: `${unit}op/s` };
  };
  const at = (ns) => ({ number: (ns / 1e6).toLocaleString("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3 }), unit: "ms" });
  const FORMATS = { at, ns: units.time, bytes: units.bytes, share: units.share, rate, "op/s": work };

  const isText = (column) => column.unit === "name" || column.unit === "code";
  /** Whether -1 stands for "unknown": always for plain numbers, where the description says so for measured ones. */
  const hasMinusOne = (column) => column.unit === "" || /(^|[^\w.])-1\b/.test(column.doc ?? "");
  const unknown = (column, value) => Number.isNaN(value) || (value === -1 && hasMinusOne(column));

  /** What a cell says as plain text; null for a value that is not known. */
  function textOf(column, value, names) {
    if (column.unit === "name") return names[value] ?? "";
    if (column.unit === "code") return column.codes[value] === NOTHING ? "" : column.codes[value] ?? `code ${value}`;
    if (unknown(column, value)) return null;
    return units.join(formatOf(column)(value));
  }

  function formatOf(column) {
    if (FORMATS[column.unit] !== undefined) return FORMATS[column.unit];
    const unit = column.unit;
    return (value) => ({ number: (Number.isInteger(value) ? units.count(value) : units.plain(value)).number, unit });
  }

  /** Row numbers in order of a column; unknown values last in both directions, equal ones in the table's order. */
  function ordered(rows, column, descending, names) {
    const { values } = column;
    const sign = descending ? -1 : 1;
    const place = isText(column) ? textRanks(column, names) : null;
    return [...rows].sort((a, b) => {
      if (place !== null) return sign * (place[values[a]] - place[values[b]]) || a - b;
      const [left, right] = [unknown(column, values[a]), unknown(column, values[b])];
      if (left || right) return left && right ? a - b : left ? 1 : -1;
      return sign * (values[a] - values[b]) || a - b;
    });
  }

  /** Rank of each text that a column uses, so that a long column compares numbers only. */
  function textRanks(column, names) {
    const used = [...new Set(column.values)].map((value) => [value, textOf(column, value, names)]);
    const ranks = {};
    used.sort((a, b) => app.tableRows.compare(a[1], b[1])).forEach(([value], rank) => (ranks[value] = rank));
    return ranks;
  }

  /** Row numbers whose texts hold every word of the query. */
  function matching(count, columns, query, names) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const all = Array.from({ length: count }, (_, row) => row);
    if (words.length === 0) return all;
    const texts = columns.filter(isText);
    return all.filter((row) => {
      const body = texts.map((column) => textOf(column, column.values[row], names)).join(" ").toLowerCase();
      return words.every((word) => body.includes(word));
    });
  }

  /** Columns with a value in some row, and those without one. */
  function split(columns, names) {
    const said = ({ values, ...column }) => values.some((value) => (textOf(column, value, names) ?? "") !== "");
    const zero = (column) => !isText(column) && column.unit !== "" && column.values.every((value) => value === 0);
    const filled = (column) => column.draw !== undefined || (said(column) && !zero(column));
    const shown = columns.filter(filled);
    return [shown, columns.filter((column) => !shown.includes(column))];
  }

  const rowsText = (count) => `${units.countText(count)} ${count === 1 ? "row" : "rows"}`;

  const largest = (values) => {
    let top = 0;
    for (const value of values) if (value > top) top = value;
    return top;
  };

  class ResultTable {
    /** table: {count, total, columns: [{name, heading, unit, codes, doc, values, draw?(row): what is in the cell, control?: nothing but a control}]}; chosen(text) is called for a name, null: names are texts,
        changed({sort, find}) when a reader sorts or searches, as restore() takes them. */
    constructor(table, names, noun, chosen, changed = () => {}) {
      const [shown, empty] = split(table.columns, names);
      Object.assign(this, { table: { ...table, columns: shown }, names, noun, chosen, changed, empty });
      this.depths = table.columns.find(({ name }) => name === "depth")?.values; // of a tree, in the analysis' order
      this.sort = null; // the analysis' own order
      this.descending = true;
      this.limit = STEP;
      this.search = el("input", { type: "search", placeholder: "Search names", "aria-label": `Search ${noun}`, on: { input: () => this.turned() } });
      this.found = el("span", { class: "dim", role: "status" });
      this.headings = shown.map((column) => this.heading(column));
      this.rows = el("tbody");
      this.more = button("", () => this.show(this.limit * 4), { class: "quiet more" });
      const head = el("thead", null, el("tr", null, this.headings));
      const grid = el("table", { class: "statistics result-table" }, head, this.rows);
      this.rove = app.keys.rows(this.rows);
      const searched = shown.some(isText) && table.count > 8;
      const csv = app.csv.control(noun, () => this.plain());
      this.node = el("div", null, el("div", { class: "tools" }, searched ? this.search : null, this.found, csv), app.scroller(noun, grid), this.more, this.missing());
      this.fill();
    }

    missing() {
      const { count, total } = this.table;
      const notes = [];
      if (total > count) notes.push(`The first ${units.countText(count)} of ${units.countText(total)} rows are in this page; the command and the Python method give all of them.`);
      if (this.empty.length > 0) notes.push(`Columns without a value, or with none but 0, are left out: ${this.empty.map((column) => column.heading).join(", ")}.`);
      return notes.map((text) => el("p", { class: "help" }, text));
    }

    heading(column) {
      const label = button(column.heading, () => this.sortBy(column), { class: "sort", title: column.doc });
      return el("th", { scope: "col", class: isText(column) ? column.unit : "number" }, label);
    }

    sortBy(column) {
      this.descending = this.sort === column ? !this.descending : !isText(column);
      this.sort = column;
      this.turned();
    }

    turned() {
      this.fill();
      this.changed({ sort: this.sort === null ? null : `${this.descending ? "-" : ""}${this.sort.name}`, find: this.search.value.trim() || null });
    }

    /** Sorts and searches as an address says. */
    restore({ sort, find }) {
      const column = this.table.columns.find(({ name }) => name === (sort ?? "").replace(/^-/, "")) ?? null;
      Object.assign(this, { sort: column, descending: column === null || sort.startsWith("-") });
      if (this.search.value.trim() !== (find ?? "")) this.search.value = find ?? "";
      this.fill();
    }

    /** The headings with their units, and the rows that were found, as plain texts and numbers. */
    plain() {
      const columns = this.table.columns.filter(({ control }) => control !== true);
      const unit = ({ unit: one }) => ({ at: " (ns)", name: "", code: "", nested: "", "": "" })[one] ?? ` (${one === "rate" ? "bytes/s" : one})`;
      const value = (column, row) => (isText(column) ? textOf(column, column.values[row], this.names) : unknown(column, column.values[row]) ? null : column.values[row]);
      return [columns.map((column) => column.heading + unit(column)), ...this.foundRows().map((row) => columns.map((column) => value(column, row)))];
    }

    /** Another text in a cell that draws itself: what it is searched, sorted and saved by. */
    retell(name, row, text) {
      this.table.columns.find((column) => column.name === name).values[row] = this.names.push(text) - 1;
    }

    foundRows() {
      const found = matching(this.table.count, this.table.columns, this.search.value, this.names);
      return this.sort === null ? found : ordered(found, this.sort, this.descending, this.names);
    }

    show(limit) {
      this.limit = limit;
      this.fill();
    }

    /** A row of the table; one with a name is chosen with what has that name. */
    row(row) {
      const { columns } = this.table;
      const named = columns.find(({ unit }) => unit === "name");
      const name = named && this.chosen !== null ? textOf(named, named.values[row], this.names) : "";
      const chosen = name !== "" && app.current?.selected === name;
      return el("tr", { "data-operation": name === "" ? null : name, class: chosen ? "is-selected" : null }, columns.map((column, i) => this.cell(column, row, i === 0)));
    }

    cell(column, row, first) {
      const value = column.values[row];
      const text = textOf(column, value, this.names);
      if (column.draw !== undefined) return el(first ? "th" : "td", { class: "name", ...(first ? { scope: "row" } : {}) }, column.draw(row));
      if (column.unit === "name" && (column.prose || (!first && text === ""))) return el(first ? "th" : "td", { class: column.prose ? "prose" : "name", ...(first ? { scope: "row" } : {}) }, first ? el("span", { class: "lines", title: text }, text) : units.unbroken(text));
      if (text === null && column.blank) return el("td", { class: "number" });
      if (column.unit === "name") return this.nameCell(text, column.name === "file" ? app.shortNames.ofFile(text) : app.shortNames.of(text), first, column.nested && this.sort === null ? this.depths[row] : 0);
      if (isText(column)) return el("td", { class: first ? null : "code" }, text);
      if (text === null) return el("td", { class: "number" }, hasMinusOne(column) && value === -1 ? el("span", { class: "dim", title: column.doc }, "–") : absent(column.doc));
      const bar = column.unit === "share" || column === this.sort ? this.bar(column, value) : null;
      const exact = column.unit === "ns" || column.unit === "bytes" ? `${units.countText(value)} ${column.unit}` : null;
      return el("td", { class: "number", title: exact }, bar, figure(value, formatOf(column)));
    }

    nameCell(text, short, first, depth) {
      const shown = text === "" ? el("span", { class: "dim" }, "(none)") : this.chosen === null ? el("span", { class: "clip", title: text }, short) : button(el("span", { class: "clip" }, short), () => this.chosen(text), { class: "operation", title: text, "aria-pressed": String(app.current?.selected === text) });
      const style = depth > 0 ? { "padding-left": `${0.5 + Math.min(depth, DEEPEST)}rem` } : null;
      return el(first ? "th" : "td", { class: "name", style, ...(first ? { scope: "row" } : {}) }, shown);
    }

    bar(column, value) {
      const most = column.unit === "share" ? 1 : (column.largest ??= largest(column.values));
      if (!(most > 0) || value < 0) return null;
      return el("span", { class: "in-cell", "aria-hidden": "true" }, el("span", { style: { width: `${(Math.min(value, most) / most) * 100}%` } }));
    }

    fill() {
      const { columns, count } = this.table;
      const rows = this.foundRows();
      this.rows.replaceChildren(...rows.slice(0, this.limit).map((row) => this.row(row)));
      this.headings.forEach((heading, i) => heading.setAttribute("aria-sort", columns[i] !== this.sort ? "none" : this.descending ? "descending" : "ascending"));
      this.found.textContent = rows.length === count ? rowsText(count) : `${units.countText(rows.length)} of ${rowsText(count)}`;
      this.more.hidden = rows.length <= this.limit;
      this.more.textContent = `Show more of ${units.countText(rows.length)} rows`;
      this.rove();
    }
  }

  app.ResultTable = ResultTable;
  app.resultRows = { textOf, ordered, matching, formatOf };
})((globalThis.regimeter ||= {}));
