// SPDX-License-Identifier: Apache-2.0
// What is seen of the timeline as parts of the page's address, and back: t=START..END range=START..END sel=SPAN q=TEXT.
// Times are ns since the start of the run, or a number with a unit (12.5ms); SPAN is a row of the timeline. What is not
// shown as it is at first stands there too: python=1, path=0, rank=2; lanes at the top as pin=3,0.
(function (app) {
  "use strict";

  const UNITS = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };

  const SWITCHES = ["python", "path", "rank"];

  function time(text) {
    const parts = /^(-?\d+(?:\.\d+)?(?:e\d+)?)(ns|us|µs|ms|s)?$/.exec(text);
    return parts === null ? null : Number(parts[1]) * UNITS[parts[2] ?? "ns"];
  }

  function interval(text) {
    const [start, end, ...more] = (text ?? "").split("..").map(time);
    return more.length === 0 && typeof start === "number" && typeof end === "number" && end > start ? [start, end] : null;
  }

  const lanes = (text) => (/^\d+(,\d+)*$/.test(text ?? "") ? [...new Set(text.split(",").map(Number))] : []);

  /** What the parts of an address say of a timeline: {view, range, selected, query, pinned, shown}, null, "" or empty for what
      they do not name; `named` are those parts as parts() would write them. */
  function state(given) {
    const selected = /^\d+$/.test(given.sel ?? "") ? Number(given.sel) : null;
    const shown = Object.fromEntries(SWITCHES.filter((name) => /^\d+$/.test(given[name] ?? "")).map((name) => [name, given[name]]));
    const found = { view: interval(given.t), range: interval(given.range), selected, query: given.q ?? "", pinned: lanes(given.pin), shown };
    const named = Object.fromEntries(Object.entries(parts(found)).filter(([, value]) => value !== null));
    return { ...found, named };
  }

  const written = ([start, end]) => `${Math.floor(start)}..${Math.ceil(end)}`;

  /** The parts of the address for a state, null for each that has nothing to say. */
  function parts({ view, range, selected, query, pinned = [], shown = {} }) {
    const switched = Object.fromEntries(SWITCHES.map((name) => [name, shown[name] ?? null]));
    return { t: view === null ? null : written(view), range: range === null ? null : written(range), sel: selected === null ? null : String(selected), q: query || null, pin: pinned.join(",") || null, ...switched };
  }

  app.deepLink = { state, parts };
})((globalThis.regimeter ||= {}));
