// SPDX-License-Identifier: Apache-2.0
// What became of a row, in a word: one for colours and sorting, one for readers, to whom memory is larger, not slower.
(function (app) {
  "use strict";

  const WORDS = { regression: "slower", improvement: "faster", no_change: "unchanged", new_operation: "new", removed_operation: "removed", invalid: "invalid" };
  const LARGER = { slower: "larger", faster: "smaller" };
  const stateOf = (row) => (row.verdict === "no_change" && !row.conclusive ? "undecided" : WORDS[row.verdict] ?? row.verdict);
  /** Of a whole whose sides made other calls nothing is said. */
  function wordOf(row) {
    if (row.reason === "calls") return "not judged";
    return row.unit === "s" ? stateOf(row) : LARGER[stateOf(row)] ?? stateOf(row);
  }

  app.changeWords = { stateOf, wordOf };
})((globalThis.regimeter ||= {}));
