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

  /** A path of Python from its package on, another from its folder on. */
  const ofFile = (path) => path.replace(/^.*[/\\](?:(?:site|dist)-packages|lib\/python3[^/]*)[/\\]/, "").replace(/^(?:[A-Z]:\\|\/).*[/\\](?=[^/\\]*[/\\][^/\\]*$)/, "\u2026/");

  app.shortNames = { use, of: (name) => known.get(name) ?? name, ofFile };
})((globalThis.regimeter ||= {}));
