// SPDX-License-Identifier: Apache-2.0
// Time series of a file: reading them, what they say at a moment, and the line that draws them. A value holds until the
// next sample.
(function (app) {
  "use strict";

  const { units } = app;
  const WORDS = { percent: "%", celsius: "°C", "bytes/s": "B/s", bits: "" };

  /** Names of the bits that are set, as the file gives them. */
  function flagsText(value, reasons) {
    const set = [];
    for (let bit = 0; bit < 53; bit += 1) if (Math.floor(value / 2 ** bit) % 2 === 1) set.push(reasons[bit] ?? `bit ${bit}`);
    return set.join(", ") || "none";
  }

  function valueText(series, value) {
    if (series.reasons !== null) return flagsText(value, series.reasons);
    if (series.unit === "bytes") return units.bytesText(value);
    if (series.unit === "bytes/s") return `${units.bytesText(value)}/s`;
    const unit = WORDS[series.unit] ?? series.unit;
    return `${units.join(units.plain(value))} ${unit}`.trim();
  }

  function title(series) {
    const place = series.device < 0 ? "" : `GPU ${series.device} · `;
    const unit = WORDS[series.unit] ?? series.unit;
    return `${place}${series.name}${unit === "" ? "" : ` [${unit}]`}`;
  }

  /** Index of the sample that holds at `when`, -1 before the first. */
  function holding(time, when) {
    let [low, high] = [0, time.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time[middle] <= when) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Lowest and highest value that holds anywhere in [start, end]; null where there is none. */
  function extent(series, start, end) {
    let [low, high] = [Infinity, -Infinity];
    const first = Math.max(0, holding(series.time, start));
    for (let i = first; i < series.time.length && series.time[i] <= end; i += 1) {
      low = Math.min(low, series.value[i]);
      high = Math.max(high, series.value[i]);
    }
    return low <= high ? { low, high } : null;
  }

  /** All bits that are set anywhere in [start, end]. */
  function union(series, start, end) {
    let bits = 0;
    for (let i = Math.max(0, holding(series.time, start)); i < series.time.length && series.time[i] <= end; i += 1) {
      for (let power = 1; power <= series.value[i]; power *= 2) {
        if (Math.floor(series.value[i] / power) % 2 === 1 && Math.floor(bits / power) % 2 === 0) bits += power;
      }
    }
    return bits;
  }

  /** What a track says beside its title: the range in view, of flags all that are set somewhere in it. */
  function summary(series, view) {
    const range = extent(series, view.start, view.end);
    if (range === null) return "no sample in view";
    if (series.reasons !== null) return valueText(series, union(series, view.start, view.end));
    const [low, high] = [range.low, range.high].map((value) => valueText(series, value));
    return low === high ? low : `${low} to ${high}`;
  }

  /** Corners [x, value] of the step line inside a view, for `width` pixels. */
  function corners(series, view, width) {
    const scale = width / (view.end - view.start);
    const made = [];
    const before = holding(series.time, view.start);
    let value = null;
    if (before >= 0) made.push([0, (value = series.value[before])]);
    for (const i of app.decimate.decimate(series.time, series.value, view.start, view.end, width)) {
      const x = (series.time[i] - view.start) * scale;
      if (value !== null) made.push([x, value]);
      made.push([x, (value = series.value[i])]);
    }
    // The last value is known to hold only until its own time where nothing follows it.
    if (value !== null && holding(series.time, view.end) < series.time.length - 1) made.push([width, value]);
    return made;
  }

  /** Series of the file to the model's: columns unpacked, nothing computed. */
  async function read(data) {
    const table = app.shape.objectOr(data.counters, "counters", {});
    const series = await Promise.all(
      app.shape.listOr(table.series, "counters.series").map(async (item, i) => {
        const place = `counters.series[${i}]`;
        app.shape.object(item, place);
        return {
          name: app.shape.textOr(item.name, `${place}.name`, "series"),
          device: app.shape.numberOrNull(item.device, `${place}.device`) ?? -1,
          unit: app.shape.textOr(item.unit, `${place}.unit`, ""),
          doc: app.shape.textOr(item.doc, `${place}.doc`, ""),
          reasons: app.shape.objectOr(item.reasons, `${place}.reasons`, null),
          samples: app.shape.numberOrNull(item.samples, `${place}.samples`) ?? item.count,
          time: await app.columns.unpack(item.time_ns, item.count, `${place}.time_ns`),
          value: await app.columns.unpack(item.value, item.count, `${place}.value`),
        };
      }),
    );
    return { series, omitted: app.shape.numberOrNull(table.omitted, "counters.omitted") ?? 0 };
  }

  app.counterSeries = { read, holding, extent, summary, corners, valueText, title };
})((globalThis.regimeter ||= {}));
