// SPDX-License-Identifier: Apache-2.0
// Search and order of table rows, without the table.
(function (app) {
  "use strict";

  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

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
      return sign * (typeof left === "string" ? collator.compare(left, right) : left - right);
    });
  }

  app.tableRows = { matches, sorted };
})((globalThis.regimeter ||= {}));
