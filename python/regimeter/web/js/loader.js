// SPDX-License-Identifier: Apache-2.0
// Unpacks the page's styles and its script, which stand in the document as gzip, five digits for four bytes, and puts them in
// force; then the page says that it can be used. The policy names the hashes of them and of this script, so nothing else can
// take their place.
(async function () {
  "use strict";

  const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=:?@^_`[|]~";
  const worth = new Map([...DIGITS].map((digit, value) => [digit, value]));

  /** The last digits may be fewer than five; the highest stands for those that are not there. */
  function bytesOf(text) {
    const bytes = new DataView(new ArrayBuffer(4 * Math.ceil(text.length / 5)));
    for (let at = 0; at < text.length; at += 5) {
      let value = 0;
      for (let i = at; i < at + 5; i += 1) value = value * 85 + (worth.get(text[i]) ?? 84);
      bytes.setUint32((at / 5) * 4, value);
    }
    return new Uint8Array(bytes.buffer, 0, Math.floor((text.length * 4) / 5));
  }

  try {
    for (const [id, tag, parent] of [["regimeter-style", "style", document.head], ["regimeter-app", "script", document.body]]) {
      const bytes = bytesOf(document.getElementById(id).textContent);
      const node = document.createElement(tag);
      node.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
      parent.append(node);
    }
    await globalThis.regimeter.started;
    document.documentElement.dataset.ready = "1";
  } catch (error) {
    document.getElementById("messages").textContent = `This page could not be opened: ${error.message}. Use a browser from 2023 or newer.`;
  }
})();
