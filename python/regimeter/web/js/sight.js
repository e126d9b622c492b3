// SPDX-License-Identifier: Apache-2.0
// What is seen of a timeline and of a flame graph, by names and times: it is found again in a run that has grown, where rows,
// lanes and nodes have other numbers.
(function (app) {
  "use strict";

  /** A span by what it is: its lane, name, line and beginning. */
  function spanOf({ line, lanes, names }, span) {
    return { lane: lanes[line.lane[span]].key, name: names[line.name[span]], start: line.start[span], depth: line.depth[span] };
  }

  /** The row of a span, -1 where it is not there. Rows are in no order that could be relied on. */
  function findSpan({ line, lanes, names }, wanted) {
    const lane = lanes.findIndex(({ key }) => key === wanted.lane);
    const rows = line.start.length;
    for (let i = 0; i < rows; i += 1) {
      if (line.start[i] === wanted.start && line.lane[i] === lane && line.depth[i] === wanted.depth && names[line.name[i]] === wanted.name) return i;
    }
    return -1;
  }

  function keepTimeline(timeline) {
    const { scene, folded, pinned, tiles } = timeline;
    const { view, selected, lanes, scroll, range } = scene;
    return {
      view: view.zoomed ? [view.start, view.end] : null,
      range,
      selected: selected === null ? tiles?.sought ?? null : spanOf(scene, selected),
      number: timeline.numberOf(selected),
      folded: [...folded].map((lane) => lanes[lane].key),
      pinned: [...pinned].map((lane) => lanes[lane].key),
      scroll,
    };
  }

  /** What only the server of a timeline knows of the span that is kept, so that it is there when the timeline is shown. */
  async function foreseeTimeline({ tiles }, { selected, number }, same) {
    if (tiles === null) return;
    if (same && number !== null) await tiles.choose(number, false);
    else if (!same && selected !== null) await tiles.chooseAgain(selected);
  }

  /** Selects what was selected, among the rows that are there, else where the server has all of them. */
  function chooseAgain(timeline, selected) {
    const { scene, tiles } = timeline;
    const span = selected === null ? -1 : findSpan(scene, selected);
    if (span >= 0 && span === scene.selected && tiles?.coming === null) return; // foreseen
    timeline.choose(span < 0 ? null : span, false);
    if (span < 0 && selected !== null) tiles?.chooseAgain(selected);
  }

  /** same: the run is the one that it was. */
  function resumeTimeline(timeline, kept, same) {
    const { scene } = timeline;
    scene.lanes.forEach(({ key }, lane) => {
      if (kept.folded.includes(key) && !timeline.folded.has(lane)) timeline.fold(lane);
    });
    timeline.setPinned(kept.pinned.map((key) => scene.lanes.findIndex((lane) => lane.key === key)).filter((lane) => lane >= 0));
    if (same) timeline.chooseNumber(kept.number, false);
    else chooseAgain(timeline, kept.selected);
    timeline.setRange(kept.range);
    if (kept.view === null) scene.view.fit();
    else scene.view.set(...kept.view);
    scene.scroll = 0;
    timeline.scroll(kept.scroll);
    timeline.touch();
  }

  /** The node that a flame graph is zoomed to, as the labels from the root to it. */
  function keepFlame(graph) {
    const labels = [];
    for (let row = graph.focus; row > 0; row = graph.flame.parent[row]) labels.unshift(graph.label(row));
    return labels;
  }

  function resumeFlame(graph, labels) {
    const { parent, depth } = graph.flame;
    let at = 0;
    for (const label of labels) {
      const below = app.flameLayout.endOf(depth, at);
      let next = at + 1;
      while (next < below && !(parent[next] === at && graph.label(next) === label)) next += 1;
      if (next >= below) break;
      at = next;
    }
    graph.zoom(at);
  }

  app.sight = { keepTimeline, foreseeTimeline, resumeTimeline, keepFlame, resumeFlame, spanOf, findSpan };
})((globalThis.regimeter ||= {}));
