// SPDX-License-Identifier: Apache-2.0
// Sizes over time: one chart for every four series, so that their lines can be told apart.
(function (app) {
  "use strict";

  const EACH = 4;

  function columnsOf(series) {
    const flat = (of) => series.flatMap((one) => Array.from(one.time, (_, i) => of(one, i)));
    const column = (heading, unit, of) => ({ heading, unit, values: flat(of) });
    return [column("series", "text", ({ name }) => name), column("time", "at", ({ time }, i) => time[i]), column("value", series[0].unit, ({ value }, i) => value[i])];
  }

  function render(body, { title, series, nothing }) {
    if (series.length === 0) {
      body.append(app.sections.nothing(nothing));
      return {};
    }
    const charts = [];
    for (let at = 0; at < series.length; at += EACH) charts.push(new app.MemoryChart(series.slice(at, at + EACH), series[0].unit, title));
    body.append(...charts.map(({ node }) => node), app.asTable(title, () => columnsOf(series)));
    const draw = () => charts.forEach((chart) => chart.draw());
    const resume = (when) => charts.forEach((chart, i) => chart.box !== undefined && chart.say(when[i]));
    return { shown: draw, beforePrint: draw, keep: () => charts.map(({ when }) => when ?? null), resume, destroy: () => charts.forEach((chart) => chart.destroy()) };
  }

  const read = async ({ series }, place) => ({ series: await app.memorySeries.read(series, `${place}.series`) });

  (app.sectionForms ??= {}).levels = { read, render };
})((globalThis.regimeter ||= {}));
