// SPDX-License-Identifier: Apache-2.0
// What limits each operation at each size, as a field of cells in the hues of the regimes, each with its letter.
(function (app) {
  "use strict";

  const { el, svg } = app.dom;
  const { units } = app;
  const [ROW, TOP, BOTTOM, RIGHT, CHARACTER] = [34, 4, 42, 8, 7.5];
  const ROOM = 48; // pixels for a size
  const HINT = "Point at a cell, or focus the picture and use the arrow keys, to read it.";

  class RegimeMap extends app.Chart {
    constructor({ title, operations, elements, cells }) {
      super();
      Object.assign(this, { title, operations, elements, cells, at: null });
      this.height = TOP + ROW * operations.length + BOTTOM;
      this.frame("regime-map", this.height, this.legend());
    }

    legend() {
      const key = (regime) => svg("svg", { class: "regime-map key", width: 18, height: 18, "aria-hidden": "true" }, this.box(regime, 1, 1, 16, 16));
      return el("ul", { class: "legend" }, [...new Set(this.cells.map(({ regime }) => regime))].map((regime) => el("li", null, key(regime), regime)));
    }

    box(regime, x, y, width, height) {
      const [middle, base] = [x + width / 2, y + height / 2 + 4];
      return [svg("rect", { class: `${app.regimeHues.of(regime)}${regime === "UNKNOWN" ? " hollow" : ""}`, x, y, width, height }), svg("text", { class: `letter ${app.regimeHues.of(regime)}`, x: middle, y: base, "text-anchor": "middle" }, app.regimeHues.letter(regime))];
    }

    draw() {
      const width = Math.max(this.node.clientWidth, 280);
      const left = Math.max(60, CHARACTER * Math.max(...this.operations.map(({ length }) => length)) + 8);
      const wide = (width - left - RIGHT) / this.elements.length;
      this.place = ({ row, column }) => ({ x: left + wide * column, y: TOP + ROW * row, width: wide, height: ROW });
      const bottom = TOP + ROW * this.operations.length;
      const every = Math.ceil(ROOM / wide);
      this.plot.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
      this.plot.setAttribute("aria-label", `${this.title}: ${this.operations.length} operations, ${this.elements.length} sizes. Arrow keys go through the cells.`);
      this.cursor = svg("g", { class: "cursor" });
      this.plot.replaceChildren(
        ...this.cells.map((cell) => {
          const { x, y } = this.place(cell);
          return svg("g", { on: { pointerenter: () => this.say(cell) } }, this.box(cell.regime, x + 1, y + 1, wide - 2, ROW - 2));
        }),
        ...this.operations.map((name, row) => svg("text", { x: left - 8, y: TOP + ROW * (row + 0.5) + 4, "text-anchor": "end" }, name)),
        ...this.elements.flatMap((size, i) => (i % every === 0 ? [svg("text", { x: left + wide * (i + 0.5), y: bottom + 16, "text-anchor": "middle" }, app.axis.text(size, ""))] : [])),
        svg("text", { class: "title", x: left + (width - left - RIGHT) / 2, y: this.height - 8, "text-anchor": "middle" }, "Elements"),
        this.cursor,
      );
      this.say(this.at);
    }

    key(event) {
      const [along, over] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1], Escape: [0, 0] }[event.key] ?? [];
      if (along === undefined) return;
      event.preventDefault();
      if (event.key === "Escape") return void this.say(null);
      const wanted = this.at === null ? this.cells[0] : { row: this.at.row + over, column: this.at.column + along };
      this.say(this.cells.find(({ row, column }) => row === wanted.row && column === wanted.column) ?? this.at);
    }

    /** Reads a cell and marks it; null reads none. */
    say(cell) {
      this.at = cell;
      this.cursor?.replaceChildren();
      if (cell === null) return (this.readout.value = HINT);
      this.cursor?.append(svg("rect", this.place(cell)));
      const { row, column, regime, detail, ns } = cell;
      return (this.readout.value = `${this.operations[row]}, ${units.countText(this.elements[column])} elements: ${regime}${detail === "none" ? "" : `, ${detail}`}, ${units.timeText(ns)}`);
    }
  }

  function columnsOf({ operations, elements, cells }) {
    const column = (heading, unit, of) => ({ heading, unit, values: cells.map(of) });
    return [column("operation", "text", ({ row }) => operations[row]), column("elements", "", (cell) => elements[cell.column]), column("regime", "text", ({ regime }) => regime), column("why", "text", ({ detail }) => (detail === "none" ? "" : detail)), column("time", "ns", ({ ns }) => ns)];
  }

  function render(body, section) {
    const chart = new RegimeMap(section);
    const draw = () => chart.draw();
    body.append(chart.node, app.asTable(section.title, () => columnsOf(section)));
    return { chart, shown: draw, beforePrint: draw, destroy: () => chart.destroy() };
  }

  (app.sectionForms ??= {})["regime-map"] = { render };
})((globalThis.regimeter ||= {}));
