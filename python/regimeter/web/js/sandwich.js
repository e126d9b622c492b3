// SPDX-License-Identifier: Apache-2.0
// All places of a name in a flame graph as one: below it what it calls, above it who calls it, each as wide as the time of the
// name there. Of places inside one another the outermost counts, so that no time is counted twice.
(function (app) {
  "use strict";

  const TIMES = ["total_host_ns", "total_device_ns"];
  const OWN = ["self_host_ns", "self_device_ns"];

  /** Whether two rows are the same thing at different places. */
  const keyOf = (flame, row) => `${flame.role[row]} ${flame.kind[row]} ${flame.name[row]}${flame.roles[flame.role[row]] === "lane" ? ` ${flame.lane[row]}` : ""}`;

  /** The outermost rows of the same thing as `row`, in order. */
  function places(flame, row) {
    const wanted = keyOf(flame, row);
    const found = [];
    for (let at = 0, until = 0; at < flame.depth.length; at += 1) {
      if (at < until || keyOf(flame, at) !== wanted) continue;
      found.push(at);
      until = app.flameLayout.endOf(flame.depth, at);
    }
    return found;
  }

  const empty = (flame, row) => ({ row, most: 0, count: 0, grouped: 0, times: TIMES.map(() => 0), own: OWN.map((name) => (flame[name] ? 0 : NaN)), below: new Map() });

  /** Adds what `from` has to a node that stands for `row`, among others; the longest of them is told. */
  function add(flame, node, row, from, own) {
    node.times.forEach((_, i) => (node.times[i] += flame[TIMES[i]][from]));
    node.own.forEach((_, i) => (node.own[i] = own ? node.own[i] + flame[OWN[i]][row] : NaN));
    node.count += flame.count[from];
    node.grouped += flame.grouped[row];
    const time = TIMES.reduce((sum, name) => sum + (flame[name][row] || 0), 0);
    if (time > node.most) [node.most, node.row] = [time, row];
  }

  function childOf(flame, node, row) {
    const key = keyOf(flame, row);
    if (!node.below.has(key)) node.below.set(key, empty(flame, row));
    return node.below.get(key);
  }

  function calleesOf(flame, found) {
    const root = empty(flame, found[0]);
    for (const first of found) {
      const end = app.flameLayout.endOf(flame.depth, first);
      const open = [root]; // by depth below `first`
      add(flame, root, first, first, true);
      for (let row = first + 1; row < end; row += 1) {
        const depth = flame.depth[row] - flame.depth[first];
        open[depth] = childOf(flame, open[depth - 1], row);
        add(flame, open[depth], row, row, true);
      }
    }
    return root;
  }

  function callersOf(flame, found) {
    const root = empty(flame, found[0]);
    for (const first of found) {
      let node = root;
      add(flame, root, first, first, true);
      for (let row = flame.parent[first]; row > 0; row = flame.parent[row]) {
        node = childOf(flame, node, row);
        add(flame, node, row, first, false);
      }
    }
    return root;
  }

  /** A tree of nodes as the columns of a flame graph, in preorder; `source` is the longest row that a node stands for. */
  function columns(flame, root) {
    const rows = [];
    const open = [[root, -1, 0]];
    while (open.length > 0) {
      const [node, parent, depth] = open.pop();
      rows.push({ node, parent, depth });
      const at = rows.length - 1;
      for (const child of [...node.below.values()].reverse()) open.push([child, at, depth + 1]);
    }
    const of = (pick) => rows.map(({ node }) => pick(node));
    const same = (name) => of(({ row }) => flame[name][row]);
    const shared = Object.fromEntries(["name", "role", "kind", "activity", "lane"].map((name) => [name, same(name)]));
    const times = Object.fromEntries(TIMES.map((name, i) => [name, Float64Array.from(of(({ times: sums }) => sums[i]))]));
    const own = Object.fromEntries(OWN.map((name, i) => [name, Float64Array.from(of(({ own: sums }) => sums[i]))]));
    const placed = { parent: Int32Array.from(rows, ({ parent }) => parent), depth: Int32Array.from(rows, ({ depth }) => depth), grouped: of(({ grouped }) => grouped), count: of(({ count }) => count) };
    return { roles: flame.roles, kinds: flame.kinds, activities: flame.activities, laneNames: flame.laneNames, ...shared, ...times, ...own, ...placed, source: of(({ row }) => row) };
  }

  /** {callers, callees, places} of the thing at a row of a flame graph. */
  function of(flame, row) {
    const found = places(flame, row);
    return { callers: columns(flame, callersOf(flame, found)), callees: columns(flame, calleesOf(flame, found)), places: found.length };
  }

  /** The two graphs of what a graph is zoomed to, {node, fill(), recolor(), destroy()}. A click goes to the longest place of what
      is clicked, in that graph. */
  function view(main) {
    const { el } = app.dom;
    const said = el("p", { class: "help" });
    const halves = ["Callers", "Callees"].map((what) => {
      const canvas = el("canvas", { tabindex: 0, role: "application", "aria-label": `${what} of the chosen node` });
      return { frame: el("div", { class: "flame-frame half" }, canvas), graph: new app.FlameGraph(canvas, ({ focus, flame }) => focus > 0 && main.zoom(flame.source[focus])) };
    });
    const [callers, callees] = halves;
    const node = el("div", { class: "sandwich", hidden: true }, said, halves.map(({ frame }) => frame));
    const each = (verb) => halves.forEach(({ graph }) => graph.flame !== null && graph[verb]());
    function fill() {
      const { names, hueOf, flame, total } = main;
      const made = of(flame, main.focus);
      const column = TIMES.find((name) => flame[name] === total);
      said.textContent = `${made.places === 1 ? "One place" : `${app.units.countText(made.places)} places`} of ${app.shortNames.of(main.label(main.focus))}: who calls it above, what it calls below. Click one to see the same of it.`;
      callers.graph.show({ flame: made.callers, names, total: made.callers[column], hueOf });
      callees.graph.show({ flame: made.callees, names, total: made.callees[column], hueOf });
      callers.graph.setFlames(true);
    }
    return { node, halves: halves.map(({ graph }) => graph), fill, recolor: () => each("recolor"), destroy: () => each("destroy") };
  }

  app.sandwich = { of, view };
})((globalThis.regimeter ||= {}));
