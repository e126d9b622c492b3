// SPDX-License-Identifier: Apache-2.0
// What was dropped, repaired or doubted while recording or reading.
(function (app) {
  "use strict";

  const { el } = app.dom;

  /** How often, what it cost, and where the first one is. */
  function extent({ count, lost, firstNs, firstOffset }) {
    const { countText, timeText } = app.units;
    const parts = [count === null ? null : count === 1 ? "once" : `${countText(count)} times`, lost ? `${countText(lost)} ${lost === 1 ? "row" : "rows"} lost` : null];
    if (firstNs !== null) parts.push(`first at ${timeText(firstNs)}`);
    if (firstOffset !== null) parts.push(`first at byte ${countText(firstOffset)}`);
    const known = parts.filter(Boolean);
    return known.length === 0 ? "" : ` ${known.join(", ")}`;
  }

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
        anomalies.map((one) => el("li", null, el("strong", null, one.code), el("span", { class: "dim" }, extent(one)), one.detail === "" ? null : el("p", null, one.detail))),
      ),
    );
    return {};
  }

  (app.views ??= []).push({ id: "anomalies", title: "Anomalies", order: 100, span: 6, of: "any", fits: (model) => model.described !== false || (model.anomalies ?? []).length > 0, render });
})((globalThis.regimeter ||= {}));
