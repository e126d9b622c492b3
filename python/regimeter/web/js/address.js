// SPDX-License-Identifier: Apache-2.0
// What is seen as the end of the page's address, #page=kernels&table=kernels&sort=-total: names and texts. What a reader goes
// back to (another page, table, span, node) is an entry of the browser's history; moving and typing change the last one.
(function (app) {
  "use strict";

  // A view never changes the page, a link does; what a view says may only name the page that an address meant.
  const STEPS = ["table", "by", "range", "sel", "op", "flame", "node"];
  let seen = {};
  let last = ""; // the end of the address as it was read or written last
  const watchers = new Set();
  const framed = globalThis.parent !== undefined && globalThis.parent !== globalThis; // the history is that of another document

  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };

  /** {name: text} of an address' end; {section: id} where it names a part of the document, as "#timeline" does. */
  function parse(hash) {
    const text = hash.replace(/^#/, "");
    if (text === "") return {};
    if (!text.includes("=")) return { section: decoded(text) };
    return Object.fromEntries(new URLSearchParams(text));
  }

  /** The end of the address; "" where nothing is to be said. Numbers with points and commas stay readable. */
  function format(state) {
    const parts = Object.entries(state).filter(([name, value]) => name !== "section" && typeof value === "string" && value !== "");
    return parts.length === 0 ? "" : `#${parts.map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%2F", "/")}`).join("&")}`;
  }

  const current = () => seen;
  const tell = () => watchers.forEach((watcher) => watcher(seen));

  function put(state, step) {
    seen = state;
    const hash = format(state);
    try {
      history[step && !framed ? "pushState" : "replaceState"](null, "", location.href.split("#")[0] + hash);
    } catch {
      // a page inside another document may not change its address; it works without one
    }
    last = location.hash;
  }

  /** Says what is seen now. An address that somebody has just typed is followed before it is written over. */
  function say(state) {
    if (format(state) === format(seen) || location.hash !== last) return;
    put(state, STEPS.some((name) => state[name] !== seen[name]));
  }

  /** Follows a link within the page. */
  function go(hash) {
    put(parse(hash), true);
    tell();
  }

  /** Reads the address, as a reader opened it or went back to it. */
  function read() {
    last = location.hash;
    seen = parse(last);
    return seen;
  }

  /** Calls watcher(state) whenever a reader goes somewhere; returns what ends that. */
  function watch(watcher) {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }

  /** Links to parts of the page change what is seen and never leave it; with a modifier the browser opens them elsewhere. */
  function wire() {
    read();
    addEventListener("hashchange", () => {
      if (location.hash === last) return;
      read();
      tell();
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href^='#']");
      if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      const hash = link.getAttribute("href");
      if (link.classList.contains("skip")) document.getElementById(hash.slice(1))?.focus();
      else go(hash);
    });
  }

  app.address = { parse, format, current, say, go, read, watch, wire };
})((globalThis.regimeter ||= {}));
