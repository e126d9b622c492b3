// SPDX-License-Identifier: Apache-2.0
// regimeter.trace (version 1), an imported trace as embedded by `regimeter report`, to the page's model. Columns are
// unpacked, lanes are named and put in order; nothing is computed.
(function (app) {
  "use strict";

  const TIMELINE = ["start_ns", "lane", "name", "op", "launch", "correlation", "step", "bytes", "flags", "depth", "plain_depth", "duration_ns", "kind", "activity", "count", "sum_ns"];
  const FAILED = 1;
  const NUMBERS = /^-?\d+$/;

  /** Unpacks the named columns of a packed table; all have `count` values. */
  async function columnsOf(table, wanted, place) {
    const { object } = app.shape;
    const source = object(table.columns, `${place}.columns`);
    const made = {};
    await Promise.all(
      wanted.map(async (name) => {
        const at = `${place}.columns.${name}`;
        made[name] = await app.columns.unpack(object(source[name], at), table.count, at);
      }),
    );
    return made;
  }

  function laneName(lane) {
    const plain = NUMBERS.test(lane.name) || lane.name === "";
    if (lane.device >= 0) {
      const stream = plain ? `stream ${lane.thread >= 0 ? lane.thread : lane.name}` : lane.name.trim();
      return `${lane.label || `GPU ${lane.device}`} · ${stream}`;
    }
    if (lane.name === "" && lane.thread < 0) return "no thread";
    return plain ? `thread ${lane.name || lane.thread}` : lane.name.trim();
  }

  function laneNote(lane, ranked) {
    const process = lane.process_name || (lane.process >= 0 ? `process ${lane.process}` : "");
    const parts = [ranked && lane.rank >= 0 ? `rank ${lane.rank}` : "", lane.device >= 0 ? "" : process];
    return parts.filter(Boolean).join(", ");
  }

  /** Display order: by rank; device streams before host threads, busy threads before quiet ones. */
  function orderOf(lanes, spansOf) {
    const order = lanes.map((_, i) => i);
    const host = (lane) => (lane.device >= 0 ? 0 : 1);
    return order.sort((i, k) => {
      const [a, b] = [lanes[i], lanes[k]];
      if (a.rank !== b.rank) return a.rank - b.rank;
      if (host(a) !== host(b)) return host(a) - host(b);
      if (host(a) === 0) return a.device - b.device || a.thread - b.thread;
      return spansOf[k] - spansOf[i] || i - k;
    });
  }

  function placeLanes(lanes, lane) {
    const spansOf = new Uint32Array(lanes.length);
    for (const at of lane) spansOf[at] += 1;
    const order = orderOf(lanes, spansOf);
    const placeOf = new Uint32Array(lanes.length);
    order.forEach((at, place) => (placeOf[at] = place));
    const ranked = new Set(lanes.map((one) => one.rank)).size > 1;
    return {
      placeOf,
      lanes: order.map((at) => ({ name: laneName(lanes[at]), note: laneNote(lanes[at], ranked), rank: lanes[at].rank, process: null, thread: null })),
    };
  }

  async function details(items, names) {
    const { unpack } = app.columns;
    return Promise.all(
      app.shape.listOr(items, "timeline.details").map(async (item, i) => {
        const place = `timeline.details[${i}]`;
        const columns = await Promise.all(
          item.columns.map(async (column) => ({ heading: column.heading, unit: column.unit, doc: column.doc, values: await unpack(column, item.count, `${place}.${column.heading}`) })),
        );
        return { title: item.title, row: await unpack(item.row, item.count, `${place}.row`), columns, names };
      }),
    );
  }

  /** Marks of the profiler that stand on no thread, such as "Record Window End", would be a lane without anything in it. */
  function leaveOutMarks(columns, lanes) {
    const longest = new Float64Array(lanes.length);
    columns.lane.forEach((at, i) => (longest[at] = Math.max(longest[at], columns.duration_ns[i])));
    const bare = lanes.map((lane, at) => lane.device < 0 && lane.thread < 0 && lane.name === "" && longest[at] === 0);
    for (const depths of ["depth", "plain_depth"]) columns[depths] = Int32Array.from(columns[depths], (depth, i) => (bare[columns.lane[i]] ? -1 : depth));
  }

  async function timeline(data, names, lanes) {
    const table = app.shape.object(data.timeline, "timeline");
    const columns = await columnsOf(table, TIMELINE, "timeline");
    leaveOutMarks(columns, lanes);
    const { placeOf, lanes: placed } = placeLanes(lanes, columns.lane);
    const line = {
      count: table.count,
      spans: table.spans,
      start: columns.start_ns,
      duration: columns.duration_ns,
      sum: columns.sum_ns,
      name: columns.name,
      lane: Uint32Array.from(columns.lane, (at) => placeOf[at]),
      depth: columns.depth,
      depths: { all: columns.depth, plain: columns.plain_depth },
      kind: columns.kind,
      activity: columns.activity,
      stands: columns.count,
      op: columns.op,
      launch: columns.launch,
      correlation: columns.correlation,
      step: columns.step,
      bytes: columns.bytes,
      failed: Uint8Array.from(columns.flags, (bits) => bits & FAILED),
      kinds: table.kinds,
      activities: table.activities,
      details: await details(table.details, names),
    };
    return { line, lanes: placed };
  }

  async function flame(data, lanes) {
    if (!data.flame || data.flame.count === 0) return null;
    const wanted = ["name", "role", "kind", "parent", "depth", "lane", "count", "grouped", "total_host_ns", "self_host_ns", "total_device_ns", "self_device_ns"];
    const columns = await columnsOf(data.flame, wanted, "flame");
    return { ...columns, rows: data.flame.count, roles: data.flame.roles, kinds: data.flame.kinds, laneNames: lanes.map(laneName) };
  }

  async function namesOf(data) {
    if (Array.isArray(data.names)) return data.names;
    return JSON.parse(await app.columns.unpackText(app.shape.object(data.names, "names"), "names"));
  }

  function cautions(anomalies) {
    const { countText } = app.units;
    return anomalies.filter((one) => one.lost > 0).map((one) => `${one.lost === 1 ? "One row of the input is" : `${countText(one.lost)} rows of the input are`} not in this report (${one.code}): ${one.detail}.`);
  }

  async function read(data) {
    const { listOr, objectOr, textOr, object } = app.shape;
    const names = await namesOf(data);
    const rawLanes = listOr(data.lanes, "lanes");
    const anomalies = app.adapterReport.anomalies(data) ?? [];
    const drawn = data.timeline ? await timeline(data, names, rawLanes) : { line: null, lanes: [] };
    return {
      kind: "trace",
      title: textOr(data.title, "title", null),
      created: textOr(data.created, "created", null),
      run: data.run === undefined ? { complete: true, file: null } : app.adapterReport.run(data),
      described: data.run !== undefined,
      facts: listOr(data.facts, "facts"),
      files: listOr(data.files, "files"),
      environment: objectOr(data.environment, "environment", {}),
      cost: null,
      operations: [],
      bottlenecks: [],
      unavailable: {},
      breakdown: data.breakdown === undefined ? null : listOr(data.breakdown, "breakdown"),
      regimes: app.adapterReport.regimes(data),
      suggestions: app.adapterReport.suggestions(data),
      panels: listOr(data.panels, "panels").map((panel, i) => object(panel, `panels[${i}]`)),
      names,
      lanes: drawn.lanes,
      timeline: drawn.line,
      flame: await flame(data, rawLanes),
      memory: { series: [], unavailable: [] },
      anomalies,
      shareBasis: "exclusive",
      derived: [],
      cautions: cautions(anomalies),
    };
  }

  app.adapterTrace = { read, columnsOf, laneName };
})((globalThis.regimeter ||= {}));
