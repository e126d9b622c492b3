// SPDX-License-Identifier: Apache-2.0
// Starts the page: wires the header's controls and shows the embedded data, or an invitation (at #demo, the demo data).
(function (app) {
  "use strict";

  const THEMES = ["auto", "light", "dark"];
  const byId = (id) => document.getElementById(id);

  function embedded(id) {
    const node = byId(id);
    return node === null || node.textContent.trim() === "" ? null : node.textContent;
  }

  function wireTheme(page) {
    const control = byId("theme");
    const root = document.documentElement;
    let at = 0;
    control.addEventListener("click", () => {
      at = (at + 1) % THEMES.length;
      root.dataset.theme = THEMES[at];
      control.textContent = `Theme: ${THEMES[at]}`;
      page.each("recolor");
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.each("recolor"));
  }

  function wirePrint(page) {
    byId("print").addEventListener("click", () => print());
    matchMedia("print").addEventListener("change", (event) => page.each(event.matches ? "beforePrint" : "afterPrint"));
    addEventListener("beforeprint", () => page.each("beforePrint"));
    addEventListener("afterprint", () => page.each("afterPrint"));
  }

  async function start() {
    app.address.wire();
    const page = new app.Page(byId("main"), byId("nav"), byId("heading"));
    const opener = new app.Opener(page, byId("messages"));
    const [data, demo] = [embedded("regimeter-data"), embedded("regimeter-demo")];
    app.current = page;
    wireTheme(page);
    wirePrint(page);
    app.keys.wire(page);
    byId("keys").addEventListener("click", () => app.keys.show());
    byId("goto").addEventListener("click", () => app.finder.open(page));
    app.summary.wire(page, byId("copy"));
    const doors = app.files?.wire(opener, demo);
    if (data !== null) {
      const inside = JSON.parse(data);
      await opener.openData("the data inside this page", inside, { demo: false, file: null });
      app.following = app.live?.start(page, inside, byId("live"));
      app.rest?.start(page, inside, byId("live"));
    } else if (demo !== null && location.hash === "#demo") await doors.demo();
    else if (doors) app.welcome.show(byId("heading"), byId("main"), doors.pick, doors.demo);
  }

  if (typeof document !== "undefined") app.started = start();
})((globalThis.regimeter ||= {}));
