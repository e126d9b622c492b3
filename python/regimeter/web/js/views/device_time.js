// SPDX-License-Identifier: Apache-2.0
// Where the time of each device went: one stacked bar a device whose four parts add up to the span, to the nanosecond,
// and the exact figures of the chosen device.
(function (app) {
  "use strict";

  const { el, figure, button } = app.dom;
  const { units } = app;
  const FEW = 16;
  const PARTS = [
    { key: "compute", label: "Compute", title: "Time with a compute kernel" },
    { key: "exposed_comm", label: "Exposed communication", title: "Time with communication and no compute" },
    { key: "exposed_mem", label: "Exposed memory", title: "Time with a copy or set and neither compute nor communication" },
    { key: "idle", label: "Idle", title: "Time without any work" },
  ];
  const OVERLAPS = [
    ["comm_ns", "Communication", "Time with communication, overlapped or not"],
    ["comm_overlapped_by_compute_ns", "Communication behind compute", "Time with communication and compute"],
    ["mem_ns", "Copies and sets", "Time with a copy or a set, overlapped or not"],
    ["mem_overlapped_by_compute_ns", "Copies behind compute", "Time with a copy or set and compute"],
    ["mem_overlapped_by_comm_ns", "Copies beside communication", "Time with a copy or set and communication"],
    ["all_three_ns", "All three at once", "Time with compute, communication and a copy or set"],
    ["sum_dur_ns", "Sum of durations", "All work, overlaps counted more than once"],
  ];
  const COUNTS = [
    ["n_kernel", "Compute kernels"],
    ["n_comm", "Communication kernels"],
    ["n_memcpy", "Copies"],
    ["n_memset", "Sets"],
  ];

  const exact = (ns) => `${units.countText(ns)} ns`;

  function deviceName(row, ranked) {
    const device = row.process_name || `GPU ${row.device >= 0 ? row.device : row.process}`;
    return ranked && row.rank >= 0 ? `rank ${row.rank} · ${device}` : device;
  }

  function bar(row, part) {
    const words = PARTS.map(({ key, label }) => `${label} ${units.timeText(row[`${key}_ns`])}`).join(", ");
    return el(
      "span",
      { class: "breakdown-bar", role: "img", "aria-label": words, style: { width: `${100 * part}%` } },
      PARTS.filter(({ key }) => row[`${key}_ns`] > 0).map(({ key, label }) => {
        const share = row[`${key}_share`];
        return el("span", { class: `breakdown-part part-${key}`, title: `${label}: ${units.timeText(row[`${key}_ns`])}, ${units.shareText(share)}`, style: { "flex-grow": row[`${key}_ns`] } }, el("span", null, units.shareText(share)));
      }),
    );
  }

  function identity(row) {
    const parts = PARTS.map(({ key, label, title }, i) =>
      el(
        "div",
        { class: "identity-part" },
        el("span", { class: "sign", "aria-hidden": "true" }, i === 0 ? "" : "+"),
        el("dl", null, el("dt", { title }, el("span", { class: `swatch part-${key}`, "aria-hidden": "true" }), label), el("dd", { title: exact(row[`${key}_ns`]) }, figure(row[`${key}_ns`], units.time), el("span", { class: "dim" }, ` ${units.shareText(row[`${key}_share`])}`))),
      ),
    );
    const whole = el("div", { class: "identity-part" }, el("span", { class: "sign", "aria-hidden": "true" }, "="), el("dl", null, el("dt", { title: "Last end minus first start of the device's work; the shares are of it" }, "Device span"), el("dd", { title: exact(row.span_ns) }, figure(row.span_ns, units.time))));
    return el("div", { class: "identity" }, parts, whole);
  }

  function exactly(row) {
    const sum = PARTS.map(({ key }) => units.countText(row[`${key}_ns`])).join(" + ");
    return el("p", { class: "help exact" }, `${sum} = ${units.countText(row.span_ns)} ns`);
  }

  function overlaps(row) {
    const pair = ([key, label, title]) => el("div", null, el("dt", { title }, label), el("dd", { title: exact(row[key]) }, figure(row[key], units.time)));
    const busy = el("div", null, el("dt", { title: "Time with any work" }, "Busy"), el("dd", { title: exact(row.busy_ns) }, figure(row.busy_ns, units.time), el("span", { class: "dim" }, ` ${units.shareText(row.busy_share)}`)));
    const counts = COUNTS.map(([key, label]) => el("div", null, el("dt", null, label), el("dd", null, units.countText(row[key]))));
    return el("dl", { class: "overlaps" }, busy, OVERLAPS.map(pair), counts);
  }

  function columnsOf(breakdown, ranked) {
    const of = ([key, heading]) => ({ heading, unit: key.endsWith("_ns") ? "ns" : "", values: breakdown.map((row) => row[key]) });
    const device = { heading: "device", unit: "text", values: breakdown.map((row) => deviceName(row, ranked)) };
    return [device, ...[["span_ns", "device span"], ["busy_ns", "busy"], ...PARTS.map(({ key, label }) => [`${key}_ns`, label]), ...OVERLAPS, ...COUNTS].map(of)];
  }

  /** Which rank the others waited for most. */
  const waited = ({ rank, last, collectives, caused_ns: ns }) => `Rank ${rank} came last in ${units.countText(last)} of ${units.countText(collectives)} collectives: the others waited ${units.timeText(ns)} for it. `;

  function render(body, model) {
    if (model.breakdown.length === 0) {
      body.append(el("p", { class: "empty" }, "The trace holds no device work: no kernel, copy or set was recorded."));
      return {};
    }
    const ranked = new Set(model.breakdown.map((row) => row.rank)).size > 1;
    const breakdown = ranked ? [...model.breakdown].sort((a, b) => b.exposed_comm_ns - a.exposed_comm_ns) : model.breakdown;
    const longest = Math.max(...breakdown.map((row) => row.span_ns), 1);
    const chosen = el("div", { class: "breakdown-chosen" });
    let all = { open: false };
    const lines = breakdown.map((row, i) => button([el("span", { class: "breakdown-name clip" }, deviceName(row, ranked)), bar(row, row.span_ns / longest), el("span", { class: "breakdown-span" }, figure(row.span_ns, units.time))], () => choose(i), { class: "breakdown-line", "aria-pressed": "false" }));
    function choose(at) {
      lines.forEach((line, i) => line.setAttribute("aria-pressed", String(i === at)));
      const row = breakdown[at];
      chosen.replaceChildren(...(breakdown.length > 1 ? [el("h3", null, deviceName(row, ranked))] : []), identity(row), exactly(row), el("details", { class: "all-figures", open: all.open }, el("summary", null, "All figures"), overlaps(row)));
      all = chosen.lastChild;
    }
    const more = button(`Show all ${units.countText(lines.length)} devices`, () => {
      lines.forEach((line) => (line.hidden = false));
      more.hidden = true;
    }, { class: "quiet more" });
    more.hidden = lines.length <= FEW;
    lines.slice(FEW).forEach((line) => (line.hidden = true));
    const note = breakdown.length < 2 ? null : el("p", { class: "help" }, model.straggler ? waited(model.straggler) : "", "The bars are as long as the spans", ranked ? "; the rank that waits longest comes first." : ".");
    body.append(el("div", { class: "breakdown-lines" }, lines), more, note ?? "", chosen, app.asTable("Time of each device", () => columnsOf(breakdown, ranked)));
    choose(Math.max(0, breakdown.findIndex(({ rank }) => rank === model.straggler?.rank)));
    return { beforePrint: () => (all.open = true) };
  }

  (app.views ??= []).push({ id: "breakdown", title: "Where the device time went", short: "Device time", order: 12, after: 40, span: 12, fits: ({ breakdown, scoped, limit }) => breakdown !== null && (breakdown.length > 0 || !(scoped || limit)), render });
})((globalThis.regimeter ||= {}));
