// SPDX-License-Identifier: Apache-2.0
// Files from the picker or dropped on the dashboard. A report carries only the panels that it shows, so it opens no others.
(function (app) {
  "use strict";

  const byId = (id) => document.getElementById(id);

  function acceptDrops(target, opener) {
    const holdsFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    target.addEventListener("dragover", (event) => {
      if (!holdsFile(event)) return;
      event.preventDefault();
      target.classList.add("is-drop-target");
    });
    target.addEventListener("dragleave", (event) => event.relatedTarget === null && target.classList.remove("is-drop-target"));
    target.addEventListener("drop", (event) => {
      if (!holdsFile(event)) return;
      event.preventDefault();
      target.classList.remove("is-drop-target");
      if (event.dataTransfer.files.length > 0) opener.open(event.dataTransfer.files[0]);
    });
  }

  /** Shows the controls and wires them. demo: text of the demo data, null without. Returns how each of both is opened. */
  function wire(opener, demo) {
    const [picker, open, example] = ["file", "open", "demo"].map(byId);
    open.hidden = false;
    open.addEventListener("click", () => picker.click());
    picker.addEventListener("change", async () => {
      const [file] = picker.files;
      if (file !== undefined) await opener.open(file);
      picker.value = ""; // the same file can be chosen again after it was corrected
    });
    acceptDrops(document.body, opener);
    const showDemo = demo === null ? null : () => opener.openData("demo data", JSON.parse(demo), { demo: true, file: null });
    example.hidden = demo === null;
    example.addEventListener("click", () => showDemo());
    return { pick: () => picker.click(), demo: showDemo };
  }

  app.files = { wire };
})((globalThis.regimeter ||= {}));
