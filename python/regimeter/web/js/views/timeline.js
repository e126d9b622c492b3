// SPDX-License-Identifier: Apache-2.0
// The timeline with its controls, the search that highlights, and the line that spells out the selected span.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const { units } = app;
  const HELP =
    "Click the timeline, then: wheel or + and - zoom, drag or arrow keys pan, drag on the time scale or Shift+drag zooms into a range, n and p go to the next and previous span of a line, Home or double-click shows all.";

  function omission(line) {
    if (line.omittedCount === 0) return null;
    const time = line.omittedNs === null ? "" : `, ${units.timeText(line.omittedNs)} in sum`;
    return `Drawn: ${line.rule ?? `${units.countText(line.count)} spans`}. Not drawn: ${units.countText(line.omittedCount)} spans${time}. All figures elsewhere include them.`;
  }

  function render(body, model, page) {
    const line = model.timeline;
    if (line === null || line.count === 0) {
      body.append(el("p", { class: "empty" }, line === null ? "Not available: this file carries no single calls, only sums." : "No spans were recorded."));
      return {};
    }
    const canvas = el("canvas", { class: "timeline", tabindex: 0, role: "application", "aria-label": `Timeline of ${units.countText(line.count)} spans`, "aria-describedby": "timeline-help" });
    const readout = el("output", { class: "readout", "aria-live": "polite" });
    const range = el("span", { class: "range dim" });
    const search = el("input", { type: "search", placeholder: "Highlight operations", "aria-label": "Highlight operations in the timeline" });
    const describe = ({ scene }) => {
      const at = (time) => units.onAxis(time, scene.view.length / 100, scene.view.end);
      range.textContent = `${at(scene.view.start)} to ${at(scene.view.end)}, ${units.timeText(scene.view.length)} in view`;
      readout.value = scene.selected === null ? "Click a span for its figures." : app.timelineReadout.sentence(scene, scene.selected);
    };
    const tools = el("div", { class: "tools" });
    body.append(tools, ...[line.caution, omission(line)].filter(Boolean).map((text) => el("p", { class: "caution" }, text)));
    body.append(el("div", { class: "timeline-frame" }, canvas), readout, el("p", { class: "help", id: "timeline-help" }, HELP));
    const timeline = new app.Timeline(canvas, model, describe);
    timeline.tracks = app.counterTracks.attach(model, timeline, canvas.parentNode);
    tools.append(
      search,
      range,
      el(
        "span",
        { class: "group" },
        button("−", () => timeline.zoom(1.8, 0.5), { "aria-label": "Zoom out" }),
        button("+", () => timeline.zoom(1 / 1.8, 0.5), { "aria-label": "Zoom in" }),
        button("Show all", () => timeline.fit()),
      ),
    );
    const emphasise = () => {
      const query = search.value.trim().toLowerCase();
      if (query !== "") timeline.highlight((name) => name.toLowerCase().includes(query));
      else timeline.highlight(page.selected === null ? null : (name) => name === page.selected);
    };
    search.addEventListener("input", emphasise);
    describe(timeline);
    return {
      timeline,
      selected: emphasise,
      recolor: () => timeline.recolor(),
      beforePrint: () => timeline.paintForPrint(),
      afterPrint: () => timeline.recolor(),
      destroy: () => timeline.destroy(),
    };
  }

  (app.views ??= []).push({ id: "timeline", title: "Timeline", order: 40, span: 12, render });
})((globalThis.regimeter ||= {}));
