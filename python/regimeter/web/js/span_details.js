// SPDX-License-Identifier: Apache-2.0
// Everything known of the selected span of a trace: what the tooltip says, its arguments, and its launch or device work.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const { units } = app;
  const SHOWN_LINKS = 12;

  /** Position of `row` in an ascending column, -1 when it is not in it. */
  function position(column, row) {
    let [low, high] = [0, column.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (column[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low < column.length && column[low] === row ? low : -1;
  }

  function valueText(column, value, names) {
    if (column.unit === "name") return names[value];
    if (column.unit === "bytes") return units.bytesText(value);
    if (column.unit === "ns") return units.timeText(value);
    if (column.unit === "count") return units.countText(value);
    return String(Number(value.toPrecision(6)));
  }

  const known = (column, value) => !(Number.isNaN(value) || (column.unit === "name" ? value === 0 : value === -1));

  /** Pairs of label, text and explanation from the sparse tables. */
  function argumentsOf(line, names, span) {
    const pairs = [];
    for (const table of line.details) {
      const at = position(table.row, span);
      if (at < 0) continue;
      for (const column of table.columns) {
        const value = column.values[at];
        if (known(column, value)) pairs.push([column.heading, valueText(column, value, names), column.doc]);
      }
    }
    return merged(pairs);
  }

  /** grid x, grid y and grid z are one figure to a reader. */
  function merged(pairs) {
    const made = [];
    for (const [label, text, doc] of pairs) {
      const axis = /^(grid|block) ([xyz])$/.exec(label);
      const last = made.at(-1);
      if (axis !== null && axis[2] !== "x" && last?.[0] === axis[1]) last[1] += ` × ${text}`;
      else made.push([axis === null ? label : axis[1], text, doc]);
    }
    return made;
  }

  function links(timeline, span) {
    const { line, names } = timeline.scene;
    const found = timeline.linksOf(span);
    if (found.length === 0) return null;
    const issued = line.launch[span] >= 0;
    const ends = found.map(([launch, work]) => (issued ? launch : work));
    const more = ends.length > SHOWN_LINKS ? el("span", { class: "dim" }, `and ${units.countText(ends.length - SHOWN_LINKS)} more`) : null;
    return el(
      "div",
      { class: "links" },
      el("span", { class: "dim" }, issued ? "Launched by " : "Launches "),
      ends.slice(0, SHOWN_LINKS).map((end) => button(names[line.name[end]], () => timeline.choose(end, true), { class: "quiet" })),
      more,
    );
  }

  function pair([label, text, doc]) {
    return el("div", null, el("dt", { title: doc ?? null }, label), el("dd", null, text));
  }

  function fill(node, timeline) {
    const { scene } = timeline;
    const span = scene.selected;
    if (span === null) {
      node.replaceChildren(el("p", { class: "dim" }, "Click a span for its arguments, its launch and its device work. Click a lane's name to fold it."));
      return;
    }
    const { line, names, lanes } = scene;
    const one = line.stands[span] === 1;
    const first = [
      ["duration", units.timeText(line.duration[span]), `${units.countText(line.duration[span])} ns`],
      ["starts at", app.timelineReadout.startText(line, span), `${units.countText(line.start[span])} ns after the start of the trace`],
      ["lane", lanes[line.lane[span]]?.name ?? ""],
      ...app.timelineReadout.traceFacts(scene, span),
    ];
    const title = one ? names[line.name[span]] : `${units.countText(line.stands[span])} short spans, the longest: ${names[line.name[span]]}`;
    node.replaceChildren(
      el("p", { class: "span-name" }, title),
      el("dl", { class: "span-facts" }, first.map(pair), one ? argumentsOf(line, names, span).map(pair) : null),
      links(timeline, span) ?? "",
    );
  }

  app.spanDetails = { fill, argumentsOf, position };
})((globalThis.regimeter ||= {}));
