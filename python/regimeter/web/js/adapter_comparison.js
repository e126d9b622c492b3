// SPDX-License-Identifier: Apache-2.0
// regimeter.comparison (version 1), a comparison as exported or as embedded by `regimeter compare --format html`, to the
// page's model. What only the page carries (samples, trends, flame graph, sentences) is null or empty in an export.
(function (app) {
  "use strict";

  const NUMBERS = ["baseline", "current", "change_percent", "low_percent", "high_percent", "q", "least_q", "share", "detectable_percent", "run_change_percent", "impact_percent"];
  const COLUMNS = ["name", "parent", "depth", "baseline_ns", "current_ns", "baseline_calls", "current_calls"];

  function row(value, place) {
    const given = app.shape.object(value, place);
    const name = app.shape.textOr(given.operation, `${place}.operation`, "");
    const metric = app.shape.textOr(given.metric, `${place}.metric`, "time");
    const made = {
      name,
      metric,
      key: metric === "time" ? name : `${name} \u00b7 ${metric}`,
      unit: app.shape.textOr(given.unit, `${place}.unit`, "s"),
      verdict: app.shape.textOr(given.change_type, `${place}.change_type`, "invalid"),
      conclusive: given.conclusive === true,
      reason: app.shape.textOr(given.reason, `${place}.reason`, ""),
      gates: given.gates !== false,
      fails: given.fails === true,
      data: app.shape.textOr(given.data, `${place}.data`, ""),
      note: app.shape.textOr(given.note, `${place}.note`, ""),
    };
    made.own_note = app.shape.textOr(given.own_note, `${place}.own_note`, made.note);
    for (const key of NUMBERS) made[key] = app.shape.numberOrNull(given[key], `${place}.${key}`);
    made.calls = calls(given, place);
    return made;
  }

  /** Calls of a process on both sides, null where a side has none. */
  function calls(given, place) {
    const number = (key) => app.shape.numberOrNull(given[key], `${place}.${key}`) ?? 0;
    const launches = [number("baseline_launches"), number("current_launches")];
    const counts = [number("baseline_calls"), number("current_calls")];
    return launches[0] > 0 && launches[1] > 0 && counts[0] + counts[1] > 0 ? [counts[0] / launches[0], counts[1] / launches[1]] : null;
  }

  async function flame(given) {
    if (given === undefined || given === null) return null;
    const columns = await app.columns.read(given, COLUMNS, "flame");
    const plain = new Uint8Array(given.count);
    return { ...columns, role: plain, roles: ["span"], kind: plain, kinds: ["other"], grouped: plain, count: plain, metric: given.metric, names: app.shape.list(given.names, "flame.names") };
  }

  async function read(data) {
    const { shape } = app;
    const rowsOf = (values, name) => values.map((value, i) => row(value, `${name}[${i}]`));
    const rows = rowsOf(shape.list(data.comparisons, "comparisons"), "comparisons");
    return {
      kind: "comparison",
      title: shape.textOr(data.title, "title", "Comparison"),
      created: data.created ?? null,
      run: { complete: true, file: null },
      described: false, // has no single environment and no anomalies of its own
      environment: {},
      facts: [],
      cautions: [],
      operations: rows.map(({ key, share }) => ({ name: key, share })),
      rows,
      wholes: rowsOf(shape.listOr(data.wholes, "wholes"), "wholes"),
      rowsInAll: shape.numberOrNull(data.rows_in_all, "rows_in_all") ?? rows.length,
      level: shape.numberOrNull(data.level, "level") ?? 0.95,
      threshold: shape.numberOrNull(data.threshold_percent, "threshold_percent") ?? 5,
      summary: shape.object(data.summary, "summary"),
      outcome: shape.textOr(data.outcome, "outcome", "nothing compared"),
      verdict: shape.textOr(data.verdict, "verdict", ""),
      sentence: shape.textOr(data.sentence, "sentence", ""),
      nothing: shape.textOr(data.nothing_compared, "nothing_compared", ""),
      facts_text: shape.listOr(data.facts_text, "facts_text"),
      commonNotes: shape.listOr(data.common_notes, "common_notes"),
      basis: shape.listOr(data.basis_text, "basis_text"),
      next: shape.listOr(data.next_text, "next_text"),
      warnings: shape.listOr(data.warnings, "warnings"),
      differences: shape.listOr(data.environment_differences, "environment_differences"),
      samples: new Map(shape.listOr(data.samples, "samples").map((one) => [rows[shape.index(one.row, rows.length, "samples.row")].key, one])),
      history: new Map(Object.entries(shape.objectOr(data.history, "history", {}))),
      flame: await flame(data.flame),
    };
  }

  app.adapterComparison = { read };
})((globalThis.regimeter ||= {}));
