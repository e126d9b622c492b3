// SPDX-License-Identifier: Apache-2.0
// Where values lie on an axis, linear or logarithmic, and what its ticks are and say.
(function (app) {
  "use strict";

  const { units } = app;
  const ROOM = { across: 46, up: 23 }; // pixels for what a tick says
  const AIR = 0.04; // of an axis, beyond what it shows
  const LADDERS = [[1], [1, 2, 5]];

  /** Powers of ten from 10**low to 10**high as exponents, so many that each has room on the axis `side`. */
  function powers(low, high, pixels, side) {
    const every = Math.max(1, Math.ceil(((high - low) * ROOM[side]) / pixels));
    return Array.from({ length: high - low + 1 }, (_, k) => low + k).filter((power) => (power - low) % every === 0);
  }

  /** Powers of ten between two values; with 2 and 5 times them, or even steps, where that is less than two. */
  function logTicks(low, high, pixels, side) {
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    for (const ladder of LADDERS) {
      const made = powers(first, last, pixels, side).flatMap((power) => ladder.map((times) => times * 10 ** power)).filter((value) => value >= low && value <= high);
      if (made.length >= 2) return made;
    }
    return units.ticks(low, high, pixels / ROOM[side] / 2).values;
  }

  /** {place(value) -> pixel, ticks} of the axis `side` ("across", "up") that shows values between two pixels; a linear one
      begins at 0. */
  function make(side, values, log, from, to) {
    const shape = log ? Math.log10 : (value) => value;
    const ends = log ? [Math.min(...values), Math.max(...values)] : [Math.min(0, ...values), Math.max(...values)];
    const [low, high] = ends.map(shape);
    const long = high - low || 1;
    const [first, last] = log ? [low - AIR * long, high + AIR * long] : [low, high + AIR * long];
    const place = (value) => from + ((shape(value) - first) / (last - first)) * (to - from);
    const pixels = Math.abs(to - from);
    const ticks = log ? logTicks(10 ** first, 10 ** last, pixels, side) : units.ticks(first, last, pixels / ROOM[side] / 2).values;
    return { place, ticks };
  }

  const short = ({ number, unit }) => `${number.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")} ${unit}`.trim();
  const SPOKEN = { ns: units.time, share: units.share, bytes: units.bytes };

  /** What a tick says: in its own unit where that is scaled, else the number with its prefix. */
  const text = (value, unit) => short((SPOKEN[unit] ?? units.si)(value));

  app.axis = { powers, make, text };
})((globalThis.regimeter ||= {}));
