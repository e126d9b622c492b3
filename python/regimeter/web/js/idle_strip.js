// SPDX-License-Identifier: Apache-2.0
// Why the devices had nothing to do: a line a device above the timeline, each gap in the colour of its cause. A pixel is
// as high as its share of idle time, and has the colour of the cause with most of that.
(function (app) {
  "use strict";

  const { el } = app.dom;
  const { units } = app;
  const LINE = 14;
  const WANTED = ["start_ns", "duration_ns", "cause", "next_name", "activity_name"];
  // The custom property with the colour of a cause.
  const COLOURS = {
    host_late: "--idle-host",
    host_sync: "--series-4",
    after_sync: "--seventh",
    launch_gap: "--idle-launch",
    launch_call: "--idle-launch",
    communication: "--kind-communication",
    memory: "--kind-memory",
    wait_stream: "--idle-wait",
  };
  const colourOf = (cause) => COLOURS[cause] ?? "--series-other";

  /** The gaps of a file by device: [{label, from, to}] over the columns. */
  async function read(data) {
    const table = data.idle;
    if (!table) return null;
    const columns = await app.columns.read(table, WANTED, "idle");
    let at = 0;
    const ranked = new Set(table.devices.map(({ rank }) => rank)).size > 1;
    const devices = table.devices.map(({ rank, device, count }) => ({ label: `${ranked && rank >= 0 ? `rank ${rank}, ` : ""}GPU ${device}`, from: at, to: (at += count) }));
    return { ...columns, causes: table.causes, words: app.shape.list(table.cause_words, "idle.cause_words"), causeNs: table.cause_ns, devices, count: table.count, omitted: table.omitted, omittedNs: table.omitted_ns };
  }

  /** First gap of a device that ends after `when`. */
  function firstAfter(idle, { from, to }, when) {
    let [low, high] = [from, to];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (idle.start_ns[middle] + idle.duration_ns[middle] < when) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** For each of `width` pixels of [start, end]: the idle share of it, and the cause with most of that, -1 for none. */
  function causesOf(idle, device, start, end, width) {
    const scale = width / (end - start);
    const most = new Float64Array(width);
    const share = new Float64Array(width);
    const found = new Int16Array(width).fill(-1);
    const sums = new Float64Array(idle.causes.length);
    let pixel = -1;
    for (let i = firstAfter(idle, device, start); i < device.to && idle.start_ns[i] <= end; i += 1) {
      const from = Math.max(0, (idle.start_ns[i] - start) * scale);
      const to = Math.min(width, (idle.start_ns[i] + idle.duration_ns[i] - start) * scale);
      for (let x = Math.floor(from); x < to && x < width; x += 1) {
        if (x !== pixel) sums.fill(0);
        pixel = x;
        const part = Math.min(to, x + 1) - Math.max(from, x);
        share[x] += part;
        sums[idle.cause[i]] += part;
        if (sums[idle.cause[i]] <= most[x]) continue;
        most[x] = sums[idle.cause[i]];
        found[x] = idle.cause[i];
      }
    }
    return { cause: found, share };
  }

  class IdleStrip {
    constructor(idle, names, timeline) {
      Object.assign(this, { idle, names, timeline, fills: null });
      this.canvas = el("canvas", { class: "idle-strip", role: "img", "aria-label": `Why the devices were idle: ${units.countText(idle.count)} gaps by cause` });
      this.canvas.style.height = `${idle.devices.length * LINE}px`;
      this.canvas.addEventListener("pointermove", (event) => this.hover(event));
      this.canvas.addEventListener("pointerleave", () => app.tooltip.hide());
    }

    legend() {
      const { idle } = this;
      const shown = idle.causeNs.map((time, cause) => [cause, time]).filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]);
      const rest = idle.omitted > 0 ? [el("li", { class: "dim" }, `${units.countText(idle.omitted)} shorter gaps, ${units.timeText(idle.omittedNs)}, are not drawn`)] : [];
      return el("ul", { class: "legend" }, el("li", { class: "dim" }, "Idle:"), shown.map(([cause, time]) => el("li", null, app.spanKinds.swatch(colourOf(idle.causes[cause])), `${idle.words[cause]} `, el("span", { class: "dim" }, units.timeText(time)))), rest);
    }

    recolor() {
      const style = getComputedStyle(this.canvas);
      this.fills = this.idle.causes.map((cause) => {
        this.canvas.style.setProperty("color", `var(${colourOf(cause)})`);
        return style.color;
      });
      this.canvas.style.removeProperty("color");
    }

    /** Called after each painting of the timeline. */
    paint() {
      const { canvas, timeline, idle } = this;
      const width = canvas.clientWidth;
      if (timeline.colors === null || width === 0) return;
      if (this.fills === null) this.recolor();
      const { view } = timeline.scene;
      const height = idle.devices.length * LINE;
      const pen = app.timelineCanvas.sizeTo(canvas, width, height);
      pen.fillStyle = timeline.colors.sunken;
      pen.fillRect(0, 0, width, height);
      idle.devices.forEach((device, line) => {
        const { cause, share } = causesOf(idle, device, view.start, view.end, Math.floor(width));
        cause.forEach((one, x) => {
          if (one < 0) return;
          const high = Math.max(1, Math.min(1, share[x]) * (LINE - 2));
          pen.fillStyle = this.fills[one];
          pen.fillRect(x, (line + 1) * LINE - 1 - high, 1, high);
        });
      });
    }

    hover(event) {
      const { idle, timeline, names } = this;
      const box = this.canvas.getBoundingClientRect();
      const { view } = timeline.scene;
      const device = idle.devices[Math.floor((event.clientY - box.top) / LINE)];
      const when = view.start + ((event.clientX - box.left) / box.width) * view.length;
      const i = device === undefined ? -1 : firstAfter(idle, device, when);
      if (i < 0 || i >= device.to || idle.start_ns[i] > when + view.length / box.width) return app.tooltip.hide();
      const lines = [el("strong", null, `${device.label} idle for ${units.timeText(idle.duration_ns[i])}`), el("div", null, idle.words[idle.cause[i]])];
      if (idle.activity_name[i] > 0) lines.push(el("div", null, el("span", { class: "dim" }, "the launching thread: "), names[idle.activity_name[i]]));
      if (idle.next_name[i] > 0) lines.push(el("div", null, el("span", { class: "dim" }, "until "), names[idle.next_name[i]]));
      return app.tooltip.show(event.clientX, event.clientY, lines);
    }
  }

  /** Puts the strip of a model above its timeline; null where no device was idle. */
  function attach(model, timeline, frame) {
    if (!model.idle) return null;
    const strip = new IdleStrip(model.idle, model.names, timeline);
    frame.before(strip.legend(), strip.canvas);
    return strip;
  }

  app.idleStrip = { read, causesOf, attach };
})((globalThis.regimeter ||= {}));
