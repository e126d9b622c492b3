// SPDX-License-Identifier: Apache-2.0
// Paints the timeline. Holds no state of its own beside the canvas: what is visible, selected and hovered comes in `scene`.
(function (app) {
  "use strict";

  const RULER = 26;
  const FONT = "12px system-ui, sans-serif";
  const OUTSIDE = 4; // pixels a wide block may reach past the canvas edge; keeps coordinates small when zoomed in

  function sizeTo(canvas, width, height) {
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 3);
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    return pen;
  }

  function shorten(pen, text, width, cache) {
    let full = cache.get(text);
    if (full === undefined) cache.set(text, (full = pen.measureText(text).width));
    if (full <= width) return text;
    const fits = Math.floor((text.length * (width - 8)) / full);
    return fits < 2 ? "" : `${text.slice(0, fits)}…`;
  }

  function paintRuler(pen, { values, step }, view, width, colors) {
    pen.fillStyle = colors.sunken;
    pen.fillRect(0, 0, width, RULER);
    pen.fillStyle = colors.line;
    pen.fillRect(0, RULER - 1, width, 1);
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    // Far from zero and deep in, full positions would not fit between ticks: later ticks then count from the first.
    const relative = view.end / step > 5000;
    values.forEach((at, k) => {
      const x = ((at - view.start) / view.length) * width;
      const label = relative && k > 0 ? `+${app.units.onAxis(at - values[0], step, view.length)}` : app.units.onAxis(at, step, view.end);
      pen.fillStyle = colors.line;
      pen.fillRect(Math.round(x), RULER - 8, 1, 7);
      pen.fillStyle = colors.muted;
      if (x + 40 < width) pen.fillText(label, x + 4, RULER / 2 - 1);
    });
  }

  function paintGrid(pen, values, view, width, height, colors) {
    pen.fillStyle = colors.faint;
    for (const at of values) pen.fillRect(Math.round(((at - view.start) / view.length) * width), RULER, 1, height);
  }

  /** Headings of the lanes that pass; a pinned one, and that under the pointer, says how it is pinned. */
  function paintHeadings(pen, scene, colors, width, passes) {
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    for (const { lane, y, folded, pinned } of scene.layout.lanes) {
      if (!passes(y)) continue;
      const top = RULER + app.timelineLayout.seenAt(scene, y);
      pen.fillStyle = colors.line;
      if (y > 0) pen.fillRect(0, top - 1, width, 1);
      pen.font = `600 ${FONT}`;
      pen.fillStyle = colors.text;
      const { name, note } = scene.lanes[lane] ?? { name: `lane ${lane}`, note: "" };
      const mark = folded ? "▸ " : "▾ ";
      pen.fillText(mark + name, 8, top + app.timelineLayout.HEADING / 2 + 1);
      const after = 16 + pen.measureText(mark + name).width;
      pen.font = FONT;
      pen.fillStyle = colors.muted;
      pen.fillText(note, after, top + app.timelineLayout.HEADING / 2 + 1);
      if (!pinned && lane !== scene.pointed) continue;
      pen.textAlign = "right";
      pen.fillStyle = pinned ? colors.accent : colors.muted;
      pen.fillText(pinned ? "pinned" : "pin", width - 12, top + app.timelineLayout.HEADING / 2 + 1);
      pen.textAlign = "left";
    }
  }

  /** Blocks of all visible rows that pass, grouped by fill so that the colour changes a few times a frame and not per block. */
  function gather(scene, width, height, scale, passes) {
    const groups = Array.from({ length: app.palette.HUES + 1 }, () => []); // as many as classes of kinds
    const { line, view } = scene;
    for (const { row, y } of scene.layout.rows) {
      const top = RULER + app.timelineLayout.seenAt(scene, y);
      if (!passes(y) || top + app.timelineLayout.LINE < RULER || top > height) continue;
      app.rows.blocks(row, line, view.start, view.end, scale, (x0, x1, span, count, failed) => {
        const left = Math.max(x0, -OUTSIDE);
        const right = Math.min(x1, width + OUTSIDE);
        groups[scene.fills[span]].push({ left, right, top, span, count, failed });
      });
    }
    return groups;
  }

  const standsForMany = (line, span) => line.stands[span] > 1;

  function labelOf({ line, names }, span) {
    return standsForMany(line, span) ? `${app.units.countText(line.stands[span])} spans` : app.shortNames.of(names[line.name[span]]);
  }

  function paintBlocks(pen, scene, groups, colors, cache) {
    const { line } = scene;
    const tall = app.timelineLayout.LINE - 2;
    const bright = (block) => scene.bright === null || scene.bright[line.name[block.span]] === 1;
    groups.forEach((blocks, fill) => {
      for (const dim of [true, false]) {
        pen.fillStyle = colors.fills[fill];
        for (const block of blocks) {
          if (bright(block) === dim) continue;
          pen.globalAlpha = dim ? 0.16 : standsForMany(line, block.span) ? 0.55 : 1;
          const wide = block.right - block.left;
          pen.fillRect(block.left, block.top, wide > 3 ? wide - 1 : wide, tall);
        }
      }
      pen.globalAlpha = 1;
      for (const block of blocks) {
        if (block.failed === 1) {
          const wide = Math.max(2, block.right - block.left - 1);
          pen.fillStyle = colors.surface;
          pen.fillRect(block.left, block.top + tall - 4, wide, 1);
          pen.fillStyle = colors.bad;
          pen.fillRect(block.left, block.top + tall - 3, wide, 3);
        }
        if (block.count > 1 || !bright(block)) continue;
        const from = Math.max(block.left, 0) + 5;
        const room = block.right - from - 5;
        if (room < 18) continue;
        pen.fillStyle = colors.inks[fill];
        pen.fillText(shorten(pen, labelOf(scene, block.span), room, cache), from, block.top + tall / 2 + 0.5);
      }
    });
  }

  function paintOutline(pen, scene, span, color, scale, width) {
    const { line, view } = scene;
    const place = scene.layout.rows.find(({ row }) => row.lane === line.lane[span] && row.depth === line.depth[span]);
    if (place === undefined || app.timelineLayout.covered(scene, place.y)) return;
    const left = Math.max((line.start[span] - view.start) * scale, -OUTSIDE);
    const right = Math.min(left + Math.max(line.duration[span] * scale, 2), width + OUTSIDE);
    pen.strokeStyle = color;
    pen.lineWidth = 2;
    pen.strokeRect(left, RULER + app.timelineLayout.seenAt(scene, place.y), right - left, app.timelineLayout.LINE - 2);
  }

  /** Curves from launches to the device work that they started. */
  function paintArrows(pen, scene, scale, colors) {
    const { line, view, layout } = scene;
    const yOf = (span) => layout.rows.find(({ row }) => row.lane === line.lane[span] && row.depth === line.depth[span])?.y;
    pen.strokeStyle = pen.fillStyle = colors.text;
    pen.lineWidth = 1.2;
    for (const [launch, work] of scene.arrows.slice(0, 200)) {
      const [from, to] = [yOf(launch), yOf(work)];
      if (from === undefined || to === undefined) continue;
      const clamp = (x) => Math.min(Math.max(x, -4000), 8000);
      const x0 = clamp((line.start[launch] - view.start) * scale);
      const x1 = clamp((line.start[work] - view.start) * scale);
      const [y0, y1] = [from, to].map((y) => RULER + app.timelineLayout.seenAt(scene, y) + app.timelineLayout.LINE / 2 - 1);
      const bend = Math.max(24, Math.abs(x1 - x0) / 2);
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(x1 + 1, y1);
      pen.lineTo(x1 - 6, y1 - 4);
      pen.lineTo(x1 - 6, y1 + 4);
      pen.fill();
    }
  }

  function paintScrollBar(pen, scene, width, height, colors) {
    const { fixed } = scene.layout;
    const [all, room] = [scene.layout.height - fixed, height - RULER - fixed];
    if (all <= room) return;
    const size = Math.max(24, (room / all) * room);
    const top = RULER + fixed + (scene.scroll / (all - room)) * (room - size);
    pen.globalAlpha = 0.5;
    pen.fillStyle = colors.muted;
    pen.fillRect(width - 5, top, 3, size);
    pen.globalAlpha = 1;
  }

  /** The lanes below those that are pinned, then these. */
  function paintLanes(pen, scene, width, height, colors, cache) {
    const { fixed } = scene.layout;
    const scale = width / scene.view.length;
    for (const [from, to, passes] of [[RULER + fixed, height, (y) => y >= fixed], [RULER, RULER + fixed, (y) => y < fixed]]) {
      if (to <= from) continue;
      pen.save();
      pen.beginPath();
      pen.rect(0, from, width, to - from);
      pen.clip();
      paintHeadings(pen, scene, colors, width, passes);
      paintBlocks(pen, scene, gather(scene, width, height, scale, passes), colors, cache);
      pen.restore();
    }
    pen.fillStyle = colors.muted;
    if (fixed > 0) pen.fillRect(0, RULER + fixed - 2, width, 2);
  }

  function paint(canvas, scene, width, height, colors) {
    const pen = sizeTo(canvas, width, height);
    const scale = width / scene.view.length;
    pen.fillStyle = colors.surface;
    pen.fillRect(0, 0, width, height);
    pen.font = FONT;
    const cache = (canvas.textWidths ??= new Map());
    pen.save();
    pen.beginPath();
    pen.rect(0, RULER, width, height - RULER);
    pen.clip();
    const ticks = app.units.ticks(scene.view.start, scene.view.end, Math.max(2, Math.floor(width / 120)));
    paintGrid(pen, ticks.values, scene.view, width, height, colors);
    paintLanes(pen, scene, width, height, colors, cache);
    if (scene.selected !== null) paintOutline(pen, scene, scene.selected, colors.text, scale, width);
    paintArrows(pen, scene, scale, colors);
    if (scene.path) app.criticalPath.paint(pen, scene, width, colors);
    pen.restore();
    paintRuler(pen, ticks, scene.view, width, colors);
    if (scene.range !== null) {
      const [a, b] = scene.range.map((at) => (at - scene.view.start) * scale);
      pen.globalAlpha = 0.2;
      pen.fillStyle = colors.accent;
      pen.fillRect(a, 0, b - a, height);
      pen.globalAlpha = 1;
    }
    paintScrollBar(pen, scene, width, height, colors);
  }

  app.timelineCanvas = { paint, sizeTo, shorten, RULER };
})((globalThis.regimeter ||= {}));
