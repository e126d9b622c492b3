// SPDX-License-Identifier: Apache-2.0
// A button for each series of a picture. What is switched off in one picture is off in all pictures of the page.
(function (app) {
  "use strict";

  const { el, button } = app.dom;
  const off = new Set(); // names of series
  const followers = new Set();

  function toggle(name) {
    if (!off.delete(name)) off.add(name);
    for (const follow of followers) follow();
  }

  /** mark(name): what shows the series beside its name; changed() is called when another set of them is shown. */
  function make(names, mark, changed) {
    const keys = names.map((name) => button([mark(name), name], () => toggle(name), { class: "series-key" }));
    const follow = () => {
      keys.forEach((key, i) => key.setAttribute("aria-pressed", String(!off.has(names[i]))));
      changed();
    };
    followers.add(follow);
    keys.forEach((key) => key.setAttribute("aria-pressed", "true"));
    return { node: el("div", { class: "legend series-keys", role: "group", "aria-label": "Shown series" }, keys), destroy: () => followers.delete(follow) };
  }

  app.seriesKeys = { make, isOff: (name) => off.has(name) };
})((globalThis.regimeter ||= {}));
