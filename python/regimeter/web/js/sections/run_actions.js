// SPDX-License-Identifier: Apache-2.0
// What a reader does with a run of a server: marks it with tags, takes one away, deletes it after a question. What is refused
// is said in the words of the server.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const addressOf = ({ id }) => `/api/runs/${encodeURIComponent(id)}`;

  /** Whether the server did it; say() gets the sentence where it did not. */
  async function done(method, address, say) {
    try {
      const answer = await fetch(address, { method });
      if (!answer.ok) say((await answer.json()).detail);
      return answer.ok;
    } catch {
      say("The server does not answer; nothing was changed.");
      return false;
    }
  }

  /** The tags of a run, each with what takes it away, and what adds one. rule: {pattern, words}; changed() follows. */
  function tags(row, rule, say, changed) {
    const shown = el("span");
    const add = button("Add tag", () => open(true), { class: "quiet", "aria-label": `Add tag to ${row.name}` });
    const name = el("input", { type: "text", size: 10, maxlength: 64, "aria-label": `New tag of ${row.name}` });
    const form = el("form", { hidden: true, on: { submit: (event) => (event.preventDefault(), set(name.value.trim(), true)), keydown: ({ key }) => key === "Escape" && open(false) } }, name, el("button", null, "Add"));

    function open(yes) {
      [form.hidden, add.hidden, name.value] = [!yes, yes, ""];
      (yes ? name : add).focus();
    }

    async function set(tag, on) {
      if (!new RegExp(`^(?:${rule.pattern})$`).test(tag)) return say(rule.words);
      if (!(await done(on ? "PUT" : "DELETE", `${addressOf(row)}/tags/${encodeURIComponent(tag)}`, say))) return null;
      row.tags = on ? [...new Set([...row.tags, tag])].sort() : row.tags.filter((one) => one !== tag);
      fill();
      changed();
      open(false);
      return say(on ? `${row.name} has the tag ${tag}.` : `${row.name} no longer has the tag ${tag}.`);
    }

    function fill() {
      shown.replaceChildren(...row.tags.map((tag) => el("span", { class: "tag" }, tag, button("×", () => set(tag, false), { class: "quiet", "aria-label": `Take the tag ${tag} from ${row.name}` }))));
    }

    fill();
    return el("div", { class: "tags" }, shown, add, form);
  }

  /** What deletes a run; of one that is kept it says why. */
  function remove(row, say) {
    async function sure() {
      dialog.close();
      if (await done("DELETE", addressOf(row), say)) location.reload();
    }
    const dialog = el("dialog", { class: "keys", "aria-label": `Delete ${row.name}?` }, el("p", null, `Delete ${row.name}? Its file is removed for good.`), el("div", { class: "tools" }, button("Delete it", sure), button("Keep it", () => dialog.close(), { autofocus: true })));
    dialog.addEventListener("close", () => dialog.remove());
    const ask = () => {
      document.body.append(dialog);
      dialog.showModal();
    };
    const kept = row.kept !== "";
    return button("Delete", () => (kept ? say(row.kept) : ask()), { class: "quiet", title: kept ? row.kept : null, "aria-label": `Delete ${row.name}`, "aria-disabled": kept ? "true" : null });
  }

  /** Whether a reader is about to change something. */
  const busy = () => document.querySelector(".tags form:not([hidden]), dialog[open]") !== null;

  app.runActions = { tags, remove, busy };
})((globalThis.regimeter ||= {}));
