// SPDX-License-Identifier: Apache-2.0
// Lanes that a reader keeps at the top of the timeline, as methods of it: they do not scroll with the others.
(function (app) {
  "use strict";

  const ROOM = 64; // pixels at the right of a heading

  app.pinnedLanes = {
    /** Pins a lane, or takes the pin out. */
    pin(lane) {
      if (!this.pinned.delete(lane)) this.pinned.add(lane);
      this.place();
      this.touch();
    },

    /** Pins the lanes with these numbers and no others. */
    setPinned(lanes) {
      this.pinned = new Set(lanes.filter((lane) => lane < this.scene.lanes.length));
      this.place();
    },

    /** The lane of the selected span. */
    pinChosen() {
      const { selected, line } = this.scene;
      if (selected !== null) this.pin(line.lane[selected]);
    },

    /** Whether a place of a heading is that of its pin. */
    onPin(x) {
      return x > this.canvas.clientWidth - ROOM;
    },

    /** The lane whose heading is under the pointer, null for none. */
    point(lane) {
      if (this.scene.pointed === lane) return;
      this.scene.pointed = lane;
      this.request();
    },
  };
})((globalThis.regimeter ||= {}));
