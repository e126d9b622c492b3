// SPDX-License-Identifier: Apache-2.0
// A picture's figures as a table below it, made when it is opened: sorted, searched and saved like every other table.
(function (app) {
  "use strict";

  const { el } = app.dom;
  const NO_CHOICE = null;

  /** Columns {heading, unit, values}, texts with the unit "text"; the table's own form of them, with its names. */
  function tableOf(columns, count) {
    const names = [];
    const places = new Map();
    const place = (text) => {
      if (!places.has(text)) places.set(text, names.push(text) - 1);
      return places.get(text);
    };
    const made = columns.map(({ heading, unit, values }) => ({ name: heading, heading, unit: unit === "text" ? "name" : unit, codes: null, doc: heading, values: unit === "text" ? values.map(place) : values }));
    return { table: { count, total: count, columns: made }, names };
  }

  /** A closed element that says "As a table"; columns() is called when it is opened. chosen(text): what a name does. */
  function asTable(noun, columns, chosen = NO_CHOICE) {
    const node = el("details", { class: "as-table" }, el("summary", null, "As a table"));
    node.addEventListener("toggle", () => {
      node.querySelector("summary + div")?.remove();
      if (!node.open) return;
      const given = columns();
      const { table, names } = tableOf(given, given[0].values.length);
      node.append(new app.ResultTable(table, names, noun, chosen).node);
    });
    return node;
  }

  app.asTable = asTable;
})((globalThis.regimeter ||= {}));
