// SPDX-License-Identifier: Apache-2.0
// The timeline: streams, threads and tasks, all kinds of spans, search, details, arrows from launch to device work.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const { units } = app;
  const SETTLE_MS = 150; // after the last movement, the statistics and the address follow
  const HELP = "Click the timeline, then the wheel zooms and a drag pans; a drag on the time scale selects a range and shows what ran in it; ? shows all keys.";

  function legend(pairs) {
    return el("ul", { class: "legend" }, pairs.map(([property, label]) => el("li", null, app.spanKinds.swatch(property), label)));
  }

  /** Notes above the timeline: what its times are, and what it does not draw one by one. */
  function cautions(line) {
    const path = line.path ? app.criticalPath.leftOut(line.path) : "";
    const { countText } = units;
    if (line.tiles) return [line.caution, path, `${countText(line.spans)} spans: what is in view comes from the server, the rest of the page knows an overview.`];
    if (line.aggregated === 0) return [line.caution, path];
    return [line.caution, path, `${countText(line.spans)} spans: ${countText(line.drawn)} are drawn one by one, ${countText(line.aggregated)} shorter ones share paler blocks that say how many they are and how long they ran.`];
  }

  /** Python functions hide the rest where stacks were recorded, so they are shown on demand. */
  function pythonSwitch(line, timeline) {
    if (line.depth !== line.depths.plain || line.depths.plain === line.depths.all) return null;
    const box = el("input", { type: "checkbox", on: { change: () => timeline.showPython(box.checked) } });
    return el("label", { class: "python" }, box, " Python functions");
  }

  /** The critical path is drawn until it is switched off. */
  function pathSwitch({ path }, timeline) {
    if (!path) return null;
    const change = () => {
      timeline.scene.path = box.checked ? path : null;
      timeline.request();
    };
    const box = el("input", { type: "checkbox", checked: true, on: { change } });
    return el("label", { class: "python", title: app.criticalPath.HELP }, box, ` ${app.criticalPath.label(path)}`);
  }

  /** A choice of one rank where the trace has several. */
  function rankChoice(lanes, timeline) {
    const ranks = [...new Set(lanes.map(({ rank }) => rank))].filter((rank) => rank >= 0).sort((a, b) => a - b);
    if (ranks.length < 2) return null;
    const options = [el("option", { value: "" }, "all ranks"), ranks.map((rank) => el("option", { value: rank }, `rank ${rank}`))];
    const choice = el("select", { "aria-label": "Rank", on: { change: () => timeline.setLanes(choice.value === "" ? null : ({ rank }) => rank === Number(choice.value)) } }, options);
    return choice;
  }

  const valueOf = (control) => (control.type === "checkbox" ? String(Number(control.checked)) : control.value);

  /** The switches that there are, by their name in the address: {name: {control, first}}. */
  function switchesOf(nodes, timeline) {
    const found = Object.entries(nodes).filter(([, node]) => node !== null);
    return Object.fromEntries(found.map(([name, node]) => {
      const control = node.querySelector("input") ?? node;
      control.addEventListener("change", () => timeline.touch());
      return [name, { control, first: valueOf(control) }];
    }));
  }

  function turn(control, value) {
    if (valueOf(control) === value) return;
    if (control.type === "checkbox") control.checked = value === "1";
    else control.value = value;
    control.dispatchEvent(new Event("change"));
  }

  /** What is seen, as the address has it. */
  function stateOf(timeline, search, switches) {
    const { view, range } = timeline.scene;
    const selected = timeline.numberOf(timeline.scene.selected);
    const turned = Object.entries(switches).filter(([, { control, first }]) => valueOf(control) !== first);
    const shown = Object.fromEntries(turned.map(([name, { control }]) => [name, valueOf(control)]));
    return { view: view.zoomed ? [view.start, view.end] : null, range, selected, query: search.value.trim(), pinned: [...timeline.pinned], shown };
  }

  /** Shows what an address names, and all of the run where it names nothing. */
  function restore(state, timeline, search, switches, body) {
    for (const [name, { control, first }] of Object.entries(switches)) turn(control, state.shown[name] ?? first);
    const { view } = timeline.scene;
    search.value = state.query;
    search.dispatchEvent(new Event("input"));
    timeline.setPinned(state.pinned);
    timeline.setRange(state.range);
    if (state.view === null) view.fit();
    timeline.chooseNumber(state.selected, state.view === null);
    if (state.view !== null) view.set(...state.view);
    timeline.touch();
    if (Object.keys(state.named).length > 0) body.parentNode?.scrollIntoView();
  }

  function render(body, model, page) {
    const line = model.timeline;
    if (line === null || line.count === 0) {
      body.append(el("p", { class: "empty" }, "No spans were recorded."));
      return {};
    }
    let linked = false;
    if (line.depths.plain.some((depth, i) => depth < 0 && line.depths.all[i] >= 0)) line.depth = line.depths.plain;
    const canvas = el("canvas", { class: "timeline", tabindex: 0, role: "application", "aria-label": `Timeline of ${units.countText(line.spans)} spans`, "aria-describedby": "timeline-help" });
    const details = el("div", { class: "span-details", "aria-live": "polite" });
    const range = el("span", { class: "range dim" });
    const search = el("input", { type: "search", placeholder: "Find spans by name", "aria-label": "Find spans by name" });
    const found = el("span", { class: "dim", role: "status" });
    const tools = el("div", { class: "tools" });
    const key = el("div");
    body.append(tools, key, ...cautions(line).filter(Boolean).map((text) => el("p", { class: "caution" }, text)));
    const statistics = el("div", { class: "range-panel", hidden: true });
    const frame = el("div", { class: "timeline-frame" }, canvas);
    body.append(frame, statistics, details, el("p", { class: "help", id: "timeline-help" }, HELP));
    let [shown, told, counted] = [undefined, null, null]; // the span, what is known of it, and the range that the page speaks of
    let settled = 0;
    const tell = () => linked && canvas.clientWidth > 0 && page.say(app.deepLink.parts(stateOf(timeline, search, switches)));
    const timeline = new app.Timeline(canvas, model, ({ scene }) => {
      const at = (time) => units.onAxis(time, scene.view.length / 100, scene.view.end);
      range.textContent = `${at(scene.view.start)} to ${at(scene.view.end)}, ${units.timeText(scene.view.length)} in view${line.tick > 1 ? `, times to ${units.timeText(line.tick)}` : ""}`;
      if (shown !== scene.selected || told !== scene.line.details) app.spanDetails.fill(details, timeline);
      [shown, told] = [scene.selected, scene.line.details];
      clearTimeout(settled);
      settled = setTimeout(() => {
        if (counted !== scene.range) app.rangePanel.fill(statistics, timeline);
        counted = scene.range;
        tell();
      }, SETTLE_MS);
    });
    const problem = el("p", { class: "caution", role: "status", hidden: true });
    if (line.tiles) {
      timeline.tiles = new app.Tiles(timeline, (text) => Object.assign(problem, { textContent: text, hidden: text === "" }));
      frame.before(problem);
    }
    timeline.minimap = new app.Minimap(timeline);
    frame.before(timeline.minimap.canvas);
    timeline.idle = app.idleStrip.attach(model, timeline, frame);
    timeline.searchFor = () => search.focus();
    timeline.showKeys = () => app.keys.show();
    key.replaceWith(legend(timeline.coloured.legend));
    timeline.tracks = app.counterTracks.attach(model, timeline, canvas.parentNode);
    timeline.follow = () => {
      const { selected } = timeline.scene;
      const link = selected === null ? undefined : timeline.linksOf(selected)[0];
      if (link !== undefined) timeline.choose(link[0] === selected ? link[1] : link[0], true);
    };
    /** What is looked for, as the server is asked for it; null for nothing. */
    const question = () => {
      const text = search.value.trim().toLowerCase();
      if (text !== "") return { text };
      return page.selected === null ? null : { name: page.selected };
    };
    const testOf = ({ text, name }) => (name === undefined ? (one) => one.toLowerCase().includes(text) : (one) => one === name);
    const python = pythonSwitch(line, timeline);
    const path = pathSwitch(line, timeline);
    const ranks = rankChoice(model.lanes, timeline);
    const switches = switchesOf({ python, path, rank: ranks }, timeline);
    const byKind = (kinds) => [...kinds].map(([kind, [spans, sum]]) => `${units.countText(spans)} ${app.spanKinds.words(line.kinds[kind])}${spans === 1 ? "" : "s"} ${units.timeText(sum)}`).join(", ");
    const count = ({ count: spans, duration, kinds }) => (found.textContent = spans === 0 ? "no match" : `${units.countText(spans)} ${spans === 1 ? "match" : "matches"}${kinds?.size > 1 ? `: ${byKind(kinds)}` : `, ${units.timeText(duration)} in sum`}`);
    let asked = null; // the last question
    const emphasise = () => {
      const wanted = (asked = question());
      timeline.highlight(wanted === null ? null : testOf(wanted));
      if (wanted === null) return (found.textContent = "");
      if (timeline.tiles === null) return count(app.spanSearch.matches(line, timeline.scene.bright));
      const failed = (error) => (found.textContent = error.message);
      return timeline.tiles.find(wanted, null, 1).then((all) => asked === wanted && count(all), failed);
    };
    const go = (direction) => {
      const wanted = question();
      if (wanted === null) return;
      const { selected } = timeline.scene;
      if (timeline.tiles !== null) {
        timeline.tiles.find(wanted, timeline.numberOf(selected), direction).then(({ next }) => next !== null && timeline.chooseNumber(next, true), () => {});
        return;
      }
      const span = app.spanSearch.next(line, app.spanSearch.passing(model.names, testOf(wanted)), selected, direction);
      if (span >= 0) timeline.choose(span, true);
    };
    search.addEventListener("input", emphasise);
    search.addEventListener("keydown", (event) => event.key === "Enter" && go(event.shiftKey ? -1 : 1));
    const controls = [
      search,
      el("span", { class: "pair" }, button("‹", () => go(-1), { "aria-label": "Previous match" }), button("›", () => go(1), { "aria-label": "Next match" })),
      found,
      python,
      path,
      ranks,
      range,
      el(
        "span",
        { class: "group" },
        button("−", () => timeline.zoom(1.8, 0.5), { "aria-label": "Zoom out" }),
        button("+", () => timeline.zoom(1 / 1.8, 0.5), { "aria-label": "Zoom in" }),
        button("Show all", () => timeline.fit()),
        button("?", () => app.keys.show(), { "aria-label": "Keys of the timeline" }),
      ),
    ];
    tools.append(...controls.filter((one) => one !== null));
    app.spanDetails.fill(details, timeline);
    shown = null;
    timeline.changed(timeline);
    const seen = () => Object.fromEntries(Object.entries(app.deepLink.parts(stateOf(timeline, search, switches))).filter(([, part]) => part !== null));
    return {
      timeline,
      keep: () => {
        tell(); // what was typed a moment ago is not in the address yet, which the new form follows
        return app.sight.keepTimeline(timeline);
      },
      foresee: (kept, same) => app.sight.foreseeTimeline(timeline, kept, same),
      resume: (kept, same) => app.sight.resumeTimeline(timeline, kept, same),
      follow: (state, leaf) => {
        if (leaf !== null && !leaf.views.has("timeline")) return;
        const wanted = app.deepLink.state(state);
        if (app.address.format(wanted.named) !== app.address.format(seen())) restore(wanted, timeline, search, switches, body);
        linked = true; // from here on the address says what is seen
      },
      selected: emphasise,
      recolor: () => timeline.recolor(),
      beforePrint: () => timeline.paintForPrint(),
      afterPrint: () => timeline.recolor(),
      destroy: () => {
        clearTimeout(settled);
        timeline.tiles?.destroy();
        timeline.destroy();
      },
    };
  }

  (app.views ??= []).push({ id: "timeline", title: "Timeline", order: 30, span: 12, fits: (model) => model.timeline !== null, render });
})((globalThis.regimeter ||= {}));
