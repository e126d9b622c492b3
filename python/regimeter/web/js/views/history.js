// SPDX-License-Identifier: Apache-2.0
// A history: what changed last, in a sentence; the operations over the runs, of which one is shown as a chart with its runs;
// and all runs. The address names the operation (op=).
(function (app) {
  "use strict";

  const { el } = app.dom;

  /** Seconds are shown as times, which tables have in ns. */
  const inTable = (unit) => (unit === "s" ? { unit: "ns", of: (value) => (value === null ? NaN : value * 1e9) } : { unit, of: (value) => value ?? NaN });

  const words = (values) => {
    const codes = [...new Set(values)];
    return { codes, values: values.map((value) => codes.indexOf(value)) };
  };

  const text = (heading, doc, values) => ({ name: heading, heading, unit: "code", doc, ...words(values) });
  const number = (heading, unit, doc, values) => ({ name: heading, heading, unit, codes: null, doc, values: values.map((value) => value ?? NaN) });

  /** Columns with the first as names; ResultTable's form. */
  function tableOf(heading, doc, named, columns, total) {
    const names = [...new Set(named)];
    const places = new Map(names.map((name, i) => [name, i]));
    const first = { name: heading, heading, unit: "name", codes: null, doc, values: named.map((name) => places.get(name)) };
    return { table: { count: named.length, total, columns: [first, ...columns] }, names };
  }

  function operationsOf({ trends, trendsInAll, unit }) {
    const value = inTable(unit);
    const of = (pick) => trends.map(pick);
    return tableOf("operation", "What was measured", of((one) => one.operation), [
      text("newest run", "regressed: slower than what was accepted, and nobody accepted it", of((one) => (one.accepted === false ? "regressed" : "none"))),
      number("newest", value.unit, "The median of the newest run", of((one) => value.of(one.newest))),
      number("change", "%", "By how much its level changed last; its level never changed where it is not known", of((one) => one.change)),
      number("in run", "", "The first run of the present level; its level never changed where it is not known", of((one) => one.changedIn)),
      number("changes", "", "How often its level changed", of((one) => one.changes.length)),
      number("runs", "", "Runs that have it", of((one) => one.points.length)),
      text("environment", "Where it was measured", of((one) => one.environment)),
    ], trendsInAll);
  }

  function runsOf({ runs, runsInAll }) {
    const of = (name) => runs.map((row) => String(row[name] ?? "") || "none");
    return tableOf("run", "The file, or what the run is called", runs.map(({ label }) => label), [
      number("number", "", "Its number in the history", runs.map(({ id }) => id)),
      text("when", "When it was measured", of("when")),
      text("state", "recorded, clean: judged and not slower, regressed", of("state")),
      text("environment", "Where it was measured", of("environment")),
      text("branch", "Of the repository", of("branch")),
      text("commit", "Of the repository", of("commit")),
    ], runsInAll);
  }

  /** The runs of one series, newest first. */
  function pointsOf({ points, changes }, unit) {
    const value = inTable(unit);
    const rows = points.map((point, i) => ({ ...point, change: changes.find(({ at }) => at === i) })).reverse();
    const column = (heading, kind, of) => ({ heading, unit: kind, values: rows.map(of) });
    return [
      column("run", "text", ({ label }) => label),
      column("commit", "text", ({ commit }) => commit),
      column("median", value.unit, (row) => value.of(row.value)),
      column("processes", "", ({ launches }) => launches),
      column("state", "text", ({ accepted }) => (accepted ? "" : "regressed, not accepted")),
      column("level before", value.unit, ({ change }) => value.of(change?.before ?? null)),
      column("level from here", value.unit, ({ change }) => value.of(change?.after ?? null)),
    ];
  }

  function renderSentence(body, model) {
    body.append(el("p", { class: "headline" }, app.units.unbroken(model.sentence)));
    if (model.why !== "") body.append(el("p", { class: "limit-why" }, model.why));
    return {};
  }

  function renderOperations(body, model, page) {
    const { table, names } = operationsOf(model);
    const changed = (parts) => page.say(parts);
    const grid = new app.ResultTable(table, names, "Operations of the history", (name) => page.select(name), changed);
    body.append(grid.node);
    return { follow: ({ sort, find }) => grid.restore({ sort, find }) };
  }

  function renderTrend(body, model, page) {
    const charts = [];
    const clear = () => charts.splice(0).forEach((chart) => chart.destroy());
    const show = () => {
      clear();
      const name = page.selected ?? model.trends[0].operation;
      const found = model.trends.filter(({ operation }) => operation === name);
      if (found.length === 0) return body.replaceChildren(el("p", { class: "empty" }, `No run of this history has ${name}.`));
      const parts = found.flatMap((one) => {
        const chart = new app.TrendChart(one, model.unit);
        charts.push(chart);
        return [el("h3", null, name), el("p", { class: "note" }, `${model.metric} in environment ${one.environment}; the newest run is the rightmost`), chart.node, app.asTable(`Runs of ${name}`, () => pointsOf(one, model.unit))];
      });
      return body.replaceChildren(...parts);
    };
    show();
    return { selected: show, shown: () => charts.forEach((chart) => chart.draw()), beforePrint: () => charts.forEach((chart) => chart.draw()), destroy: clear };
  }

  function renderRuns(body, model) {
    const { table, names } = runsOf(model);
    body.append(new app.ResultTable(table, names, "Runs of the history", null).node);
    return {};
  }

  const ofHistory = { of: "history", span: 12 };
  (app.views ??= []).push(
    { ...ofHistory, id: "changed", title: "What changed", order: 4, render: renderSentence },
    { ...ofHistory, id: "trend", title: "One operation over the runs", order: 20, fits: ({ trends }) => trends.length > 0, render: renderTrend },
    { ...ofHistory, id: "operations-of-runs", title: "Operations", order: 30, fits: ({ trends }) => trends.length > 0, render: renderOperations },
    { ...ofHistory, id: "runs", title: "Runs", order: 40, fits: ({ runs }) => runs.length > 0, render: renderRuns },
  );
})((globalThis.regimeter ||= {}));
