// SPDX-License-Identifier: Apache-2.0
// A table as a file of comma-separated values, in plain numbers of the unit that its heading names.
(function (app) {
  "use strict";

  const { button } = app.dom;

  /** A cell; a text that a spreadsheet would take for a formula has an apostrophe before it. */
  function cell(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    if (typeof value !== "string") return String(value);
    const plain = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  }

  const text = ([header, ...rows]) => `${[header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;

  /** A button that saves what rows() gives, its first row being the headings, as NOUN.csv. */
  function control(noun, rows) {
    const save = () => {
      const url = URL.createObjectURL(new Blob([text(rows())], { type: "text/csv" }));
      const link = app.dom.el("a", { href: url, download: `${noun.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    };
    return button("CSV", save, { class: "csv", title: `All rows that were found, as comma-separated values`, "aria-label": `Save ${noun} as CSV` });
  }

  app.csv = { text, control };
})((globalThis.regimeter ||= {}));
