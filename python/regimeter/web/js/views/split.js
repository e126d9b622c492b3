// SPDX-License-Identifier: Apache-2.0
// Where each operation's time was spent: device, host, transfer, overhead. A part that was not measured is named
// with its reason and has no bar; a bar of length zero would claim a measurement.
(function (app) {
  "use strict";

  const { el, figure, button } = app.dom;
  const { units } = app;
  const SHOWN = 10;
  const PARTS = app.fields.filter((field) => field.part);

  const dot = (part) => el("span", { class: `swatch part-${part.key}`, "aria-hidden": "true" });
  const reasonOf = (part, model) => model.unavailable[part.key] ?? "not measured for any operation";

  /** Parts that were not measured, those with one reason together: [labels, reason]. */
  function missing(model, measured) {
    const found = new Map();
    for (const part of PARTS.filter((one) => !measured.includes(one))) found.set(reasonOf(part, model), [...(found.get(reasonOf(part, model)) ?? []), part.label]);
    return [...found].map(([reason, labels]) => [labels.join(", "), reason]);
  }

  function legend(model, measured) {
    const absent = missing(model, measured).map(([labels, reason]) => el("li", { class: "dim" }, `${labels} unavailable: ${reason}`));
    return el("ul", { class: "legend" }, measured.map((part) => el("li", null, dot(part), part.label)), absent);
  }

  /** An operation whose parts add up: a transfer is device time too, and is shown once. */
  function apart(one, model) {
    if (!model.transferWithin || one.gpuNs === null || one.transferNs === null) return one;
    return { ...one, gpuNs: Math.max(one.gpuNs - one.transferNs, 0) };
  }

  function row(one, largest) {
    const present = PARTS.filter((part) => one[part.key] !== null);
    const sum = present.reduce((total, part) => total + one[part.key], 0);
    const words = present.map((part) => `${part.label} ${units.timeText(one[part.key])}`).join(", ");
    const bar = el(
      "span",
      { class: "stack", role: "img", "aria-label": words, title: words },
      present.map((part) => el("span", { class: `stack-part part-${part.key}`, style: { width: `${largest > 0 ? (Math.max(one[part.key], 0) / largest) * 100 : 0}%` } })),
    );
    const node = el("tr", null, el("th", { scope: "row" }, el("span", { class: "clip", title: one.name }, one.name)), el("td", null, bar), el("td", { class: "number" }, figure(sum, units.time)));
    node.dataset.operation = one.name;
    return node;
  }

  function nothingMeasured(model) {
    return el(
      "div",
      { class: "empty" },
      el("p", null, "How the time divides into device, host, transfer and overhead was not measured."),
      el("dl", { class: "reasons" }, missing(model, []).map(([labels, reason]) => el("div", null, el("dt", null, labels), el("dd", null, reason)))),
    );
  }

  function render(body, model) {
    const measured = PARTS.filter((part) => model.operations.some((one) => one[part.key] !== null));
    const rows = model.ranked.map((at) => apart(model.operations[at], model)).filter((one) => PARTS.some((part) => one[part.key] !== null));
    if (rows.length === 0) {
      body.append(nothingMeasured(model));
      return {};
    }
    const sums = rows.map((one) => PARTS.reduce((total, part) => total + Math.max(one[part.key] ?? 0, 0), 0));
    const largest = Math.max(...sums);
    const list = el("tbody", null, rows.slice(0, SHOWN).map((one) => row(one, largest)));
    const showAll = () => {
      list.replaceChildren(...rows.map((one) => row(one, largest)));
      more.hidden = true;
    };
    const more = button(`Show all ${units.countText(rows.length)} operations`, showAll, { class: "quiet more" });
    more.hidden = rows.length <= SHOWN;
    const without = model.operations.length - rows.length;
    body.append(legend(model, measured), el("table", { class: "stacks", "aria-label": "Time per operation by where it was spent" }, list), more);
    if (without > 0) body.append(el("p", { class: "help" }, `${units.countText(without)} further ${without === 1 ? "operation has" : "operations have"} no split.`));
    return { beforePrint: showAll };
  }

  (app.views ??= []).push({ id: "split", title: "Device, host, transfer, overhead", short: "Device and host", order: 60, span: 5, fits: (model) => model.scoped, render });
})((globalThis.regimeter ||= {}));
