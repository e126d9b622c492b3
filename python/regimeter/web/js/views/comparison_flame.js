// SPDX-License-Identifier: Apache-2.0
// Where in the call tree the time changed: one flame graph of both runs, coloured by what the comparison says.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const WIDTHS = [
    { label: "Current", column: "current_ns" },
    { label: "Baseline", column: "baseline_ns" },
  ];
  const KEY = [
    ["faster-4", "a call is faster"],
    ["same", "unchanged"],
    ["slower-4", "a call is slower"],
    ["untold", "cannot be told, or not compared by itself"],
    ["one-side", "on one side only"],
  ];

  function render(body, { flame, rows }) {
    const byName = new Map(rows.filter(({ metric }) => metric === "time").map((row) => [row.name, row]));
    const canvas = el("canvas", { class: "flame", tabindex: 0, role: "application", "aria-label": "Differential flame graph", "aria-describedby": "flame-diff-help" });
    const search = el("input", { type: "search", placeholder: "Highlight names", "aria-label": "Highlight names in the flame graph" });
    const readout = el("output", { class: "readout", "aria-live": "polite" });
    const graph = new app.DiffFlameGraph(canvas, () => (readout.value = graph.sentence(graph.focus)), byName);
    const choose = (at) => {
      choices.forEach((choice, i) => choice.setAttribute("aria-pressed", String(i === at)));
      graph.show({ flame, names: flame.names, total: flame[WIDTHS[at].column] });
    };
    const choices = WIDTHS.map(({ label }, i) => button(label, () => choose(i), { "aria-pressed": "false" }));
    search.addEventListener("input", () => {
      const query = search.value.trim().toLowerCase();
      graph.highlight(query === "" ? null : (name) => name.toLowerCase().includes(query));
    });
    body.append(
      el("div", { class: "tools" }, search, el("div", { class: "choice", role: "group", "aria-label": "Width of a node" }, choices), button("Show all", () => graph.zoom(0))),
      el("ul", { class: "legend" }, KEY.map(([color, text]) => el("li", null, el("span", { class: "swatch", "aria-hidden": "true", style: { background: `var(--${color})` } }), text))),
      el("div", { class: "flame-frame" }, canvas),
      readout,
      el("p", { class: "help", id: "flame-diff-help" }, `Width is ${flame.metric} time of the chosen side, summed over all calls of the first process. Colour is the verdict of the table on a call of that operation, by all processes and in all its places; the darker, the larger the change. Click a node to zoom into it, a caller to zoom out; arrow keys work too.`),
    );
    choose(0);
    return { graph, recolor: () => graph.recolor(), beforePrint: () => graph.recolor(), afterPrint: () => graph.recolor(), destroy: () => graph.destroy() };
  }

  (app.views ??= []).push({ id: "flame-diff", title: "Differential flame graph", short: "Flame graph", order: 30, span: 12, of: "comparison", fits: (model) => model.flame !== null, render });
})((globalThis.regimeter ||= {}));
