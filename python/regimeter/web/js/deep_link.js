// SPDX-License-Identifier: Apache-2.0
// What is seen of the timeline as the end of the page's address, and back: #t=START..END&range=START..END&sel=SPAN&q=TEXT.
// Times are ns since the start of the run, or a number with a unit (12.5ms); SPAN is a row of the timeline. What is not
// shown as it is at first stands there too: python=1, path=0, rank=2.
(function (app) {
  "use strict";

  const UNITS = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };

  const SWITCHES = ["python", "path", "rank"];

  function time(text) {
    const parts = /^(-?\d+(?:\.\d+)?(?:e\d+)?)(ns|us|µs|ms|s)?$/.exec(text);
    return parts === null ? null : Number(parts[1]) * UNITS[parts[2] ?? "ns"];
  }

  function interval(text) {
    const [start, end] = (text ?? "").split("..").map(time);
    return typeof start === "number" && typeof end === "number" && end > start ? [start, end] : null;
  }

  /** State {view, range, selected, query, shown} of an address' end; null where it names no part of a timeline. */
  function parse(hash) {
    if (!hash.includes("=")) return null;
    const given = new URLSearchParams(hash.replace(/^#/, ""));
    const selected = /^\d+$/.test(given.get("sel") ?? "") ? Number(given.get("sel")) : null;
    const shown = Object.fromEntries(SWITCHES.filter((name) => /^\d+$/.test(given.get(name) ?? "")).map((name) => [name, given.get(name)]));
    const state = { view: interval(given.get("t")), range: interval(given.get("range")), selected, query: given.get("q") ?? "", shown };
    return format(state) === "" ? null : state;
  }

  const written = ([start, end]) => `${Math.floor(start)}..${Math.ceil(end)}`;

  /** The end of the address for a state; "" where there is nothing to say. */
  function format({ view, range, selected, query, shown = {} }) {
    const parts = [];
    if (view !== null) parts.push(`t=${written(view)}`);
    if (range !== null) parts.push(`range=${written(range)}`);
    if (selected !== null) parts.push(`sel=${selected}`);
    if (query !== "") parts.push(`q=${encodeURIComponent(query)}`);
    for (const [name, value] of Object.entries(shown)) parts.push(`${name}=${value}`);
    return parts.length === 0 ? "" : `#${parts.join("&")}`;
  }

  let last = ""; // of what is seen: an address that somebody has just typed is read before it is written over

  /** The state that the page's address names; null where it names none. */
  function read() {
    const state = parse(location.hash);
    if (state !== null) last = format(state);
    return state;
  }

  /** Writes a new state into the address, without a new entry in the history; not where a page has no address of its own. */
  function write(state) {
    const hash = format(state);
    if (hash === last) return;
    last = hash;
    if (hash === location.hash || (hash === "" && !location.hash.includes("="))) return;
    try {
      history.replaceState(null, "", hash === "" ? location.pathname + location.search : hash);
    } catch {
      // a page inside another document may not change its address
    }
  }

  app.deepLink = { parse, format, read, write };
})((globalThis.regimeter ||= {}));
