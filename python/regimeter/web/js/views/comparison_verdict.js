// SPDX-License-Identifier: Apache-2.0
// The verdict of a comparison first: in one sentence, whether it passed, how many of each kind, what could have been missed, what to run next.
(function (app) {
  "use strict";

  const { el, spoken } = app.dom;

  function card(label, number, state) {
    return el("div", { class: "card", "data-state": number > 0 ? state : null }, el("dt", null, label), el("dd", null, el("span", { class: "card-value" }, number === null ? "n/a" : app.units.countText(number))));
  }

  /** The whole of a program is judged by itself, so it stands before the counts of its operations. */
  function wholeCard(row) {
    const words = app.changeWords.stateOf(row);
    const change = row.change_percent === null ? "n/a" : `${app.changes.signed(row.change_percent)} %`;
    const state = words === "slower" || words === "faster" ? words : null;
    return el("div", { class: "card", "data-state": state }, el("dt", null, `${row.name.charAt(0).toUpperCase()}${row.name.slice(1)}`), el("dd", null, el("span", { class: "card-value" }, change), " ", app.changeWords.wordOf(row)));
  }

  function render(body, model) {
    const { summary } = model;
    const word = model.outcome.charAt(0).toUpperCase() + model.outcome.slice(1);
    const state = model.outcome === "failed" || model.outcome === "passed" ? model.outcome : "nothing";
    body.append(
      model.sentence === "" ? "" : el("p", { class: "headline" }, app.units.unbroken(model.sentence)),
      el("p", { class: `verdict verdict-${state}` }, el("strong", null, word), model.nothing !== "" ? el("span", null, model.nothing) : el("span", null, rule(model))),
      el(
        "dl",
        { class: "cards" },
        model.wholes.map(wholeCard),
        card("Slower", summary.regressions, "slower"),
        card("Faster", summary.improvements, "faster"),
        card("Unchanged", summary.unchanged - summary.inconclusive, ""),
        card("Undecided", summary.inconclusive, ""),
        summary.new_operations + summary.removed_operations > 0 ? card("New or removed", summary.new_operations + summary.removed_operations, "") : null,
        summary.invalid > 0 ? card("Invalid", summary.invalid, "slower") : null,
      ),
      el("ul", { class: "sentences" }, model.facts_text.map((text) => el("li", null, spoken(text))), model.next.map((line) => el("li", null, el("code", null, line)))),
    );
    return {};
  }

  /** The rule from the verdict's sentence, which ends with it in brackets. */
  function rule({ verdict }) {
    return /\[(.*)\]$/.exec(verdict)?.[1] ?? "";
  }

  (app.views ??= []).push({ id: "verdict", title: "Verdict", order: 5, span: 12, bare: true, of: "comparison", render });
})((globalThis.regimeter ||= {}));
