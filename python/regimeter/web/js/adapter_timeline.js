// SPDX-License-Identifier: Apache-2.0
// The timeline and the flame graph of a report: columns are unpacked, lanes are named and put in order; nothing is computed.
(function (app) {
  "use strict";

  const TIMELINE = ["start_ns", "lane", "name", "op", "launch", "correlation", "step", "bytes", "flags", "depth", "plain_depth", "duration_ns", "kind", "activity"];
  const FLAME = ["name", "role", "kind", "activity", "parent", "depth", "lane", "count", "grouped", "place", "total_host_ns", "self_host_ns", "total_device_ns", "self_device_ns"];
  const FAILED = 1;
  const NUMBERS = /^-?\d+$/;

  function lanesOf(data) {
    const { listOr, textOr } = app.shape;
    return listOr(data.lanes, "lanes").map((lane, i) => ({
      name: textOr(lane?.name, `lanes[${i}].name`, ""),
      process: lane?.process ?? -1,
      process_name: lane?.process_name ?? "",
      label: lane?.label ?? "",
      thread: lane?.thread ?? -1,
      device: lane?.device ?? -1,
      rank: lane?.rank ?? -1,
    }));
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

  /** What tells a lane from the others of a run, also of one that has grown since. */
  const keyOf = ({ rank, process, device, thread, name }) => JSON.stringify([rank, process, device, thread, name]);

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

  /** The lanes in their order, and the place in it of each. */
  function placeLanes(lanes, lane) {
    const spansOf = new Uint32Array(lanes.length);
    for (let i = 0; i < lane.length; i += 1) spansOf[lane[i]] += 1;
    const order = orderOf(lanes, spansOf);
    const placeOf = new Uint32Array(lanes.length);
    order.forEach((at, place) => (placeOf[at] = place));
    const ranked = new Set(lanes.map((one) => one.rank)).size > 1;
    return { placeOf, lanes: order.map((at) => ({ name: laneName(lanes[at]), note: laneNote(lanes[at], ranked), rank: lanes[at].rank, key: keyOf(lanes[at]) })) };
  }

  async function details(items) {
    const { unpack } = app.columns;
    return Promise.all(
      app.shape.listOr(items, "timeline.details").map(async (item, i) => {
        const place = `timeline.details[${i}]`;
        const columns = await Promise.all(
          item.columns.map(async (column) => ({ heading: column.heading, unit: column.unit, doc: column.doc, values: await unpack(column, item.count, `${place}.${column.heading}`) })),
        );
        return { title: item.title, row: await unpack(item.row, item.count, `${place}.row`), columns };
      }),
    );
  }

  /** Lanes of marks of the profiler that stand on no thread, such as "Record Window End", which would be lanes without
      anything in them. */
  function bareLanes({ lane, duration_ns: duration }, lanes) {
    const bare = lanes.map(({ device, thread }) => device < 0 && thread < 0);
    for (let i = 0; i < lane.length; i += 1) if (duration[i] !== 0) bare[lane[i]] = false;
    return bare;
  }

  /** Depths without those of bare lanes, and of lanes that came after the page was made. */
  function leaveOut(depths, lane, bare) {
    const made = new Int32Array(depths);
    for (let i = 0; i < lane.length; i += 1) if (bare[lane[i]] !== false) made[i] = -1;
    return made;
  }

  /** How many spans each row stands for, and of those that stand for several how long they ran. */
  async function blocks(table, count) {
    const stands = new Uint32Array(count).fill(1);
    const sums = new Map();
    if (table === undefined || table === null) return { stands, sums };
    const [row, spans, sum] = await Promise.all(["row", "spans", "sum_ns"].map((name) => app.columns.unpack(table[name], table.count, `timeline.blocks.${name}`)));
    row.forEach((at, i) => {
      stands[at] = spans[i];
      sums.set(at, sum[i]);
    });
    return { stands, sums };
  }

  function highest(column) {
    let top = -1;
    for (let i = 0; i < column.length; i += 1) if (column[i] > top) top = column[i];
    return top;
  }

  function failedOf(flags) {
    const failed = new Uint8Array(flags.length);
    for (let i = 0; i < flags.length; i += 1) failed[i] = flags[i] & FAILED;
    return failed;
  }

  /** The place of each row's lane; a loop, since `from` with a function takes ten times as long. */
  function placed(lane, placeOf) {
    const places = new Uint32Array(lane.length);
    for (let i = 0; i < lane.length; i += 1) places[i] = placeOf[lane[i]];
    return places;
  }

  /** Rows of a timeline from their packed columns, on the lanes that a file numbers. */
  async function rowsOf(table, place) {
    const columns = await app.columns.read(table, table.columns.span === undefined ? TIMELINE : [...TIMELINE, "span"], place);
    const { stands, sums } = await blocks(table.blocks, table.count);
    return { columns, stands, sums, details: await details(table.details) };
  }

  /** A timeline's rows with lanes in the places of `order`: {placeOf, bare}. */
  function lineOf(table, { columns, stands, sums, details: found }, { placeOf, bare }) {
    const depths = { all: leaveOut(columns.depth, columns.lane, bare), plain: leaveOut(columns.plain_depth, columns.lane, bare) };
    return {
      count: table.count,
      spans: table.spans,
      drawn: table.drawn,
      aggregated: table.aggregated,
      span: columns.span ?? null, // the number of each row's span, where a server knows it by that
      start: columns.start_ns,
      duration: columns.duration_ns,
      name: columns.name,
      lane: placed(columns.lane, placeOf),
      depth: depths.all,
      depths,
      kind: columns.kind,
      activity: columns.activity,
      stands,
      sums,
      op: columns.op,
      launch: columns.launch,
      correlation: columns.correlation,
      step: columns.step,
      bytes: columns.bytes,
      failed: failedOf(columns.flags),
      kinds: table.kinds,
      activities: table.activities,
      details: found,
      path: null,
      caution: null,
    };
  }

  async function timeline(data, names, lanes) {
    const table = app.shape.object(data.timeline, "timeline");
    const rows = await rowsOf(table, "timeline");
    if (table.count > 0) {
      app.shape.index(highest(rows.columns.name), names.length, "timeline.columns.name (largest value)");
      app.shape.index(highest(rows.columns.lane), lanes.length, "timeline.columns.lane (largest value)");
    }
    await app.pause();
    const bare = bareLanes(rows.columns, lanes);
    const { placeOf, lanes: ordered } = placeLanes(lanes, rows.columns.lane);
    const line = lineOf(table, rows, { placeOf, bare });
    line.tick = table.tick_ns ?? 1;
    line.path = data.path ? await app.criticalPath.read(data.path, placeOf) : null;
    line.tiles = data.tiles ? { ...data.tiles, placeOf, bare } : null;
    return { line, lanes: ordered };
  }

  async function flame(data, lanes) {
    if (!data.flame || data.flame.count === 0) return null;
    const tree = async (table, place) => ({ ...(await app.columns.read(table, FLAME, place)), rows: table.count, roles: table.roles, kinds: table.kinds, activities: table.activities, laneNames: lanes.map(laneName) });
    const { collapsed } = data.flame;
    return { ...(await tree(data.flame, "flame")), collapsed: collapsed ? await tree(collapsed, "flame.collapsed") : null };
  }

  /** The flame graph of the samples of host stacks, which has names and lanes of its own; null without samples. */
  async function samples(data, namesOf) {
    if (!data.samples) return null;
    const picture = await flame(data.samples, lanesOf(data.samples));
    return picture === null ? null : { ...picture, names: await namesOf(data.samples) };
  }

  app.adapterTimeline = { lanesOf, laneName, timeline, rowsOf, lineOf, flame, samples };
})((globalThis.regimeter ||= {}));
