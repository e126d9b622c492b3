// SPDX-License-Identifier: Apache-2.0
// Loads parts of the page into node: each file adds to globalThis.regimeter.
"use strict";

const path = require("node:path");

const WEB = path.join(__dirname, "../../../python/regimeter/web");

function load(...names) {
  for (const name of names) require(path.join(WEB, "js", `${name}.js`));
  return globalThis.regimeter;
}

const MODEL = ["fault", "pause", "units", "short_names", "fields", "shape", "json_text", "columns", "counter_series", "derive", "memory_series", "adapter_timeline", "adapter_report", "fixed_shares", "adapter_profile", "model"];

module.exports = { load, MODEL, WEB };
