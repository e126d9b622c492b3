// SPDX-License-Identifier: Apache-2.0
// What was dropped, repaired or doubted while recording or reading.
(function (app) {
  "use strict";

  const { el } = app.dom;

  function render(body, { anomalies }) {
    if (anomalies === null) {
      body.append(el("p", { class: "empty" }, "This file does not say whether anything was dropped or repaired."));
      return {};
    }
    if (anomalies.length === 0) {
      body.append(el("p", { class: "empty" }, "None: nothing was dropped, repaired or doubted."));
      return {};
    }
    body.append(
      el(
        "ul",
        { class: "anomalies" },
        anomalies.map(({ code, count, detail }) => el("li", null, el("strong", null, code), count === null ? null : el("span", { class: "dim" }, ` ${app.units.countText(count)} times`), detail === "" ? null : el("p", null, detail))),
      ),
    );
    return {};
  }

  (app.views ??= []).push({ id: "anomalies", title: "Anomalies", order: 100, span: 3, render });
})((globalThis.regimeter ||= {}));
