// SPDX-License-Identifier: Apache-2.0
// The pages of a run and of a comparison: which views, in this order, and which tables of analyses each holds, and its key
// after "g". A view
// that no page names is on the first one, a table that none names on the page of the trace. A page without any is not offered.
(function (app) {
  "use strict";

  const RUN = [
    { id: "overview", title: "Overview", key: "o", views: ["limit", "findings", "overview", "breakdown", "shares", "bottlenecks", "timeline:scoped", "memory:scoped", "split", "statistics"], tables: [] },
    { id: "kernels", title: "Kernels", key: "k", views: ["analyses", "flame:kernels"], tables: ["kernels", "short-kernels", "sequences", "sequence-kernels", "flops", "counters", "counter-flops", "stalls"] },
    { id: "operators", title: "Operators", key: "h", views: ["statistics", "analyses", "flame"], tables: ["operators", "scopes", "annotations", "steps", "tree", "lines"] },
    { id: "regimes", title: "Regimes", key: "r", views: ["regimes", "roofline", "analyses"], tables: ["kernel-regimes", "region-regimes"] },
    { id: "memory", title: "Memory", key: "m", views: ["memory", "analyses"], tables: ["allocations", "pools", "shortages", "memcpy", "memory-bandwidth", "bandwidth-series"] },
    { id: "ranks", title: "Communication and ranks", key: "c", views: ["breakdown:ranked", "analyses"], tables: ["communication", "collectives", "ranks", "stragglers", "collective-instances", "clock-offsets"] },
    { id: "idle", title: "Idle and launches", key: "i", views: ["analyses", "timeline:idle"], tables: ["idle", "idle-gaps", "launches", "queues", "queue-series", "sync"] },
    { id: "path", title: "Critical path", key: "p", views: ["timeline:path", "analyses"], tables: ["critical-path", "critical-path-top", "critical-path-segments", "critical-path-ties"] },
    { id: "suggestions", title: "Suggestions", key: "s", views: ["roadmap"], tables: [] },
    { id: "trace", title: "Trace", key: "t", views: ["timeline", "analyses", "facts", "cost", "anomalies", "environment"], tables: [] },
  ];
  const COMPARISON = [
    { id: "overview", title: "Overview", key: "o", views: ["verdict", "limit", "operations", "basis"], tables: [] },
    { id: "distributions", title: "Distributions", key: "d", views: ["samples"], tables: [] },
    { id: "flame", title: "Flame graph", key: "f", views: ["flame-diff"], tables: [] },
    { id: "regimes", title: "Regimes", key: "r", views: ["regimes", "roofline"], tables: [] },
    { id: "suggestions", title: "Suggestions", key: "s", views: ["roadmap"], tables: [] },
    { id: "environments", title: "Environments", key: "e", views: ["environments", "environment", "anomalies"], tables: [] },
  ];
  const HISTORY = [
    { id: "overview", title: "Overview", key: "o", views: ["changed", "trend", "operations-of-runs"], tables: [] },
    { id: "runs", title: "Runs", key: "u", views: ["runs"], tables: [] },
  ];
  const COMPILE = [
    { id: "overview", title: "Overview", key: "o", views: ["limit", "figures", "advice", "empty"], tables: [] },
    { id: "breaks", title: "Breaks and recompiles", key: "b", views: ["breaks", "recompiles"], tables: [] },
    { id: "kernels", title: "Kernels", key: "k", views: ["kernels"], tables: [] },
    { id: "frames", title: "Functions and phases", key: "f", views: ["frames", "phases", "caches"], tables: [] },
    { id: "log", title: "Processes and log", key: "l", views: ["processes", "logged"], tables: [] },
  ];
  const MEMORY = [
    { id: "overview", title: "Overview", key: "o", views: ["limit", "levels", "readings", "figures", "categories", "unavailable", "empty"], tables: [] },
    { id: "peak", title: "At the peak", key: "p", views: ["allocations", "scopes", "kinds"], tables: [] },
    { id: "growth", title: "Growth", key: "g", views: ["growth"], tables: [] },
    { id: "pools", title: "Pools and segments", key: "s", views: ["pools", "segments", "cuda-pools"], tables: [] },
    { id: "shortages", title: "Shortages", key: "x", views: ["shortages"], tables: [] },
  ];
  const WORKLOADS = [
    { id: "overview", title: "Overview", key: "o", views: ["limit", "kernels", "host-calls", "alerts", "advice", "about", "empty"], tables: [] },
    { id: "lists", title: "Slowest and most variable", key: "l", views: ["slowest", "variable"], tables: [] },
  ];
  const MONITOR = [
    { id: "overview", title: "Overview", key: "o", views: ["limit", "now", "rates", "own-cost", "resident", "step-time", "busy", "empty"], tables: [] },
    { id: "operations", title: "Operations", key: "h", views: ["operations"], tables: [] },
    { id: "alerts", title: "Alerts", key: "l", views: ["alerts", "changes"], tables: [] },
    { id: "ring", title: "The last minutes", key: "m", views: ["ring", "triggers", "copies"], tables: [] },
    { id: "devices", title: "Devices", key: "d", views: ["devices"], tables: [] },
    { id: "losses", title: "Losses", key: "x", views: ["losses"], tables: [] },
  ];
  const SWEEP = [
    { id: "overview", title: "Overview", key: "o", views: ["limit", "roofline", "regime-map", "empty"], tables: [] },
    { id: "sizes", title: "By size", key: "z", views: ["time", "throughput", "bandwidth"], tables: [] },
  ];
  const KINDS = { comparison: COMPARISON, history: HISTORY, compile: COMPILE, memory: MEMORY, workloads: WORKLOADS, monitor: MONITOR, sweep: SWEEP };
  const ALL = { id: "all", title: "All on one page", key: "a" };
  const ELSE = "trace";

  // A view may be on a page under a condition: "timeline:path" is there where there is a path.
  const CONDITIONS = {
    scoped: (model) => model.scoped === true,
    idle: (model) => Boolean(model.idle),
    path: (model) => Boolean(model.timeline?.path),
    ranked: (model) => new Set((model.breakdown ?? []).map(({ rank }) => rank)).size > 1,
    kernels: (model) => (model.panels ?? []).some(({ name }) => name === "kernels"),
  };

  /** The pages that a model has something for: {id, title, key, views: Set, tables: Set}, and all of it on one as the last;
      none where it is too little to be divided. `views` are the names of those that the model has. */
  function offered(model, views) {
    const known = KINDS[model.pages ?? model.kind] ?? RUN;
    if (known === RUN && model.described === false) return [];
    const tables = (model.panels ?? []).map(({ name }) => name);
    const named = new Set(known.flatMap((page) => page.tables));
    // One section a device or a trend: "levels" stands for "levels-host" and "levels-device-0".
    const listed = new Set(known.flatMap((page) => page.views.map((view) => view.split(":")[0])));
    const expand = (view) => [view, ...views.filter((one) => one.startsWith(`${view}-`) && !listed.has(one))];
    const placed = new Set(known.flatMap((page) => page.views.flatMap((view) => expand(view.split(":")[0]))));
    const made = known.map((page, i) => {
      const wanted = page.views.map((view) => view.split(":")).filter(([, condition]) => condition === undefined || CONDITIONS[condition](model)).flatMap(([view]) => expand(view));
      const more = i === 0 ? views.filter((view) => !placed.has(view)) : [];
      const own = tables.filter((name) => page.tables.includes(name) || (page.id === ELSE && !named.has(name)));
      const shown = new Set([...wanted, ...more].filter((view) => views.includes(view) && (view !== "analyses" || own.length > 0)));
      // What is on a page under a condition stands beside something else: a path on the timeline beside its tables.
      if (!page.views.some((view) => !view.includes(":") && shown.has(view))) shown.clear();
      return { ...page, views: shown, tables: new Set(own) };
    });
    const kept = made.filter((page) => page.views.size > 0);
    return kept.length < 2 ? [] : [...kept, { ...ALL, views: new Set(views), tables: new Set(tables) }];
  }

  /** The page of a table of an analysis, "" where none is offered with it. */
  const ofTable = (pages, table) => pages.find((page) => page.tables.has(table))?.id ?? "";

  /** Which of the pages an address means: the one that it names, else that of what it names, else the first. */
  function meant(pages, state) {
    const named = pages.find(({ id }) => id === state.page);
    if (named) return named;
    const wanted = state.table ? ofTable(pages, state.table) : "";
    const part = Object.keys(app.deepLink?.state(state).named ?? {}).length > 0 ? ELSE : "";
    return pages.find(({ id }) => id === (wanted || part)) ?? pages.find(({ views }) => views.has(state.section)) ?? pages[0];
  }

  /** A table of an analysis as a reader is told of it. */
  const titleOf = (table) => table.replaceAll("-", " ").replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());

  app.pages = { offered, ofTable, titleOf, meant, RUN, KINDS };
})((globalThis.regimeter ||= {}));
