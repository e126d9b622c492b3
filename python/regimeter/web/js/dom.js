// SPDX-License-Identifier: Apache-2.0
// Elements from code. Text from a file only ever becomes a text node; nothing here parses markup.
(function (app) {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";

  function apply(node, props, children) {
    for (const [name, value] of Object.entries(props ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") for (const [type, handler] of Object.entries(value)) node.addEventListener(type, handler);
      else if (name === "style") for (const [key, setting] of Object.entries(value)) node.style.setProperty(key, setting);
      else if (name === "class") node.setAttribute("class", value);
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return node;
  }

  const el = (tag, props, ...children) => apply(document.createElement(tag), props, children);
  const svg = (tag, props, ...children) => apply(document.createElementNS(SVG, tag), props, children);

  /** A figure with its unit set apart; `what` is a function of units.js. */
  function figure(value, what, reason) {
    if (value === null || value === undefined) return absent(reason);
    const { number, unit } = what(value);
    return el("span", { class: "figure" }, number, unit === "" ? null : el("span", { class: "unit" }, `\u202f${unit}`));
  }

  /** The word for a figure that was not measured, with the reason on hover and for screen readers. */
  function absent(reason) {
    const why = reason ?? "not measured";
    return el("span", { class: "absent", title: why, "aria-label": `not available: ${why}` }, "n/a");
  }

  function swatch(rank) {
    return el("span", { class: "swatch", "aria-hidden": "true", style: { background: `var(--series-${app.palette.slot(rank)})` } });
  }

  function button(label, onClick, props) {
    return el("button", { type: "button", ...props, on: { click: onClick } }, label);
  }

  /** A sentence as nodes: what stands in backticks, which only text needs, as code. */
  const spoken = (text) => text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? el("code", null, part) : part));

  app.dom = { el, svg, figure, absent, swatch, button, spoken };
})((globalThis.regimeter ||= {}));
