// SPDX-License-Identifier: Apache-2.0
// The flame graph, of device time, of host time or of what samples of host stacks found, and a search that says which
// share of the time its matches have.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const { units } = app;
  const HELP = "The widest stand left; device work hangs at the call that launched it. Click a node to zoom into it, a caller to zoom out; arrow keys go to the caller and to the longest callee, Home shows all.";

  /** Hue of a scope by its operation's rank, as in the timeline. */
  const byOperation = (model) => (name) => app.palette.fillIndex(model.rankOfName.get(name));

  /** Hue of a sampled function by its file; a scope between them, which names none, has that of other things. */
  function byFile(name) {
    const file = /\((.*):\d+\)$/.exec(name)?.[1];
    if (file === undefined) return app.palette.HUES;
    let sum = 0;
    for (const character of file) sum = (sum * 31 + character.charCodeAt(0)) % 65521;
    return sum % app.palette.HUES;
  }

  /** What can be drawn: {label, flame, names, total, hueOf}, the total being the name of a column. */
  function picturesOf(model) {
    const { flame, samples, names } = model;
    const hueOf = app.spanKinds.byOperation(model) ? byOperation(model) : null;
    const found = flame === null ? [] : [
      { label: "Device time", flame, names, total: "total_device_ns", hueOf },
      { label: "Host time", flame, names, total: "total_host_ns", hueOf },
    ];
    if (samples) found.push({ label: "Samples of stacks", flame: samples, names: samples.names, total: "total_host_ns", hueOf: byFile });
    return found.filter((one) => one.flame[one.total][0] > 0);
  }

  /** A box that is ticked or not, with its label. */
  function box(label, title, change) {
    const input = el("input", { type: "checkbox", on: { change: () => change(input.checked) } });
    return el("label", { class: "python", title }, input, ` ${label}`);
  }

  function path(graph) {
    const { flame, focus } = graph;
    const rows = [];
    for (let row = focus; row >= 0; row = flame.parent[row]) rows.unshift(row);
    const shown = rows.length > 5 ? [rows[0], null, ...rows.slice(-3)] : rows;
    return shown.map((row) => (row === null ? el("span", { class: "dim" }, "…") : button(graph.label(row), () => graph.zoom(row), { class: "quiet" })));
  }

  function render(body, model, page) {
    const pictures = picturesOf(model);
    if (pictures.length === 0) {
      body.append(el("p", { class: "empty" }, "The run holds neither host spans nor device work."));
      return {};
    }
    const canvas = el("canvas", { class: "flame", tabindex: 0, role: "application", "aria-label": "Flame graph", "aria-describedby": "flame-help" });
    const search = el("input", { type: "search", placeholder: "Highlight names", "aria-label": "Highlight names in the flame graph" });
    const found = el("span", { class: "dim", role: "status" });
    const where = el("span", { class: "links" });
    const readout = el("output", { class: "readout", "aria-live": "polite" });
    const graph = new app.FlameGraph(canvas, () => {
      where.replaceChildren(...path(graph));
      readout.value = graph.sentence(graph.focus);
    });
    const emphasise = () => {
      const query = search.value.trim().toLowerCase();
      if (query !== "") graph.highlight((name) => name.toLowerCase().includes(query));
      else graph.highlight(page.selected === null ? null : (name) => name === page.selected);
      const { nodes, share } = graph.matches();
      found.textContent = graph.test === null ? "" : `${units.countText(nodes)} ${nodes === 1 ? "match" : "matches"}, ${units.shareText(share)} of the time`;
    };
    let [chosen, collapsed] = [0, false];
    const choose = (at) => {
      chosen = at;
      choices.forEach((choice, i) => choice.setAttribute("aria-pressed", String(i === at)));
      const picture = pictures[at];
      const flame = (collapsed && picture.flame.collapsed) || picture.flame;
      recursion.hidden = !picture.flame.collapsed;
      graph.show({ ...picture, flame, total: flame[picture.total] });
      emphasise();
    };
    const flames = box("Flames", "Callers below what they call", (on) => graph.setFlames(on));
    const recursion = box("Recursion as one", "What calls itself directly is one node", (on) => {
      collapsed = on;
      choose(chosen);
    });
    const choices = pictures.map(({ label }, i) => button(label, () => choose(i), { "aria-pressed": "false" }));
    const group = el("div", { class: "choice", role: "group", "aria-label": "What a node's width is" }, choices);
    search.addEventListener("input", emphasise);
    body.append(el("div", { class: "tools" }, search, found, group, flames, recursion, button("Show all", () => graph.zoom(0))), el("div", { class: "tools" }, where), el("div", { class: "flame-frame" }, canvas), readout, el("p", { class: "help", id: "flame-help" }, HELP));
    choose(0);
    return {
      graph,
      selected: emphasise,
      recolor: () => graph.recolor(),
      beforePrint: () => graph.recolor(),
      afterPrint: () => graph.recolor(),
      destroy: () => graph.destroy(),
    };
  }

  (app.views ??= []).push({ id: "flame", title: "Flame graph", order: 35, span: 12, fits: (model) => model.flame !== null, render });
})((globalThis.regimeter ||= {}));
