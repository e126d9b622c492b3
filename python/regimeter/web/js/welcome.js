// SPDX-License-Identifier: Apache-2.0
// What the dashboard says before a file was opened: where to drop one, which commands make one, and an example.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const COMMANDS = [
    ["regimeter record program.py", "records a program; its last lines say what limits it"],
    ["regimeter report RUN -o report.html", "makes the page of a recording, or of a trace of torch.profiler"],
    ["regimeter serve FOLDER", "serves all runs of a folder, and compares them"],
  ];

  /** Fills the empty page. pick: opens the file picker; demo: shows the example, null where there is none. */
  function show(heading, main, pick, demo) {
    heading.replaceChildren(el("h1", null, "Open a profile"));
    const drop = el(
      "div",
      { class: "drop" },
      el("p", null, "Drop a file here: JSON of ", el("code", null, "export_json"), " or ", el("code", null, "regimeter export"), ", plain or compressed (.json.gz)."),
      el("p", { class: "drop-choices" }, button("Choose a file\u2026", pick, { class: "primary" }), demo === null ? null : button("See a demo", demo)),
    );
    const commands = el("dl", { class: "pairs" }, COMMANDS.map(([command, what]) => el("div", null, el("dt", null, el("code", null, command)), el("dd", null, what))));
    const section = el("section", { id: "welcome", class: "view", "data-span": 12, "aria-labelledby": "welcome-title" }, el("h2", { id: "welcome-title" }, "Nothing is open yet"), el("div", { class: "view-body" }, drop, commands));
    main.replaceChildren(section);
  }

  app.welcome = { show };
})((globalThis.regimeter ||= {}));
