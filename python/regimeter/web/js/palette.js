// SPDX-License-Identifier: Apache-2.0
// Colours by rank. The values are in css/tokens.css: seven hues that stay apart with normal sight and with each of the
// three colour-vision deficiencies, and a grey for all further operations.
(function (app) {
  "use strict";

  const HUES = 7;
  const OTHER = "other";

  const slot = (rank) => (rank === undefined || rank === null || rank >= HUES ? OTHER : String(rank + 1));

  /** Dark or light text on a colour given as "rgb(r, g, b)". */
  function textOn(color) {
    const [r, g, b] = color.match(/[\d.]+/g).map(Number);
    const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    return luminance > 0.189 ? "#0a0e13" : "#ffffff"; // from there on the dark one has more contrast
  }

  /** Resolved colours for canvases. `probe` is any element in the page: custom properties may hold light-dark(). */
  function resolve(probe) {
    const style = getComputedStyle(probe);
    const read = (name) => {
      probe.style.setProperty("color", `var(--${name})`);
      return style.color;
    };
    const fills = [];
    for (let rank = 0; rank <= HUES; rank += 1) fills.push(read(`series-${slot(rank)}`));
    const kinds = app.spanKinds === undefined ? [] : app.spanKinds.CLASSES.map(({ key }) => read(`kind-${key}`));
    const colors = { fills, inks: fills.map(textOn), ofKinds: { fills: kinds, inks: kinds.map(textOn) } };
    for (const name of ["surface", "sunken", "text", "muted", "line", "faint", "accent", "bad"]) colors[name] = read(name);
    probe.style.removeProperty("color");
    return colors;
  }

  const fillIndex = (rank) => (rank === undefined || rank >= HUES ? HUES : rank);

  app.palette = { HUES, slot, resolve, textOn, fillIndex };
})((globalThis.regimeter ||= {}));
