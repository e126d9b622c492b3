// SPDX-License-Identifier: Apache-2.0
// Unpacks the page's script, which stands in the document as base64 of gzip, and runs it; then the page says that it can
// be used. The policy names the hashes of this script and of that one, so nothing else can be run in their place.
(async function () {
  "use strict";

  try {
    const packed = atob(document.getElementById("regimeter-app").textContent);
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    const script = document.createElement("script");
    script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    document.body.append(script);
    await globalThis.regimeter.started;
    document.documentElement.dataset.ready = "1";
  } catch (error) {
    document.getElementById("messages").textContent = `This page could not be opened: ${error.message}. Use a browser from 2023 or newer.`;
  }
})();
