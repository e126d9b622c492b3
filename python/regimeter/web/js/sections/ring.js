// SPDX-License-Identifier: Apache-2.0
// The last minutes of a recording that is being written: how much is kept, and a button that has them written out.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const ADDRESS = "/trigger";

  /** What came of asking for it, as a sentence. */
  async function written() {
    try {
      const answer = await fetch(ADDRESS, { method: "POST" });
      const text = (await answer.text()).trim();
      if (!answer.ok) return text === "" ? `The monitor answered ${answer.status}.` : `${text.replace(/^./, (c) => c.toUpperCase())}.`;
      const names = text.split("\n").map((path) => path.replace(/^.*\//, ""));
      return `Written to ${names.join(", ")}.`;
    } catch {
      return "The monitor could not be asked.";
    }
  }

  // The section is made anew with each look of the page; what was asked for and what was said are not.
  const asked = { said: "", waiting: false, show: () => {} };

  async function ask() {
    Object.assign(asked, { said: "Writing …", waiting: true });
    asked.show();
    Object.assign(asked, { said: await written(), waiting: false });
    asked.show();
  }

  function render(body, section) {
    const said = el("span", { class: "dim", role: "status" });
    const press = button("Write the last minutes out now", ask);
    asked.show = () => {
      said.textContent = asked.said;
      press.disabled = asked.waiting || !section.can;
    };
    asked.show();
    app.sectionForms.figures.render(body, section);
    body.append(el("div", { class: "tools" }, press, said));
  }

  (app.sectionForms ??= {}).ring = { render };
})((globalThis.regimeter ||= {}));
