// SPDX-License-Identifier: Apache-2.0
// The page of a recording that goes on: shows what the model has become, and keeps what the reader looks at. Each view is
// made anew beside the document and takes the place of its old form at once; the address says what is seen in it, and what an
// address cannot say a view hands over itself: keep() of the old handle, resume(kept) of the new one. What the new one has to ask
// a server for it asks before: foresee(kept), a promise.
(function (app) {
  "use strict";

  const keptOf = (page) => new Map(page.parts.map(({ section, handle }) => [section.id, handle.keep?.()]));

  /** Makes all views of a model, detached: what there is to show, before anything is taken away. */
  async function made(page, same) {
    const parts = [];
    try {
      for (const view of page.views()) {
        parts.push(page.part(view));
        await app.pause();
      }
      // What is unpacked only when it is looked at is there before it is put in.
      await Promise.all(parts.map(({ handle }) => handle.follow?.(app.address.current(), page.leaf)));
      const kept = keptOf(page);
      const seen = parts.filter(({ section }) => kept.get(section.id) !== undefined);
      await Promise.all(seen.map(({ section, handle }) => handle.foresee?.(kept.get(section.id), same)));
    } catch (error) {
      for (const { handle } of parts) handle.destroy?.();
      throw error;
    }
    return parts;
  }

  /** Puts the new sections where the old ones are; those of a hidden page stay hidden. */
  function swap(page, parts) {
    const old = new Map(page.parts.map((part) => [part.section.id, part]));
    for (const { section } of parts) {
      const before = old.get(section.id);
      if (before === undefined) page.main.append(section);
      else {
        section.hidden = before.section.hidden;
        before.section.replaceWith(section);
        old.delete(section.id);
      }
    }
    for (const { section } of old.values()) section.remove();
    for (const { handle } of page.parts) handle.destroy?.();
    page.parts = parts;
  }

  /** Resolves when the page shows the model. If a view throws, the page stays as it was. `origin.same`: it is the same run, in
      which spans have the numbers that they had. */
  async function update(page, model, origin) {
    const before = page.model;
    const same = origin.same === true;
    page.model = model;
    let parts;
    try {
      parts = await made(page, same);
    } catch (error) {
      page.model = before;
      throw error;
    }
    const { scrollX, scrollY } = globalThis;
    const places = new Map(page.parts.map(({ section }) => [section.id, app.place.take(section)]));
    const kept = keptOf(page); // the reader may have gone on since it was foreseen
    page.main.style.minHeight = `${page.main.offsetHeight}px`; // nothing moves while canvases have no height yet
    app.tooltip.hide();
    swap(page, parts);
    app.heading.fill(page.heading, model, origin);
    page.title = document.title;
    page.divide(page.leaf);
    page.markSelected();
    page.each("recolor");
    page.each("shown");
    page.follow(app.address.current());
    for (const { section, handle } of parts) {
      if (!places.has(section.id)) continue;
      const own = kept.get(section.id);
      if (own !== undefined) handle.resume?.(own, same);
      app.place.give(section, places.get(section.id));
    }
    page.count(model.timeline);
    scrollTo({ left: scrollX, top: scrollY, behavior: "instant" });
    requestAnimationFrame(() => requestAnimationFrame(() => (page.main.style.minHeight = "")));
  }

  app.update = update;
})((globalThis.regimeter ||= {}));
