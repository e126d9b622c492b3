// SPDX-License-Identifier: Apache-2.0
// Segments of an allocator as bars, as wide as they are large; the blocks in use in them are filled.
(function (app) {
  "use strict";

  const { svg } = app.dom;
  const { units } = app;
  const [WIDTH, ROW, BAR, LEAST] = [1000, 14, 11, 0.5];

  const told = ({ address, bytes, used, sizes }) => `${address}: ${units.bytesText(bytes)}, ${units.bytesText(used)} of it in ${units.countText(sizes.length)} ${sizes.length === 1 ? "block" : "blocks"}`;

  function row(segment, i, most) {
    const scale = WIDTH / most;
    const path = segment.starts.map((start, k) => {
      const wide = Math.max(LEAST, segment.sizes[k] * scale).toFixed(2);
      return `M${(start * scale).toFixed(2)},${i * ROW}h${wide}v${BAR}h-${wide}z`;
    });
    return svg("g", null, svg("title", null, told(segment)), svg("rect", { x: 0, y: i * ROW, width: Math.max(LEAST, segment.bytes * scale).toFixed(2), height: BAR }), svg("path", { d: path.join("") }));
  }

  function columnsOf(segments) {
    const column = (heading, unit, of) => ({ heading, unit, values: segments.map(of) });
    return [column("address", "text", ({ address }) => address), column("size", "bytes", ({ bytes }) => bytes), column("in use", "bytes", ({ used }) => used), column("blocks", "", ({ sizes }) => sizes.length)];
  }

  function render(body, { title, note, segments }) {
    const most = Math.max(1, segments[0].bytes);
    const picture = svg("svg", { class: "segments", viewBox: `0 0 ${WIDTH} ${segments.length * ROW}`, preserveAspectRatio: "none", role: "img", "aria-label": note, style: { height: `${segments.length * ROW}px` } }, segments.map((one, i) => row(one, i, most)));
    body.append(picture, app.asTable(title, () => columnsOf(segments)));
    return {};
  }

  (app.sectionForms ??= {}).segments = { render };
})((globalThis.regimeter ||= {}));
