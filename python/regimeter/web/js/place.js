// SPDX-License-Identifier: Apache-2.0
// Where a reader is in the document, so that he is there again after parts of it were made anew: what has the focus with
// what is marked in it, what is scrolled, which details are open. Things are found again by their way from their section.
(function (app) {
  "use strict";

  /** The way from a section to a node, as numbers of children. */
  function way(section, node) {
    const steps = [];
    for (let at = node; at !== section; at = at.parentNode) steps.unshift([...at.parentNode.children].indexOf(at));
    return steps;
  }

  const at = (section, steps) => steps.reduce((node, step) => node?.children[step], section) ?? null;
  const nameOf = (node) => node.getAttribute("aria-label") ?? node.id ?? "";
  const textOf = (node) => nameOf(node) || node.textContent.trim();

  /** The node at the same place, where it is the same thing; else the first of its kind with its name or text. */
  function found(section, { steps, tag, text }) {
    const same = (node) => node !== null && node.tagName === tag && textOf(node) === text;
    const placed = at(section, steps);
    return same(placed) ? placed : [...section.querySelectorAll(tag)].find(same) ?? null;
  }

  const of = (section, node) => ({ steps: way(section, node), tag: node.tagName, text: textOf(node) });

  function focused(section) {
    const node = document.activeElement;
    if (node === null || node === section || !section.contains(node)) return null;
    const marked = typeof node.selectionStart === "number" ? [node.selectionStart, node.selectionEnd] : null;
    return { ...of(section, node), marked };
  }

  function scrolled(section) {
    return [...section.querySelectorAll("*")].filter((node) => node.scrollTop > 0 || node.scrollLeft > 0).map((node) => ({ steps: way(section, node), tag: node.tagName, top: node.scrollTop, left: node.scrollLeft }));
  }

  /** What is to be kept of a section. */
  function take(section) {
    const open = [...section.querySelectorAll("details[open] > summary")].map((node) => of(section, node));
    return { focus: focused(section), open, scrolled: scrolled(section) };
  }

  /** Brings a section that was made anew to what was kept of it. */
  function give(section, kept) {
    for (const one of kept.open) {
      const summary = found(section, one);
      if (summary !== null) summary.parentNode.open = true;
    }
    for (const { steps, tag, top, left } of kept.scrolled) {
      const node = at(section, steps);
      if (node !== null && node.tagName === tag) node.scrollTo({ top, left, behavior: "instant" });
    }
    const node = kept.focus === null ? null : found(section, kept.focus);
    if (node === null) return;
    node.focus({ preventScroll: true });
    if (kept.focus.marked !== null && typeof node.selectionStart === "number") node.setSelectionRange(...kept.focus.marked);
  }

  app.place = { take, give };
})((globalThis.regimeter ||= {}));
