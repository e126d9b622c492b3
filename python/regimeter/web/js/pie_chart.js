// SPDX-License-Identifier: Apache-2.0
// Parts of a whole as a pie: slices clockwise from the top, the largest first, with a list that says what each is.
(function (app) {
  "use strict";

  const { el, svg, swatch, button } = app.dom;
  const { units } = app;
  const RADIUS = 100;
  const TURN = 2 * Math.PI;

  /** Angles [from, to] of shares, of which the whole circle is the sum. */
  function angles(shares) {
    const whole = shares.reduce((sum, share) => sum + share, 0);
    let at = 0;
    return shares.map((share) => [at, (at += whole > 0 ? (share / whole) * TURN : 0)]);
  }

  /** The outline of a slice around the middle; a slice that is all of it is a circle. */
  function outline([from, to]) {
    const place = (angle) => `${(RADIUS * Math.sin(angle)).toFixed(2)} ${(-RADIUS * Math.cos(angle)).toFixed(2)}`;
    const arc = (start, end) => `A${RADIUS} ${RADIUS} 0 ${end - start > Math.PI ? 1 : 0} 1 ${place(end)}`;
    if (to - from > TURN - 1e-6) return `M${place(0)}${arc(0, Math.PI)}${arc(Math.PI, TURN)}Z`;
    return `M0 0L${place(from)}${arc(from, to)}Z`;
  }

  /** parts: {name, share, rank, operation}, operation null for what is no single one; chosen(name) is called for others. */
  function pie(parts, chosen) {
    const turns = angles(parts.map(({ share }) => share));
    const label = parts.map(({ name, share }) => `${name} ${units.shareText(share)}`).join(", ");
    const slices = parts.map(({ name, share, rank, operation }, i) => {
      const slice = svg("path", { class: "slice", d: outline(turns[i]), style: { fill: `var(--series-${app.palette.slot(rank)})` }, on: operation === null ? {} : { click: () => chosen(operation) } }, svg("title", null, `${name}: ${units.shareText(share)}`));
      if (operation !== null) slice.dataset.operation = operation;
      return slice;
    });
    const items = parts.map(({ name, share, rank, operation }) => {
      const what = [swatch(rank), el("span", { class: "clip" }, name)];
      const named = operation === null ? el("span", { class: "pie-rest" }, what) : button(what, () => chosen(operation), { class: "operation", title: name, "aria-pressed": "false" });
      const item = el("li", null, named, el("strong", null, units.shareText(share)));
      if (operation !== null) item.dataset.operation = operation;
      return item;
    });
    const picture = svg("svg", { class: "pie", viewBox: `${-RADIUS - 2} ${-RADIUS - 2} ${2 * RADIUS + 4} ${2 * RADIUS + 4}`, role: "img", "aria-label": `Pie of the time: ${label}` }, slices);
    return el("div", { class: "pie-frame" }, picture, el("ul", { class: "pie-list" }, items));
  }

  app.pie = { angles, outline, pie };
})((globalThis.regimeter ||= {}));
