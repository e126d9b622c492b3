// SPDX-License-Identifier: Apache-2.0
// Columns of numbers, either plain lists or base64 of gzip of a little-endian typed array, to typed arrays.
(function (app) {
  "use strict";

  const ARRAYS = {
    f64: Float64Array,
    u32: Uint32Array,
    u16: Uint16Array,
    u8: Uint8Array,
    i32: Int32Array,
    i64: BigInt64Array,
  };

  function fromBase64(text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
    return bytes;
  }

  async function gunzip(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  async function inflate(text, place) {
    if (typeof DecompressionStream === "undefined") {
      throw new app.InputFault("this browser cannot unpack compressed columns", `at ${place}`, "Use a browser from 2023 or newer.");
    }
    try {
      return await gunzip(fromBase64(text));
    } catch {
      throw new app.InputFault("the packed column is damaged", `at ${place}.data`, app.shape.REMEDY);
    }
  }

  /** Values from differences to the value before. */
  function fromSteps(differences) {
    const values = new Float64Array(differences.length);
    let value = 0;
    for (let i = 0; i < differences.length; i += 1) values[i] = value += differences[i];
    return values;
  }

  const unpackText = async ({ data }, place) => new TextDecoder().decode(await inflate(data, place));

  /** Packed column {type, data} to a typed array of exactly `count` values. */
  async function unpack(column, count, place) {
    const Type = ARRAYS[column.type];
    if (Type === undefined) {
      throw new app.InputFault(`unknown column type ${JSON.stringify(column.type)}`, `at ${place}.type`, "Make the page again with the newest regimeter.");
    }
    const buffer = await inflate(column.data, place);
    if (buffer.byteLength !== count * Type.BYTES_PER_ELEMENT) {
      throw new app.InputFault(`expected ${count} values, found ${buffer.byteLength / Type.BYTES_PER_ELEMENT}`, `at ${place}.data`, app.shape.REMEDY);
    }
    const values = new Type(buffer);
    if (column.steps === true) return fromSteps(values);
    return Type === BigInt64Array ? Float64Array.from(values, Number) : values;
  }

  /** Plain list to a typed array; every value must be a finite number. */
  function fromList(value, Type, count, place) {
    const values = app.shape.list(value, place);
    if (values.length !== count) {
      throw new app.InputFault(`expected ${count} values, found ${values.length}`, `at ${place}`, app.shape.REMEDY);
    }
    const column = new Type(count);
    for (let i = 0; i < count; i += 1) {
      const item = values[i];
      if (typeof item === "boolean") column[i] = item ? 1 : 0;
      else if (typeof item === "number" && Number.isFinite(item)) column[i] = item;
      else throw app.shape.wrong(`${place}[${i}]`, "a number", item);
    }
    return column;
  }

  /** Reads the columns named in `types` ({name: typed array}) of a table in either form. */
  async function read(table, types, place) {
    const packed = table.encoding !== undefined;
    if (packed && table.encoding !== "gzip+base64") {
      throw new app.InputFault(`unknown encoding ${JSON.stringify(table.encoding)}`, `at ${place}.encoding`, "Make the page again with the newest regimeter.");
    }
    const first = Object.keys(types)[0];
    const source = packed ? app.shape.object(table.columns, `${place}.columns`) : table;
    const count = packed ? table.count : app.shape.list(table[first], `${place}.${first}`).length;
    const columns = { count };
    for (const [name, Type] of Object.entries(types)) {
      const at = packed ? `${place}.columns.${name}` : `${place}.${name}`;
      columns[name] = packed
        ? await unpack(app.shape.object(source[name], at), count, at)
        : fromList(source[name], Type, count, at);
    }
    return columns;
  }

  app.columns = { read, unpack, unpackText };
})((globalThis.regimeter ||= {}));
