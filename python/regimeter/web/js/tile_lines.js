// SPDX-License-Identifier: Apache-2.0
// Tiles of a timeline and its overview put together to one line, as the page draws it: within [from, to) of the lanes that
// the tiles have, what the tiles hold, elsewhere what the overview holds. Each span is there once.
(function (app) {
  "use strict";

  const NUMBERS = { start: Float64Array, duration: Float64Array, span: Float64Array, bytes: Float64Array, correlation: Float64Array, name: Uint32Array, lane: Uint32Array, kind: Uint8Array, activity: Uint8Array, stands: Float64Array, op: Uint32Array, launch: Int32Array, step: Int32Array, failed: Uint8Array };

  const NOTHING = []; // details where no span is chosen

  /** Rows of `line` that pass, as their numbers. */
  function rowsThat(line, passes) {
    const found = new Uint32Array(line.count);
    let used = 0;
    for (let i = 0; i < line.count; i += 1) {
      if (!passes(i)) continue;
      found[used] = i;
      used += 1;
    }
    return found.subarray(0, used);
  }

  function gathered(Type, parts, count, columnOf) {
    const made = new Type(count);
    let at = 0;
    for (const { line, rows } of parts) {
      const column = columnOf(line);
      for (let k = 0; k < rows.length; k += 1) made[at + k] = column[rows[k]];
      at += rows.length;
    }
    return made;
  }

  /** Rows {line, rows} of all parts one after the other. Of launches only those of the first part are known. */
  function joined(overview, parts) {
    const count = parts.reduce((sum, { rows }) => sum + rows.length, 0);
    const made = { ...overview, count, sums: new Map(), details: parts[0].line.details };
    for (const [name, Type] of Object.entries(NUMBERS)) made[name] = gathered(Type, parts, count, (line) => line[name]);
    made.depths = { all: gathered(Int32Array, parts, count, (line) => line.depths.all), plain: gathered(Int32Array, parts, count, (line) => line.depths.plain) };
    made.launch.fill(-1, parts[0].rows.length);
    let at = 0;
    for (const { line, rows } of parts) {
      if (line.sums.size > 0) for (let k = 0; k < rows.length; k += 1) if (line.stands[rows[k]] > 1) made.sums.set(at + k, line.sums.get(rows[k]));
      at += rows.length;
    }
    return made;
  }

  /**
   * One line of: `chosen`, a line of one span and its links, or null; `tiles`, [{from, to, lanes, line}] of neighbouring
   * times with lanes(lane) saying which they have, in order of time; and the overview.
   */
  function merge(overview, tiles, chosen) {
    const known = new Set(chosen === null ? [] : chosen.span);
    const parts = [{ line: chosen ?? { ...overview, count: 0, details: NOTHING }, rows: new Uint32Array(chosen === null ? 0 : chosen.count).map((_, i) => i) }];
    const first = Math.min(...tiles.map(({ from }) => from));
    const last = Math.max(...tiles.map(({ to }) => to));
    const reaching = new Set();
    for (const { from, line } of tiles) {
      const rows = rowsThat(line, (i) => {
        if (line.stands[i] === 1 && known.has(line.span[i])) return false;
        if (line.start[i] >= from) return true;
        if (from > first) return false; // the tile before has it
        reaching.add(line.span[i]);
        return true;
      });
      parts.push({ line, rows });
    }
    const covered = (lane) => tiles.some(({ lanes }) => lanes(lane));
    const ofTiles = new Map();
    const rest = rowsThat(overview, (i) => {
      const lane = overview.lane[i];
      if (!ofTiles.has(lane)) ofTiles.set(lane, covered(lane));
      if (overview.stands[i] === 1 && (known.has(overview.span[i]) || reaching.has(overview.span[i]))) return false;
      return !ofTiles.get(lane) || overview.start[i] < first || overview.start[i] >= last;
    });
    parts.push({ line: overview, rows: rest });
    return joined(overview, parts);
  }

  app.tileLines = { merge };
})((globalThis.regimeter ||= {}));
