// SPDX-License-Identifier: Apache-2.0
// The roofline: what the device can do, as a picture, and what each kernel (or operator) reaches of it, also as a table. A page
// of sections has it as one of them (js/sections/roofs.js).
(function (app) {
  "use strict";

  const { el, figure, spoken } = app.dom;
  const { units } = app;

  function roof({ name, of, value, low, high }) {
    const rate = app.resultRows.formatOf({ unit: of === "memory" ? "rate" : "op/s" });
    const between = low === null ? " spread not known" : ` (${units.join(rate(low))} to ${units.join(rate(high))})`;
    return el("div", null, el("dt", null, name), el("dd", null, figure(value, rate), el("span", { class: "dim" }, between)));
  }

  /** chosen(name): what a circle or a name does; null: nothing. */
  function render(body, { roofline, names }, chosen) {
    const { headline, roofs, points, notes, noun, table } = roofline;
    const chart = points.length + roofs.length > 0 ? new app.RooflineChart(roofline, chosen) : null;
    if (headline !== "") body.append(el("p", { class: "finding" }, `${headline}.`));
    if (chart !== null) body.append(chart.node);
    body.append(...notes.map((note) => el("p", { class: "help" }, spoken(note))));
    if (roofs.length > 0) body.append(el("dl", { class: "overlaps roofs" }, roofs.map(roof)));
    if (points.length > 0) body.append(new app.ResultTable(table, names, `${noun}s under the roofs`, chosen).node);
    return { chart, destroy: () => chart?.destroy() };
  }

  app.roofline.render = render;
  (app.views ??= []).push({ id: "roofline", title: "Roofline", order: 15, span: 12, of: "any", fits: (model) => Boolean(model.roofline), render: (body, model, page) => render(body, model, (name) => page.select(name)) });
})((globalThis.regimeter ||= {}));
