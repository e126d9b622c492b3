// SPDX-License-Identifier: Apache-2.0
// The flame graph on a canvas, callers above callees (an icicle) or below them (flames). Click a node to zoom, click a caller
// to zoom out.
(function (app) {
  "use strict";

  const LINE = 19;
  const FONT = "12px system-ui, sans-serif";
  const LEAST_PIXELS = 0.7;

  class FlameGraph {
    /** changed(graph) is called after every change of focus. */
    constructor(canvas, changed) {
      Object.assign(this, { canvas, changed, flame: null, names: [] });
      this.flames = false; // grows upwards
      this.inTime = false; // siblings in the order in which they began
      this.focus = 0;
      this.at = null; // row under the pointer
      this.colors = null;
      this.frame = 0;
      this.test = null;
      this.widths = new Map();
      this.observer = new ResizeObserver(() => this.request());
      this.observer.observe(canvas);
      canvas.addEventListener("pointermove", (event) => this.hover(event));
      canvas.addEventListener("pointerleave", () => this.leave());
      canvas.addEventListener("click", (event) => this.zoom(this.rowAt(event) ?? this.focus));
      canvas.addEventListener("keydown", (event) => this.key(event));
    }

    destroy() {
      this.observer.disconnect();
      cancelAnimationFrame(this.frame);
    }

    /** Draws a tree by its column of totals `total`. hueOf: colour of a name, null for colours by kind. */
    show({ flame, names, total, hueOf = null }) {
      if (this.flame !== flame) this.focus = 0;
      Object.assign(this, { flame, names, total, hueOf });
      this.order(this.inTime);
      if (!(total[this.focus] > 0)) this.focus = 0;
      this.recolor();
      this.changed(this);
    }

    recolor() {
      if (!this.canvas.isConnected) return; // colours are known once the canvas is in the page
      const colors = app.palette.resolve(this.canvas);
      this.colors = this.hueOf ? colors : { ...colors, ...colors.ofKinds };
      this.request();
    }

    request() {
      if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paint());
    }

    zoom(row) {
      this.focus = row;
      this.leave();
      this.request();
      this.changed(this);
    }

    /** Draws flames, which grow upwards, or an icicle. */
    setFlames(flames) {
      this.flames = flames;
      this.paint();
      this.canvas.parentNode.scrollTop = flames ? this.canvas.clientHeight : 0;
    }

    /** Puts siblings in the order in which they began, or the widest first. */
    order(inTime) {
      Object.assign(this, { inTime, left: app.flameLayout.lefts(this.flame, this.total, inTime) });
      this.request();
    }

    highlight(test) {
      this.test = test;
      this.request();
    }

    /** Nodes whose name passes the search, and the share of all time that they and what is below them have. */
    matches() {
      const { depth } = this.flame;
      let [nodes, time, until] = [0, 0, -1];
      for (let row = 0; this.test !== null && row < depth.length; row += 1) {
        if (!(this.total[row] > 0) || !this.test(this.label(row))) continue;
        nodes += 1;
        if (row < until) continue; // below one that counts already
        time += this.total[row];
        until = app.flameLayout.endOf(depth, row);
      }
      return { nodes, share: time / this.total[0] };
    }

    key(event) {
      const { parent, depth } = this.flame;
      const below = app.flameLayout.endOf(depth, this.focus);
      let heaviest = -1;
      for (let row = this.focus + 1; row < below; row += 1) if (parent[row] === this.focus && (heaviest < 0 || this.total[row] > this.total[heaviest])) heaviest = row;
      const [caller, callee] = this.flames ? ["ArrowDown", "ArrowUp"] : ["ArrowUp", "ArrowDown"];
      const next = { [caller]: parent[this.focus], [callee]: heaviest, Home: 0, Escape: 0 }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      if (next >= 0 && (next === 0 || this.total[next] > 0)) this.zoom(next);
    }

    label(row) {
      return app.flameLayout.label(this.flame, this.names, row);
    }

    colorOf(row) {
      const { roles, role, kinds, kind, activities, activity } = this.flame;
      if (roles[role[row]] !== "span") return this.colors.fills.length - 1;
      if (this.hueOf) return this.hueOf(this.names[this.flame.name[row]]);
      return app.spanKinds.classOf(kinds[kind[row]], activities[activity[row]]).slot;
    }

    paint(fullHeight = false) {
      cancelAnimationFrame(this.frame);
      this.frame = 0;
      const width = this.canvas.clientWidth;
      if (this.colors === null || width === 0) return;
      const { depth } = this.flame;
      const scale = width / this.total[this.focus];
      const rows = app.flameLayout.visible(this.flame, this.total, this.left, this.focus, LEAST_PIXELS / scale);
      let deepest = 0;
      for (const row of rows) deepest = Math.max(deepest, depth[row]);
      const height = (deepest + 1) * LINE + 2;
      this.lowest = this.flames ? deepest : null;
      this.canvas.style.height = `${height}px`;
      const pen = app.timelineCanvas.sizeTo(this.canvas, width, height);
      pen.fillStyle = this.colors.surface;
      pen.fillRect(0, 0, width, height);
      pen.textBaseline = "middle";
      this.boxes = rows.map((row) => this.box(row, scale, width));
      for (const box of this.boxes) this.paintBox(pen, box);
    }

    box(row, scale, width) {
      const depth = this.flame.depth[row];
      const above = depth < this.flame.depth[this.focus];
      const left = above ? 0 : (this.left[row] - this.left[this.focus]) * scale;
      return { row, left, width: above ? width : this.total[row] * scale, top: (this.lowest === null ? depth : this.lowest - depth) * LINE };
    }

    paintBox(pen, { row, left, width, top }) {
      const fill = this.colorOf(row);
      const bright = this.test === null || this.test(this.label(row));
      pen.globalAlpha = bright ? 1 : 0.18;
      pen.fillStyle = this.colors.fills[fill];
      pen.fillRect(left, top, Math.max(width - (width > 3 ? 1 : 0), 0.5), LINE - 1);
      pen.globalAlpha = 1;
      if (row === this.at) {
        pen.strokeStyle = this.colors.text;
        pen.lineWidth = 1.5;
        pen.strokeRect(left + 0.75, top + 0.75, Math.max(width - 2.5, 1), LINE - 2.5);
      }
      if (width < 26 || !bright) return;
      pen.font = FONT;
      pen.fillStyle = this.colors.inks[fill];
      pen.fillText(app.timelineCanvas.shorten(pen, app.shortNames.of(this.label(row)), width - 9, this.widths), left + 4, top + LINE / 2);
    }

    rowAt(event) {
      const place = this.canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - place.left, event.clientY - place.top];
      const found = (this.boxes ?? []).find((box) => y >= box.top && y < box.top + LINE && x >= box.left && x < box.left + Math.max(box.width, 1));
      return found?.row ?? null;
    }

    hover(event) {
      const row = this.rowAt(event);
      if (row !== this.at) {
        this.at = row;
        this.request();
      }
      this.canvas.style.cursor = row === null ? "default" : "pointer";
      if (row === null) app.tooltip.hide();
      else app.tooltip.show(event.clientX, event.clientY, this.words(row));
    }

    leave() {
      this.at = null;
      app.tooltip.hide();
      this.request();
    }

    /** Host time, device time and spans of a node, as pairs of label and text. */
    figures(row) {
      const { timeText, countText } = app.units;
      const { flame } = this;
      const pairs = [];
      for (const side of ["host", "device"]) {
        const [total, own] = [flame[`total_${side}_ns`][row], flame[`self_${side}_ns`][row]];
        if (!Number.isNaN(total) && !(side === "device" && flame.total_device_ns[0] === 0)) pairs.push([`${side} time`, timeText(total) + (Number.isNaN(own) ? "" : ` (own ${timeText(own)})`)]);
      }
      if (flame.count[row] > 0) pairs.push(["spans", countText(flame.count[row])]);
      return pairs;
    }

    words(row) {
      const { el } = app.dom;
      return [el("strong", null, this.label(row)), ...this.figures(row).map(([label, text]) => el("div", null, el("span", { class: "dim" }, `${label}: `), text))];
    }

    sentence(row) {
      return `${this.label(row)}: ${this.figures(row).map((pair) => pair.join(" ")).join(", ")}`;
    }
  }

  app.FlameGraph = FlameGraph;
})((globalThis.regimeter ||= {}));
