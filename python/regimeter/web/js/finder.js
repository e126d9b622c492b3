// SPDX-License-Identifier: Apache-2.0
// Ctrl-K: goes to a page, a table, an operation or the longest span of a name, by some letters of it; a number is that of a
// span. What is found are links of the page, so that the browser's Back leads to where one was.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const { units } = app;
  const SHOWN = 12;

  /** Spans of the timeline by name: {name, kind, count, duration, longest}. */
  function spansOf({ timeline: line, names }) {
    const found = new Map();
    for (let i = 0; line !== null && i < line.count; i += 1) {
      if (line.stands[i] !== 1) continue;
      const seen = found.get(line.name[i]);
      if (seen === undefined) found.set(line.name[i], { name: names[line.name[i]], kind: line.kinds[line.kind[i]], count: 1, duration: line.duration[i], longest: i });
      else {
        seen.count += 1;
        seen.duration += line.duration[i];
        if (line.duration[i] > line.duration[seen.longest]) seen.longest = i;
      }
    }
    return [...found.values()].sort((a, b) => b.duration - a.duration);
  }

  const toSpan = (row) => ({ sel: String(row) });

  /** Everything that can be gone to: {text, what, note, state}; `state` is what the address says then. */
  function targets(model, leaves) {
    const line = model.timeline ?? null;
    const paged = leaves.map(({ id, title, key }) => ({ text: title, what: "page", note: `g ${key}`, state: { page: id } }));
    const tables = (model.panels ?? []).map(({ name }) => ({ text: app.pages.titleOf(name), what: "table", note: leaves.find(({ tables: held }) => held.has(name))?.title ?? "", state: { table: name } }));
    const operations = (model.operations ?? []).map(({ name }) => ({ text: name, what: "operation", note: "", state: { op: name } }));
    const numberOf = (row) => (line.tiles ? line.span[row] : row);
    const spans = spansOf({ timeline: line, names: model.names }).map(({ name, kind, count, duration, longest }) => ({
      text: name,
      what: app.spanKinds.words(kind),
      note: `${units.countText(count)} ×, ${units.timeText(duration)}`,
      state: toSpan(numberOf(longest)),
    }));
    return [...paged, ...tables, ...operations, ...spans];
  }

  /** Those with every word of the query, and what begins with it first; before them a number as that of a span, after them
      all spans with it in their names. `spans`: how many the timeline has. */
  function matches(all, query, spans) {
    const wanted = query.trim().toLowerCase();
    const words = wanted.split(/\s+/);
    const found = all.filter(({ text, what }) => words.every((word) => `${text} ${what}`.toLowerCase().includes(word)));
    const first = found.filter(({ text }) => wanted !== "" && text.toLowerCase().startsWith(wanted));
    const numbered = /^\d+$/.test(wanted) && Number(wanted) < spans ? [{ text: `span ${wanted}`, what: "span", note: "", state: toSpan(Number(wanted)) }] : [];
    const spread = wanted !== "" && spans > 0 ? [{ text: `Find \u201c${query.trim()}\u201d in the timeline`, what: "search", note: "", state: { q: query.trim() } }] : [];
    return { found: [...numbered, ...first, ...found.filter((one) => !first.includes(one))], spread };
  }

  /** The box with what is typed and what is found. */
  function open(page) {
    if (page.model === null || document.querySelector("dialog[open]") !== null) return;
    const all = targets(page.model, page.leaves);
    const spans = page.model.timeline?.spans ?? 0;
    let [found, at] = [[], 0];
    const list = el("ul", { id: "finder-list", role: "listbox", "aria-label": "What is found" });
    const said = el("p", { class: "dim", role: "status" });
    const input = el("input", { type: "search", role: "combobox", "aria-label": "Go to", "aria-controls": list.id, "aria-expanded": "true", "aria-autocomplete": "list", placeholder: "Page, table, operation, kernel, span", autocomplete: "off", spellcheck: "false" });
    const go = (target) => {
      dialog.close();
      app.address.go(app.address.format(target.state));
    };
    function mark(next) {
      at = Math.min(Math.max(next, 0), list.children.length - 1);
      [...list.children].forEach((node, i) => node.setAttribute("aria-selected", String(i === at)));
      list.children[at]?.scrollIntoView({ block: "nearest" });
      if (list.children[at]) input.setAttribute("aria-activedescendant", list.children[at].id);
      else input.removeAttribute("aria-activedescendant");
    }
    function fill() {
      const made = matches(all, input.value, spans);
      found = [...made.found.slice(0, SHOWN), ...made.spread];
      list.replaceChildren(...found.map((one, i) => el("li", { id: `finder-${i}`, role: "option", title: one.text, on: { click: () => go(one) } }, el("span", { class: "clip" }, app.shortNames.of(one.text)), el("span", { class: "dim" }, one.what), el("span", { class: "dim" }, one.note))));
      const more = made.found.length - SHOWN;
      said.textContent = made.found.length === 0 ? "Nothing has these letters in its name." : more > 0 ? `${units.countText(more)} more: type more of the name` : "";
      mark(0);
    }
    const KEYS = { ArrowDown: () => mark(at + 1), ArrowUp: () => mark(at - 1), Enter: () => found[at] && go(found[at]) };
    input.addEventListener("input", fill);
    input.addEventListener("keydown", (event) => {
      if (KEYS[event.key] === undefined || event.isComposing) return;
      event.preventDefault();
      KEYS[event.key]();
    });
    const dialog = el("dialog", { class: "keys finder", "aria-label": "Go to" }, el("div", { class: "finder-line" }, input, button("Close", () => dialog.close())), list, said);
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    fill();
    dialog.showModal();
    input.focus();
  }

  app.finder = { open, targets, matches };
})((globalThis.regimeter ||= {}));
