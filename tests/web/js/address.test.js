// SPDX-License-Identifier: Apache-2.0
"use strict";

const { test } = require("node:test");
const assert = require("node:assert/strict");
const { address } = require("./load.js").load("address");

/** A window with a history that can be gone back in; returns its entries. */
function browser(hash = "") {
  const entries = [`file:///page.html${hash}`];
  const put = (url) => Object.assign(globalThis.location, { href: url, hash: url.includes("#") ? url.slice(url.indexOf("#")) : "" });
  globalThis.location = {};
  put(entries[0]);
  globalThis.history = {
    pushState: (_state, _title, url) => put(entries[entries.push(url) - 1]),
    replaceState: (_state, _title, url) => put((entries[entries.length - 1] = url)),
  };
  return { entries, put };
}

test("an address is read back as it was written", () => {
  const state = { page: "kernels", table: "kernels", find: "a=b&c #%?", sort: "-total_ns", t: "1..20" };
  assert.deepEqual(address.parse(address.format(state)), state);
  assert.deepEqual(address.parse("#timeline"), { section: "timeline" });
  assert.deepEqual(address.parse("#%E0%A4%A"), { section: "%E0%A4%A" });
  assert.deepEqual(address.parse(""), {});
  assert.equal(address.format({ page: null, find: "", section: "timeline" }), "");
});

test("another table is a step of the history; typing, moving and naming the page that was meant are not", () => {
  const { entries } = browser();
  address.read();
  address.say({ page: "kernels" });
  address.say({ page: "kernels", find: "g" });
  address.say({ page: "kernels", find: "gemm" });
  address.say({ page: "kernels", find: "gemm", table: "flops" });
  address.say({ page: "kernels", find: "gemm", table: "flops" });
  assert.deepEqual(entries, ["file:///page.html#page=kernels&find=gemm", "file:///page.html#page=kernels&find=gemm&table=flops"]);
  address.say({});
  assert.equal(entries.at(-1), "file:///page.html");
  address.go("#page=idle");
  assert.deepEqual(entries.slice(-2), ["file:///page.html", "file:///page.html#page=idle"]);
});

test("an address that was just typed is not written over before it is read", () => {
  const { entries, put } = browser();
  address.read();
  put("file:///page.html#range=1ms..2ms");
  address.say({ page: "trace" });
  assert.deepEqual(entries, ["file:///page.html"]);
  assert.deepEqual(address.read(), { range: "1ms..2ms" });
  address.say({ page: "trace", range: "1ms..2ms" });
  assert.equal(entries.at(-1), "file:///page.html#page=trace&range=1ms..2ms");
});

test("a link tells who watches, also where a page may have no address", () => {
  browser("#page=idle");
  globalThis.history.pushState = () => {
    throw new Error("not in a frame");
  };
  address.read();
  const told = [];
  const end = address.watch((state) => told.push(state));
  address.go("#page=kernels&table=flops");
  end();
  address.go("#page=idle");
  assert.deepEqual(told, [{ page: "kernels", table: "flops" }]);
  assert.deepEqual(address.current(), { page: "idle" });
});
