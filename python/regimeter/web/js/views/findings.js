// SPDX-License-Identifier: Apache-2.0
// What the rules of a holistic analysis found in a trace.
(function (app) {
  "use strict";

  const { el } = app.dom;

  function render(body, { findings }) {
    const none = el("p", { class: "empty" }, "No rule of the analysis found any.");
    body.append(findings.length === 0 ? none : el("ul", { class: "sentences" }, findings.map((text) => el("li", null, text))));
    return {};
  }

  (app.views ??= []).push({ id: "findings", title: "Bottlenecks by the rules of the analysis", short: "Findings", order: 6, span: 12, fits: (model) => Boolean(model.findings), render });
})((globalThis.regimeter ||= {}));
