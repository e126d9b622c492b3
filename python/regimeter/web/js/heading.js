// SPDX-License-Identifier: Apache-2.0
// Title of the run, where it comes from, and the notices that qualify everything below.
(function (app) {
  "use strict";

  const { el } = app.dom;

  /** "2026-11-21T03:00:00Z" to "2026-11-21 03:00 UTC"; anything else is shown as it is. */
  function moment(text) {
    const parts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)$/.exec(text);
    return parts === null ? text : `${parts[1]} ${parts[2]} UTC`;
  }

  function facts({ created, run, environment, facts: stated = [] }, origin, title) {
    const known = (name, label) => (typeof environment[name] === "string" && environment[name] !== "" ? `${label}${environment[name]}` : null);
    const file = origin.file ?? run.file;
    if (stated.length > 0) return [...headline(stated), created === null ? null : `report of ${moment(created)}`].filter(Boolean);
    return [file !== null && title.includes(file) ? null : file, created === null ? null : moment(created), known("host", ""), known("python", "Python "), known("torch", "torch ")].filter(Boolean);
  }

  /** What to know of a trace at first sight. */
  function headline(stated) {
    const shown = { Devices: "", Job: "", Steps: "steps ", Active: "" };
    return stated.filter(([label]) => shown[label] !== undefined).map(([label, text]) => shown[label] + text);
  }

  function notices(model, origin) {
    const list = [];
    if (origin.demo) list.push("Demo data, not measured on this machine. Open a profile to see your own.");
    if (!model.run.complete) list.push("This recording is incomplete: the program or the recorder ended early. What was recorded until then is shown.");
    return [...list, ...model.cautions];
  }

  function fill(node, model, origin) {
    const title = model.title ?? origin.file ?? "Profile";
    document.title = `${title} - regimeter`;
    document.getElementById("goto").hidden = false;
    document.getElementById("copy").hidden = !model.limit;
    node.replaceChildren(
      el("h1", null, title),
      el("p", { class: "facts" }, facts(model, origin, title).map((text) => el("span", null, text))),
      ...notices(model, origin).map((text) => el("p", { class: "notice" }, text)),
    );
  }

  app.heading = { fill, moment };
})((globalThis.regimeter ||= {}));
