// SPDX-License-Identifier: Apache-2.0
// The samples of the chosen operation on both sides, and its trend where the page knows earlier runs.
(function (app) {
  "use strict";

  const { el } = app.dom;

  function chosen(model, page) {
    const key = page.selected ?? model.rows.find((row) => model.samples.has(row.key) || model.history.has(row.name))?.key;
    return model.rows.find((row) => row.key === key) ?? null;
  }

  function render(body, model, page) {
    const charts = [];
    const clear = () => charts.splice(0).forEach((chart) => chart.destroy());
    const show = () => {
      clear();
      const row = chosen(model, page);
      const parts = row === null ? [] : content(row, model, charts);
      body.replaceChildren(...(parts.length > 0 ? parts : [el("p", { class: "empty" }, row === null ? "No samples are in this page." : `The page holds no samples of ${row.key}.`)]));
    };
    show();
    return { selected: show, destroy: clear };
  }

  /** A row for each sample that is drawn. */
  function columnsOf(row, { baseline, current }) {
    const sides = [["baseline", baseline.values], ["current", current.values]];
    const values = sides.flatMap(([, of]) => Array.from(of));
    const seconds = row.unit === "s";
    return [{ heading: "side", unit: "text", values: sides.flatMap(([side, of]) => Array.from(of, () => side)) }, { heading: "value", unit: seconds ? "ns" : row.unit, values: seconds ? values.map((one) => one * 1e9) : values }];
  }

  function content(row, model, charts) {
    const parts = [];
    const add = (chart) => {
      charts.push(chart);
      parts.push(chart.node);
    };
    const samples = model.samples.get(row.key);
    if (samples !== undefined) {
      add(new app.SampleChart(row, samples));
      parts.push(app.asTable(`Samples of ${row.key}`, () => columnsOf(row, samples)));
    }
    const history = model.history.get(row.name);
    if (history !== undefined && history.points.length > 0 && row.metric === "time") {
      parts.push(el("h3", { class: "part" }, "Trend"));
      add(new app.TrendChart(history, row.unit));
    }
    return parts.length > 0 ? [el("h3", null, row.key), ...parts] : [];
  }

  (app.views ??= []).push({ id: "samples", title: "Samples", order: 20, span: 12, of: "comparison", fits: (model) => model.samples.size + model.history.size > 0, render });
})((globalThis.regimeter ||= {}));
