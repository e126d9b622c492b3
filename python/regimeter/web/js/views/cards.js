// SPDX-License-Identifier: Apache-2.0
// The first line of the page: how much was recorded, how long it took, what the profiler cost, what is doubtful.
(function (app) {
  "use strict";

  const { el, figure } = app.dom;
  const { units, derive } = app;

  const plural = (n, one, many) => `${units.countText(n)} ${n === 1 ? one : many}`;

  function card(label, value, note, props) {
    return el("div", { class: "card", ...props }, el("dt", null, label), el("dd", null, el("span", { class: "card-value" }, value), note ? el("span", { class: "card-note" }, note) : null));
  }

  function meanCard(operations) {
    const timed = operations.filter((one) => one.totalNs !== null && one.calls !== null);
    const calls = derive.sumPresent(timed.map((one) => one.calls));
    const mean = calls > 0 ? derive.sumPresent(timed.map((one) => one.totalNs)) / calls : null;
    return card("Mean per call", figure(mean, units.time, "no operation carries a total time and a call count"), "all operations, nested time included");
  }

  function costCard(cost) {
    if (cost === null) return card("Profiler's own cost", figure(null, units.share, "the file does not state it"), "not stated in this file");
    const note = [cost.insideNs === null ? null : units.timeText(cost.insideNs), cost.perScopeNs === null ? null : `${units.timeText(cost.perScopeNs)} a scope`];
    // A share of a run that lasted next to nothing is no per cent.
    const share = cost.share !== null && cost.share > 1 ? "more than the run" : figure(cost.share, units.share, "the length of the run is not known");
    return card("Profiler's own cost", share, note.filter(Boolean).join(", "));
  }

  function anomalyCard(anomalies) {
    if (anomalies === null) return card("Anomalies", figure(null, units.count, "the file does not say"), "not stated in this file");
    if (anomalies.length === 0) return card("Anomalies", "none", "nothing dropped, repaired or doubted");
    const codes = anomalies.map((one) => one.code);
    return card("Anomalies", units.countText(anomalies.length), codes.slice(0, 3).join(", ") + (codes.length > 3 ? ", …" : ""), { "data-state": "doubt" });
  }

  function render(body, model) {
    const { run, operations } = model;
    const failed = derive.sumPresent(operations.map((one) => one.failed)) ?? 0;
    const counted = [run.laneCount === null ? null : `in ${plural(run.laneCount, "lane", "lanes")}`, failed > 0 ? `${units.countText(failed)} failed` : null];
    const devices = [...new Set(operations.map((one) => one.device).filter(Boolean))];
    const kind = run.complete ? { live: "live recording", journal: "recorded run", export: "exported profile", trace: "imported trace" }[run.source] : "recording is incomplete";
    body.append(
      el(
        "dl",
        { class: "cards" },
        card("Operations recorded", figure(run.spanCount, units.count, "the file does not say"), counted.filter(Boolean).join(", ")),
        card("Unique operations", figure(operations.length, units.count), devices.length > 0 ? `declared for ${devices.join(", ")}` : null),
        card("Run time", figure(run.durationNs, units.time, "the file has no start times"), kind),
        meanCard(operations),
        costCard(model.cost),
        anomalyCard(model.anomalies),
      ),
      ...(model.machine === null ? [] : [el("p", { class: "help" }, model.machine)]),
    );
  }

  (app.views ??= []).push({ id: "overview", title: "Overview", order: 10, span: 12, bare: true, fits: (model) => model.scoped, render });
})((globalThis.regimeter ||= {}));
