// SPDX-License-Identifier: Apache-2.0
// regimeter.history (version 1), the runs of a history and how each operation went over them, to the page's model.
(function (app) {
  "use strict";

  function trend(value, place) {
    const { object, list, textOr, numberOrNull } = app.shape;
    const given = object(value, place);
    return {
      ...given,
      operation: textOr(given.operation, `${place}.operation`, ""),
      environment: textOr(given.environment, `${place}.environment`, ""),
      points: list(given.points, `${place}.points`),
      changes: list(given.changes, `${place}.changes`),
      newest: numberOrNull(given.newest, `${place}.newest`),
      change: numberOrNull(given.change_percent, `${place}.change_percent`),
      changedIn: numberOrNull(given.changed_in, `${place}.changed_in`),
    };
  }

  function read(data) {
    const { listOr, textOr, numberOrNull } = app.shape;
    const trends = listOr(data.trends, "trends").map((one, i) => trend(one, `trends[${i}]`));
    const runs = listOr(data.runs, "runs");
    return {
      kind: "history",
      title: textOr(data.title, "title", "History"),
      created: data.created ?? null,
      run: { complete: true, file: null },
      described: false,
      environment: {},
      facts: [],
      cautions: [],
      operations: [...new Set(trends.map(({ operation }) => operation))].map((name) => ({ name, share: null })),
      sentence: textOr(data.sentence, "sentence", ""),
      why: textOr(data.why, "why", ""),
      unit: textOr(data.unit, "unit", ""),
      metric: textOr(data.metric, "metric", "time"),
      trends,
      trendsInAll: numberOrNull(data.trends_in_all, "trends_in_all") ?? trends.length,
      runs,
      runsInAll: numberOrNull(data.runs_in_all, "runs_in_all") ?? runs.length,
    };
  }

  app.adapterHistory = { read };
})((globalThis.regimeter ||= {}));
