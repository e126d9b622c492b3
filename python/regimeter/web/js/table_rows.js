// SPDX-License-Identifier: Apache-2.0
// Search and order of table rows, without the table.
(function (app) {
  "use strict";

  let collator = null; // made when a text is first compared: that takes long

  /** Order of two texts, numbers in them by their value. */
  function compare(a, b) {
    collator ??= new Intl.Collator("en", { numeric: true, sensitivity: "base" });
    return collator.compare(a, b);
  }

  /** Every word of the query occurs in the row's texts, in any order. */
  function matches(row, texts, query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return true;
    const body = texts.map((key) => row[key] ?? "").join(" ").toLowerCase();
    return words.every((word) => body.includes(word));
  }

  /** Sorted copy. Rows without a value come last in both directions; equal rows keep their order. */
  function sorted(rows, key, descending) {
    const sign = descending ? -1 : 1;
    return [...rows].sort((a, b) => {
      const [left, right] = [a[key], b[key]];
      if (left === null || left === undefined) return right === null || right === undefined ? 0 : 1;
      if (right === null || right === undefined) return -1;
      return sign * (typeof left === "string" ? compare(left, right) : left - right);
    });
  }

  app.tableRows = { compare, matches, sorted };
})((globalThis.regimeter ||= {}));
