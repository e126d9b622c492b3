// SPDX-License-Identifier: Apache-2.0
// The runs that a server has: each opened by its name, two of them compared.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const AGAIN_MS = 3000;
  const SIDES = ["baseline", "current"];
  const TAGS = "tags";
  const tagsText = ({ tags }) => tags.join(", ");
  const chosen = {}; // side -> the row; rows are made anew whenever the table is sorted or searched

  /** A radio button with which a run is chosen as one side of a comparison. */
  function choice(row, side, changed) {
    if (!row.comparable) return null;
    return el("label", { class: "choice" }, el("input", { type: "radio", name: side, value: row.id, checked: chosen[side]?.id === row.id, "aria-label": `${row.name} as ${side}`, on: { change: () => changed(side, row) } }));
  }

  const address = ({ id }) => `/runs/${encodeURIComponent(id)}`;

  /** changed(side, row): one was chosen; say(sentence); turned(row): its tags are others now. */
  function columnsOf(rows, rule, { changed, say, turned }) {
    const text = (heading, doc, of, more = {}) => ({ heading, unit: "text", doc, values: rows.map(of), ...more });
    const sides = SIDES.map((side) => text(side, `Choose the ${side} of a comparison`, () => "", { control: true, draw: (row) => choice(rows[row], side, changed) }));
    return [
      text("run", "Open its page", ({ name }) => name, { draw: (row) => el("a", { href: address(rows[row]) }, rows[row].name) }),
      text("what limits it", "The verdict; … while it is read", ({ limit }) => limit ?? "…", { prose: true }),
      text("kind", "What the file is", ({ kind, written }) => (written ? "being written" : kind), { draw: (row) => (rows[row].written ? el("a", { href: address(rows[row]) }, "being written") : rows[row].kind) }),
      { heading: "size", unit: "bytes", doc: "Of the file", values: rows.map(({ bytes }) => bytes) },
      text("written", "When it was last written to", ({ modified }) => modified),
      text(TAGS, "What it was marked with", tagsText, { draw: (row) => app.runActions.tags(rows[row], rule, say, () => turned(row)) }),
      ...(rows.filter(({ comparable }) => comparable).length > 0 ? sides : []),
      text("delete", "Remove its file", () => "", { control: true, draw: (row) => app.runActions.remove(rows[row], say) }),
    ];
  }

  /** What compares the two that are chosen. */
  function comparing() {
    const said = el("span", { class: "dim", role: "status" });
    const go = button("Compare", () => location.assign(`/compare?${SIDES.map((side) => `${side}=${encodeURIComponent(chosen[side].id)}`).join("&")}`), { disabled: true });
    const changed = (side, row) => {
      chosen[side] = row;
      const [baseline, current] = SIDES.map((one) => chosen[one]?.id);
      const same = baseline !== undefined && baseline === current;
      go.disabled = baseline === undefined || current === undefined || same;
      const names = SIDES.filter((one) => chosen[one]).map((one) => `${one}: ${chosen[one].name}`).join(", ");
      said.textContent = same ? `${names}. Choose two different runs.` : names;
    };
    said.textContent = "Choose a baseline and a current run.";
    return { node: el("div", { class: "tools" }, go, said), changed };
  }

  /** Loads the page again until every run is read, unless a reader is busy with it. */
  function again(pending) {
    if (pending === 0) return null;
    return setTimeout(() => {
      const busy = Object.keys(chosen).length > 0 || app.runActions.busy() || (document.querySelector("#upload input[type=file]")?.files.length ?? 0) > 0;
      if (!busy) location.reload();
    }, AGAIN_MS);
  }

  let compare = null;

  function render(body, section, page) {
    const { rows, pending = 0, folded, tag } = section;
    const said = el("p", { class: "run-said", role: "status" });
    const say = (sentence) => void (said.textContent = sentence);
    const turned = (row) => table.retell(TAGS, row, tagsText(rows[row]));
    const first = compare === null;
    compare ??= comparing();
    const timer = again(pending);
    const { node, follow, table } = app.sections.grid({ ...section, columns: columnsOf(rows, tag, { changed: compare.changed, say, turned }) }, page);
    const both = rows.filter(({ comparable }) => comparable).length > 1;
    body.append(folded ? el("details", null, el("summary", null, "Show them"), node) : "", ...(folded ? [] : [first && both ? compare.node : "", node]), said);
    return { follow, destroy: () => clearTimeout(timer) };
  }

  (app.sectionForms ??= {}).runs = { render };
})((globalThis.regimeter ||= {}));
