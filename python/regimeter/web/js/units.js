// SPDX-License-Identifier: Apache-2.0
// Numbers to text. Every function returns {number, unit}, or text where the name ends in "Text".
// null means "not measured" and is never passed in: the caller decides how absence is shown.
(function (app) {
  "use strict";

  const TIME_STEPS = [
    [1, "ns"],
    [1e3, "µs"],
    [1e6, "ms"],
    [1e9, "s"],
  ];
  const BYTE_STEPS = [
    [1, "B"],
    [1e3, "kB"],
    [1e6, "MB"],
    [1e9, "GB"],
    [1e12, "TB"],
  ];

  const SI_STEPS = [
    [1, ""],
    [1e3, "k"],
    [1e6, "M"],
    [1e9, "G"],
    [1e12, "T"],
    [1e15, "P"],
  ];

  const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

  /** Three significant digits, but never fewer than the integer part has: 9.87, 12.3, 456, 1,234. */
  function significant(value) {
    const size = Math.abs(value);
    if (size >= 100) return grouped.format(value);
    if (size === 0) return "0";
    const text = value.toPrecision(3);
    return text.includes("e") ? String(Number(text)) : text;
  }

  /** Picks the largest step that leaves at least 1 after rounding, so 999.9 ns reads 1.00 µs. */
  function scaled(value, steps) {
    const size = Math.abs(value);
    let chosen = steps[0];
    for (const step of steps) if (size >= step[0] * 0.9995) chosen = step;
    const [divisor, unit] = chosen;
    const wholeUnits = divisor === 1 && Number.isInteger(value);
    return { number: wholeUnits ? grouped.format(value) : significant(value / divisor), unit };
  }

  function time(ns) {
    if (Math.abs(ns) < 120e9) return scaled(ns, TIME_STEPS);
    const seconds = Math.round(Math.abs(ns) / 1e9);
    const sign = ns < 0 ? "-" : "";
    const two = (n) => String(n).padStart(2, "0");
    if (seconds < 7200) return { number: `${sign}${Math.floor(seconds / 60)}:${two(seconds % 60)}`, unit: "min" };
    const minutes = Math.round(seconds / 60);
    return { number: `${sign}${grouped.format(Math.floor(minutes / 60))}:${two(minutes % 60)}`, unit: "h" };
  }

  const bytes = (value) => scaled(value, BYTE_STEPS);
  const si = (value) => scaled(value, SI_STEPS);
  const count = (value) => ({ number: grouped.format(value), unit: "" });
  const plain = (value) => ({ number: significant(value), unit: "" });

  /** A share is 0..1 and is shown in percent; what would round to 0 but is not 0 says so. */
  function share(value) {
    const percent = value * 100;
    if (percent > 0 && percent < 0.1) return { number: "<0.1", unit: "%" };
    return { number: percent >= 99.95 && percent < 100.05 ? "100" : percent.toFixed(1), unit: "%" };
  }

  /** A percentage that is already 0..100. */
  const percent = (value) => ({ number: significant(value), unit: "%" });

  const join = ({ number, unit }) => (unit === "" ? number : unit === "%" ? `${number} %` : `${number} ${unit}`);

  /** 1, 2 or 5 times a power of ten, so that about `wanted` steps fit into `range`. */
  function niceStep(range, wanted) {
    const rough = range / Math.max(1, wanted);
    const power = 10 ** Math.floor(Math.log10(rough));
    const factor = rough / power;
    return (factor < 1.5 ? 1 : factor < 3.5 ? 2 : factor < 7.5 ? 5 : 10) * power;
  }

  /** Tick values inside [low, high]; multiples of the step, without accumulated rounding. */
  function ticks(low, high, wanted) {
    if (!(high > low)) return { step: 0, values: [low] };
    const step = niceStep(high - low, wanted);
    const values = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) values.push(k * step + 0); // + 0 turns -0 into 0
    return { step, values };
  }

  /** A position on an axis whose ticks are `step` apart: one unit for the whole axis, as many decimals as needed. */
  function onAxis(value, step, largest, steps = TIME_STEPS) {
    let chosen = steps[0];
    for (const candidate of steps) if (Math.abs(largest) >= candidate[0]) chosen = candidate;
    const decimals = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / chosen[0]) - 1e-9)));
    const number = (value / chosen[0]).toLocaleString("en-US", {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    });
    return `${number} ${chosen[1]}`;
  }

  /** A figure and its unit stay on one line. */
  const unbroken = (text) => text.replace(/(\d) (?=(?:%|[nµm]?s|[kMGT]?B)(?![a-z]))/g, "$1\u00a0");

  app.units = {
    unbroken,
    time,
    bytes,
    si,
    count,
    plain,
    share,
    percent,
    join,
    ticks,
    onAxis,
    BYTE_STEPS,
    timeText: (ns) => join(time(ns)),
    bytesText: (value) => join(bytes(value)),
    countText: (value) => grouped.format(value),
    shareText: (value) => join(share(value)),
  };
})((globalThis.regimeter ||= {}));
