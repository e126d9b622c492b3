// SPDX-License-Identifier: Apache-2.0
// The first screen as Markdown, to be put where people talk about the run: what it is, the sentence, where the time went, what
// to do with its bound, and the next command.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const { units } = app;

  const plain = (text) => text.replaceAll("\u00a0", " ").replaceAll("\u202f", " ");

  function bound({ saved_ns: saved, share, of }) {
    if (saved === null) return "";
    return ` - up to ${units.timeText(saved)}${share === null ? "" : `, ${units.shareText(share)} ${of}`}`;
  }

  /** The next command: the table that shows the first thing to do, else the file itself. */
  function command({ limit, run, title }) {
    const file = run?.file ?? title ?? "RUN";
    const table = limit.actions.find((one) => one.table)?.table ?? "show";
    return `regimeter ${table} ${/^[\w./:@%+=-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`}`;
  }

  /** The text, null for a page without a first screen. */
  function markdown(model, title) {
    const { limit } = model;
    if (!limit) return null;
    const parts = app.limitParts(limit).map(({ cause, share }) => `- ${cause}: ${units.shareText(share)}`);
    const actions = limit.actions.map((one, i) => `${i + 1}. ${one.title}${bound(one)}`);
    const groups = [[`**${limit.sentence}**`], [`${title}${limit.why === "" ? "" : `. ${limit.why}`}${limit.odd === "" ? "" : ` ${limit.odd}`}`], parts, actions];
    if (model.kind === "run") groups.push([`Next: \`${command({ ...model, title })}\``]);
    return `${groups.filter((lines) => lines.length > 0).map((lines) => plain(lines.join("\n"))).join("\n\n")}\n`;
  }

  /** Where a page may not write to the clipboard, the text is there to be taken by hand. */
  function offer(text) {
    const field = el("textarea", { rows: 16, readonly: true, "aria-label": "Summary as Markdown" });
    field.value = text;
    const dialog = el("dialog", { class: "keys", "aria-label": "Summary" }, el("p", { class: "help" }, "The browser keeps this page from the clipboard. The text is marked: Ctrl-C copies it."), field, button("Close", () => dialog.close()));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    field.select();
  }

  async function copy(model, title, control) {
    const text = markdown(model, title);
    if (text === null) return;
    try {
      await navigator.clipboard.writeText(text);
      control.textContent = "Copied";
    } catch {
      offer(text);
    }
  }

  /** The header's button for what the page shows; it says what it did until something else has the focus. */
  function wire(page, control) {
    control.addEventListener("click", () => copy(page.model, page.title.replace(/ - regimeter$/, ""), control));
    control.addEventListener("blur", () => (control.textContent = "Copy summary"));
  }

  app.summary = { markdown, wire };
})((globalThis.regimeter ||= {}));
