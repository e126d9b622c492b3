// SPDX-License-Identifier: Apache-2.0
// What limits it: the verdict of each device, a bar of everything that its time went into, the same as figures with
// what the host did while the device waited, and the verdicts of the longest kernels and scopes.
(function (app) {
  "use strict";

  const { el, figure, button } = app.dom;
  const { units } = app;
  const FEW = 8;
  // Kernels by what limits them are shares of the time; the other parts are times.
  const KERNELS = [
    { key: "memory_kernels", label: "Kernels: memory", title: "Kernels that memory bandwidth limits" },
    { key: "compute_kernels", label: "Kernels: arithmetic", title: "Kernels that arithmetic limits" },
    { key: "overhead_kernels", label: "Kernels: overhead", title: "Kernels too small to fill the device" },
    { key: "unjudged_kernels", label: "Kernels: not known", title: "Kernels of which it is not known: no shapes, no counters, no ceilings, or far from both roofs" },
  ];
  const IDLE = [
    { key: "communication", label: "Exposed communication", title: "Communication, and no compute kernel" },
    { key: "transfer", label: "Exposed transfer", title: "A copy or set, and neither kernel nor communication" },
    { key: "host_wait", label: "Waits for the host", title: "The launch of the next work had not begun" },
    { key: "launch_gap", label: "Launch gaps", title: "Launched, and not running yet" },
    { key: "wait", label: "Waits of streams", title: "Launched long before: waits for an event or another stream, or no recorded reason" },
    { key: "unknown", label: "Idle, cause unknown", title: "The launch of the next work is not in the recording" },
  ];
  const HOST = [
    ["host_input_ns", "in a data loader"],
    ["host_sync_ns", "in a synchronisation"],
    ["host_allocation_ns", "allocating or freeing"],
    ["host_compile_ns", "compiling"],
    ["host_optimizer_ns", "in an optimizer's step"],
    ["host_other_ns", "in other code"],
  ];

  function partsOf(row) {
    const kernels = KERNELS.map((part) => ({ ...part, ns: row.wall_ns * (row[`${part.key}_share`] ?? 0) }));
    const idle = IDLE.map((part) => ({ ...part, ns: row[`${part.key}_ns`] }));
    return [...kernels, ...idle].map((part) => ({ ...part, share: row.wall_ns > 0 ? part.ns / row.wall_ns : 0 })).filter((part) => part.ns >= 1); // less is a rest of rounding
  }

  function label(row) {
    const detail = row.detail === "none" ? "" : `, ${row.detail.replaceAll("_", " ")}`;
    const lean = row.regime === "AMBIGUOUS" && row.leans_to !== "UNKNOWN" ? `, leans to ${row.leans_to}` : "";
    return `${row.regime}${detail}${lean}`;
  }

  function verdict(row) {
    const sure = row.sureness ? el("span", { class: "dim" }, ` ${row.sureness};`) : null;
    return el("p", { class: "regime-verdict" }, el("strong", null, label(row)), sure, el("span", { class: "regime-reason" }, row.reason_text));
  }

  function deviceName(row, ranked) {
    const device = row.device < 0 ? "Host" : row.process_name || `GPU ${row.device}`;
    return ranked && row.rank >= 0 ? `rank ${row.rank} · ${device}` : device;
  }

  function bar(parts) {
    const words = parts.map((part) => `${part.label} ${units.shareText(part.share)}`).join(", ");
    const piece = (part) => el("span", { class: `breakdown-part regime-${part.key}`, title: `${part.label}: ${units.timeText(part.ns)}, ${units.shareText(part.share)}`, style: { "flex-grow": part.ns } }, el("span", null, units.shareText(part.share)));
    return el("span", { class: "breakdown-bar", role: "img", "aria-label": words }, parts.map(piece));
  }

  function figures(row, parts) {
    const pair = (part) => el("div", null, el("dt", { title: part.title }, el("span", { class: `swatch regime-${part.key}`, "aria-hidden": "true" }), part.label), el("dd", null, figure(part.ns, units.time), el("span", { class: "dim" }, ` ${units.shareText(part.share)}`)));
    const host = HOST.filter(([key]) => row[key] > 0).map(([key, name]) => `${units.timeText(row[key])} ${name}`);
    const delay = row.queue_delay_ns === null ? null : el("p", { class: "help" }, `Work started ${units.timeText(row.queue_delay_ns)} after its launch began (median of ${units.countText(row.launches)}).`);
    return [
      el("dl", { class: "overlaps regime-parts" }, parts.map(pair)),
      host.length ? el("p", { class: "help" }, `While the device waited for the host, the launching thread was: ${host.join(", ")}.`) : null,
      delay,
      row.stacks ? el("p", { class: "help" }, "Python stacks were recorded, which slows the host: without them its waits may be half as long.") : null,
    ];
  }

  function device(row, ranked) {
    const parts = row.device < 0 ? [] : partsOf(row);
    return el("div", { class: "regime-device" }, el("h3", null, deviceName(row, ranked), el("span", { class: "dim", title: "From the first work of the device to its last; the shares below are of it" }, row.device < 0 ? ` window ${units.timeText(row.wall_ns)}` : ` device span ${units.timeText(row.wall_ns)}`)), verdict(row), parts.length ? bar(parts) : null, parts.length ? figures(row, parts) : null);
  }

  function kernelRow(row) {
    const roof = (share) => (share === null ? "n/a" : units.shareText(share));
    const work = row.source === "none" ? "no work known" : `${roof(row.sol_compute)} of the compute roof, ${roof(row.sol_memory)} of the memory roof, work from ${row.source}`;
    return el("li", null, el("span", { class: "regime-kernel clip", title: row.name }, app.shortNames.of(row.name)), el("span", { class: "dim" }, `${units.timeText(row.total_ns)}, ${units.shareText(row.share)} of kernel time`), el("span", { class: "regime-label", title: row.reason_text }, label(row)), el("span", { class: "dim" }, work));
  }

  /** Those that could be judged, a line each; the others together, by what is missing. */
  function kernelLists(kernels) {
    const [judged, others] = [true, false].map((known) => kernels.filter(({ regime }) => (regime !== "UNKNOWN") === known));
    const reasons = [...new Set(others.map(({ reason_text: reason }) => reason))].join("; ");
    const all = units.countText(kernels.length);
    const which = judged.length === 0 ? `the ${all}` : `${units.countText(others.length)} of the ${all}`;
    const said = `What limits ${which} kernels with most time is not known: ${reasons}. The table of kernel regimes has them all.`;
    return [judged.length > 0 ? el("ol", { class: "regime-kernels" }, judged.map(kernelRow)) : "", others.length > 0 ? el("p", { class: "said" }, said) : ""];
  }

  function scopeRow(row) {
    const calls = `${units.timeText(row.wall_ns)} in ${units.countText(row.regions)} ${row.regions === 1 ? "call" : "calls"}`;
    return el("li", null, el("span", { class: "regime-kernel clip", title: row.name }, row.name), el("span", { class: "dim" }, calls), el("span", { class: "regime-label" }, label(row)), el("span", { class: "dim" }, row.reason_text));
  }

  /** A row for each part of each device's time. */
  function columnsOf(devices, ranked) {
    const rows = devices.filter((row) => row.device >= 0).flatMap((row) => partsOf(row).map((part) => ({ ...part, device: deviceName(row, ranked) })));
    return [["device", "text", "device"], ["what it went into", "text", "label"], ["time", "ns", "ns"], ["share", "share", "share"]].map(([heading, unit, key]) => ({ heading, unit, values: rows.map((row) => row[key]) }));
  }

  function render(body, { regimes }) {
    const { devices, kernels, scopes } = regimes;
    if (devices.length === 0) {
      body.append(el("p", { class: "empty" }, "Nothing was recorded that could be judged."));
      return {};
    }
    const ranked = new Set(devices.map((row) => row.rank)).size > 1;
    const shown = devices.map((row) => device(row, ranked));
    const more = button(`Show all ${units.countText(shown.length)} devices`, () => {
      shown.forEach((one) => (one.hidden = false));
      more.hidden = true;
    }, { class: "quiet more" });
    more.hidden = shown.length <= FEW;
    shown.slice(FEW).forEach((one) => (one.hidden = true));
    const table = devices.some((row) => row.device >= 0) ? [app.asTable("What the time of each device went into", () => columnsOf(devices, ranked))] : [];
    body.append(...shown, more, ...table);
    if (kernels.length) body.append(el("h3", null, "Kernels with most time"), ...kernelLists(kernels));
    if (scopes.length) body.append(el("h3", null, "Scopes with most time"), el("ol", { class: "regime-kernels" }, scopes.map(scopeRow)));
    body.append(el("p", { class: "help" }, `Ceilings: ${regimes.ceilings}.`));
    return {};
  }

  (app.views ??= []).push({ id: "regimes", title: "What limits it", order: 14, span: 12, of: "any", fits: (model) => Boolean(model.regimes), render });
})((globalThis.regimeter ||= {}));
