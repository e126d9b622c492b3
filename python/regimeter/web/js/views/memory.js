// SPDX-License-Identifier: Apache-2.0
// Memory over time: one chart per unit, and the series that could not be recorded with their reasons.
(function (app) {
  "use strict";

  const { el } = app.dom;
  const LAID = "calls, laid end to end";

  function missing(unavailable) {
    return el("dl", { class: "reasons" }, unavailable.map(({ name, reason }) => el("div", null, el("dt", null, name), el("dd", null, `unavailable: ${reason}`))));
  }

  /** A row for each sample, of the series of one unit. */
  function columnsOf(series, unit, across) {
    const flat = (of) => series.flatMap((one) => Array.from(one.time, (_, i) => of(one, i)));
    const column = (heading, kind, of) => ({ heading, unit: kind, values: flat(of) });
    return [column("series", "text", ({ name }) => name), column(across || "time", "at", ({ time }, i) => time[i]), column("value", unit, ({ value }, i) => value[i])];
  }

  function render(body, model) {
    const { series, unavailable, laid } = model.memory;
    const across = laid ? LAID : "";
    const drawable = series.filter((one) => one.time.length > 0);
    const charts = [...new Set(drawable.map((one) => one.unit))].map((unit) => new app.MemoryChart(drawable.filter((one) => one.unit === unit), unit, "Memory over time", across));
    if (charts.length === 0) body.append(el("p", { class: "empty" }, "Memory over time was not recorded."));
    else {
      const zero = el("input", { type: "checkbox", on: { change: () => charts.forEach((chart) => chart.setFromZero(zero.checked)) } });
      body.append(el("div", { class: "tools" }, el("label", null, zero, " Axis from zero")), ...charts.flatMap((chart) => [chart.node, app.asTable("Memory over time", () => columnsOf(chart.series, chart.unit, across))]));
      charts.forEach((chart) => chart.draw());
      zero.checked = true;
    }
    if (unavailable.length > 0) body.append(missing(unavailable));
    const at = new Map(charts.map((chart) => [chart.unit, chart]));
    const keep = () => charts.map(({ unit, fromZero, when }) => ({ unit, fromZero, when }));
    const resume = (kept) => {
      for (const { unit, fromZero, when } of kept) {
        if (fromZero !== null) at.get(unit)?.setFromZero(fromZero);
        at.get(unit)?.say(when);
      }
      const zero = body.querySelector(".tools input");
      if (zero !== null) zero.checked = charts.every((chart) => chart.box.low === 0);
    };
    return { keep, resume, beforePrint: () => charts.forEach((chart) => chart.draw()), destroy: () => charts.forEach((chart) => chart.destroy()) };
  }

  (app.views ??= []).push({ id: "memory", title: "Memory over time", short: "Memory", order: 50, span: 7, fits: (model) => model.scoped || model.memory.series.length > 0, render });
})((globalThis.regimeter ||= {}));
