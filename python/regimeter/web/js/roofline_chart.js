// SPDX-License-Identifier: Apache-2.0
// The roofline: two logarithmic axes, the roofs with the intervals of their ceilings, a numbered circle for each kernel
// or operator. A circle's area is its share of the time, where that is known; it is hollow where the work is from shapes.
// Points of one operation at several sizes are a series, whose name stands in place of their numbers. Nothing is computed of
// the figures here but where they lie.
(function (app) {
  "use strict";

  const { el, svg } = app.dom;
  const { units } = app;
  const HEIGHT = 380;
  const PAD = { left: 62, right: 16, top: 14, bottom: 46 };
  const NUMBERED = 24; // the longest; all are in the table
  const LINE = 13;
  const KEYS = ["name", "total_ns", "intensity", "rate"];

  /** Where points have a number of elements, those of one name are a series, named at the largest of them. */
  function inSeries(points, elements) {
    const last = new Map(points.map(({ name }, i) => [name, i]));
    return points.map((one, i) => ({ ...one, series: one.name, name: `${one.name}, ${units.countText(elements[i])} elements`, label: last.get(one.name) === i ? one.name : "" }));
  }

  /** What the picture and its table show of a file. */
  async function read(found, names, place = "roofline") {
    const { listOr, object } = app.shape;
    const described = listOr(found.columns, `${place}.columns`).map((column, i) => object(column, `${place}.columns[${i}]`));
    const table = object(found.points, `${place}.points`);
    const values = await app.columns.read(table, described.map(({ name }) => name), `${place}.points`);
    for (const key of KEYS) if (values[key] === undefined) throw app.shape.wrong(`${place}.points.columns.${key}`, "a column", undefined);
    const codes = Object.fromEntries(described.map((column) => [column.name, column.codes]));
    const said = (key, i) => codes[key]?.[values[key][i]] ?? "";
    const listed = Array.from(values.name, (name, i) => ({ label: String(i + 1), series: null, name: names[name], ns: values.total_ns[i], share: values.share?.[i] ?? null, x: values.intensity[i], y: values.rate[i], regime: said("regime", i), source: said("source", i) }));
    const points = values.elements === undefined ? listed : inSeries(listed, values.elements);
    const columns = described.map((column) => ({ ...column, values: values[column.name] }));
    return { noun: found.noun, headline: found.headline, notes: listOr(found.notes, `${place}.notes`), roofs: listOr(found.roofs, `${place}.roofs`), points, table: { count: table.count, total: table.count, columns } };
  }

  /** Powers of ten around values, with air, at least so many apart. */
  function decades(values, least) {
    const [low, high] = [Math.floor(Math.log10(Math.min(...values) * 0.8)), Math.ceil(Math.log10(Math.max(...values) * 1.25))];
    return high - low >= least ? [low, high] : [low, low + least];
  }

  /** Lowest and highest power of ten of both axes: all points, and where the roofs meet. */
  function extent({ roofs, points }) {
    const memory = roofs.find(({ of }) => of === "memory");
    const compute = roofs.filter(({ of }) => of === "compute");
    const ridges = memory === undefined ? [] : compute.map(({ value }) => value / memory.value);
    const xs = [...points.map(({ x }) => x), ...ridges];
    const x = decades(xs.length > 0 ? xs : [1], 2);
    const under = memory === undefined ? [] : [memory.value * 10 ** x[0]];
    const ys = [...points.map(({ y }) => y), ...compute.map(({ high, value }) => high ?? value), ...(points.length === 0 ? under : [])];
    return { x, y: decades(ys.length > 0 ? ys : [1], 2) };
  }

  /** Boxes that are taken; free(box) says whether a box overlaps none of them and is inside, and takes it then. */
  function places(width) {
    const taken = [];
    const clear = (a) => taken.every((b) => a.x1 <= b.x0 || b.x1 <= a.x0 || a.y1 <= b.y0 || b.y1 <= a.y0);
    const inside = (a) => a.x0 >= PAD.left && a.x1 <= width - PAD.right && a.y0 >= PAD.top && a.y1 <= HEIGHT - PAD.bottom;
    const take = (box) => taken.push(box) > 0;
    return { take, free: (box) => inside(box) && clear(box) && take(box) };
  }

  /** Labels of roofs that have no room for a line between them become one: [{names, y, low}] from the top down. */
  function merged(roofs, y) {
    const groups = [];
    for (const roof of [...roofs].sort((a, b) => b.value - a.value)) {
      const at = y(roof.value);
      const last = groups.at(-1);
      if (last === undefined || at - last.low > LINE + 3) groups.push({ names: [roof.name], y: at, low: at });
      else {
        last.names.push(roof.name);
        last.low = at;
      }
    }
    return groups;
  }

  const radius = ({ share }) => (share === null ? 4.5 : 4 + 10 * Math.sqrt(share));

  class RooflineChart extends app.Chart {
    /** chosen(name) is called for a circle that was clicked, where it is not null. */
    constructor(roofline, chosen) {
      super();
      Object.assign(this, { roofline, chosen, at: null, isOff: () => false });
      this.frame("roofline", HEIGHT, this.legend());
    }

    /** isOff(series): whether its points are not shown. */
    hide(isOff) {
      this.isOff = isOff;
      if (this.at !== null && isOff(this.roofline.points[this.at].series)) this.at = null;
      this.draw();
    }

    /** Points that are shown, each with its place in the list. */
    shown() {
      return this.roofline.points.map((point, i) => ({ ...point, i })).filter(({ series }) => series === null || !this.isOff(series));
    }

    legend() {
      const { points } = this.roofline;
      const item = (label, kind) => el("li", null, svg("svg", { class: "roofline key", width: 14, height: 14, "aria-hidden": "true" }, svg("circle", { class: kind, cx: 7, cy: 7, r: 5 })), label);
      const hues = new Map();
      for (const [hue, regime] of points.map(({ regime }) => [app.regimeHues.of(regime), regime])) if (regime !== "") hues.set(hue, (hues.get(hue) ?? new Set()).add(regime));
      const hollow = points.some(({ source }) => source === "shapes") ? [el("li", { class: "dim" }, "hollow: bytes are the least that must move, so the intensity is at most this")] : [];
      return el("ul", { class: "legend" }, [...hues].map(([hue, regimes]) => item([...regimes].join(", "), hue)), hollow);
    }

    draw() {
      const width = Math.max(this.node.clientWidth, 320);
      const { x, y } = extent(this.roofline);
      const [w, h] = [width - PAD.left - PAD.right, HEIGHT - PAD.top - PAD.bottom];
      this.x = (value) => PAD.left + ((Math.log10(value) - x[0]) / (x[1] - x[0])) * w;
      this.y = (value) => PAD.top + h - ((Math.log10(value) - y[0]) / (y[1] - y[0])) * h;
      Object.assign(this, { width, ends: { x: x.map((power) => 10 ** power), y: y.map((power) => 10 ** power) }, places: places(width) });
      this.plot.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      this.plot.setAttribute("aria-label", `Roofline: ${this.roofline.roofs.length} roofs, ${this.roofline.points.length} ${this.roofline.noun}s. Arrow keys go through them.`);
      this.cursor = svg("g", { class: "cursor" });
      const circles = this.circles();
      this.plot.replaceChildren(...this.axes(x, y), ...this.roofs(), ...circles, ...this.labels(), ...this.numbers(), this.cursor);
      this.say(this.at);
    }

    axes(x, y) {
      const { width } = this;
      const text = (power) => app.axis.text(10 ** power, "");
      const bottom = HEIGHT - PAD.bottom;
      const lines = [];
      for (const power of app.axis.powers(...x, width - PAD.left - PAD.right, "across")) {
        const at = this.x(10 ** power);
        lines.push(svg("line", { class: "grid", x1: at, x2: at, y1: PAD.top, y2: bottom }), svg("text", { x: at, y: bottom + 16, "text-anchor": "middle" }, text(power)));
      }
      for (const power of app.axis.powers(...y, HEIGHT - PAD.top - PAD.bottom, "up")) {
        const at = this.y(10 ** power);
        lines.push(svg("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: at, y2: at }), svg("text", { x: PAD.left - 7, y: at + 4, "text-anchor": "end" }, text(power)));
      }
      const middle = PAD.top + (bottom - PAD.top) / 2;
      lines.push(svg("text", { class: "title", x: PAD.left + (width - PAD.left - PAD.right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "Arithmetic intensity, operations per byte (log)"));
      lines.push(svg("text", { class: "title", x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, "Reached, operations/s (log)"));
      return lines;
    }

    /** Each roof as a line over the band of its interval: the memory's until the highest of pipes, a pipe's from there. */
    roofs() {
      const { x, y } = this.ends;
      const memory = this.roofline.roofs.find(({ of }) => of === "memory");
      const compute = this.roofline.roofs.filter(({ of }) => of === "compute");
      const top = compute.reduce((most, { value }) => Math.max(most, value), 0) || y[1];
      const path = (points) => `M${points.map(([a, b]) => `${this.x(a).toFixed(1)} ${this.y(b).toFixed(1)}`).join("L")}`;
      const parts = [];
      const draw = (roof, line) => {
        if (roof.low !== null && roof.high !== null) parts.push(svg("path", { class: `band band-${roof.of}`, d: `${path([...line(roof.high), ...line(roof.low).reverse()])}Z` }));
        parts.push(svg("path", { class: `roof roof-${roof.of}`, d: path(line(roof.value)) }));
      };
      const rising = (rate) => [Math.max(x[0], y[0] / rate), Math.min(x[1], top / rate)].map((at) => [at, at * rate]);
      if (memory !== undefined) draw(memory, rising);
      for (const roof of compute) draw(roof, (rate) => [[memory === undefined ? x[0] : Math.max(x[0], rate / memory.value), rate], [x[1], rate]]);
      return parts;
    }

    circles() {
      return this.shown().map((point) => {
        const [cx, cy, r] = [this.x(point.x), this.y(point.y), radius(point)];
        this.places.take({ x0: cx - r, x1: cx + r, y0: cy - r, y1: cy + r });
        const on = { pointerenter: () => this.say(point.i), click: () => this.chosen?.(point.name) };
        const counted = point.series !== null || !["shapes", ""].includes(point.source);
        return svg("circle", { class: `${app.regimeHues.of(point.regime)}${counted ? "" : " hollow"}`, cx, cy, r, on });
      });
    }

    /** Names of roofs: pipes at the right end above their line, the memory's along its own, where nothing is in the way. */
    labels() {
      const parts = [];
      const memory = this.roofline.roofs.find(({ of }) => of === "memory");
      const right = this.width - PAD.right - 4;
      for (const { names, y } of merged(this.roofline.roofs.filter(({ of }) => of === "compute"), this.y)) {
        const text = names.join(", ");
        const long = text.length * 6.4;
        const at = [right, right - 120, right - 240].find((end) => this.places.free({ x0: end - long, x1: end, y0: y - LINE - 1, y1: y - 2 }));
        if (at !== undefined) parts.push(svg("text", { class: "roof-name", x: at, y: y - 4, "text-anchor": "end" }, text));
      }
      if (memory === undefined) return parts;
      const low = Math.max(this.ends.x[0], this.ends.y[0] / memory.value);
      const [a, b] = [low, Math.min(this.ends.x[1], this.ends.y[1] / memory.value)].map((x) => [this.x(x), this.y(x * memory.value)]);
      const turn = Math.atan2(b[1] - a[1], b[0] - a[0]);
      for (const share of [0.12, 0.3, 0.5]) {
        const [x, y] = [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share];
        const [along, up] = [Math.cos(turn), -Math.sin(turn)]; // of a word of 46 pixels, a line above the roof
        if (!this.places.free({ x0: x - 20 * up, x1: x + 46 * along, y0: y - 46 * up - 20, y1: y - 4 })) continue;
        parts.push(svg("text", { class: "roof-name", x, y: y - 6, transform: `rotate(${(turn * 180) / Math.PI} ${x} ${y})` }, "memory"));
        break;
      }
      return parts;
    }

    /** Numbers of the longest, or names of series, beside their circles, where one of four places is free. */
    numbers() {
      const parts = [];
      for (const point of this.shown().filter(({ label }) => label !== "").slice(0, NUMBERED)) {
        const [cx, cy, r] = [this.x(point.x), this.y(point.y), radius(point) + 2];
        const long = point.label.length * (point.series === null ? 7 : 8);
        const spots = [[cx + r, cy + 4], [cx - r - long, cy + 4], [cx - long / 2, cy - r], [cx - long / 2, cy + r + 9]];
        const spot = spots.find(([left, base]) => this.places.free({ x0: left, x1: left + long, y0: base - 10, y1: base + 1 }));
        if (spot !== undefined) parts.push(svg("text", { class: "number", x: spot[0], y: spot[1] }, point.label));
      }
      return parts;
    }

    key(event) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const places = this.shown().map(({ i }) => i);
      if (step === undefined || places.length === 0) return;
      event.preventDefault();
      const was = this.at === null ? (step > 0 ? -1 : 0) : places.indexOf(this.at);
      this.say(places[(was + step + places.length) % places.length]);
    }

    /** Reads a point, by its place in the list, and marks it; null reads none. */
    say(i) {
      this.at = i;
      this.cursor?.replaceChildren();
      if (i === null) return (this.readout.value = this.roofline.points.length === 0 ? "" : "Point at a circle, or focus the picture and use the arrow keys, to read it.");
      const point = this.roofline.points[i];
      const { label, series, name, ns, share, x, y, regime } = point;
      this.cursor?.append(svg("circle", { cx: this.x(x), cy: this.y(y), r: radius(point) + 3 }));
      return (this.readout.value = `${series === null ? `${label}  ` : ""}${name}: ${units.timeText(ns)}${share === null ? "" : ` (${units.shareText(share)})`}, ${units.join(units.plain(x))} op/byte, ${units.join(app.resultRows.formatOf({ unit: "op/s" })(y))}${regime === "" ? "" : `, ${regime}`}`);
    }
  }

  app.RooflineChart = RooflineChart;
  app.roofline = { read, extent, merged };
})((globalThis.regimeter ||= {}));
