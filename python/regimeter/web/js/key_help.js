// SPDX-License-Identifier: Apache-2.0
// The sheet of keys and gestures of the timeline.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const KEYS = [
    ["w s, + −, wheel, pinch", "zoom in and out, once the timeline has been clicked"],
    ["a d, ← →, drag", "earlier and later"],
    ["↑ ↓", "scroll the lanes"],
    ["0, Home, double-click", "show all"],
    ["f", "frame the selected span, else the selected range"],
    ["drag on the time scale, Shift+drag", "select a range; its statistics are below"],
    ["m", "select what is in view as the range"],
    ["n p", "next and previous span of the line"],
    ["Enter", "from a launch to its device work and back"],
    ["/", "find spans by name; Enter and Shift+Enter go through the matches"],
    ["Esc", "clear the selected span, then the range"],
    ["click on a lane's name", "fold and unfold it"],
    ["?", "this sheet"],
  ];

  /** A dialog that show() opens. */
  function sheet() {
    const close = button("Close", () => dialog.close());
    const dialog = el("dialog", { class: "keys", "aria-label": "Keys of the timeline" }, el("h3", null, "Keys of the timeline"), el("dl", null, KEYS.map(([keys, what]) => el("div", null, el("dt", null, keys), el("dd", null, what)))), close);
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    return dialog;
  }

  app.keyHelp = { sheet };
})((globalThis.regimeter ||= {}));
