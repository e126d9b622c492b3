// SPDX-License-Identifier: Apache-2.0
// regimeter.document (version 1), a page that is made of sections: what is known of compiling, of memory, of workloads.
(function (app) {
  "use strict";

  async function section(value, place) {
    const { object, textOr } = app.shape;
    const given = object(value, place);
    const form = textOr(given.form, `${place}.form`, "");
    const reader = app.sectionForms?.[form]?.read;
    return { ...given, id: textOr(given.id, `${place}.id`, ""), title: textOr(given.title, `${place}.title`, ""), form, ...(reader ? await reader(given, place) : {}) };
  }

  async function read(data) {
    const { listOr, textOr } = app.shape;
    return {
      kind: "document",
      pages: textOr(data.kind, "kind", ""),
      title: textOr(data.title, "title", null),
      created: textOr(data.created, "created", null),
      run: { complete: true, file: textOr(data.file, "file", null) || null },
      described: false,
      environment: {},
      facts: [],
      cautions: [],
      operations: [],
      timeline: null,
      emptySections: listOr(data.empty_sections, "empty_sections"),
      sections: await Promise.all(listOr(data.sections, "sections").map((one, i) => section(one, `sections[${i}]`))),
    };
  }

  app.adapterDocument = { read };
})((globalThis.regimeter ||= {}));
