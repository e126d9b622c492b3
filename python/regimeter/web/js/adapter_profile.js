// SPDX-License-Identifier: Apache-2.0
// What profiler.export_json() writes, and the plainer documented form (entries and summary, no start times),
// to the page's model. Figures that the file lacks are derived from its entries and listed in `derived`.
(function (app) {
  "use strict";

  const MS = 1e6;
  const PARTS = { gpuNs: "gpu_time_ms", cpuNs: "cpu_time_ms", transferNs: "transfer_time_ms", overheadNs: "overhead_ms" };
  const OF_ENTRY = { ...PARTS, memoryAllocatedBytes: "memory_allocated_mb", memoryPeakBytes: "memory_peak_mb", gpuUtilization: "gpu_utilization" };
  const NOT_IN_FILE = "the file carries no value for it";

  function entry(item, place) {
    const { object, textOr, numberOrNull, wrong } = app.shape;
    object(item, place);
    const number = (name) => numberOrNull(item[name], `${place}.${name}`);
    const name = textOr(item.operation, `${place}.operation`, null);
    if (name === null) throw wrong(`${place}.operation`, "a text", null);
    const [start, end] = [number("start_time"), number("end_time")];
    const ms = number("duration_ms") ?? (start !== null && end !== null ? (end - start) * 1e3 : null);
    if (ms === null) throw wrong(`${place}.duration_ms`, "a number", null);
    const parts = Object.values(PARTS).map(number);
    return {
      name,
      startNs: start === null ? null : start * 1e9,
      durationNs: ms * MS,
      device: textOr(item.device, `${place}.device`, null),
      backend: textOr(item.backend, `${place}.backend`, null),
      parts: parts.map((value) => (value === null ? null : value * MS)),
      allocated: number("memory_allocated_mb"),
      peak: number("memory_peak_mb"),
      utilization: number("gpu_utilization"),
      failed: item.failed === true,
      depth: number("depth"),
      thread: item.thread === undefined || item.thread === null ? "main" : String(item.thread),
    };
  }

  /** Fills a figure that the summary lacks, and remembers that the page derived it. */
  function fill(made, key, value, derived) {
    if (made[key] !== null || value === null) return;
    made[key] = value;
    derived.add(key);
  }

  function operation(name, row, entries, derived) {
    const made = {};
    for (const field of app.fields) {
      const value = field.profile === undefined ? null : app.shape.numberOrNull(row[field.profile], `summary[${JSON.stringify(name)}].${field.profile}`);
      made[field.key] = value === null ? null : value * (field.scale ?? 1);
    }
    made.name = name;
    made.device = row.device ?? entries.find((one) => one.device !== null)?.device ?? null;
    made.backend = row.backend ?? entries.find((one) => one.backend !== null)?.backend ?? null;
    if (entries.length === 0) return made;
    for (const [key, value] of Object.entries(app.derive.durations(entries.map((one) => one.durationNs)))) fill(made, key, value, derived);
    made.failed ??= entries.filter((one) => one.failed).length;
    Object.keys(PARTS).forEach((key, at) => fill(made, key, app.derive.sumPresent(entries.map((one) => one.parts[at])), derived));
    const peak = app.derive.maxPresent(entries.map((one) => one.peak));
    fill(made, "memoryPeakBytes", peak === null ? null : peak * 1e6, derived);
    return made;
  }

  /** Shares of exclusive time where every operation has it, else of total time, which counts nested work twice. */
  function shares(operations, derived) {
    if (operations.every((one) => one.share !== null)) return "exclusive";
    const basis = operations.every((one) => one.exclusiveNs !== null) ? "exclusiveNs" : "totalNs";
    const all = app.derive.sumPresent(operations.map((one) => one[basis]));
    for (const one of operations) one.share = all > 0 && one[basis] !== null ? one[basis] / all : null;
    derived.add("share");
    return basis === "exclusiveNs" ? "exclusive" : "total";
  }

  /** Start times: from the file when every entry has one, else end to end in file order. */
  function starts(entries) {
    const start = new Float64Array(entries.length);
    if (entries.every((one) => one.startNs !== null)) {
      let first = Infinity;
      for (const one of entries) first = Math.min(first, one.startNs);
      entries.forEach((one, i) => (start[i] = one.startNs - first));
      return { start, measured: true };
    }
    let clock = 0;
    entries.forEach((one, i) => {
      start[i] = clock;
      clock += one.durationNs;
    });
    return { start, measured: false };
  }

  function timeline(entries, names, lanes) {
    const { start, measured } = starts(entries);
    const nameAt = new Map(names.map((name, i) => [name, i]));
    const laneAt = new Map([...new Set(entries.map((one) => one.thread))].map((thread, i) => [thread, i]));
    const duration = Float64Array.from(entries, (one) => one.durationNs);
    const lane = Uint32Array.from(entries, (one) => laneAt.get(one.thread));
    const given = measured && entries.every((one) => one.depth !== null);
    const depth = given ? Uint16Array.from(entries, (one) => one.depth) : app.derive.nesting(start, duration, lane, lanes.length);
    const { length } = entries;
    const unknown = new Int32Array(length).fill(-1);
    return {
      count: length,
      spans: length,
      drawn: length,
      aggregated: 0,
      start,
      duration,
      name: Uint32Array.from(entries, (one) => nameAt.get(one.name)),
      lane,
      depth,
      depths: { all: depth, plain: depth },
      failed: Uint8Array.from(entries, (one) => (one.failed ? 1 : 0)),
      stands: new Uint32Array(length).fill(1),
      sums: new Map(),
      kind: new Uint8Array(length),
      activity: new Uint8Array(length),
      kinds: ["scope"],
      activities: ["none"],
      op: new Uint32Array(length),
      launch: unknown,
      correlation: unknown,
      step: unknown,
      bytes: unknown,
      details: [],
      caution: measured ? null : "This file has no start times: operations are laid end to end in the order of the file. Lengths are true, positions are not.",
    };
  }

  function memory(entries, line, reasons) {
    const series = [];
    const unavailable = [];
    for (const [key, name] of [["allocated", "memory allocated per call"], ["peak", "memory peak per call"]]) {
      const at = entries.map((one, i) => i).filter((i) => entries[i][key] !== null);
      at.sort((a, b) => line.start[a] + line.duration[a] - line.start[b] - line.duration[b]);
      if (at.length === 0) unavailable.push({ name, reason: reasons[key === "peak" ? "memoryPeakBytes" : "memoryAllocatedBytes"] ?? NOT_IN_FILE });
      else series.push({ name, unit: "bytes", time: Float64Array.from(at, (i) => line.start[i] + line.duration[i]), value: Float64Array.from(at, (i) => entries[i][key] * 1e6) });
    }
    return { series, unavailable, laid: line.caution !== null };
  }

  // Figure of an entry -> figure of a summary that is made of it.
  const SUMMED = { gpu_time_ms: "total_gpu_time_ms", transfer_time_ms: "total_transfer_time_ms", overhead_ms: "total_overhead_ms", gpu_utilization: "avg_gpu_utilization" };

  /** A copy of entries and summary without the figures that are constants. */
  function withoutConstants(data, constants) {
    if (constants.length === 0) return data;
    const without = (row, names) => (typeof row === "object" && row !== null ? { ...row, ...Object.fromEntries(names.map((name) => [name, null])) } : row);
    const summed = constants.map((name) => SUMMED[name]);
    const summary = Object.fromEntries(Object.entries(data.summary ?? {}).map(([name, row]) => [name, without(row, summed)]));
    return { ...data, entries: data.entries.map((row) => without(row, constants)), summary };
  }

  /** The file states its reasons by the declared device and the name in an entry; a GPU's say more. */
  function reasonsFor(operations, data) {
    const { objectOr } = app.shape;
    const given = objectOr(data.unavailable, "unavailable", {});
    const stated = { ...objectOr(given.cpu, "unavailable.cpu", {}), ...objectOr(given.gpu, "unavailable.gpu", {}) };
    const reasons = {};
    for (const { key } of app.fields) {
      if (Object.hasOwn(OF_ENTRY, key) && Object.hasOwn(stated, OF_ENTRY[key])) reasons[key] = String(stated[OF_ENTRY[key]]);
      else if (operations.every((one) => one[key] === null)) reasons[key] = NOT_IN_FILE;
    }
    return reasons;
  }

  async function read(given) {
    const { listOr, objectOr } = app.shape;
    const constants = app.fixedShares.fixedFigures(listOr(given.entries, "entries"));
    const data = withoutConstants(given, constants);
    const entries = listOr(data.entries, "entries").map((item, i) => entry(item, `entries[${i}]`));
    const summary = objectOr(data.summary, "summary", {});
    const names = [...new Set([...Object.keys(summary), ...entries.map((one) => one.name)])];
    const grouped = new Map(names.map((name) => [name, []]));
    for (const one of entries) grouped.get(one.name).push(one);
    const derived = new Set();
    const operations = names.map((name) => operation(name, objectOr(Object.hasOwn(summary, name) ? summary[name] : null, `summary[${JSON.stringify(name)}]`, {}), grouped.get(name), derived));
    const basis = shares(operations, derived);
    const lanes = [...new Set(entries.map((one) => one.thread))].map((name) => ({ name: /^-?\d+$/.test(name) ? `thread ${name}` : name, note: "", rank: -1 }));
    const line = entries.length === 0 ? null : timeline(entries, names, lanes);
    const reasons = reasonsFor(operations, data);
    const cautions = [];
    if (basis === "total") cautions.push("This file has no exclusive times: shares are of total time, and nested operations count twice.");
    if (constants.length > 0) cautions.push("Figures of this file are one fixed part of every duration: constants, not measurements. They are left out.");
    for (const field of app.fields) if (constants.some((name) => SUMMED[name] === field.profile)) reasons[field.key] = app.fixedShares.reason;
    let end = 0;
    if (line !== null) for (let i = 0; i < line.count; i += 1) end = Math.max(end, line.start[i] + line.duration[i]);
    const measured = line !== null && line.caution === null;
    return {
      kind: "run",
      scoped: true,
      described: true,
      facts: [],
      files: [],
      breakdown: null,
      regimes: null,
      suggestions: null,
      panels: [],
      emptyPanels: [],
      flame: null,
      samples: null,
      idle: null,
      title: typeof data.title === "string" ? data.title : null,
      created: typeof data.created === "string" ? data.created : null,
      run: { source: "export", file: null, durationNs: measured ? end : null, startedUnixNs: null, spanCount: entries.length || app.derive.sumPresent(operations.map((one) => one.calls)), laneCount: lanes.length || null, complete: true },
      cost: app.adapterReport.cost(data),
      environment: objectOr(data.environment, "environment", {}),
      operations,
      bottlenecks: null,
      unavailable: reasons,
      lanes,
      names,
      timeline: line,
      memory: line === null ? { series: [], unavailable: [{ name: "memory", reason: NOT_IN_FILE }] } : memory(entries, line, reasons),
      anomalies: app.adapterReport.anomalies(data),
      transferWithin: data.format === "regimeter.profile",
      shareBasis: basis,
      derived: [...derived],
      cautions,
    };
  }

  app.adapterProfile = { read };
})((globalThis.regimeter ||= {}));
