// SPDX-License-Identifier: Apache-2.0
// Finding spans of a timeline by name: the next one in order of start, and how many there are.
(function (app) {
  "use strict";

  /** For each name whether it passes `test`. */
  const passing = (names, test) => Uint8Array.from(names, (name) => (test(name) ? 1 : 0));

  /** Whether span `a` comes after span `b` in order of start. */
  const after = ({ start }, a, b) => start[a] > start[b] || (start[a] === start[b] && a > b);

  /** The next span after `from` (null: the first), or with direction -1 the one before, whose name passes; -1 for none. */
  function next(line, passes, from, direction) {
    let [best, wrapped] = [-1, -1];
    const nearer = (a, b) => b < 0 || (direction > 0 ? after(line, b, a) : after(line, a, b));
    for (let i = 0; i < line.count; i += 1) {
      if (passes[line.name[i]] !== 1 || line.depth[i] < 0) continue;
      if (nearer(i, wrapped)) wrapped = i;
      if (from !== null && i !== from && (direction > 0) === after(line, i, from) && nearer(i, best)) best = i;
    }
    return best < 0 ? wrapped : best;
  }

  /** Rows whose name passes, the time that they took together, and both by kind. A block counts with its longest span alone. */
  function matches(line, passes) {
    let [count, duration] = [0, 0];
    const kinds = new Map();
    for (let i = 0; i < line.count; i += 1) {
      if (passes[line.name[i]] !== 1 || line.depth[i] < 0) continue;
      count += 1;
      const took = line.stands[i] === 1 ? line.duration[i] : 0;
      duration += took;
      const [before, sum] = kinds.get(line.kind[i]) ?? [0, 0];
      kinds.set(line.kind[i], [before + 1, sum + took]);
    }
    return { count, duration, kinds };
  }

  /** The device work that each launch started. */
  function launched(line) {
    const found = new Map();
    for (let work = 0; work < line.count; work += 1) {
      const launch = line.launch[work];
      if (launch < 0) continue;
      if (found.has(launch)) found.get(launch).push(work);
      else found.set(launch, [work]);
    }
    return found;
  }

  app.spanSearch = { passing, next, matches, launched };
})((globalThis.regimeter ||= {}));
