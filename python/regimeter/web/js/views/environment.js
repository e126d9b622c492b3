// SPDX-License-Identifier: Apache-2.0
// Where and with what the run was made. Nested values are spelled with dots; nothing is left out.
(function (app) {
  "use strict";

  const { el } = app.dom;
  const BYTES = /(_bytes|Mem|MemPer\w+|MemSize)$/;
  const MANY = 16; // of more, what few ask for is folded away
  const FIRST = ["host", "python", "platform", "cpu", "cores", "torch", "command"];

  /** Whether all entries of a list say the same but for their number. */
  function alike(list) {
    const texts = list.map((one) => JSON.stringify({ ...one, id: null }));
    return list.length > 1 && texts.every((text) => text === texts[0]);
  }

  function flatten(value, name, pairs) {
    if (Array.isArray(value) && value.length > 1 && typeof value[0] === "object" && alike(value)) {
      const { id, ...one } = value[0] ?? {};
      return flatten(one, `${name} (${value.length} alike)`, pairs);
    }
    if (Array.isArray(value) && value.every((item) => typeof item !== "object" || item === null)) pairs.push([name, value.join(" ")]);
    else if (typeof value === "object" && value !== null) {
      for (const [key, inner] of Object.entries(value)) flatten(inner, name === "" ? key : `${name}.${key}`, pairs);
    } else pairs.push([name, value]);
    return pairs;
  }

  function shown(name, value) {
    if (value === null || value === "") return el("span", { class: "absent" }, "none");
    if (name === "command") return el("code", null, value);
    if (BYTES.test(name) && typeof value === "number") return el("span", { title: `${app.units.countText(value)} bytes` }, app.units.bytesText(value));
    return String(value);
  }

  function place([name]) {
    const at = FIRST.indexOf(name);
    return at < 0 ? FIRST.length : at;
  }

  function render(body, model) {
    const pairs = flatten(model.environment, "", []).sort((a, b) => place(a) - place(b));
    if (pairs.length === 0) {
      body.append(el("p", { class: "empty" }, "This file does not say where it was recorded."));
      return {};
    }
    const list = (some) => el("dl", { class: "pairs figures" }, some.map(([name, value]) => el("div", null, el("dt", null, name.split(/(?<=[._])|(?<=[a-z])(?=[A-Z])/).flatMap((part) => [part, el("wbr")])), el("dd", null, shown(name, value)))));
    const first = pairs.length > MANY ? pairs.filter((pair) => place(pair) < FIRST.length) : pairs;
    const rest = pairs.slice(first.length);
    const more = el("details", null, el("summary", null, `${rest.length}${first.length > 0 ? " more" : ""} facts`), list(rest));
    body.append(...(first.length > 0 ? [list(first)] : []), ...(rest.length > 0 ? [more] : []));
    return { beforePrint: () => (more.open = true) };
  }

  (app.views ??= []).push({ id: "environment", title: "Environment", order: 105, span: 12, of: "any", fits: (model) => model.described !== false, render });
})((globalThis.regimeter ||= {}));
