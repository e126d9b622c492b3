// SPDX-License-Identifier: Apache-2.0
// The runs of one workload in one environment: a chart with the levels that they are held against, and the runs as a table.
(function (app) {
  "use strict";

  /** The runs of the table as points in seconds; one above the limit stands out. */
  function pointsOf({ runs, levels }) {
    const [run, when, median] = ["run", "when", "median"].map((name) => runs.columns.find(({ heading }) => heading === name).values);
    const limit = levels.find(({ label }) => label === "limit")?.value ?? Infinity;
    return median.map((ns, i) => ({ label: `${run[i]}, ${when[i]}`, value: ns / 1e9, over: ns / 1e9 > limit }));
  }

  function render(body, section, page) {
    const chart = new app.TrendChart({ ...section, points: pointsOf(section) }, "s");
    const { node, follow } = app.sections.grid(section.runs, page);
    body.append(...app.sections.said(section.lines), chart.node, node);
    return { follow, shown: () => chart.draw(), beforePrint: () => chart.draw(), destroy: () => chart.destroy() };
  }

  (app.sectionForms ??= {}).trend = { render };
})((globalThis.regimeter ||= {}));
