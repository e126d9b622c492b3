// SPDX-License-Identifier: Apache-2.0
// Keys of every page: Ctrl-K goes anywhere, "g" and a letter goes to a page, "/" searches, "?" shows all keys. What has the focus
// comes first, but for Ctrl-K.
(function (app) {
  "use strict";

  const TOGETHER_MS = 1500; // between "g" and its letter
  let shown = null; // the page whose keys these are
  let since = -Infinity; // when "g" was pressed

  const typing = (node) => node.closest?.("input, textarea, select, [contenteditable], dialog") !== null;

  function show() {
    const dialog = app.keyHelp.sheet(shown.leaves, Boolean(shown.model?.timeline));
    document.body.append(dialog);
    dialog.showModal();
  }

  /** The first search that can be seen; the tables' one where the focus is in a table. */
  function search() {
    const inside = document.activeElement?.closest?.("section");
    const all = [...(inside?.querySelectorAll("input[type=search]") ?? []), ...document.querySelectorAll("main input[type=search]")];
    return all.find((one) => one.offsetParent !== null);
  }

  const KEYS = {
    "?": show,
    "/": () => search()?.focus(),
    "[": () => shown.next(-1),
    "]": () => shown.next(1),
    t: () => document.getElementById("theme").click(),
    Escape: () => shown.selected !== null && shown.select(null),
  };

  function press(event) {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key === "k") {
      event.preventDefault();
      app.finder.open(shown);
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const after = event.timeStamp - since < TOGETHER_MS;
    since = event.key === "g" ? event.timeStamp : -Infinity;
    const leaf = after ? shown.leaves.findIndex(({ key }) => key === event.key) : -1;
    if (leaf < 0 && KEYS[event.key] === undefined) return;
    event.preventDefault();
    if (leaf >= 0) shown.links[leaf].click();
    else KEYS[event.key]();
  }

  function wire(page) {
    shown = page;
    document.addEventListener("keydown", press);
  }

  const NEXT_ROW = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

  /** Names in the rows of a table are one stop of the Tab key; arrows go from row to row. */
  function rows(body) {
    const buttons = () => [...body.querySelectorAll("button.operation")];
    const only = (chosen) => buttons().forEach((one) => (one.tabIndex = one === chosen ? 0 : -1));
    body.addEventListener("focusin", (event) => event.target.matches("button.operation") && only(event.target));
    body.addEventListener("keydown", (event) => {
      const by = NEXT_ROW[event.key];
      if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      const all = buttons();
      const next = all[all.indexOf(document.activeElement) + by];
      if (next === undefined) return;
      event.preventDefault();
      next.focus();
    });
    return () => only(buttons()[0]);
  }

  app.keys = { wire, show, rows };
})((globalThis.regimeter ||= {}));
