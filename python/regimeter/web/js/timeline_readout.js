// SPDX-License-Identifier: Apache-2.0
// Words for one span of the timeline: the hover text and the line below the canvas.
(function (app) {
  "use strict";

  function facts(scene, span) {
    const { line, lanes, names } = scene;
    const { timeText } = app.units;
    return {
      name: names[line.name[span]],
      duration: timeText(line.duration[span]),
      start: timeText(line.start[span]),
      lane: lanes[line.lane[span]]?.name ?? `lane ${line.lane[span]}`,
      depth: line.depth[span],
      failed: line.failed[span] === 1,
    };
  }

  function tooltip(scene, { span, count }) {
    const { el } = app.dom;
    const { name, duration, start, lane, failed } = facts(scene, span);
    const lines = [el("strong", null, name), el("div", null, `${duration}, starts at ${start}`), el("div", { class: "dim" }, lane)];
    if (failed) lines.push(el("div", { class: "bad" }, "left by an exception"));
    if (count > 1) lines.push(el("div", { class: "dim" }, `longest of ${app.units.countText(count)} spans here; zoom in to part them`));
    return lines;
  }

  function sentence(scene, span) {
    const { name, duration, start, lane, depth, failed } = facts(scene, span);
    return `${name}: ${duration}, starts at ${start}, ${lane}, depth ${depth}${failed ? ", left by an exception" : ""}`;
  }

  app.timelineReadout = { tooltip, sentence };
})((globalThis.regimeter ||= {}));
