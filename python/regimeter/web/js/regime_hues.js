// SPDX-License-Identifier: Apache-2.0
// What limits something as a hue of css/charts.css and as a letter, for who cannot tell the hues apart.
(function (app) {
  "use strict";

  const HUES = { MEMORY_BOUND: "memory", COMPUTE_BOUND: "compute", OVERHEAD_BOUND: "overhead" };
  const LETTERS = { MEMORY_BOUND: "M", COMPUTE_BOUND: "C", OVERHEAD_BOUND: "O", AMBIGUOUS: "?" };

  app.regimeHues = { of: (regime) => `hue-${HUES[regime] ?? "unjudged"}`, letter: (regime) => LETTERS[regime] ?? "" };
})((globalThis.regimeter ||= {}));
