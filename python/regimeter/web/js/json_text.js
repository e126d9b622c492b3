// SPDX-License-Identifier: Apache-2.0
// JSON.parse with an error that names the place. Browsers word and place their errors differently, some not at all,
// so a small scanner finds the first fault. It runs only after JSON.parse has refused the text.
(function (app) {
  "use strict";

  const SPACE = /[ \t\r\n]*/y;
  const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y;
  const PLAIN_TEXT = /[^"\\\u0000-\u001f]*/y;
  const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

  function matchAt(pattern, text, at) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    return found === null ? -1 : pattern.lastIndex;
  }

  /** End of the string literal that begins at `at`, or {fault} where it goes wrong. */
  function stringEnd(text, at) {
    let here = at + 1;
    for (;;) {
      here = matchAt(PLAIN_TEXT, text, here);
      if (here >= text.length) return { fault: text.length, expected: "a closing quotation mark" };
      if (text[here] === '"') return { end: here + 1 };
      const next = text[here] === "\\" ? matchAt(ESCAPE, text, here) : -1;
      if (next < 0) return { fault: here, expected: "a valid character or escape inside a string" };
      here = next;
    }
  }

  /** Offset of the first fault and what was expected there; null when the text is sound. */
  function locate(text) {
    const open = [];
    let here = 0;
    let state = "value";
    for (;;) {
      here = matchAt(SPACE, text, here);
      const char = text[here];
      const inside = open[open.length - 1];
      if (state === "after") {
        if (inside === undefined) return here >= text.length ? null : { offset: here, expected: "the end of the file" };
        if (char === ",") state = inside === "{" ? "key" : "value";
        else if (char === (inside === "{" ? "}" : "]")) open.pop();
        else return { offset: here, expected: `a comma or ${inside === "{" ? "}" : "]"}` };
        here += 1;
      } else if (state === "key" || state === "first key") {
        if (char === "}" && state === "first key") {
          open.pop();
          state = "after";
          here += 1;
          continue;
        }
        if (char !== '"') return { offset: here, expected: "a name in quotation marks" };
        const key = stringEnd(text, here);
        if (key.end === undefined) return { offset: key.fault, expected: key.expected };
        here = matchAt(SPACE, text, key.end);
        if (text[here] !== ":") return { offset: here, expected: "a colon" };
        here += 1;
        state = "value";
      } else if (char === "{" || char === "[") {
        open.push(char);
        here += 1;
        state = char === "{" ? "first key" : "first value";
      } else if (char === "]" && state === "first value") {
        open.pop();
        here += 1;
        state = "after";
      } else if (char === '"') {
        const value = stringEnd(text, here);
        if (value.end === undefined) return { offset: value.fault, expected: value.expected };
        here = value.end;
        state = "after";
      } else {
        const next = matchAt(SCALAR, text, here);
        if (next < 0) return { offset: here, expected: "a value" };
        here = next;
        state = "after";
      }
    }
  }

  function placeOf(text, offset) {
    const before = text.slice(0, offset);
    const line = before.split("\n").length;
    return `line ${line}, column ${offset - before.lastIndexOf("\n")}`;
  }

  function looksBinary(text) {
    return /[\u0000\ufffd]/.test(text.slice(0, 4096));
  }

  function parse(text) {
    const body = text.startsWith("\ufeff") ? text.slice(1) : text;
    try {
      return JSON.parse(body);
    } catch {
      if (body.trim() === "") {
        throw new app.InputFault("the file is empty", "at its first byte", "Export the profile again: profiler.export_json(\"profile.json\").");
      }
      if (looksBinary(body)) {
        throw new app.InputFault("this is not a text file", "at its first bytes", "For a recorded run (.rgm), make a page of it: regimeter report RUN -o report.html.");
      }
      const fault = locate(body) ?? { offset: 0, expected: "valid JSON" };
      const atEnd = fault.offset >= body.trimEnd().length;
      throw new app.InputFault(
        atEnd ? `not valid JSON: the file ends where ${fault.expected} was expected` : `not valid JSON: expected ${fault.expected}, found ${JSON.stringify(body.slice(fault.offset, fault.offset + 12))}`,
        `at ${placeOf(body, fault.offset)}`,
        atEnd ? "The file was probably cut off while it was written or copied: export or copy it again." : "Correct that place, or export the profile again with profiler.export_json(\"profile.json\").",
      );
    }
  }

  app.jsonText = { parse, locate, placeOf };
})((globalThis.regimeter ||= {}));
