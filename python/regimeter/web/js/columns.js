// SPDX-License-Identifier: Apache-2.0
// Columns of numbers to typed arrays: plain lists, or their bytes, all lowest bytes first, then the next, as base64 of gzip
// in a page and as they are from a server.
(function (app) {
  "use strict";

  const NARROW = { u8: Uint8Array, u16: Uint16Array, u24: Uint32Array, u32: Uint32Array, i8: Int8Array, i16: Int16Array, i24: Int32Array, i32: Int32Array };

  function fromBase64(text) {
    if (Uint8Array.fromBase64 !== undefined) return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
    return bytes;
  }

  async function gunzip(bytes) {
    const { readable, writable } = new DecompressionStream("gzip");
    const writer = writable.getWriter(); // a Blob would be fetched from another process
    const [found] = await Promise.all([new Response(readable).arrayBuffer(), writer.write(bytes), writer.close()]);
    return found;
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

  /** Whole numbers of at most four bytes from their planes; the highest byte carries the sign of a signed one. */
  function narrow(bytes, count, width, type) {
    const values = new NARROW[type](count);
    const signed = type.startsWith("i");
    const unused = 32 - 8 * width;
    for (let i = 0; i < count; i += 1) {
      let value = bytes[i];
      for (let plane = 1; plane < width; plane += 1) value |= bytes[plane * count + i] << (8 * plane);
      values[i] = signed ? (value << unused) >> unused : value;
    }
    return values;
  }

  /** The same of more bytes. */
  function wide(bytes, count, width, type) {
    const values = new Float64Array(count);
    for (let plane = 0, weight = 1; plane < width; plane += 1, weight *= 256) {
      const from = plane * count;
      const shift = type.startsWith("i") && plane === width - 1 ? 24 : 0;
      for (let i = 0; i < count; i += 1) values[i] += (shift === 24 ? (bytes[from + i] << 24) >> 24 : bytes[from + i]) * weight;
    }
    return values;
  }

  function fromPlanes(bytes, count, width, type) {
    if (width === 1) return new NARROW[type](bytes.buffer);
    return width <= 4 ? narrow(bytes, count, width, type) : wide(bytes, count, width, type);
  }

  /** A column in which all values are one whole number. */
  function filled(value, count) {
    const Type = value >= 0 && value < 256 ? Uint8Array : Math.abs(value) < 2 ** 31 ? Int32Array : Float64Array;
    return new Type(count).fill(value);
  }

  const unpackText = async ({ data }, place) => new TextDecoder().decode(await inflate(data, place));

  /** Packed column {type, data}, or a plain list, to a typed array of exactly `count` values. */
  async function unpack(column, count, place) {
    if (Array.isArray(column)) return fromList(column, count, place);
    app.shape.object(column, place);
    if (column.type === "same") return filled(column.value, count);
    const parts = /^([uif])(8|16|24|32|40|48|56|64)$/.exec(column.type);
    if (parts === null) {
      throw new app.InputFault(`unknown column type ${JSON.stringify(column.type)}`, `at ${place}.type`, "Make the page again with the newest regimeter.");
    }
    const width = Number(parts[2]) / 8;
    const buffer = column.data instanceof Uint8Array ? column.data.buffer : await inflate(column.data, place);
    if (buffer.byteLength !== count * width) {
      throw new app.InputFault(`expected ${count} values, found ${buffer.byteLength / width}`, `at ${place}.data`, app.shape.REMEDY);
    }
    const values = parts[1] === "f" ? new Float64Array(buffer) : fromPlanes(new Uint8Array(buffer), count, width, column.type);
    return column.steps === true ? fromSteps(values) : values;
  }

  /** A document of a server: the length of its JSON, the JSON, and the data of its packed columns, which it places. */
  function fromBinary(buffer) {
    const begins = 4 + new DataView(buffer).getUint32(0, true);
    const text = new TextDecoder().decode(new Uint8Array(buffer, 4, begins - 4));
    const own = ([at, size]) => new Uint8Array(buffer.slice(begins + at, begins + at + size)); // a buffer of its own
    return JSON.parse(text, (key, value) => (key === "data" && Array.isArray(value) ? own(value) : value));
  }

  /** A plain list; every value must be a finite number. */
  function fromList(list, count, place) {
    if (list.length !== count) throw new app.InputFault(`expected ${count} values, found ${list.length}`, `at ${place}`, app.shape.REMEDY);
    return Float64Array.from(list, (item, i) => {
      if (typeof item === "number" && Number.isFinite(item)) return item;
      throw app.shape.wrong(`${place}[${i}]`, "a number", item);
    });
  }

  /** The columns `wanted` of a table {count, columns}. */
  async function read(table, wanted, place) {
    const source = app.shape.object(table.columns, `${place}.columns`);
    const made = {};
    await Promise.all(wanted.map(async (name) => (made[name] = await unpack(source[name], table.count, `${place}.columns.${name}`))));
    return made;
  }

  app.columns = { read, unpack, unpackText, fromBinary };
})((globalThis.regimeter ||= {}));
