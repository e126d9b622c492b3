// SPDX-License-Identifier: Apache-2.0
// The timeline of a trace: streams and threads, all kinds of spans, search, details, arrows from launch to device work.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const { units } = app;
  const HELP =
    "Click the timeline, then: wheel or + and - zoom, drag or arrow keys pan, drag on the time scale or Shift+drag zooms into a range, n and p go along a line, Enter follows a launch to its device work and back, Home or double-click shows all.";

  function legend(line) {
    return el(
      "ul",
      { class: "legend" },
      app.spanKinds.present(line).map((one) => el("li", null, app.spanKinds.swatch(one), one.label)),
    );
  }

  function omission(line) {
    if (line.count === line.spans) return null;
    return `${units.countText(line.spans)} spans: the longest are drawn one by one, short neighbours share a paler block that says how many they are and how long they ran.`;
  }

  /** Python functions hide the rest where stacks were recorded, so they are shown on demand. */
  function pythonSwitch(line, timeline) {
    if (!line.depths.plain.some((depth) => depth < 0)) return null;
    const box = el("input", { type: "checkbox", on: { change: () => timeline.setDepth(box.checked ? line.depths.all : line.depths.plain) } });
    timeline.setDepth(line.depths.plain);
    return el("label", { class: "python" }, box, " Python functions");
  }

  /** A choice of one rank where the trace has several. */
  function rankChoice(lanes, timeline) {
    const ranks = [...new Set(lanes.map(({ rank }) => rank))].filter((rank) => rank >= 0).sort((a, b) => a - b);
    if (ranks.length < 2) return null;
    const options = [el("option", { value: "" }, "all ranks"), ranks.map((rank) => el("option", { value: rank }, `rank ${rank}`))];
    const choice = el("select", { "aria-label": "Rank", on: { change: () => timeline.setLanes(choice.value === "" ? null : ({ rank }) => rank === Number(choice.value)) } }, options);
    return choice;
  }

  function render(body, model, page) {
    const line = model.timeline;
    if (line === null || line.count === 0) {
      body.append(el("p", { class: "empty" }, "The trace holds no spans."));
      return {};
    }
    const canvas = el("canvas", { class: "timeline", tabindex: 0, role: "application", "aria-label": `Timeline of ${units.countText(line.spans)} spans`, "aria-describedby": "timeline-help" });
    const details = el("div", { class: "span-details", "aria-live": "polite" });
    const range = el("span", { class: "range dim" });
    const search = el("input", { type: "search", placeholder: "Find kernels, operators, calls", "aria-label": "Find spans by name" });
    const found = el("span", { class: "dim", role: "status" });
    const tools = el("div", { class: "tools" });
    const note = omission(line);
    body.append(tools, legend(line));
    if (note !== null) body.append(el("p", { class: "help omission" }, note));
    body.append(el("div", { class: "timeline-frame" }, canvas), details, el("p", { class: "help", id: "timeline-help" }, HELP));
    let shown; // the span whose details are in the page
    const timeline = new app.Timeline(canvas, model, ({ scene }) => {
      const at = (time) => units.onAxis(time, scene.view.length / 100, scene.view.end);
      range.textContent = `${at(scene.view.start)} to ${at(scene.view.end)}, ${units.timeText(scene.view.length)} in view`;
      if (shown !== scene.selected) app.spanDetails.fill(details, timeline);
      shown = scene.selected;
    });
    timeline.tracks = app.counterTracks.attach(model, timeline, canvas.parentNode);
    timeline.follow = () => {
      const { selected } = timeline.scene;
      const link = selected === null ? undefined : timeline.linksOf(selected)[0];
      if (link !== undefined) timeline.choose(link[0] === selected ? link[1] : link[0], true);
    };
    const wanted = () => {
      const query = search.value.trim().toLowerCase();
      if (query !== "") return (name) => name.toLowerCase().includes(query);
      return page.selected === null ? null : (name) => name === page.selected;
    };
    const python = pythonSwitch(line, timeline);
    const ranks = rankChoice(model.lanes, timeline);
    const emphasise = () => {
      timeline.highlight(wanted());
      found.textContent = "";
    };
    const go = (direction) => {
      const test = wanted();
      if (test !== null) found.textContent = timeline.find(test, direction) ? "" : "no span of that name is drawn";
    };
    search.addEventListener("input", emphasise);
    search.addEventListener("keydown", (event) => event.key === "Enter" && go(event.shiftKey ? -1 : 1));
    const controls = [
      search,
      el("span", { class: "pair" }, button("‹", () => go(-1), { "aria-label": "Previous match" }), button("›", () => go(1), { "aria-label": "Next match" })),
      found,
      python,
      ranks,
      range,
      el(
        "span",
        { class: "group" },
        button("−", () => timeline.zoom(1.8, 0.5), { "aria-label": "Zoom out" }),
        button("+", () => timeline.zoom(1 / 1.8, 0.5), { "aria-label": "Zoom in" }),
        button("Show all", () => timeline.fit()),
      ),
    ];
    tools.append(...controls.filter((one) => one !== null));
    app.spanDetails.fill(details, timeline);
    shown = null;
    timeline.changed(timeline);
    return {
      timeline,
      selected: emphasise,
      recolor: () => timeline.recolor(),
      beforePrint: () => timeline.paintForPrint(),
      afterPrint: () => timeline.recolor(),
      destroy: () => timeline.destroy(),
    };
  }

  (app.views ??= []).push({ id: "timeline", title: "Timeline", order: 20, span: 12, of: "trace", fits: (model) => model.timeline !== null, render });
})((globalThis.regimeter ||= {}));
