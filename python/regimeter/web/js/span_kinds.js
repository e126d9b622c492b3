// SPDX-License-Identifier: Apache-2.0
// Kinds of spans of a trace as a reader tells them apart: a few classes, each with a colour --kind-KEY of css/tokens.css.
// A class is known by its place in the list, its slot.
(function (app) {
  "use strict";

  const CLASSES = [
    { key: "compute", label: "Compute kernel" },
    { key: "communication", label: "Communication" },
    { key: "memory", label: "Copy or set" },
    { key: "operator", label: "Operator" },
    { key: "call", label: "Runtime or driver call" },
    { key: "annotation", label: "Annotation" },
    { key: "sync", label: "Synchronisation, overhead" },
    { key: "other", label: "Python and other" },
  ];
  CLASSES.forEach((one, slot) => (one.slot = slot));
  const OF_KIND = {
    cpu_op: "operator",
    scope: "operator",
    runtime: "call",
    driver: "call",
    kernel: "compute",
    accelerator: "compute",
    memcpy: "memory",
    memset: "memory",
    sync: "sync",
    overhead: "sync",
    annotation: "annotation",
    device_annotation: "annotation",
  };
  const WORK = new Set(["kernel", "accelerator", "memcpy", "memset"]);
  const byKey = new Map(CLASSES.map((one) => [one.key, one]));

  function classOf(kind, activity) {
    if (WORK.has(kind) && byKey.has(activity)) return byKey.get(activity);
    return byKey.get(OF_KIND[kind] ?? "other");
  }

  /** Class of each row of a timeline, as its slot. */
  function fills(line) {
    const table = line.kinds.map((kind) => Uint8Array.from(line.activities, (activity) => classOf(kind, activity).slot));
    const made = new Uint8Array(line.count);
    for (let i = 0; i < line.count; i += 1) made[i] = table[line.kind[i]]?.[line.activity[i]] ?? CLASSES.length - 1;
    return made;
  }

  /** Colour of each row by the rank of its operation. */
  function byRank({ timeline, names, rankOfName }) {
    const ofName = Uint8Array.from(names, (name) => app.palette.fillIndex(rankOfName.get(name)));
    const made = new Uint8Array(timeline.count);
    for (let i = 0; i < timeline.count; i += 1) made[i] = ofName[timeline.name[i]];
    return made;
  }

  /** Colour of each row of a line of the model's run. */
  const fillsOf = (model, line, byName) => (byName ? byRank({ ...model, timeline: line }) : fills(line));

  /** Whether the spans of a model are scopes alone, which are told apart by their operation. */
  function byOperation({ scoped, timeline }) {
    if (!scoped || timeline === null) return false;
    const scopes = timeline.kinds.map((kind) => !WORK.has(kind) && OF_KIND[kind] !== "call");
    return timeline.kind.every((kind) => scopes[kind]);
  }

  /**
   * How a timeline is coloured: {byName, fills, legend}. Scopes of a recording without device work are all of one kind, so
   * they are told apart by their operation; anything else by its kind. legend: pairs of a custom property and a label.
   */
  function colouring(model) {
    const made = fills(model.timeline);
    const classes = CLASSES.filter((one) => made.includes(one.slot));
    const byName = byOperation(model);
    if (!byName) return { byName, fills: made, legend: classes.map(({ key, label }) => [`--kind-${key}`, label]) };
    const top = model.ranked.slice(0, app.palette.HUES).map((at) => model.operations[at]);
    const legend = top.map(({ name, rank }) => [`--series-${app.palette.slot(rank)}`, name]);
    if (model.operations.length > top.length) legend.push(["--series-other", `${app.units.countText(model.operations.length - top.length)} other operations`]);
    return { byName, fills: byRank(model), legend };
  }

  const swatch = (property) => app.dom.el("span", { class: "swatch", "aria-hidden": "true", style: { background: `var(${property})` } });
  const words = (kind) => kind.replace("cpu_op", "operator").replaceAll("_", " ");

  app.spanKinds = { CLASSES, classOf, fills, fillsOf, byOperation, colouring, swatch, words, isWork: (kind) => WORK.has(kind) };
})((globalThis.regimeter ||= {}));
