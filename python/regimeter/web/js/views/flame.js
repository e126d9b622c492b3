// SPDX-License-Identifier: Apache-2.0
// The flame graph, of device time, of host time or of what samples of host stacks found, and a search that says which
// share of the time its matches have.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const { units } = app;
  const HELP = "The widest stand left, in time order what began first; device work hangs at the call that launched it. Click a node to zoom into it, a caller to zoom out; arrow keys go to the caller and to the longest callee, Home shows all.";

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

  /** What can be drawn: {key, label, flame, names, total, hueOf}, the total being the name of a column. */
  function picturesOf(model) {
    const { flame, samples, names } = model;
    const hueOf = app.spanKinds.byOperation(model) ? byOperation(model) : null;
    const found = flame === null ? [] : [
      { key: "device", label: "Device time", flame, names, total: "total_device_ns", hueOf },
      { key: "host", label: "Host time", flame, names, total: "total_host_ns", hueOf },
    ];
    if (samples) found.push({ key: "samples", label: "Samples of stacks", flame: samples, names: samples.names, total: "total_host_ns", hueOf: byFile });
    return found.filter((one) => one.flame[one.total][0] > 0);
  }

  /** A box that is ticked or not, with its label. */
  function box(label, title, change) {
    const input = el("input", { type: "checkbox", on: { change } });
    return { input, node: el("label", { class: "python", title }, input, ` ${label}`) };
  }

  /** The nodes with time as columns of a table. */
  function columnsOf(graph) {
    const { flame, total } = graph;
    const rows = [...total.keys()].filter((row) => total[row] > 0);
    const of = (heading, unit, column) => ({ heading, unit, values: rows.map((row) => column[row]) });
    const sides = ["host", "device"].filter((side) => flame[`total_${side}_ns`]?.some((value) => value > 0));
    const times = sides.flatMap((side) => [of(`${side} time`, "ns", flame[`total_${side}_ns`]), of(`own ${side} time`, "ns", flame[`self_${side}_ns`])]);
    return [{ heading: "node", unit: "text", values: rows.map((row) => graph.label(row)) }, of("depth", "", flame.depth), ...times, of("spans", "", flame.count)];
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
    let [chosen, following] = [0, false];
    const say = () => following || page.say({ flame: chosen === 0 ? null : pictures[chosen].key, node: graph.focus > 0 ? String(graph.focus) : null, form: both.input.checked ? "sandwich" : flames.input.checked ? "flames" : null, recursion: recursion.input.checked ? "one" : null, siblings: inTime.input.checked ? "time" : null, match: search.value.trim() || null });
    const graph = new app.FlameGraph(canvas, () => {
      divide();
      where.replaceChildren(...path(graph));
      readout.value = graph.sentence(graph.focus);
      say();
    });
    const emphasise = () => {
      const query = search.value.trim().toLowerCase();
      if (query !== "") graph.highlight((name) => name.toLowerCase().includes(query));
      else graph.highlight(page.selected === null ? null : (name) => name === page.selected);
      sandwich.halves.forEach((half) => half.flame !== null && half.highlight(graph.test));
      const { nodes, share } = graph.matches();
      found.textContent = graph.test === null ? "" : `${units.countText(nodes)} ${nodes === 1 ? "match" : "matches"}, ${units.shareText(share)} of the time`;
    };
    const choose = (at) => {
      chosen = at;
      choices.forEach((choice, i) => choice.setAttribute("aria-pressed", String(i === at)));
      const picture = pictures[at];
      const flame = (recursion.input.checked && picture.flame.collapsed) || picture.flame;
      recursion.node.hidden = !picture.flame.collapsed;
      inTime.node.hidden = !picture.flame.place;
      graph.show({ ...picture, flame, total: flame[picture.total] });
      emphasise();
    };
    const flames = box("Flames", "Callers below what they call", () => {
      graph.setFlames(flames.input.checked);
      say();
    });
    const recursion = box("Recursion as one", "What calls itself directly is one node", () => choose(chosen));
    const inTime = box("Time order", "By the start of the first span, not by time", () => {
      graph.order(inTime.input.checked);
      say();
    });
    const both = box("Callers and callees", "All places of the chosen node as one: who calls it above, what it calls below", () => {
      divide();
      say();
    });
    const sandwich = app.sandwich.view(graph);
    const frame = el("div", { class: "flame-frame" }, canvas);
    /** Shows the graph, or what calls its chosen node and what that calls. */
    function divide() {
      const divided = both.input.checked && graph.focus > 0;
      if (divided) app.tooltip.hide();
      [frame.hidden, sandwich.node.hidden] = [divided, !divided];
      flames.node.hidden = inTime.node.hidden = divided;
      if (divided) sandwich.fill();
      else graph.request();
    }
    const choices = pictures.map(({ label }, i) => button(label, () => choose(i), { "aria-pressed": "false" }));
    const group = el("div", { class: "choice", role: "group", "aria-label": "What a node's width is" }, choices);
    search.addEventListener("input", () => {
      emphasise();
      say();
    });
    const table = app.asTable("Nodes of the flame graph", () => columnsOf(graph), (name) => page.select(name));
    body.append(el("div", { class: "tools" }, search, found, group, both.node, flames.node, inTime.node, recursion.node, button("Show all", () => graph.zoom(0))), el("div", { class: "tools" }, where), frame, sandwich.node, readout, el("p", { class: "help", id: "flame-help" }, HELP), table);
    /** Shows what the address says: picture, form, zoom and search. */
    function follow(state, leaf) {
      if (leaf !== null && !leaf.views.has("flame")) return;
      following = true;
      const at = Math.max(0, pictures.findIndex(({ key }) => key === state.flame));
      const [form, one, time] = [state.form === "flames", state.recursion === "one", state.siblings === "time"];
      both.input.checked = state.form === "sandwich";
      if (search.value.trim() !== (state.match ?? "")) search.value = state.match ?? "";
      if (flames.input.checked !== form) graph.setFlames((flames.input.checked = form));
      if (inTime.input.checked !== time) graph.order((inTime.input.checked = time));
      if (at !== chosen || recursion.input.checked !== one) {
        recursion.input.checked = one;
        choose(at);
      }
      const node = Number(state.node ?? 0);
      graph.zoom(graph.total[node] > 0 ? node : 0);
      emphasise();
      following = false;
    }
    following = true;
    choose(0);
    following = false;
    const recolor = () => {
      graph.recolor();
      sandwich.recolor();
    };
    return {
      graph,
      follow,
      keep: () => app.sight.keepFlame(graph),
      resume: (kept) => app.sight.resumeFlame(graph, kept),
      selected: emphasise,
      sandwich,
      recolor,
      beforePrint: recolor,
      afterPrint: recolor,
      destroy: () => {
        graph.destroy();
        sandwich.destroy();
      },
    };
  }

  (app.views ??= []).push({ id: "flame", title: "Flame graph", order: 35, span: 12, fits: (model) => model.flame !== null, render });
})((globalThis.regimeter ||= {}));
