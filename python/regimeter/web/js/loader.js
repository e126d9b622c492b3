// SPDX-License-Identifier: Apache-2.0
// Unpacks the page's styles and its script, which stand in the document as gzip, five digits for four bytes, and puts them in
// force; then the page says that it can be used. The policy names the hashes of them and of this script, so nothing else can
// take their place.
(async function () {
  "use strict";

  const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=:?@^_`[|]~";
  const worth = new Uint8Array(128);
  for (let i = 0; i < DIGITS.length; i += 1) worth[DIGITS.charCodeAt(i)] = i;

  /** The last digits may be fewer than five; the highest stands for those that are not there. */
  function bytesOf(text) {
    const bytes = new DataView(new ArrayBuffer(4 * Math.ceil(text.length / 5)));
    const digits = text.padEnd((bytes.byteLength / 4) * 5, "~");
    for (let at = 0, to = 0; at < digits.length; to += 4) {
      let value = 0;
      for (const end = at + 5; at < end; at += 1) value = value * 85 + worth[digits.charCodeAt(at)];
      bytes.setUint32(to, value);
    }
    return new Uint8Array(bytes.buffer, 0, Math.floor((text.length * 4) / 5));
  }

  async function unpacked(id) {
    const { readable, writable } = new DecompressionStream("gzip");
    const writer = writable.getWriter(); // a Blob would be fetched from another process
    writer.write(bytesOf(document.getElementById(id).textContent));
    writer.close();
    return new Response(readable).text();
  }

  try {
    const texts = await Promise.all(["regimeter-style", "regimeter-app"].map(unpacked));
    for (const [i, tag, parent] of [[0, "style", document.head], [1, "script", document.body]]) {
      const node = document.createElement(tag);
      node.textContent = texts[i];
      parent.append(node);
    }
    await globalThis.regimeter.started;
    document.documentElement.dataset.ready = "1";
  } catch (error) {
    document.getElementById("messages").textContent = `This page could not be opened: ${error.message}. Use a browser from 2023 or newer.`;
  }
})();
