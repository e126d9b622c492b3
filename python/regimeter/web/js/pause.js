// SPDX-License-Identifier: Apache-2.0
// Lets the browser answer and paint between two pieces of work, so that no piece holds it for long.
(function (app) {
  "use strict";

  const LONG_MS = 25;
  let since = 0; // when the browser last had its turn

  /** Resolves in a task of its own where the work since the last one was long, at once otherwise. */
  app.pause = () =>
    new Promise((resume) => {
      if (performance.now() - since < LONG_MS) return resume();
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        since = performance.now();
        resume();
      };
      return port2.postMessage(null);
    });
})((globalThis.regimeter ||= {}));
