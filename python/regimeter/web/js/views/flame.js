// SPDX-License-Identifier: Apache-2.0
// The flame graph with its switch between device time and host time, and a search that highlights.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const HELP = "Callers are above what they call; device work hangs below the call that launched it. Click a node to zoom into it, a caller to zoom out; arrow keys go to the caller and to the longest callee, Home shows all.";
  const METRICS = [
    { label: "Device time", total: "total_device_ns", own: "self_device_ns" },
    { label: "Host time", total: "total_host_ns", own: "self_host_ns" },
  ];

  function path(graph) {
    const { flame, focus } = graph;
    const rows = [];
    for (let row = focus; row >= 0; row = flame.parent[row]) rows.unshift(row);
    const shown = rows.length > 5 ? [rows[0], null, ...rows.slice(-3)] : rows;
    return shown.map((row) => (row === null ? el("span", { class: "dim" }, "…") : button(graph.label(row), () => graph.zoom(row), { class: "quiet" })));
  }

  function render(body, { flame, names }, page) {
    const offered = METRICS.filter(({ total }) => flame[total][0] > 0);
    if (offered.length === 0) {
      body.append(el("p", { class: "empty" }, "The trace holds neither host spans nor device work."));
      return {};
    }
    const canvas = el("canvas", { class: "flame", tabindex: 0, role: "application", "aria-label": "Flame graph", "aria-describedby": "flame-help" });
    const search = el("input", { type: "search", placeholder: "Highlight names", "aria-label": "Highlight names in the flame graph" });
    const where = el("span", { class: "links" });
    const readout = el("output", { class: "readout", "aria-live": "polite" });
    const graph = new app.FlameGraph(canvas, flame, names, () => {
      where.replaceChildren(...path(graph));
      readout.value = graph.sentence(graph.focus);
    });
    const choose = (at) => {
      choices.forEach((choice, i) => choice.setAttribute("aria-pressed", String(i === at)));
      graph.setMetric(flame[offered[at].total], flame[offered[at].own]);
    };
    const choices = offered.map(({ label }, i) => button(label, () => choose(i), { "aria-pressed": "false" }));
    const emphasise = () => {
      const query = search.value.trim().toLowerCase();
      if (query !== "") graph.highlight((name) => name.toLowerCase().includes(query));
      else graph.highlight(page.selected === null ? null : (name) => name === page.selected);
    };
    search.addEventListener("input", emphasise);
    body.append(el("div", { class: "tools" }, search, el("div", { class: "choice", role: "group", "aria-label": "Width of a node" }, choices), button("Show all", () => graph.zoom(0))), el("div", { class: "tools" }, where), el("div", { class: "flame-frame" }, canvas), readout, el("p", { class: "help", id: "flame-help" }, HELP));
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

  (app.views ??= []).push({ id: "flame", title: "Flame graph", order: 25, span: 12, of: "trace", fits: (model) => model.flame !== null, render });
})((globalThis.regimeter ||= {}));
