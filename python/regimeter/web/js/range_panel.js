// SPDX-License-Identifier: Apache-2.0
// The statistics of the selected range of the timeline: a table of what ran in it, by name.
(function (app) {
  "use strict";

  const { el, button, figure } = app.dom;
  const { units } = app;
  const SHOWN = 12;

  function row(timeline, one, length) {
    const name = timeline.scene.names[one.name];
    const choose = button(el("span", { class: "clip" }, name), () => timeline.chooseNumber(one.longest, true), { class: "operation", title: `${name}: show the longest` });
    return el("tr", null, el("th", { scope: "row" }, choose), ...[figure(one.spans, units.count), figure(one.time, units.time), figure(one.time / length, units.share), figure(one.time / one.spans, units.time)].map((cell) => el("td", { class: "number" }, cell)));
  }

  /** Fills the node for the range of the timeline; empties it where nothing is selected. What a server says comes later. */
  function fill(node, timeline) {
    const { range } = timeline.scene;
    node.hidden = range === null;
    if (range === null) return node.replaceChildren();
    const found = timeline.rangeOf(...range);
    if (!(found instanceof Promise)) return show(node, timeline, range, found);
    const still = () => timeline.scene.range === range; // else what comes is of a range that was selected before
    return found.then(
      (there) => still() && show(node, timeline, range, there),
      (error) => still() && node.replaceChildren(el("p", { class: "caution", role: "status" }, `What ran in the range is not known: ${error.message}.`)),
    );
  }

  function show(node, timeline, [t0, t1], found) {
    const more = found.names - SHOWN;
    const head = ["Name", "Spans", "Time in the range", "Of the range", "Mean part"].map((label, i) => el("th", { scope: "col", class: i > 0 ? "number" : null }, label));
    return node.replaceChildren(
      el(
        "div",
        { class: "tools" },
        el("strong", null, `${units.timeText(t1 - t0)} selected`),
        el("span", { class: "dim" }, `${units.timeText(t0)} to ${units.timeText(t1)}, ${found.exact ? "" : "about "}${units.countText(found.spans)} spans of ${units.countText(found.names)} names`),
        el("span", { class: "group" }, button("Zoom to it", () => timeline.zoomToRange()), button("Clear", () => timeline.setRange(null))),
      ),
      el("div", { class: "table-frame" }, el("table", { class: "range-table" }, el("thead", null, el("tr", null, head)), el("tbody", null, found.rows.slice(0, SHOWN).map((one) => row(timeline, one, t1 - t0))))),
      el("p", { class: "help" }, `${more > 0 ? `${units.countText(more)} more names. ` : ""}Spans within others count in both, those of several lanes add up; of a span that begins or ends outside, the part inside counts.`),
    );
  }

  app.rangePanel = { fill };
})((globalThis.regimeter ||= {}));
