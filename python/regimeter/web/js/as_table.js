// SPDX-License-Identifier: Apache-2.0
// A picture's figures as a table below it, made when it is opened: sorted, searched and saved like every other table.
(function (app) {
  "use strict";

  const { el } = app.dom;
  const NO_CHOICE = null;

  /** Columns {heading, unit, values, doc?, prose?, blank?}, texts with the unit "text" and null for what is not known; the
      table's own form of them, with its names. total: how many rows there are, in the file or not. */
  function tableOf(columns, total = columns[0].values.length) {
    const names = [];
    const places = new Map();
    const place = (text) => {
      if (!places.has(text)) places.set(text, names.push(text) - 1);
      return places.get(text);
    };
    const valuesOf = ({ unit, values }) => (unit === "text" ? values.map((text) => place(text ?? "")) : values.map((value) => value ?? NaN));
    const made = columns.map((one) => ({ ...one, name: one.heading, unit: one.unit === "text" ? "name" : one.unit, codes: null, doc: one.doc || one.heading, values: valuesOf(one) }));
    return { table: { count: columns[0].values.length, total, columns: made }, names };
  }

  /** A closed element that says "As a table"; columns() is called when it is opened. chosen(text): what a name does. */
  function asTable(noun, columns, chosen = NO_CHOICE) {
    const node = el("details", { class: "as-table" }, el("summary", null, "As a table"));
    node.addEventListener("toggle", () => {
      node.querySelector("summary + div")?.remove();
      if (!node.open) return;
      const { table, names } = tableOf(columns());
      node.append(new app.ResultTable(table, names, noun, chosen).node);
    });
    return node;
  }

  app.asTable = asTable;
  app.tableOf = tableOf;
})((globalThis.regimeter ||= {}));
