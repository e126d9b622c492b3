// SPDX-License-Identifier: Apache-2.0
// The visible part of the timeline: [start, end] in ns inside the whole, and the arithmetic of zoom and pan.
(function (app) {
  "use strict";

  const SHORTEST_TICKS = 20; // nearer, times that differ would be drawn where they cannot be told

  class Viewport {
    /** tick: ns between two times that the clock told apart. */
    constructor(low, high, tick = 1) {
      this.shortest = SHORTEST_TICKS * tick;
      this.low = low;
      this.high = Math.max(high, low + tick); // a shorter run is seen as a whole
      this.fit();
    }

    fit() {
      this.start = this.low;
      this.end = this.high;
    }

    get length() {
      return this.end - this.start;
    }

    get zoomed() {
      return this.length < this.high - this.low;
    }

    /** Keeps the length where possible and the window inside the whole. */
    set(start, end) {
      const whole = this.high - this.low;
      const length = Math.min(whole, Math.max(this.shortest, end - start));
      this.start = Math.min(Math.max(start, this.low), this.high - length);
      this.end = this.start + length;
    }

    /** factor < 1 zooms in; the time at `anchor` (0..1 of the width) stays where it is. */
    zoom(factor, anchor) {
      const whole = this.high - this.low;
      const length = Math.min(whole, Math.max(this.shortest, this.length * factor));
      const at = this.start + this.length * anchor;
      this.set(at - length * anchor, at - length * anchor + length);
    }

    /** Moves by a part of the window: 0.5 is half a screen later. */
    pan(part) {
      const by = this.length * part;
      this.set(this.start + by, this.end + by);
    }

    /** Brings [start, end] into view with air around it, changing the zoom only if it does not fit or would be invisible. */
    reveal(start, end) {
      const length = end - start;
      const visible = length / this.length;
      if (visible > 1 || visible < 0.002) {
        const air = Math.max(length * 2, this.shortest);
        this.set(start - air, end + air);
      } else if (start < this.start || end > this.end) {
        const middle = (start + end) / 2;
        this.set(middle - this.length / 2, middle + this.length / 2);
      }
    }
  }

  app.Viewport = Viewport;
})((globalThis.regimeter ||= {}));
