// SPDX-License-Identifier: Apache-2.0
// Short forms of names of kernels, as the file has them: what a reader sees, with the full name on hover. Searches, links
// and tables to copy have full names.
(function (app) {
  "use strict";

  let known = new Map();

  /** Takes the forms of a file: pairs of a name's number and its short form. */
  function use(pairs, names) {
    known = new Map(pairs.map(([number, short]) => [names[number], short]));
  }

  app.shortNames = { use, of: (name) => known.get(name) ?? name };
})((globalThis.regimeter ||= {}));
