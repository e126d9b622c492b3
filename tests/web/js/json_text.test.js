// SPDX-License-Identifier: Apache-2.0
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const { jsonText, InputFault } = require("./load.js").load("fault", "json_text");

test("sound documents have no fault, whatever their shape", () => {
  const sound = ['{"a":[1,-2.5e3,true,null,"\\u00e9\\n"],"b":{}}', "[]", "[[[]]]", '"x"', " 3 ", '{"a":{"b":[{}]}}'];
  for (const text of sound) {
    assert.equal(jsonText.locate(text), null, text);
    assert.deepEqual(jsonText.parse(text), JSON.parse(text));
  }
});

test("the scanner refuses exactly what JSON.parse refuses", () => {
  const broken = ["{", "[1,]", '{"a":}', '{"a" 1}', "[1 2]", "{a:1}", '{"a":1,}', '"\\x"', "01", "1.", "NaN", "[1]]", '{"a":1}}', "tru", '["a\nb"]', "-", "[,1]", "{,}"];
  for (const text of broken) {
    assert.throws(() => JSON.parse(text), undefined, text);
    assert.notEqual(jsonText.locate(text), null, text);
  }
});

test("every cut of a document is a fault at its end or inside it", () => {
  const whole = '{"entries":[{"operation":"a\\"b","duration_ms":1.5e-3,"failed":false}],"summary":{}}';
  for (let length = 1; length < whole.length; length += 1) {
    const fault = jsonText.locate(whole.slice(0, length));
    assert.ok(fault !== null && fault.offset <= length, `cut at ${length}`);
  }
});

test("the place is a line and a column, and a cut file is told apart from a wrong one", () => {
  const wrong = '{\n  "a": 1,\n  "b": oops\n}';
  assert.throws(
    () => jsonText.parse(wrong),
    (fault) => fault instanceof InputFault && fault.place === "at line 3, column 8" && /expected a value, found "oops/.test(fault.message),
  );
  assert.throws(
    () => jsonText.parse('{"entries":[{"op'),
    (fault) => /the file ends/.test(fault.message) && /cut off/.test(fault.remedy),
  );
  assert.throws(() => jsonText.parse("  "), /empty/);
  assert.throws(() => jsonText.parse("RGM\u0000\u0001"), /not a text file/);
  assert.deepEqual(jsonText.parse("\ufeff[1]"), [1]);
});
