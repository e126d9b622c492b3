// SPDX-License-Identifier: Apache-2.0
// The sheet of keys and gestures, of every page and of the timeline.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const EVERYWHERE = [
    ["Ctrl-K", "go to a page, table, operation, kernel or span by some letters of its name"],
    ["[ ]", "previous and next page"],
    ["/", "search on this page"],
    ["↑ ↓, k j", "previous and next row of a table, from a name in it"],
    ["t", "light, dark, or as the system has it"],
    ["Tab, Enter", "from one control to the next, and what it does"],
    ["Esc", "close what is open, clear the chosen operation"],
    ["?", "this sheet"],
  ];
  const TIMELINE = [
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
    ["P, click right of a lane's name", "keep the lane of the selected span, or this one, at the top"],
  ];

  const list = (title, keys) => el("div", null, el("h3", null, title), el("dl", null, keys.map(([key, what]) => el("div", null, el("dt", null, key), el("dd", null, what)))));

  /** A dialog that show() opens, for a page with these leaves and perhaps a timeline. */
  function sheet(leaves, timeline) {
    const close = button("Close", () => dialog.close());
    const pages = leaves.map(({ key, title }) => [`g ${key}`, title]);
    const dialog = el(
      "dialog",
      { class: "keys", "aria-label": "Keys" },
      list("Keys", EVERYWHERE),
      pages.length > 0 ? list("Pages", pages) : null,
      timeline ? list("Timeline, once it has been clicked", TIMELINE) : null,
      close,
    );
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    return dialog;
  }

  app.keyHelp = { sheet };
})((globalThis.regimeter ||= {}));
