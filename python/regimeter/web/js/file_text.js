// SPDX-License-Identifier: Apache-2.0
// The text of a file that a reader opens: unpacked where it is compressed; of a recording, what to do with it.
(function (app) {
  "use strict";

  const MAGIC = "\u0089RGM";

  const starts = (head, text) => [...text].every((one, i) => head[i] === one.charCodeAt(0));

  async function unpacked(file) {
    try {
      return await new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).text();
    } catch {
      throw new app.InputFault("the compressed file is cut or damaged", "in its compressed data", "Export it again, or unpack it first: gunzip FILE.");
    }
  }

  async function read(file) {
    const head = new Uint8Array(await file.slice(0, 8).arrayBuffer());
    if (starts(head, MAGIC)) throw new app.InputFault("this is a recording, which a page cannot read", "at its first bytes", `Make its page: regimeter report ${file.name} -o report.html. Or serve it: regimeter serve ${file.name}.`);
    return starts(head, "\u001f\u008b") ? unpacked(file) : file.text();
  }

  app.fileText = { read };
})((globalThis.regimeter ||= {}));
