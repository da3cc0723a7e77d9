// The page: what is known of the run, and the panels that show it.

import { accuracyPanel } from "page/accuracy.js";
import { byClassPanel } from "page/by_class.js";
import { challengersPanel } from "page/challengers.js";
import { comparedPanel } from "page/compared.js";
import { confusionPanel } from "page/confusion.js";
import { byId, mark, say, segments, shown } from "page/dom.js";
import { decisionsPanel } from "page/decisions.js";
import { Events } from "page/events.js";
import { follow } from "page/feed.js";
import { fieldsPanel } from "page/fields.js";
import { keysPanel } from "page/keys.js";
import { labelsPanel } from "page/labels.js";
import { incidentsPanel, logPanel } from "page/log.js";
import { mapPanel } from "page/map.js";
import { membersPanel } from "page/members.js";
import { inputPanel } from "page/input.js";
import { intakePanel } from "page/intake.js";
import { learnersPanel } from "page/learners.js";
import { machinePanel } from "page/machine.js";
import { clock } from "page/numbers.js";
import { Points, rows } from "page/points.js";
import { promisePanel } from "page/promise.js";
import { slicesPanel } from "page/slices.js";
import { speedPanel } from "page/speed.js";
import { statusPanel } from "page/status.js";
import { troublePanel } from "page/trouble.js";
import { whyPanel } from "page/why.js";

const LONG = [["day", 3_600], ["week", 86_400]]; // ranges, and from how many seconds on there are such

/** What the panels read. Only the latest frame is kept, and points in bounded columns. */
class Page {
  constructor() {
    this.points = new Points();
    this.events = new Events();
    this.connection = { state: "connecting", since: null };
    this.frame = null;
    this.model = null;
    this.recorded = null;
    this.lit = null; // the anchors behind the answer that is looked at
    this.heard = performance.now();
    this.frames = 0;
    this.range = "all";
    this.panels = [];
    this.asked = false;
    this.seen = null;
  }

  take(frame) {
    this.frame = frame;
    this.frames += 1;
    this.heard = performance.now();
    if (frame.model) this.model = frame.model;
    if (frame.point) this.points.add(frame.point);
    this.events.merge(frame.events);
  }

  /** The time there, as far as one can know here. */
  now() {
    const over = ["stopped", "failed"].includes(this.frame?.status?.state);
    if (this.recorded || over) return this.frame.time;
    return this.frame.time + (performance.now() - this.heard) / 1000;
  }

  /** What the charts show, worked out once for all of them. */
  view() {
    this.seen ??= this.points.view(this.range);
    return this.seen;
  }

  /** Light up these anchors on the map: [{id}]. */
  light(anchors) {
    const told = anchors?.length ? anchors.map(({ id }) => id) : null;
    if (String(told) === String(this.lit ? [...this.lit] : null)) return;
    this.lit = told ? new Set(told) : null;
    this.redraw();
  }

  /** Draw once, soon: frames that come faster, or while nobody looks, are drawn together. */
  redraw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.seen = null;
      const view = document.documentElement.dataset.view;
      for (const [where, draw] of this.panels) {
        if (where !== "both" && where !== view) continue; // what nobody sees is drawn when it is
        try {
          draw();
        } catch (error) {
          console.error(error); // one panel's fault leaves the others as they are
        }
      }
      for (const [range, least] of LONG) shown(document.querySelector(`[data-range=${range}]`), this.points.span > least);
      const told = this.frame;
      if (!told) return;
      // Once the model is seen, a panel that has nothing to show never will have.
      mark(document.body, "data-model", this.model ? "seen" : null);
      mark(document.body, "data-frame", told.id);
      mark(document.body, "data-time", told.time);
      mark(document.body, "data-frames", this.frames);
      mark(document.body, "data-points", this.points.length);
      const began = told.status?.started ? `The run began at ${clock(told.status.started)}. ` : "";
      say(byId("foot"), `${began}${this.recorded ? "Recorded" : "Last news"} at ${clock(told.time)}.`);
    });
  }
}

const page = new Page();
const VIEWS = {
  both: [statusPanel, troublePanel],
  watch: [accuracyPanel, confusionPanel, speedPanel, mapPanel, whyPanel, fieldsPanel, membersPanel,
    labelsPanel, keysPanel, logPanel, comparedPanel],
  operate: [incidentsPanel, intakePanel, inputPanel, promisePanel, byClassPanel, slicesPanel, decisionsPanel,
    challengersPanel, learnersPanel, machinePanel],
};
page.panels = Object.entries(VIEWS).flatMap(([view, panels]) => panels.map((panel) => [view, panel(page)]));
segments(byId("range"), "range", page.range, (range) => {
  page.range = range;
  page.redraw();
});
byId("names").addEventListener("click", () => {
  const whole = document.documentElement.toggleAttribute("data-whole-names");
  mark(byId("names"), "aria-pressed", String(whole));
});
for (const change of ["themechange", "viewchange"]) document.addEventListener(change, () => page.redraw());

const kept = document.getElementById("recorded");
if (kept) {
  page.recorded = JSON.parse(kept.textContent);
  page.connection = { state: "open", since: null };
  page.points.merge(rows(page.recorded.points));
  page.events.merge(page.recorded.events);
  page.take(page.recorded.frame);
} else {
  follow(page, () => page.redraw());
  setInterval(() => page.redraw(), 1_000); // ages go on, whether news come or not
}
page.redraw();
