// SPDX-License-Identifier: Apache-2.0
// Pointer, wheel and keys of the timeline, turned into calls on `target`:
//   zoom(factor, anchor) pan(part) scroll(pixels) fit() selectRange(x0, x1) hover(x, y, event) leave() pick(x, y) step(direction)
//   clear() pinChosen() frameChosen() setRange(range) follow() searchFor() showKeys()
// The wheel zooms once the timeline has focus (a click gives it) or with Ctrl; else the page scrolls as usual.
(function (app) {
  "use strict";

  const WHEEL_STEP = 0.0022;
  const CLICK_SLOP = 4;

  const KEYS = {
    ArrowLeft: (t) => t.pan(-0.2),
    ArrowRight: (t) => t.pan(0.2),
    a: (t) => t.pan(-0.2),
    d: (t) => t.pan(0.2),
    ArrowUp: (t) => t.scroll(-40),
    ArrowDown: (t) => t.scroll(40),
    "+": (t) => t.zoom(0.6, 0.5),
    "=": (t) => t.zoom(0.6, 0.5),
    w: (t) => t.zoom(0.6, 0.5),
    "-": (t) => t.zoom(1 / 0.6, 0.5),
    s: (t) => t.zoom(1 / 0.6, 0.5),
    Home: (t) => t.fit(),
    0: (t) => t.fit(),
    n: (t) => t.step(1),
    p: (t) => t.step(-1),
    Escape: (t) => t.clear(),
    f: (t) => t.frameChosen(),
    m: (t) => t.setRange([t.scene.view.start, t.scene.view.end]),
    P: (t) => t.pinChosen(),
    Enter: (t) => t.follow?.(),
    "/": (t) => t.searchFor?.(),
    "?": (t) => t.showKeys?.(),
  };

  function attach(canvas, target) {
    let drag = null;
    const fingers = new Map();
    /** Two fingers zoom about their middle. */
    function pinch(event) {
      const at = place(event);
      const before = fingers.get(event.pointerId);
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      fingers.set(event.pointerId, at);
      const spread = Math.max(8, Math.abs(at.x - other.x));
      target.zoom(Math.max(8, Math.abs(before.x - other.x)) / spread, (at.x + other.x) / 2 / at.width);
    }
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top, width: box.width };
    };

    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || KEYS[event.key] === undefined) return;
      event.preventDefault();
      KEYS[event.key](target);
    });

    canvas.addEventListener(
      "wheel",
      (event) => {
        if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        const { x, width } = place(event);
        const pixels = event.deltaMode === 1 ? 30 : 1;
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          target.pan(((event.deltaX || event.deltaY) * pixels) / width);
        } else target.zoom(Math.exp(event.deltaY * pixels * WHEEL_STEP), x / width);
      },
      { passive: false },
    );

    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const at = place(event);
      fingers.set(event.pointerId, at);
      if (fingers.size > 1) return (drag = null);
      drag = { ...at, lastX: at.x, lastY: at.y, moved: false, range: event.shiftKey || at.y < app.timelineCanvas.RULER };
      canvas.setPointerCapture(event.pointerId);
    });

    canvas.addEventListener("pointermove", (event) => {
      if (fingers.size > 1 && fingers.has(event.pointerId)) return pinch(event);
      const at = place(event);
      if (drag === null) {
        target.hover(at.x, at.y, event);
        return;
      }
      if (!drag.moved && Math.hypot(at.x - drag.x, at.y - drag.y) < CLICK_SLOP) return;
      drag.moved = true;
      target.leave();
      if (drag.range) target.selectRange(drag.x, at.x);
      else {
        target.pan((drag.lastX - at.x) / at.width);
        target.scroll(drag.lastY - at.y);
      }
      [drag.lastX, drag.lastY] = [at.x, at.y];
    });

    const finish = (event) => {
      fingers.delete(event.pointerId);
      if (drag === null) return;
      const at = place(event);
      if (!drag.moved && event.type === "pointerup") target.pick(at.x, at.y);
      drag = null;
    };
    canvas.addEventListener("pointerup", finish);
    canvas.addEventListener("pointercancel", finish);
    canvas.addEventListener("pointerleave", () => drag === null && target.leave());
    canvas.addEventListener("dblclick", () => target.fit());
  }

  app.timelineInput = { attach };
})((globalThis.regimeter ||= {}));
