// SPDX-License-Identifier: Apache-2.0
// The roofline of a page of sections: points of several sizes of each operation, which can be switched off.
(function (app) {
  "use strict";

  const read = async (section, place) => ({ roofline: await app.roofline.read(section, section.names, place) });

  function render(body, section) {
    const { roofline } = section;
    const { chart, destroy } = app.roofline.render(body, section, null);
    const keys = app.seriesKeys.make([...new Set(roofline.points.map(({ series }) => series))], () => null, () => chart?.hide(app.seriesKeys.isOff));
    body.prepend(keys.node);
    return {
      chart,
      destroy: () => {
        keys.destroy();
        destroy();
      },
    };
  }

  (app.sectionForms ??= {}).roofs = { read, render };
})((globalThis.regimeter ||= {}));
