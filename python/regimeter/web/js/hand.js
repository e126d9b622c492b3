// SPDX-License-Identifier: Apache-2.0
// Whether a pointer is down: what it drags stays where it is, so a page is not made anew meanwhile.
(function (app) {
  "use strict";

  const hand = {
    held: false,
    watch() {
      addEventListener("pointerdown", () => (hand.held = true), true);
      for (const type of ["pointerup", "pointercancel", "blur"]) addEventListener(type, () => (hand.held = false), true);
    },
  };

  app.hand = hand;
})((globalThis.regimeter ||= {}));
