// SPDX-License-Identifier: Apache-2.0
// The statistics of the selected range of the timeline: a table of what ran in it, by name.
(function (app) {
  "use strict";

  const { el, button, figure } = app.dom;
  const { units } = app;
  const SHOWN = 12;

  function row(timeline, one, length) {
    const name = timeline.scene.names[one.name];
    const choose = button(el("span", { class: "clip" }, name), () => timeline.choose(one.longest, true), { class: "operation", title: `${name}: show the longest` });
    return el("tr", null, el("th", { scope: "row" }, choose), ...[figure(one.spans, units.count), figure(one.time, units.time), figure(one.time / length, units.share), figure(one.time / one.spans, units.time)].map((cell) => el("td", { class: "number" }, cell)));
  }

  /** Fills the node for the range of the timeline; empties it where nothing is selected. */
  function fill(node, timeline) {
    const { line, range, layout } = timeline.scene;
    node.hidden = range === null;
    if (range === null) return node.replaceChildren();
    const [t0, t1] = range;
    const found = app.rangeStats.of(line, layout.rows.map((place) => place.row), t0, t1);
    const more = found.rows.length - SHOWN;
    const head = ["Name", "Spans", "Time in the range", "Of the range", "Mean part"].map((label, i) => el("th", { scope: "col", class: i > 0 ? "number" : null }, label));
    return node.replaceChildren(
      el(
        "div",
        { class: "tools" },
        el("strong", null, `${units.timeText(t1 - t0)} selected`),
        el("span", { class: "dim" }, `${units.timeText(t0)} to ${units.timeText(t1)}, ${found.exact ? "" : "about "}${units.countText(found.spans)} spans of ${units.countText(found.rows.length)} names`),
        el("span", { class: "group" }, button("Zoom to it", () => timeline.zoomToRange()), button("Clear", () => timeline.setRange(null))),
      ),
      el("div", { class: "table-frame" }, el("table", { class: "range-table" }, el("thead", null, el("tr", null, head)), el("tbody", null, found.rows.slice(0, SHOWN).map((one) => row(timeline, one, t1 - t0))))),
      el("p", { class: "help" }, `${more > 0 ? `${units.countText(more)} more names. ` : ""}Spans within others count in both, those of several lanes add up; of a span that begins or ends outside, the part inside counts.`),
    );
  }

  app.rangePanel = { fill };
})((globalThis.regimeter ||= {}));
