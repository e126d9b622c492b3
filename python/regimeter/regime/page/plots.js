"use strict";
const readout = document.getElementById("readout");
document.addEventListener("pointerover", (event) => {
  const text = event.target.getAttribute("data-text");
  if (text) readout.textContent = text;
});
for (const key of document.querySelectorAll("button.key")) {
  key.addEventListener("click", () => {
    const shown = key.getAttribute("aria-pressed") !== "true";
    key.setAttribute("aria-pressed", String(shown));
    for (const part of document.querySelectorAll("g[data-series]")) {
      if (part.dataset.series === key.dataset.series) part.classList.toggle("off", !shown);
    }
  });
}
