// SPDX-License-Identifier: Apache-2.0
// The critical path on the timeline: a line below the name of the lane on which it runs, and a hollow one for what took
// nearly as long beside it. Where the path changes its lane a thin line joins the two.
(function (app) {
  "use strict";

  const { el } = app.dom;
  const { units } = app;
  const THICK = 4;
  const APART = 5; // pixels between two joining lines
  const PIECES = ["start_ns", "duration_ns", "lane", "kind"];
  const HELP = "Below the name of its lane: the critical path as a full line, what took nearly as long beside it as a hollow one.";

  async function pieces(table, wanted, placeOf, place) {
    const columns = await app.columns.read(table, wanted, place);
    const lane = Int32Array.from(columns.lane, (one) => (one < 0 ? -1 : placeOf[one]));
    return { ...columns, lane, count: table.count, omitted: table.omitted ?? 0, omittedNs: table.omitted_ns ?? null };
  }

  /** Path and ties of a file, lanes by their place. */
  async function read(path, placeOf) {
    const [along, ties] = await Promise.all([pieces(path.path, PIECES, placeOf, "path.path"), pieces(path.ties, [...PIECES, "slack_ns", "beside_ns"], placeOf, "path.ties")]);
    return { along, ties, kinds: app.shape.list(path.kinds, "path.kinds"), tied: path.tied };
  }

  const label = ({ tied }) => `Critical path${tied === 0 ? "" : ` and ${units.countText(tied)} near ${tied === 1 ? "tie" : "ties"}`}`;

  /** What of path and ties is not drawn, as a sentence; "" where all of it is. */
  function leftOut({ along, ties }) {
    const one = ({ count, omitted, omittedNs }, name) => (omitted === 0 ? [] : [`of the ${units.countText(count + omitted)} pieces of the ${name} the ${units.countText(omitted)} shortest${omittedNs === null ? "" : `, ${units.timeText(omittedNs)} in all,`} are left out`]);
    const said = [...one(along, "critical path"), ...one(ties, "near ties")].join("; ");
    return said === "" ? "" : `On the timeline, ${said}. The tables of the critical path count all of it.`;
  }

  /** Pieces in view as [left, right, y], each pixel of a lane once. */
  function lines(all, scene, width) {
    const { view, layout } = scene;
    const { seenAt, covered, HEADING } = app.timelineLayout;
    const yOf = new Map(layout.lanes.filter(({ y }) => !covered(scene, y)).map(({ lane, y }) => [lane, app.timelineCanvas.RULER + seenAt(scene, y) + HEADING - THICK]));
    const drawn = new Map();
    const scale = width / view.length;
    const found = [];
    for (let i = 0; i < all.count; i += 1) {
      const [left, y] = [Math.floor((all.start_ns[i] - view.start) * scale), yOf.get(all.lane[i])];
      const right = Math.max(left + 1, Math.ceil((all.start_ns[i] + all.duration_ns[i] - view.start) * scale));
      if (y === undefined || right < 0 || left > width || right <= (drawn.get(y) ?? -1)) continue;
      drawn.set(y, right);
      found.push([Math.max(left, -THICK), Math.min(right, width + THICK), y]);
    }
    return found;
  }

  function paint(pen, scene, width, colors) {
    const { along, ties } = scene.path;
    pen.fillStyle = pen.strokeStyle = colors.text;
    pen.lineWidth = 1;
    for (const [left, right, y] of lines(ties, scene, width)) pen.strokeRect(left + 0.5, y + 0.5, Math.max(right - left - 1, 0.5), THICK - 1.5);
    let [before, joined] = [null, -APART];
    for (const [left, right, y] of lines(along, scene, width)) {
      pen.fillStyle = colors.surface; // a line apart from what it lies on, which may be as dark
      pen.fillRect(left, y + THICK, right - left, 1);
      pen.fillStyle = colors.text;
      pen.fillRect(left, y, right - left, THICK);
      if (before !== null && before !== y && left - joined >= APART) {
        pen.globalAlpha = 0.6;
        pen.fillRect(left, Math.min(before, y), 1, Math.abs(y - before));
        pen.globalAlpha = 1;
        joined = left;
      }
      before = y;
    }
  }

  /** The piece of a lane at a time, -1 for none. */
  function pieceAt({ count, start_ns: start, duration_ns: duration, lane }, wanted, when, slack) {
    for (let i = 0; i < count; i += 1) if (lane[i] === wanted && start[i] - slack <= when && when <= start[i] + duration[i] + slack) return i;
    return -1;
  }

  /** What the tooltip says of path and ties on a lane, so long after the start of what is in view. */
  function words({ path, view }, lane, after, slack) {
    if (!path) return [];
    const { along, ties, kinds } = path;
    const when = view.start + after;
    const most = (all, i) => `, most of it ${kinds[all.kind[i]]}`;
    const [on, beside] = [pieceAt(along, lane, when, slack), pieceAt(ties, lane, when, slack)];
    const said = [];
    if (on >= 0) said.push(el("div", null, el("strong", null, "Critical path"), ` on this lane for ${units.timeText(along.duration_ns[on])}${most(along, on)}`));
    if (beside >= 0) said.push(el("div", null, el("strong", null, "Near tie"), ` on this lane for ${units.timeText(ties.duration_ns[beside])}${most(ties, beside)}: it was over ${units.timeText(ties.slack_ns[beside])} before the ${units.timeText(ties.beside_ns[beside])} of the path beside it, which could not save more`));
    return said;
  }

  app.criticalPath = { read, paint, lines, words, label, leftOut, HELP };
})((globalThis.regimeter ||= {}));
