// SPDX-License-Identifier: Apache-2.0
// What to try next, in the order of every view: a bar of what each suggestion may save, its words, its evidence. What
// the data calls folded is behind a line with its number.
(function (app) {
  "use strict";

  const { el, spoken } = app.dom;
  const { units } = app;

  const MS = 1e6;
  const CONFIDENCE = { low: "a hint: look before you change anything", medium: "likely", high: "sure: the evidence shows it directly" };

  function bar(one) {
    if (!one.bounded) return el("p", { class: "roadmap-unbounded dim" }, "not bounded: the run does not show what it would save");
    const share = Math.min(1, Math.max(0, one.share ?? 0));
    const words = `${one.saved_low_ms > 0 ? `${units.timeText(one.saved_low_ms * MS)} to ` : "at most "}${units.timeText(one.saved_high_ms * MS)}, ${units.shareText(share)} of the run`;
    return el(
      "div",
      { class: "roadmap-saving" },
      el("span", { class: "roadmap-track", role: "img", "aria-label": `saves ${words}` }, el("span", { class: "roadmap-fill", style: { width: `${100 * share}%` } })),
      el("span", { class: "roadmap-words" }, words),
    );
  }

  const line = (label, text) => (text ? el("div", null, el("dt", null, label), el("dd", null, text)) : null);

  function item(one, place) {
    const words = [one.type.replaceAll("_", " "), `${one.effort} effort`, CONFIDENCE[one.confidence]];
    return el(
      "li",
      { class: `roadmap-item priority-${one.priority}` },
      el("span", { class: "place", "aria-hidden": "true" }, place + 1),
      el(
        "div",
        { class: "roadmap-body" },
        el("p", { class: "roadmap-title" }, one.description),
        el("p", { class: "roadmap-tags dim" }, el("strong", null, `${one.priority} priority`), ` \u00b7 ${words.join(" \u00b7 ")}`),
        bar(one),
        el("p", { class: "roadmap-hint" }, spoken(one.implementation_hint)),
        el(
          "details",
          null,
          el("summary", null, "Evidence, and what would refute it"),
          el("dl", { class: "roadmap-details" }, line("Rule", one.rule), line("About", one.operation), line("Evidence", one.figures), line("Bound", one.bound), line("Wrong if", one.refuted_by), line("Look", one.verify)),
        ),
      ),
    );
  }

  function render(body, { suggestions }) {
    if (suggestions.length === 0) {
      body.append(el("p", { class: "empty" }, "Nothing stands out by the rules."));
      return {};
    }
    const open = suggestions.filter((one) => !one.folded);
    const folded = suggestions.slice(open.length);
    const list = (found, first) => el("ol", { class: "roadmap", start: first + 1 }, found.map((one, i) => item(one, first + i)));
    body.append(list(open, 0));
    if (folded.length > 0) {
      const words = `${folded.length} more, which may save less or ${folded.length === 1 ? "is" : "are"} not bounded`;
      body.append(el("details", { class: "roadmap-more" }, el("summary", null, words), list(folded, open.length)));
    }
    return {};
  }

  (app.views ??= []).push({ id: "roadmap", title: "What to try next", short: "Roadmap", order: 16, span: 12, of: "any", fits: ({ suggestions, limit }) => Array.isArray(suggestions) && (suggestions.length > 0 || !limit), render });
})((globalThis.regimeter ||= {}));
