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

  /** Series of each row of a timeline. */
  function fills(line) {
    const table = line.kinds.map((kind) => Uint8Array.from(line.activities, (activity) => classOf(kind, activity).slot));
    const made = new Uint8Array(line.count);
    for (let i = 0; i < line.count; i += 1) made[i] = table[line.kind[i]]?.[line.activity[i]] ?? CLASSES.length - 1;
    return made;
  }

  /** Classes that occur, in their fixed order. */
  function present(line) {
    const slots = new Set(fills(line));
    return CLASSES.filter((one) => slots.has(one.slot));
  }

  const swatch = ({ key }) => app.dom.el("span", { class: "swatch", "aria-hidden": "true", style: { background: `var(--kind-${key})` } });
  const words = (kind) => kind.replace("cpu_op", "operator").replaceAll("_", " ");

  app.spanKinds = { CLASSES, classOf, fills, present, swatch, words, isWork: (kind) => WORK.has(kind) };
})((globalThis.regimeter ||= {}));
