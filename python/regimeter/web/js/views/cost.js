// SPDX-License-Identifier: Apache-2.0
// What the profiler itself cost in this run, and how that figure was obtained.
(function (app) {
  "use strict";

  const { el, figure } = app.dom;
  const { units } = app;

  function render(body, { cost }) {
    if (cost === null) {
      body.append(el("p", { class: "empty" }, "This file does not state what the profiler cost."));
      return {};
    }
    const unknown = "not stated in this file";
    const rows = [
      ["Scopes", figure(cost.scopes, units.count, unknown)],
      ["Each", figure(cost.perScopeNs, units.time, unknown)],
      ["In sum", figure(cost.insideNs, units.time, unknown)],
      ["Of the run", cost.share !== null && cost.share > 1 ? "more than it lasted" : figure(cost.share, units.share, unknown)],
    ];
    if (cost.startingNs !== null) rows.push(["Starting, before it", figure(cost.startingNs, units.time, unknown)]);
    body.append(el("dl", { class: "pairs" }, rows.map(([label, value]) => el("div", null, el("dt", null, label), el("dd", null, value)))));
    if (cost.basis !== null) body.append(el("p", { class: "help" }, `Estimate: ${cost.basis}.`));
    return {};
  }

  (app.views ??= []).push({ id: "cost", title: "Profiler's own cost", short: "Own cost", order: 90, span: 3, fits: (model) => model.scoped, render });
})((globalThis.regimeter ||= {}));
