// SPDX-License-Identifier: Apache-2.0
// One way in: text or data of any known form to the page's model, or an InputFault.
(function (app) {
  "use strict";

  const FORMATS = [
    { name: "regimeter.report", version: 2, fits: () => false, adapter: () => app.adapterReport },
    { name: "regimeter.comparison", version: 1, fits: () => false, adapter: () => app.adapterComparison },
    { name: "regimeter.history", version: 1, fits: () => false, adapter: () => app.adapterHistory },
    { name: "regimeter.document", version: 1, fits: () => false, adapter: () => app.adapterDocument },
    { name: "regimeter.profile", version: 1, fits: (data) => Array.isArray(data.entries) || isTable(data.summary), adapter: () => app.adapterProfile },
  ];

  // Files that people try, and what to do with each.
  const FOREIGN = [
    { fits: (data) => Array.isArray(data) || Array.isArray(data.traceEvents), what: "a trace in the Chrome format", remedy: "Make a page of it: regimeter report TRACE -o report.html." },
    { fits: (data) => typeof data.$schema === "string" && data.$schema.includes("speedscope"), what: "a speedscope profile", remedy: "Open it in speedscope, or export the run again with profiler.export_json(\"profile.json\")." },
    { fits: (data) => Array.isArray(data.comparisons), what: "a comparison of two profiles", remedy: "Load one of the two profiles that were compared." },
  ];

  const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

  function formatOf(data) {
    if (!isTable(data) && !Array.isArray(data)) {
      throw new app.InputFault("this is not a profile: the document is not an object", "at the top of the document", "Choose a file that profiler.export_json(\"profile.json\") wrote.");
    }
    const named = FORMATS.find((one) => one.name === data.format);
    if (named !== undefined) {
      if (data.version === named.version) return named;
      throw new app.InputFault(`${named.name} version ${JSON.stringify(data.version ?? null)} cannot be read; this page reads version ${named.version}`, "at version", "Open it with a page made by the regimeter that wrote the file.");
    }
    const fitting = data.format === undefined && FORMATS.find((one) => one.fits(data));
    if (fitting) return fitting;
    const foreign = FOREIGN.find((one) => one.fits(data));
    if (foreign !== undefined) throw new app.InputFault(`this is ${foreign.what}, not a profile`, "at the top of the document", foreign.remedy);
    const label = data.format === undefined ? "it has neither entries nor summary" : `its format is ${JSON.stringify(data.format)}`;
    throw new app.InputFault(`this is not a profile: ${label}`, data.format === undefined ? "at the top of the document" : "at format", "Choose a file that profiler.export_json(\"profile.json\") wrote.");
  }

  /** Ranks by share decide colours: the same operation has the same colour in every view. What was ranked `before`, when
      the recording was shorter, keeps its colour. */
  function rank(model, before) {
    const order = model.operations.map((_, i) => i).sort((a, b) => (model.operations[b].share ?? -1) - (model.operations[a].share ?? -1));
    model.ranked = order;
    model.bottlenecks ??= order;
    model.rankOfName = new Map(before?.rankOfName);
    for (const at of order) {
      const { name } = model.operations[at];
      if (!model.rankOfName.has(name)) model.rankOfName.set(name, model.rankOfName.size);
    }
    model.operations.forEach((one) => (one.rank = model.rankOfName.get(one.name)));
    return model;
  }

  /** What the file says of the speed of its machine, as a sentence; null where it says nothing. */
  function machine(data) {
    const { textOr, objectOr } = app.shape;
    const stated = objectOr(objectOr(data.witness, "witness", {}).summary, "witness.summary", {});
    const text = textOr(data.machine ?? stated.sentence, "machine", "");
    if (text === "") return null;
    return `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
  }

  /** What limits the program, as the file says it; null where it does not. */
  function limit(data) {
    const { textOr, objectOr, listOr } = app.shape;
    const stated = objectOr(data.limit, "limit", {});
    const [sentence, why, next, confidence, title, of, odd] = ["sentence", "why", "next", "confidence", "title", "of", "odd"].map((name) => textOr(stated[name], `limit.${name}`, ""));
    if (sentence === "") return null;
    const shares = Object.entries(objectOr(stated.shares, "limit.shares", {}));
    const actions = listOr(stated.actions, "limit.actions").map((one, i) => app.shape.object(one, `limit.actions[${i}]`));
    return { sentence, why, next, confidence, title, of, odd, actions, shares: Object.fromEntries(shares.map(([cause, share]) => [cause, app.shape.numberOrNull(share, `limit.shares.${cause}`) ?? 0])) };
  }

  async function fromData(data, before = null) {
    const format = formatOf(data);
    const model = rank(await format.adapter().read(data), before);
    model.machine = machine(data);
    model.limit = limit(data);
    model.counters = await app.counterSeries.read(data);
    const empty = model.kind === "run" && model.operations.length === 0 && (model.timeline?.count ?? 0) === 0 && !model.flame && !model.limit;
    if (empty) model.cautions.push(data.live ? "The program has not recorded anything yet." : "This file holds no operations: nothing was recorded.");
    return model;
  }

  app.model = { fromData, fromText: async (text) => fromData(app.jsonText.parse(text)) };
})((globalThis.regimeter ||= {}));
