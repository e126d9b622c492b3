// SPDX-License-Identifier: Apache-2.0
// Prints what speedscope's own importer makes of files, a line each: node read_speedscope.js BUNDLE FILE ...
// The bundle is the script of the published package; it is run up to the point where it would draw its page, and the
// function that the page calls for pasted text is handed out.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [bundle, ...files] = process.argv.slice(2);
let source = fs.readFileSync(bundle, "utf8");
const entry = /await ([\w$]+)\("From Clipboard"/.exec(source);
const drawing = source.lastIndexOf("console.log(`speedscope v");
if (!entry || drawing < 0) throw new Error("this version of speedscope is put together in another way");
source = `${source.slice(0, drawing)}globalThis.importText=${entry[1]};return;${source.slice(drawing)}`;

// Whatever the page touches while it is set up.
const anything = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => "" : key === "matches" ? false : anything),
  set: () => true,
  apply: () => anything,
  construct: () => anything,
});
const world = {
  console: { log() {}, warn() {}, error() {}, time() {}, timeEnd() {} },
  document: anything, navigator: anything, localStorage: anything, location: anything, history: anything,
  performance, setTimeout, clearTimeout, requestAnimationFrame: () => 0, TextDecoder, TextEncoder, Uint8Array,
  matchMedia: () => ({ matches: false, addEventListener() {}, addListener() {} }), addEventListener() {}, URL,
  Blob, FileReader: anything, fetch: anything, Image: anything, getComputedStyle: () => anything,
};
world.window = world.self = world;
vm.createContext(world);
vm.runInContext(source, world, { filename: bundle });

function told(group) {
  const profiles = group.profiles.map((profile) => {
    const calls = [], open = [], frames = {};
    profile.forEachCall(
      (node, at) => open.push([node.frame.name, at]),
      (node, at) => { const [name, from] = open.pop(); calls.push([name, from, at - from]); });
    profile.forEachFrame((frame) => {
      frames[frame.name] = [frame.getSelfWeight(), frame.getTotalWeight()];
    });
    return { name: profile.getName(), weight: profile.getTotalWeight(), unit: profile.getWeightUnit(), calls, frames };
  });
  return JSON.stringify(profiles);
}

(async () => {
  for (const file of files) {
    console.log(told(await world.importText(path.basename(file), fs.readFileSync(file, "utf8"))));
  }
})().catch((error) => { console.error(error); process.exit(1); });
