// SPDX-License-Identifier: Apache-2.0
// Series of memory over time as a file has them: {name, unit, count, time_ns, value}, the columns packed or plain.
(function (app) {
  "use strict";

  /** A missing sample is a gap in the line (NaN), never a zero. */
  const numberOrGap = (value) => (typeof value === "number" ? value : NaN);

  /** A packed column of `count` values, or a plain list in which values may be missing. */
  async function samples(column, count, place) {
    return Array.isArray(column) ? Float64Array.from(column, numberOrGap) : app.columns.unpack(column, count, place);
  }

  /** The series of a list: {name, unit, steps, time, value}; with `steps` a value holds until the next. */
  function read(list, place) {
    const { listOr, object, textOr, wrong } = app.shape;
    return Promise.all(
      listOr(list, place).map(async (item, i) => {
        const at = `${place}[${i}]`;
        object(item, at);
        const [time, value] = await Promise.all(["time_ns", "value"].map((name) => samples(item[name], item.count, `${at}.${name}`)));
        if (time.length !== value.length) throw wrong(at, "time_ns and value of the same length", item.value);
        return { name: textOr(item.name, `${at}.name`, "memory"), unit: textOr(item.unit, `${at}.unit`, "bytes"), steps: item.steps === true, time, value };
      }),
    );
  }

  app.memorySeries = { read };
})((globalThis.regimeter ||= {}));
