// SPDX-License-Identifier: Apache-2.0
// What was recorded: hardware, job, versions, time window, and each file with the rows that were read and kept.
(function (app) {
  "use strict";

  const { el } = app.dom;
  const { units } = app;

  function window(run) {
    const began = run.startedUnixNs === null ? "" : `, began ${app.heading.moment(new Date(run.startedUnixNs / 1e6).toISOString())}`;
    return `${units.timeText(run.durationNs)}${began}`;
  }

  function fileRow(file) {
    const rank = file.rank >= 0 ? `, rank ${file.rank}` : "";
    const size = file.bytes >= 0 ? `, ${units.bytesText(file.bytes)}` : "";
    const rows = file.kept === file.events ? `${units.countText(file.events)} rows, all kept` : `${units.countText(file.events)} rows read, ${units.countText(file.kept)} kept`;
    const name = el("span", { title: file.file }, file.file.split("/").at(-1));
    return [name, `${file.format}${size}${rank}; ${rows}`];
  }

  function render(body, { run, facts, files }) {
    const pairs = [...facts, ["Window, first to last event", window(run)], ["Contents", `${units.countText(run.spanCount)} spans on ${run.laneCount === 1 ? "1 thread or stream" : `${units.countText(run.laneCount)} threads and streams`}`], ...files.map(fileRow)];
    body.append(el("dl", { class: "pairs" }, pairs.map(([label, text]) => el("div", null, el("dt", null, label), el("dd", null, text)))));
    return {};
  }

  (app.views ??= []).push({ id: "facts", title: "The run", order: 70, span: 6, fits: (model) => model.described && (model.facts.length > 0 || model.files.length > 0 || !model.scoped), render });
})((globalThis.regimeter ||= {}));
