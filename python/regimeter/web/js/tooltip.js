// SPDX-License-Identifier: Apache-2.0
// The one floating readout of the page. It repeats what is also reachable without a pointer, so it is hidden from screen readers.
(function (app) {
  "use strict";

  let node = null;

  function show(x, y, content) {
    if (node === null) {
      node = app.dom.el("div", { class: "tooltip", "aria-hidden": "true" });
      document.body.append(node);
    }
    node.replaceChildren(...content);
    node.hidden = false;
    const gap = 14;
    const width = node.offsetWidth;
    const height = node.offsetHeight;
    const left = x + gap + width > innerWidth ? x - gap - width : x + gap;
    const top = y + gap + height > innerHeight ? y - gap - height : y + gap;
    node.style.left = `${Math.max(4, left)}px`;
    node.style.top = `${Math.max(4, top)}px`;
  }

  function hide() {
    if (node !== null) node.hidden = true;
  }

  app.tooltip = { show, hide };
})((globalThis.regimeter ||= {}));
