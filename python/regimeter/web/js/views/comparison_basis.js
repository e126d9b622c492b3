// SPDX-License-Identifier: Apache-2.0
// What the verdicts rest on: the environments' differences, the kind of data, and warnings.
(function (app) {
  "use strict";

  const { el, spoken } = app.dom;
  const sentences = (lines, kind) => el("ul", { class: `sentences ${kind}` }, lines.map((line) => el("li", null, spoken(line))));

  function environments(body, { differences }) {
    if (differences.length === 0) {
      body.append(el("p", { class: "empty" }, "No difference is known between the environments of both sides."));
      return {};
    }
    const row = ({ fact, before, after, incomparable }) => el("tr", null, el("th", { scope: "row" }, fact), el("td", null, before), el("td", null, after), el("td", null, incomparable ? el("strong", { class: "bad" }, "forbids comparing") : "may explain a change"));
    const head = ["", "Baseline", "Current", ""].map((text) => el("th", { scope: "col" }, text));
    body.append(app.scroller("Differences of the environments", el("table", { class: "statistics differences" }, el("thead", null, el("tr", null, head)), el("tbody", null, differences.map(row)))));
    return {};
  }

  function basis(body, { basis: lines, warnings }) {
    if (lines.length + warnings.length === 0) body.append(el("p", { class: "empty" }, "This file does not say."));
    if (lines.length > 0) body.append(sentences(lines, "plain"));
    if (warnings.length > 0) body.append(el("h3", { class: "part" }, "Warnings"), sentences(warnings.slice(0, 50), "warnings"));
    if (warnings.length > 50) body.append(el("p", { class: "help" }, `and ${warnings.length - 50} more`));
    return {};
  }

  (app.views ??= []).push(
    { id: "environments", title: "Differences of the environments", short: "Environments", order: 40, span: 6, of: "comparison", render: environments },
    { id: "basis", title: "What this rests on", short: "Basis", order: 50, span: 6, of: "comparison", render: basis },
  );
})((globalThis.regimeter ||= {}));
