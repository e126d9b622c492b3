// SPDX-License-Identifier: Apache-2.0
// Rules that every file of the page keeps.
"use strict";

const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { WEB } = require("./load.js");

const files = fs.readdirSync(WEB, { recursive: true }).map(String).filter((name) => /\.(js|css|html)$/.test(name));

test("no script parses markup, evaluates text, stores or sends anything; few alone ask, on pages that a server made", () => {
  const banned = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|XMLHttpRequest|WebSocket|localStorage|sendBeacon|import\(/;
  const asks = /\bfetch\(|EventSource/;
  for (const name of files.filter((one) => one.endsWith(".js"))) {
    const text = fs.readFileSync(path.join(WEB, name), "utf8");
    assert.doesNotMatch(text, banned, name);
    if (!["live.js", "rest.js", "ring.js", "run_actions.js", "tiles.js"].includes(path.basename(name))) assert.doesNotMatch(text, asks, name);
  }
});

test("nothing is loaded from elsewhere", () => {
  for (const name of files) {
    const text = fs.readFileSync(path.join(WEB, name), "utf8").replaceAll("http://www.w3.org/2000/svg", "");
    assert.doesNotMatch(text, /https?:\/\/|url\(|@import/, name);
  }
});

test("files stay small", () => {
  for (const name of files) assert.ok(fs.readFileSync(path.join(WEB, name), "utf8").split("\n").length <= 260, name);
});

test("a style that a panel's scripts use comes with the panel", () => {
  const manifest = JSON.parse(fs.readFileSync(path.join(WEB, "manifest.json"), "utf8"));
  const read = (name) => fs.readFileSync(path.join(WEB, name), "utf8");
  const definers = new Map();
  for (const name of files.filter((one) => one.endsWith(".css"))) {
    for (const [, word] of read(name).matchAll(/\.([a-z][\w-]*)/gi)) definers.set(word, [...(definers.get(word) ?? []), name]);
  }
  const everywhere = manifest.filter(({ when }) => when === "page").flatMap(({ parts }) => parts);
  for (const { when, parts } of manifest) {
    const styles = new Set([...everywhere, ...parts]);
    for (const name of parts.filter((one) => one.endsWith(".js"))) {
      const used = [...read(name).matchAll(/class: "([\w -]+)"/g)].flatMap(([, words]) => words.split(" "));
      for (const word of used) assert.ok(!definers.has(word) || definers.get(word).some((one) => styles.has(one)), `${when}: ${name} uses ${word}`);
    }
  }
});
