// SPDX-License-Identifier: Apache-2.0
// A form that adds a run to those of a server, and links to what else the server has.
(function (app) {
  "use strict";

  const { el } = app.dom;

  function renderUpload(body) {
    const file = el("input", { type: "file", name: "file", required: true });
    body.append(el("form", { action: "/uploads", method: "post", enctype: "multipart/form-data", class: "upload" }, el("label", null, "Recording, trace or profile ", file), el("button", null, "Upload")));
    return {};
  }

  function renderLinks(body, { links }) {
    body.append(el("p", null, links.map(([href, text], i) => [i > 0 ? " · " : "", el("a", { href }, text)])));
    return {};
  }

  Object.assign((app.sectionForms ??= {}), { upload: { render: renderUpload }, links: { render: renderLinks } });
})((globalThis.regimeter ||= {}));
