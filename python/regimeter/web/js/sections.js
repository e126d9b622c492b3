// SPDX-License-Identifier: Apache-2.0
// The sections of a document as views: each has a form, {read?(section, place) -> what the model holds more, render(body,
// section, page) -> handle}. Forms that few documents have are files of their own, in js/sections/.
(function (app) {
  "use strict";

  const { el, figure, absent, spoken } = app.dom;
  const { units } = app;
  const forms = (app.sectionForms ??= {});

  const said = (lines = []) => lines.map((line) => el("p", { class: "said" }, units.unbroken(line)));
  const nothing = (text) => el("p", { class: "empty" }, spoken(text || "Nothing."));

  /** A table that is sorted and searched, and says so in the address. */
  function grid(section, page) {
    const { table, names } = app.tableOf(section.columns, section.total);
    const made = new app.ResultTable(table, names, `Table: ${section.title}`, null, (parts) => page.say({ table: section.id, ...parts }));
    const follow = ({ table: named, sort, find }) => named === section.id && made.restore({ sort, find });
    return { node: made.node, follow, table: made };
  }

  forms.table = {
    render(body, section, page) {
      if (section.columns[0].values.length === 0) {
        body.append(nothing(section.nothing), ...said(section.lines));
        return {};
      }
      const { node, follow } = grid(section, page);
      body.append(node, ...said(section.lines));
      return { follow };
    },
  };

  forms.sentences = {
    render(body, { lines, nothing: none }) {
      body.append(lines.length === 0 ? nothing(none) : el("ul", { class: "sentences" }, lines.map((line) => el("li", null, line))));
      return {};
    },
  };

  /** A figure in its unit; texts as they are. */
  function valueOf({ value, unit, note }) {
    if (value === null) return absent(note || undefined);
    return typeof value === "string" ? value : figure(value, app.resultRows.formatOf({ unit }));
  }

  function intervalOf({ low, high, unit }) {
    if (low === null || high === null) return null;
    const text = (value) => units.join(app.resultRows.formatOf({ unit })(value));
    return el("span", { class: "dim" }, ` (${text(low)} to ${text(high)})`);
  }

  const plainOf = (row) => (row.value === null ? "" : typeof row.value === "string" ? row.value : units.join(app.resultRows.formatOf(row)(row.value)));

  forms.figures = {
    render(body, { title, rows }) {
      const columns = () => [{ heading: "figure", unit: "text", values: rows.map(({ label }) => label) }, { heading: "value", unit: "text", values: rows.map(plainOf) }, { heading: "what it is", unit: "text", prose: true, values: rows.map(({ note }) => note) }];
      body.append(
        el("dl", { class: "pairs figures" }, rows.map((row) => el("div", null, el("dt", null, row.label), el("dd", null, valueOf(row), intervalOf(row), row.note === "" ? null : el("span", { class: "help" }, row.note))))),
        app.asTable(title, columns),
      );
      return {};
    },
  };

  function render(section) {
    return (body, model, page) => {
      const form = forms[section.form];
      if (form === undefined) throw new app.InputFault(`unknown form of a section ${JSON.stringify(section.form)}`, `at ${section.id}`, "Make the page again with the newest regimeter.");
      return form.render(body, section, page);
    };
  }

  function renderEmpty(body, { emptySections }) {
    const reasons = emptySections.map(({ title, reason }) => el("div", null, el("dt", null, title), el("dd", null, spoken(reason))));
    body.append(el("details", { class: "no-rows" }, el("summary", null, `${units.countText(reasons.length)} ${reasons.length === 1 ? "section has" : "sections have"} nothing to show`), el("dl", { class: "pairs" }, reasons)));
    return {};
  }

  const empty = { of: "document", id: "empty", title: "Without anything", order: 90, span: 12, bare: true, render: renderEmpty };

  /** A view for each section, in their order, and one for those without anything. */
  function views(model) {
    if (model.kind !== "document") return [];
    const made = model.sections.map((section, i) => ({ of: "document", id: section.id, title: section.title, order: 10 + i, span: section.span ?? 12, note: section.note ? () => section.note : undefined, render: render(section) }));
    return model.emptySections.length > 0 ? [...made, empty] : made;
  }

  app.sections = { views, grid, said, nothing };
})((globalThis.regimeter ||= {}));
