// SPDX-License-Identifier: Apache-2.0
// Words for one span of the timeline: the hover text and the line below the canvas.
(function (app) {
  "use strict";

  /** When a span began, in as many digits as tell it from one that begins a tenth of its length later. */
  const startText = ({ start, duration }, span) => app.units.onAxis(start[span], Math.max(1, duration[span] / 10), Math.max(1, start[span]));

  function facts(scene, span) {
    const { line, lanes, names } = scene;
    const { timeText } = app.units;
    return {
      name: names[line.name[span]],
      duration: timeText(line.duration[span]),
      start: startText(line, span),
      lane: lanes[line.lane[span]]?.name ?? `lane ${line.lane[span]}`,
      failed: line.failed[span] === 1,
    };
  }

  /** What is known of a span beside time and lane, as pairs of label and text. */
  function traceFacts({ line, names }, span) {
    const { countText, timeText } = app.units;
    const pairs = [["kind", app.spanKinds.words(line.kinds[line.kind[span]])]];
    if (line.stands[span] > 1) {
      pairs.push(["stands for", `${countText(line.stands[span])} spans, ${timeText(line.sums.get(span))} in sum; named after the longest`]);
      return pairs;
    }
    if (line.op[span] !== 0) pairs.push(["operator", names[line.op[span]]]);
    if (line.step[span] >= 0) pairs.push(["step", line.step[span]]);
    if (line.correlation[span] > 0) pairs.push(["correlation", line.correlation[span]]);
    if (line.bytes[span] >= 0) pairs.push(["bytes", app.units.bytesText(line.bytes[span])]);
    return pairs;
  }

  function tooltip(scene, { span, count }) {
    const { el } = app.dom;
    const { name, duration, start, lane, failed } = facts(scene, span);
    const lines = [el("strong", null, name), el("div", null, `${duration}, starts at ${start}`), el("div", { class: "dim" }, lane)];
    lines.push(...traceFacts(scene, span).map(([label, text]) => el("div", null, el("span", { class: "dim" }, `${label}: `), text)));
    if (failed) lines.push(el("div", { class: "bad" }, "left by an exception"));
    if (count > 1) lines.push(el("div", { class: "dim" }, `longest of ${app.units.countText(count)} spans here; zoom in to part them`));
    return lines;
  }

  app.timelineReadout = { tooltip, traceFacts, startText };
})((globalThis.regimeter ||= {}));
