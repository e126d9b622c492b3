// SPDX-License-Identifier: Apache-2.0
// Checks on values from a file. Each returns the value or throws a fault that names the place in the document.
(function (app) {
  "use strict";

  const REMEDY = "Make the file again with the regimeter that recorded it; if that gives the same file, please report it.";

  function kindOf(value) {
    if (value === null) return "null";
    return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
  }

  function wrong(place, expected, value) {
    return new app.InputFault(`expected ${expected}, found ${kindOf(value)}`, `at ${place}`, REMEDY);
  }

  const missing = (value) => value === undefined || value === null;

  function object(value, place) {
    if (missing(value) || typeof value !== "object" || Array.isArray(value)) throw wrong(place, "an object", value);
    return value;
  }

  const objectOr = (value, place, fallback) => (missing(value) ? fallback : object(value, place));

  function list(value, place) {
    if (!Array.isArray(value)) throw wrong(place, "a list", value);
    return value;
  }

  const listOr = (value, place) => (missing(value) ? [] : list(value, place));

  /** A finite number, or null when the file says null or nothing: absent is a normal state. */
  function numberOrNull(value, place) {
    if (missing(value)) return null;
    if (typeof value !== "number" || !Number.isFinite(value)) throw wrong(place, "a number or null", value);
    return value;
  }

  function textOr(value, place, fallback) {
    if (missing(value)) return fallback;
    if (typeof value !== "string") throw wrong(place, "a text", value);
    return value;
  }

  function index(value, limit, place) {
    if (!Number.isInteger(value) || value < 0 || value >= limit) {
      throw new app.InputFault(`expected an index below ${limit}, found ${String(value)}`, `at ${place}`, REMEDY);
    }
    return value;
  }

  app.shape = { REMEDY, wrong, object, objectOr, list, listOr, numberOrNull, textOr, index };
})((globalThis.regimeter ||= {}));
