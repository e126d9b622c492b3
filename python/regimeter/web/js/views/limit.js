// SPDX-License-Identifier: Apache-2.0
// The first screen: what limits the program in one sentence, one bar of where the time went, and at most three things to
// do, each with what it can save at most and a link to its evidence.
(function (app) {
  "use strict";

  const { el, spoken } = app.dom;
  const { units } = app;
  const SHOWN = 7; // parts that can be told apart
  const LEAST = 0.005;
  // The verdict's thresholds (verdict_* of docs/schema.md) as words: how far the first cause is ahead of the next.
  const CONFIDENCE = { low: "Cannot tell: others are within the margin, samples are few, or most is not recorded.", medium: "Likely: ahead of the next, by less than 15 points or with less than 40 %.", high: "Sure: ahead of the next by 15 points or more." };
  // What has a colour of its own in every picture; all other causes take the hues of operations, in order.
  const COLOURS = { device: "kind-compute", communication: "kind-communication", device_copies: "kind-memory", synchronisation: "bar", launches: "hatched", device_idle: "overhead", unknown: "idle", waiting: "dotted" };
  const HUES = ["series-4", "series-7", "series-6", "series-2", "series-1"];

  const words = (cause) => cause.replaceAll("_", " ");

  /** The largest parts, and what is left of the window as one more: {cause, share, colour}. */
  function partsOf({ shares, of }) {
    const parts = Object.entries(shares).filter(([, share]) => share >= LEAST).slice(0, SHOWN);
    const free = HUES.values();
    const coloured = parts.map(([cause, share]) => ({ cause: of === "" ? words(cause) : cause, share, colour: COLOURS[cause] ?? free.next().value }));
    const made = coloured.filter(({ colour }) => colour !== undefined); // two parts of one colour could not be told apart
    if (made.length === 0) return [];
    const rest = 1 - made.reduce((sum, one) => sum + one.share, 0);
    return rest >= LEAST ? [...made, { cause: "everything else", share: rest, colour: "faint" }] : made;
  }

  function bar(parts) {
    const strip = el("div", { class: "strip limit-bar", role: "img", "aria-label": parts.map(({ cause, share }) => `${cause} ${units.shareText(share)}`).join(", ") });
    const legend = el("ul", { class: "limit-legend", "aria-hidden": "true" });
    for (const { cause, share, colour } of parts) {
      const text = `${cause} ${units.shareText(share)}`;
      strip.append(el("span", { class: "strip-part", title: text, style: { "flex-grow": share, background: `var(--${colour})` } }));
      legend.append(el("li", null, el("span", { class: "limit-key", style: { background: `var(--${colour})` } }), cause, " ", el("strong", null, units.shareText(share))));
    }
    return [strip, legend];
  }

  /** Links to the evidence of an action: a range of the timeline, a table, a section. */
  function links({ time, query, table, section }, model) {
    if (section) return el("a", { href: `#${section}` }, "where");
    const made = [];
    const parts = app.deepLink.parts({ view: time ?? null, range: null, selected: null, query: query ?? "" });
    if (model.timeline !== null && (parts.t ?? parts.q) !== null) made.push([app.address.format(parts), time ? "where" : "in the timeline"]);
    if (table) made.push([app.address.format({ table }), "table"]);
    return made.map(([href, text]) => el("a", { href }, text));
  }

  function action(one, model) {
    const bound = one.saved_ns === null ? null : el("span", { class: "limit-saves" }, "up to ", el("strong", null, units.timeText(one.saved_ns)), one.share === null ? null : `, ${units.shareText(one.share)} ${one.of}`);
    return el("li", null, el("div", { class: "limit-what" }, el("span", { class: "limit-title", title: one.title }, spoken(one.title)), one.hint === "" ? null : el("span", { class: "limit-hint", title: one.hint }, spoken(one.hint))), el("span", { class: "limit-side" }, bound, links(one, model)));
  }

  const WHERE = "Where the time went";
  const columnsOf = (parts, of) => [{ heading: of.replace(/^./, (c) => c.toLowerCase()), unit: "text", values: parts.map(({ cause }) => cause) }, { heading: "share", unit: "share", values: parts.map(({ share }) => share) }];

  function render(body, model) {
    const { limit } = model;
    const parts = partsOf(limit);
    body.append(
      el("p", { class: "headline" }, units.unbroken(limit.sentence)),
      limit.why === "" ? "" : el("p", { class: "limit-why" }, `${units.unbroken(limit.why)} `, el("span", { class: "dim" }, CONFIDENCE[limit.confidence] ?? ""), limit.odd === "" ? "" : ` ${units.unbroken(limit.odd)}`),
      parts.length === 0 || limit.of === "" ? "" : el("p", { class: "limit-of" }, limit.of),
      ...(parts.length === 0 ? [] : bar(parts)),
      limit.actions.length > 0 ? el("ol", { class: "limit-actions", "aria-label": "What to do next" }, limit.actions.map((one) => action(one, model))) : "",
      parts.length === 0 ? "" : app.asTable(limit.of || WHERE, () => columnsOf(parts, limit.of || WHERE)),
    );
    return {};
  }

  app.limitParts = partsOf;
  (app.views ??= []).push({ id: "limit", title: ({ limit }) => limit.title || "What limits the program", short: "Verdict", order: 4, span: 12, of: "any", bare: (model) => model.described === false && model.kind === "run", fits: (model) => Boolean(model.limit), render });
})((globalThis.regimeter ||= {}));
