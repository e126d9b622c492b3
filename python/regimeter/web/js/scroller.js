// SPDX-License-Identifier: Apache-2.0
// The box of a table: it scrolls by itself, and its edge fades where columns go on beyond it.
(function (app) {
  "use strict";

  const { el } = app.dom;
  const SLACK = 2; // pixels that rounding may leave

  function scroller(noun, table) {
    const node = el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": noun }, table);
    const cue = () => node.classList.toggle("has-more", node.scrollLeft + node.clientWidth < node.scrollWidth - SLACK);
    node.addEventListener("scroll", cue, { passive: true });
    new ResizeObserver(cue).observe(node); // goes with the node
    return node;
  }

  app.scroller = scroller;
})((globalThis.regimeter ||= {}));
