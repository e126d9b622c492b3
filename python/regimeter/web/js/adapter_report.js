// SPDX-License-Identifier: Apache-2.0
// regimeter.report (version 1), as embedded by `regimeter report`, to the page's model. Nothing is computed here.
(function (app) {
  "use strict";

  const COLUMNS = {
    start_ns: Float64Array,
    duration_ns: Float64Array,
    name: Uint32Array,
    lane: Uint32Array,
    depth: Uint16Array,
    failed: Uint8Array,
  };

  function operation(row, place) {
    const { object, numberOrNull, textOr } = app.shape;
    object(row, place);
    const made = {};
    for (const field of app.fields) {
      const at = `${place}.${field.report}`;
      made[field.key] = field.kind === "text" ? textOr(row[field.report], at, null) : numberOrNull(row[field.report], at);
    }
    if (made.name === null) throw app.shape.wrong(`${place}.operation`, "a text", null);
    return made;
  }

  function highest(column) {
    let top = -1;
    for (const value of column) if (value > top) top = value;
    return top;
  }

  async function timeline(data, nameCount, laneCount) {
    if (data.timeline === undefined || data.timeline === null) return null;
    const { object, numberOrNull, textOr, index } = app.shape;
    const table = object(data.timeline, "timeline");
    const columns = await app.columns.read(table, COLUMNS, "timeline");
    if (columns.count > 0) {
      index(highest(columns.name), nameCount, "timeline.name (largest value)");
      index(highest(columns.lane), laneCount, "timeline.lane (largest value)");
    }
    return {
      count: columns.count,
      start: columns.start_ns,
      duration: columns.duration_ns,
      name: columns.name,
      lane: columns.lane,
      depth: columns.depth,
      failed: columns.failed,
      omittedCount: numberOrNull(table.omitted_count, "timeline.omitted_count") ?? 0,
      omittedNs: numberOrNull(table.omitted_ns, "timeline.omitted_ns"),
      rule: textOr(table.rule, "timeline.rule", null),
      caution: null,
    };
  }

  /** A missing sample is a gap in the line (NaN), never a zero. */
  const numberOrGap = (value) => (typeof value === "number" ? value : NaN);

  function memory(data) {
    const { objectOr, listOr, object, textOr, wrong } = app.shape;
    const table = objectOr(data.memory, "memory", {});
    const series = listOr(table.series, "memory.series").map((item, i) => {
      const place = `memory.series[${i}]`;
      object(item, place);
      const time = Float64Array.from(app.shape.list(item.time_ns, `${place}.time_ns`), numberOrGap);
      const value = Float64Array.from(app.shape.list(item.value, `${place}.value`), numberOrGap);
      if (time.length !== value.length) throw wrong(place, "time_ns and value of the same length", item.value);
      return { name: textOr(item.name, `${place}.name`, "memory"), unit: textOr(item.unit, `${place}.unit`, "bytes"), time, value };
    });
    const unavailable = listOr(table.unavailable, "memory.unavailable").map((item) => ({
      name: textOr(item?.name, "memory.unavailable", "memory"),
      reason: textOr(item?.reason, "memory.unavailable", "no reason recorded"),
    }));
    return { series, unavailable };
  }

  function cost(data) {
    const row = app.shape.objectOr(data.cost, "cost", null);
    if (row === null) return null;
    const number = (name) => app.shape.numberOrNull(row[name], `cost.${name}`);
    return {
      scopes: number("scopes"),
      perScopeNs: number("per_scope_ns"),
      totalNs: number("total_ns"),
      share: number("share"),
      basis: app.shape.textOr(row.basis, "cost.basis", null),
    };
  }

  /** Reasons per field, from the file's names to the model's; an unknown name is kept as it is. */
  function reasons(data) {
    const given = app.shape.objectOr(data.unavailable, "unavailable", {});
    const byKey = {};
    for (const [name, reason] of Object.entries(given)) {
      const field = app.fields.find((one) => one.report === name || one.profile === name);
      byKey[field === undefined ? name : field.key] = String(reason);
    }
    return byKey;
  }

  /** null where the file does not speak of anomalies: that is not the same as none. */
  function anomalies(data) {
    if (data.anomalies === undefined || data.anomalies === null) return null;
    return app.shape.listOr(data.anomalies, "anomalies").map((item, i) => {
      app.shape.object(item, `anomalies[${i}]`);
      return {
        code: app.shape.textOr(item.code, `anomalies[${i}].code`, "unnamed"),
        count: app.shape.numberOrNull(item.count, `anomalies[${i}].count`),
        detail: app.shape.textOr(item.detail, `anomalies[${i}].detail`, ""),
        lost: app.shape.numberOrNull(item.lost, `anomalies[${i}].lost`) ?? 0,
        firstNs: app.shape.numberOrNull(item.first_ns, `anomalies[${i}].first_ns`),
        firstOffset: app.shape.numberOrNull(item.first_offset, `anomalies[${i}].first_offset`),
      };
    });
  }

  /** null where the file holds none, as one from before there were suggestions. */
  function suggestions(data) {
    if (data.suggestions === undefined || data.suggestions === null) return null;
    return app.shape.list(data.suggestions, "suggestions").map((one, i) => app.shape.object(one, `suggestions[${i}]`));
  }

  /** null where the file holds none, or nothing that could be judged. */
  function regimes(data) {
    if (data.regimes === undefined || data.regimes === null) return null;
    const { object, listOr } = app.shape;
    const found = object(data.regimes, "regimes");
    return { ...found, devices: listOr(found.devices, "regimes.devices"), kernels: listOr(found.kernels, "regimes.kernels"), scopes: listOr(found.scopes, "regimes.scopes") };
  }

  function run(data) {
    const row = app.shape.objectOr(data.run, "run", {});
    const number = (name) => app.shape.numberOrNull(row[name], `run.${name}`);
    return {
      source: app.shape.textOr(row.source, "run.source", "unknown"),
      file: app.shape.textOr(row.file, "run.file", null),
      durationNs: number("duration_ns"),
      startedUnixNs: number("started_unix_ns"),
      spanCount: number("span_count"),
      laneCount: number("lane_count"),
      complete: row.complete !== false,
    };
  }

  async function read(data) {
    const { list, listOr, textOr, objectOr, index } = app.shape;
    const operations = list(data.summary, "summary").map((row, i) => operation(row, `summary[${i}]`));
    const names = listOr(data.names, "names").map((name, i) => textOr(name, `names[${i}]`, ""));
    const lanes = listOr(data.lanes, "lanes").map((lane, i) => ({
      name: textOr(lane?.name, `lanes[${i}].name`, `lane ${i}`),
      process: lane?.process ?? null,
      thread: lane?.thread ?? null,
    }));
    return {
      title: textOr(data.title, "title", null),
      created: textOr(data.created, "created", null),
      run: run(data),
      cost: cost(data),
      environment: objectOr(data.environment, "environment", {}),
      operations,
      bottlenecks: listOr(data.bottlenecks, "bottlenecks").map((at, i) => index(at, operations.length, `bottlenecks[${i}]`)),
      regimes: regimes(data),
      suggestions: suggestions(data),
      unavailable: reasons(data),
      lanes,
      names,
      timeline: await timeline(data, names.length, lanes.length),
      memory: memory(data),
      anomalies: anomalies(data),
      shareBasis: textOr(data.share_basis, "share_basis", "exclusive"),
      derived: [],
      cautions: listOr(data.cautions, "cautions").map((text, i) => textOr(text, `cautions[${i}]`, "")),
    };
  }

  app.adapterReport = { read, run, cost, reasons, anomalies, regimes, suggestions };
})((globalThis.regimeter ||= {}));
