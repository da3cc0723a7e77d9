// What happened, newest first, and the first records that were refused.

import { byId, el, fill, mark, say, shown, table } from "page/dom.js";
import { brief, clock, count } from "page/numbers.js";

const MOST = 100;
const KINDS = { drift: "bad", "checkpoint failed": "bad", better: "good", failed: "bad" };

/** Draw the log. */
export function logPanel(page) {
  return () => {
    const events = page.events.all.slice(-MOST).reverse();
    shown(byId("log-none"), !events.length);
    const lines = fill(byId("events"), events.length, () =>
      el("li", {}, el("time"), el("span", { class: "tag" }), el("span", { class: "text" }), el("span", { class: "at" })));
    events.forEach((event, i) => {
      const [time, tag, text, at] = lines[i].children;
      mark(lines[i], "data-kind", KINDS[event.kind] ?? "plain");
      mark(say(time, clock(event.time)), "datetime", new Date((event.time ?? 0) * 1000).toISOString());
      say(tag, brief(event.kind));
      mark(say(text, event.text), "title", event.text);
      say(at, `record ${count(event.record)}`);
    });
    const letters = page.frame?.dead_letters ?? [];
    shown(byId("letters-body"), letters.length > 0);
    table(byId("letters"), "Refused records", ["Where", "Reason", "Detail"],
      letters.slice(0, MOST).map((letter) => [
        { text: brief(letter.place, 60), title: letter.place, head: true },
        { text: letter.reason, title: letter.reason }, { text: letter.detail, title: letter.detail }]));
  };
}
