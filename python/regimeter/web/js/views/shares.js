// SPDX-License-Identifier: Apache-2.0
// Time per operation: share of the recorded time, mean duration and call count, side by side; above it the shares as a strip
// or as a pie. The address says which (shares=pie).
(function (app) {
  "use strict";

  const { el, figure, swatch, button } = app.dom;
  const { units } = app;
  const SHOWN = 12;
  const STRIP_PARTS = 16; // more would be thinner than the gaps between them
  const PIE_PARTS = 8; // more could not be told apart
  const FORMS = ["strip", "pie"];
  const COLUMNS = [
    { key: "share", label: "Share of time", what: units.share, also: "exclusiveNs" },
    { key: "meanNs", label: "Mean duration", what: units.time },
    { key: "calls", label: "Calls", what: units.count },
  ];

  function stripPart(name, share, rank) {
    return el("span", { class: "strip-part", title: `${name}: ${units.shareText(share)}`, style: { "flex-grow": share, background: `var(--series-${app.palette.slot(rank)})` } });
  }

  const partsOf = (model) => model.ranked.map((at) => model.operations[at]).filter((one) => one.share > 0);

  function pie(model, page) {
    const parts = partsOf(model);
    const most = parts.length > PIE_PARTS + 1 ? PIE_PARTS : parts.length; // one that is left has a slice of its own
    const shown = parts.slice(0, most).map(({ name, share, rank }) => ({ name, share, rank, operation: name }));
    const rest = parts.slice(most);
    if (rest.length > 0) shown.push({ name: `${units.countText(rest.length)} other operations`, share: app.derive.sumPresent(rest.map((one) => one.share)), rank: null, operation: null });
    return app.pie.pie(shown, (name) => page.select(name));
  }

  /** The shares as a strip or a pie, and the buttons that choose. */
  function picture(model, page) {
    const place = el("div");
    const choices = FORMS.map((form) => button(form.replace(/^./, (c) => c.toUpperCase()), () => show(form, true), { "aria-pressed": "false" }));
    const show = (form, chosen) => {
      choices.forEach((choice, i) => choice.setAttribute("aria-pressed", String(FORMS[i] === form)));
      place.replaceChildren(form === "pie" ? pie(model, page) : strip(model));
      page.markSelected();
      if (chosen) page.say({ shares: form === FORMS[0] ? null : form });
    };
    show(FORMS[0], false);
    const group = el("div", { class: "choice", role: "group", "aria-label": "Shares as" }, choices);
    return { node: el("div", null, el("div", { class: "tools" }, group), place), show };
  }

  function strip(model) {
    const parts = partsOf(model);
    const bar = el("div", { class: "strip", "aria-hidden": "true" });
    for (const one of parts.slice(0, STRIP_PARTS)) {
      const part = stripPart(one.name, one.share, one.rank);
      part.dataset.operation = one.name;
      bar.append(part);
    }
    const rest = parts.slice(STRIP_PARTS);
    if (rest.length > 0) bar.append(stripPart(`${units.countText(rest.length)} other operations`, app.derive.sumPresent(rest.map((one) => one.share)), null));
    return bar;
  }

  function cell(one, column, largest, reasons) {
    const value = one[column.key];
    const length = value !== null && largest > 0 ? Math.max((value / largest) * 100, value > 0 ? 0.5 : 0) : 0;
    const tint = column.key === "share" ? `var(--series-${app.palette.slot(one.rank)})` : "var(--bar)";
    const track = el("span", { class: "bar", "aria-hidden": "true" }, el("span", { class: "bar-fill", style: { width: `${length}%`, background: tint } }));
    const also = column.also && one[column.also] !== null ? el("span", { class: "also" }, figure(one[column.also], units.time)) : null;
    return el("td", { class: `bar-cell bar-${column.key}` }, el("div", { class: "bar-line" }, track, el("span", { class: "bar-text" }, figure(value, column.what, reasons[column.key]), also)));
  }

  function render(body, model, page) {
    const rows = model.ranked.map((at) => model.operations[at]);
    if (rows.length === 0) {
      body.append(el("p", { class: "empty" }, "No operations were recorded."));
      return {};
    }
    const largest = COLUMNS.map((column) => Math.max(...rows.map((one) => one[column.key] ?? 0)));
    const list = el("tbody");
    let all = rows.length <= SHOWN;
    const more = button("", () => fill(true), { class: "quiet more" });
    function fill(everything) {
      all = everything;
      const shown = all ? rows : rows.slice(0, SHOWN);
      list.replaceChildren(
        ...shown.map((one) => {
          const name = button([swatch(one.rank), el("span", { class: "clip" }, one.name)], () => page.select(one.name), { class: "operation", title: one.name, "aria-pressed": "false" });
          const line = el("tr", null, el("th", { scope: "row" }, name), COLUMNS.map((column, k) => cell(one, column, largest[k], model.unavailable)));
          line.dataset.operation = one.name;
          return line;
        }),
      );
      more.hidden = all;
      more.textContent = `Show all ${units.countText(rows.length)} operations`;
      page.markSelected();
    }
    const head = el("thead", null, el("tr", null, el("th", { scope: "col" }, "Operation"), COLUMNS.map((column) => el("th", { scope: "col", class: `bar-${column.key}` }, column.label))));
    const shares = partsOf(model).length > 0 ? picture(model, page) : null;
    body.append(...[shares?.node, el("table", { class: "bars" }, head, list), more].filter(Boolean));
    fill(all);
    const follow = (state) => shares?.show(FORMS.includes(state.shares) ? state.shares : FORMS[0], false);
    return { follow, keep: () => all, resume: (everything) => everything && fill(true), beforePrint: () => fill(true) };
  }

  function note(model) {
    const basis = model.shareBasis === "total" ? "Total time; nested operations count twice." : "Exclusive time, without nested operations.";
    return `${basis} Choose an operation to find it in every view.`;
  }

  (app.views ??= []).push({ id: "shares", title: "Time per operation", short: "Operations", note, order: 20, span: 7, fits: (model) => model.scoped, render });
})((globalThis.regimeter ||= {}));
