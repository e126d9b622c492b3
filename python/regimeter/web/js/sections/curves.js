// SPDX-License-Identifier: Apache-2.0
// Series over two axes as lines, and every point of them as a table.
(function (app) {
  "use strict";

  function columnsOf({ series, across, up }) {
    const flat = (of) => series.flatMap((one) => one.x.map((_, i) => of(one, i)));
    const column = (heading, unit, of) => ({ heading, unit, values: flat(of) });
    const value = ({ title, unit }, key) => column(title.toLowerCase(), unit === title.toLowerCase() ? "" : unit, (one, i) => one[key][i]);
    return [column("series", "text", ({ name }) => name), value(across, "x"), value(up, "y"), column("regime", "text", ({ said }, i) => said[i])];
  }

  function render(body, section) {
    const chart = new app.CurveChart(section);
    const draw = () => chart.draw();
    body.append(chart.node, app.asTable(section.title, () => columnsOf(section)));
    return { chart, shown: draw, beforePrint: draw, destroy: () => chart.destroy() };
  }

  (app.sectionForms ??= {}).curves = { render };
})((globalThis.regimeter ||= {}));
