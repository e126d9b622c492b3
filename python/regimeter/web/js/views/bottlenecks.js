// SPDX-License-Identifier: Apache-2.0
// The five operations that cost most, in the order that the data gives, with the figures that say why.
(function (app) {
  "use strict";

  const { el, figure, button } = app.dom;
  const { units } = app;
  const TOP = 5;
  const UNSEEN = "unknown"; // the backend of what took and gave no array
  const WHAT = { time: units.time, count: units.count, bytes: units.bytes, share: units.share, percent: units.percent, plain: units.plain };
  const ALWAYS = ["exclusiveNs", "totalNs", "calls", "meanNs", "p95Ns", "cv"];
  const WHERE_KNOWN = ["failed", "gpuNs", "transferNs", "gpuUtilization", "memoryPeakBytes"];

  function metrics(one, reasons) {
    const known = WHERE_KNOWN.filter((key) => one[key] !== null && one[key] !== 0);
    return [...ALWAYS, ...known].map((key) => {
      const field = app.fieldOf(key);
      return el("div", { class: "metric" }, el("dt", { title: field.title }, field.label), el("dd", null, figure(one[key], WHAT[field.kind], reasons[key])));
    });
  }

  function item(one, place, model, page) {
    const where = [one.device, one.backend].filter((text) => text && text !== UNSEEN).join(", ");
    const node = el(
      "li",
      { class: "bottleneck" },
      el("span", { class: "place", "aria-hidden": "true" }, place + 1),
      el(
        "div",
        { class: "bottleneck-body" },
        el("div", { class: "bottleneck-head" }, button(el("span", { class: "clip" }, one.name), () => page.select(one.name), { class: "operation", title: one.name, "aria-pressed": "false" }), el("span", { class: "dim" }, where), el("span", { class: "bottleneck-share" }, figure(one.share, units.share, model.unavailable.share))),
        el("dl", { class: "metrics" }, metrics(one, model.unavailable)),
      ),
    );
    node.dataset.operation = one.name;
    node.style.setProperty("--tint", `var(--series-${app.palette.slot(one.rank)})`);
    return node;
  }

  function render(body, model, page) {
    const top = model.bottlenecks.slice(0, TOP).map((at) => model.operations[at]);
    if (top.length === 0) body.append(el("p", { class: "empty" }, "No operations were recorded."));
    else body.append(el("ol", { class: "bottlenecks" }, top.map((one, place) => item(one, place, model, page))));
    return {};
  }

  (app.views ??= []).push({ id: "bottlenecks", title: "Top bottlenecks", short: "Bottlenecks", order: 21, span: 5, fits: (model) => model.scoped, render });
})((globalThis.regimeter ||= {}));
