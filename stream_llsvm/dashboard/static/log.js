// Events, newest first, and the first records that were rejected.

import { byId, el, fill, mark, say, shown, table } from "page/dom.js";
import { brief, clock, count, day, harmless } from "page/numbers.js";

const MOST = 100;
const A_DAY = 86_400; // seconds
const KINDS = { drift: "bad", "input drift": "bad", "checkpoint failed": "bad", better: "good", recovering: "bad", reconnected: "good", failed: "bad" };

/** Draw the log. */
export function logPanel(page) {
  return () => {
    const events = gathered(page.events.all).slice(0, MOST);
    shown(byId("log-none"), !events.length);
    list(byId("events"), events, page);
    const letters = page.frame?.dead_letters ?? [];
    shown(byId("rejected"), letters.length > 0);
    table(byId("letters"), "Rejected records", ["Where", "Reason", "Detail"],
      letters.slice(0, MOST).map((letter) => [
        { name: letter.place, head: true },
        { text: letter.reason, title: letter.reason }, { text: letter.detail, title: letter.detail }]));
  };
}

/** Draw what happened but for checkpoints, which are what should happen. */
export function incidentsPanel(page) {
  return () => {
    const events = page.events.all.filter(({ kind }) => kind !== "checkpoint").reverse().slice(0, MOST);
    shown(byId("incidents-none"), !events.length);
    list(byId("incidents-list"), events, page);
  };
}

function list(node, events, page) {
  const now = page.frame ? page.now() : 0;
  const lines = fill(node, events.length, () =>
    el("li", {}, el("time"), el("span", { class: "tag" }), el("span", { class: "text" }), el("span", { class: "at" })));
  events.forEach((event, i) => {
    const [time, tag, text, at] = lines[i].children;
    mark(lines[i], "data-kind", KINDS[event.kind] ?? "plain");
    mark(say(time, now - event.time > A_DAY ? day(event.time) : clock(event.time)), "datetime", new Date((event.time ?? 0) * 1000).toISOString());
    say(tag, brief(event.kind));
    mark(lines[i], "data-gathered", event.before || null);
    const more = event.before ? `, and ${count(event.before)} before it` : "";
    say(text, harmless(event.text) + more);
    say(at, `record ${count(event.record)}`);
  });
}

/** Newest first; of checkpoints in a row only the last, and how many there were before it. */
function gathered(events) {
  const found = [];
  for (let i = events.length - 1; i >= 0; i--) {
    const newer = found.at(-1);
    if (events[i].kind === "checkpoint" && newer?.kind === "checkpoint") newer.before += 1;
    else found.push({ ...events[i], before: 0 });
  }
  return found;
}
