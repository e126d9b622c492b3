// SPDX-License-Identifier: Apache-2.0
// regimeter.report (version 2), a recording or a trace as embedded by `regimeter report`, to the page's model. Nothing is
// computed here.
(function (app) {
  "use strict";

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

  async function memory(data) {
    const { objectOr, listOr, textOr } = app.shape;
    const table = objectOr(data.memory, "memory", {});
    const series = await app.memorySeries.read(table.series, "memory.series");
    const unavailable = listOr(table.unavailable, "memory.unavailable").map((item) => ({
      name: textOr(item?.name, "memory.unavailable", "memory"),
      reason: textOr(item?.reason, "memory.unavailable", "no reason recorded"),
    }));
    return { series, unavailable, laid: table.laid === true };
  }

  function cost(data) {
    const row = app.shape.objectOr(data.cost, "cost", null);
    if (row === null) return null;
    const number = (name) => app.shape.numberOrNull(row[name], `cost.${name}`);
    const total = number("total_ns");
    const starting = app.shape.numberOrNull(row.parts_ns?.starting, "cost.parts_ns.starting");
    return {
      scopes: number("scopes"),
      perScopeNs: number("per_scope_ns"),
      insideNs: total === null ? null : total - (starting ?? 0), // what the share is of
      startingNs: starting,
      share: number("share"),
      basis: app.shape.textOr(row.basis, "cost.basis", null),
    };
  }

  /** Reasons per field, from the file's names to the model's; an unknown name is kept as it is. */
  function reasons(data) {
    const given = app.shape.objectOr(data.unavailable, "unavailable", {});
    const byKey = {};
    for (const [name, reason] of Object.entries(given)) {
      const field = app.fields.find((one) => one.report === name);
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

  async function namesOf(data) {
    if (Array.isArray(data.names)) return data.names.map((name, i) => app.shape.textOr(name, `names[${i}]`, ""));
    return JSON.parse(await app.columns.unpackText(app.shape.object(data.names, "names"), "names"));
  }

  /** What a reader must know first: what the file says, and rows of the input that it lacks. */
  function cautions(data, anomalies) {
    const { countText } = app.units;
    const lost = (anomalies ?? []).filter((one) => one.lost > 0).map((one) => `${one.lost === 1 ? "One row of the input is" : `${countText(one.lost)} rows of the input are`} not in this report (${one.code}): ${one.detail}.`);
    return [...app.shape.listOr(data.cautions, "cautions").map((text, i) => app.shape.textOr(text, `cautions[${i}]`, "")), ...lost];
  }

  /** A row an operation, for recordings of scopes; none for a trace of others. */
  function scopes(data) {
    const { listOr, index, textOr } = app.shape;
    const operations = listOr(data.summary, "summary").map((row, i) => operation(row, `summary[${i}]`));
    return {
      scoped: data.summary !== undefined && data.summary !== null,
      operations,
      bottlenecks: listOr(data.bottlenecks, "bottlenecks").map((at, i) => index(at, operations.length, `bottlenecks[${i}]`)),
      unavailable: reasons(data),
      transferWithin: data.transfer_within === true,
      shareBasis: textOr(data.share_basis, "share_basis", "exclusive"),
      cost: cost(data),
      derived: [],
    };
  }

  async function read(data) {
    const { listOr, object, objectOr, textOr } = app.shape;
    const names = await namesOf(data);
    app.shortNames.use(listOr(data.short_names, "short_names"), names);
    const rawLanes = app.adapterTimeline.lanesOf(data);
    const found = anomalies(data);
    const drawn = data.timeline ? await app.adapterTimeline.timeline(data, names, rawLanes) : { line: null, lanes: [] };
    return {
      kind: "run",
      title: textOr(data.title, "title", null),
      created: textOr(data.created, "created", null),
      run: data.run === undefined ? { complete: true, file: null } : run(data),
      described: data.run !== undefined,
      ...scopes(data),
      facts: listOr(data.facts, "facts"),
      files: listOr(data.files, "files"),
      environment: objectOr(data.environment, "environment", {}),
      breakdown: data.breakdown === undefined ? null : listOr(data.breakdown, "breakdown"),
      straggler: data.straggler ?? null,
      regimes: regimes(data),
      roofline: data.roofline ? await app.roofline.read(data.roofline, names) : null,
      suggestions: suggestions(data),
      panels: listOr(data.panels, "panels").map((panel, i) => object(panel, `panels[${i}]`)),
      emptyPanels: listOr(data.empty_panels, "empty_panels"),
      names,
      lanes: drawn.lanes,
      timeline: drawn.line,
      flame: await app.adapterTimeline.flame(data, rawLanes),
      samples: await app.adapterTimeline.samples(data, namesOf),
      idle: data.timeline && data.idle ? await app.idleStrip.read(data) : null,
      memory: await memory(data),
      findings: data.findings === undefined || data.findings === null ? null : listOr(data.findings, "findings").map(String),
      anomalies: found,
      cautions: cautions(data, found),
    };
  }

  app.adapterReport = { read, run, cost, anomalies, regimes, suggestions };
})((globalThis.regimeter ||= {}));
